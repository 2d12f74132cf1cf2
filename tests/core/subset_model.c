#include "core/subset_model.h"

#include <stdlib.h>
#include <string.h>

#include "core/glob_model.h"
#include "core/target_shape.h"

enum {
    PATTERNS_MAX = 8,
    KEY_WORDS = 24,
    TABLE_SIZE = 4096 /* more than twice the places */
};

/* Each item has two bits: we are before it, and we are within it (only whole segments and
 * what is below a directory have a within). Behind the last item there is one more. */
typedef struct runner {
    model_item items[MODEL_PATTERN_MAX];
    size_t count;
    size_t base; /* its first bit */
} runner;

typedef struct place {
    uint64_t key[KEY_WORDS];
    arcp__shape shape;
    size_t from;
    char byte;
} place;

typedef struct model {
    arcp__target_kind kind;
    runner runners[PATTERNS_MAX]; /* the child first */
    size_t count;
    bool is_tried[256];
    bool is_literal[256];
    place places[MODEL_PLACES_MAX];
    size_t place_count;
    uint16_t table[TABLE_SIZE]; /* the number of a place plus one */
} model;

static bool get(const uint64_t *key, size_t bit)
{
    return (key[bit / 64] >> (bit % 64) & 1) != 0;
}

static void set(uint64_t *key, size_t bit)
{
    key[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* Marks that we are before item `i`, and also before the next one if the item may be empty. */
static void arrive(const runner *r, size_t i, uint64_t *key)
{
    for (;; i++) {
        set(key, r->base + 2 * i);
        if (i == r->count || r->items[i].kind == MODEL_BYTE || r->items[i].kind == MODEL_BELOW) {
            return;
        }
    }
}

static bool accepts(const runner *r, const uint64_t *key)
{
    if (get(key, r->base + 2 * r->count)) {
        return true;
    }
    const size_t last = r->base + 2 * (r->count - 1);
    return r->items[r->count - 1].kind == MODEL_BELOW && (get(key, last) || get(key, last + 1));
}

/* Whether a wildcard takes the byte. */
static bool takes(const model *m, const runner *r, size_t i, char byte)
{
    const model_item_kind kind = r->items[i].kind;
    if (byte == '?' && m->kind == ARCP__TARGET_URL) {
        return kind != MODEL_FOLDERS && i + 1 == r->count;
    }
    return kind != MODEL_SEGMENT || !(byte == '/' || (byte == '.' && m->kind == ARCP__TARGET_TOOL));
}

static void read_byte(const model *m, const runner *r, const uint64_t *key, char byte,
                      uint64_t *next)
{
    for (size_t i = 0; i < r->count; i++) {
        const size_t before = r->base + 2 * i;
        const bool is_within = get(key, before + 1);
        if (!is_within && !get(key, before)) {
            continue;
        }
        switch (r->items[i].kind) {
        case MODEL_BYTE:
            if (byte == r->items[i].byte) {
                arrive(r, i + 1, next);
            }
            break;
        case MODEL_SEGMENT:
        case MODEL_ANY:
            if (takes(m, r, i, byte)) {
                arrive(r, i, next);
            }
            break;
        case MODEL_FOLDERS:
            if (takes(m, r, i, byte)) {
                set(next, before + 1);
            }
            if (byte == '/') {
                arrive(r, i + 1, next);
            }
            break;
        case MODEL_BELOW:
            if (is_within || byte == '/') {
                set(next, before + 1);
            }
            break;
        }
    }
}

/* False when there are too many places. One where the child is at its end leads to no other. */
static bool visit(model *m, const place *reached)
{
    uint64_t hash = reached->shape;
    for (size_t i = 0; i < KEY_WORDS; i++) {
        hash = (hash ^ reached->key[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    size_t slot = hash % TABLE_SIZE;
    for (; m->table[slot] != 0; slot = (slot + 1) % TABLE_SIZE) {
        const place *known = &m->places[m->table[slot] - 1];
        if (known->shape == reached->shape &&
            memcmp(known->key, reached->key, sizeof known->key) == 0) {
            return true;
        }
    }
    if (m->place_count == MODEL_PLACES_MAX) {
        return false;
    }
    m->places[m->place_count++] = *reached;
    m->table[slot] = (uint16_t)m->place_count;
    return true;
}

static bool child_is_alive(const model *m, const uint64_t *key)
{
    const runner *child = &m->runners[0];
    for (size_t bit = 0; bit < 2 * (child->count + 1); bit++) {
        if (get(key, child->base + bit)) {
            return true;
        }
    }
    return false;
}

static bool is_witness(const model *m, const place *p)
{
    if (!arcp__shape_is_target(m->kind, p->shape) || !accepts(&m->runners[0], p->key)) {
        return false;
    }
    for (size_t i = 1; i < m->count; i++) {
        if (accepts(&m->runners[i], p->key)) {
            return false;
        }
    }
    return true;
}

static void write_witness(const model *m, size_t index, arcp_buf *witness)
{
    if (index != 0) {
        write_witness(m, m->places[index].from, witness);
        arcp_buf_append_byte(witness, m->places[index].byte);
    }
}

/* Bytes that no pattern has as a literal, and that loops see alike, lead to the same place
 * when they lead to the same shape. */
static bool is_repeated(const model *m, int byte, arcp__shape shape, const arcp__shape *shapes)
{
    if (m->is_literal[byte] || byte == '/' || byte == '.' || byte == '?') {
        return false;
    }
    for (int other = 1; other < byte; other++) {
        if (m->is_tried[other] && !m->is_literal[other] && other != '/' && other != '.' &&
            other != '?' && shapes[other] == shape) {
            return true;
        }
    }
    return false;
}

/* False when there are too many places. */
static bool expand(model *m, size_t from)
{
    arcp__shape shapes[256] = {ARCP__SHAPE_DEAD};
    for (int byte = 1; byte < 256; byte++) {
        if (!m->is_tried[byte]) {
            continue;
        }
        shapes[byte] = arcp__shape_step(m->kind, m->places[from].shape, (unsigned char)byte);
        if (shapes[byte] == ARCP__SHAPE_DEAD || is_repeated(m, byte, shapes[byte], shapes)) {
            continue;
        }
        place reached = {.shape = shapes[byte], .from = from, .byte = (char)byte};
        for (size_t i = 0; i < m->count; i++) {
            read_byte(m, &m->runners[i], m->places[from].key, (char)byte, reached.key);
        }
        if (child_is_alive(m, reached.key) && !visit(m, &reached)) {
            return false;
        }
    }
    return true;
}

static size_t add_runner(model *m, arcp_span pattern, size_t base)
{
    runner *r = &m->runners[m->count++];
    r->count = model_read_items(pattern, r->items);
    r->base = base;
    for (size_t i = 0; i < r->count; i++) {
        m->is_literal[(unsigned char)r->items[i].byte] |= r->items[i].kind == MODEL_BYTE;
    }
    return base + 2 * (r->count + 1);
}

static model_answer run(model *m, arcp_buf *witness)
{
    place start = {.shape = ARCP__SHAPE_START};
    for (size_t i = 0; i < m->count; i++) {
        arrive(&m->runners[i], 0, start.key);
    }
    (void)visit(m, &start);
    for (size_t i = 0; i < m->place_count; i++) {
        if (is_witness(m, &m->places[i])) {
            write_witness(m, i, witness);
            return MODEL_NOT_WITHIN;
        }
        if (!expand(m, i)) {
            return MODEL_UNKNOWN;
        }
    }
    return MODEL_WITHIN;
}

model_answer model_subset(arcp__target_kind kind, arcp_span child, const arcp_span *parents,
                          size_t count, const char *without, arcp_buf *witness)
{
    if (count >= PATTERNS_MAX) {
        return MODEL_UNKNOWN;
    }
    model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        abort();
    }
    m->kind = kind;
    size_t bits = add_runner(m, child, 0);
    for (size_t i = 0; i < count; i++) {
        bits = add_runner(m, parents[i], bits);
    }
    for (int byte = 1; byte < 256; byte++) {
        m->is_tried[byte] = m->is_literal[byte] || strchr(without, byte) == NULL;
    }
    const model_answer answer = bits > 64 * (size_t)KEY_WORDS ? MODEL_UNKNOWN : run(m, witness);
    free(m);
    return answer;
}
