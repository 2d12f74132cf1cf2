#include "core/glob_search.h"

#include <arcp/gate.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "core/glob_subset.h"
#include "core/target_shape.h"

enum {
    BUCKETS = 1024,
    SETS_BYTES_MAX = 64 << 20,
    NO_NODE = -1,
    COVERS_MAX = 16 /* fresh bytes whose shapes are kept while one node is expanded */
};

typedef struct node {
    int32_t parent;  /* the previous node; NO_NODE: the child's prefix */
    int32_t sibling; /* the next one in the bucket */
    uint32_t state;  /* of the child */
    uint32_t depth;  /* bytes read */
    arcp__shape shape;
    arcp__glob_states_set set; /* of the parents */
    unsigned char byte;        /* the last one read */
} node;

/* The bytes that must be tried for a wildcard. docs/leases.md, Subsets.
 *
 * A byte that is no literal of any pattern in the question is "fresh": it keeps only the parents'
 * states whose loop takes it, and any other byte of the same class keeps these, too. So one fresh
 * byte represents all bytes whose resulting shape allows no more. Separators, which some loops do
 * not take, are tried separately. A star is never a literal, so there is always a fresh byte where
 * a target may have a star. */
typedef struct alphabet {
    unsigned char special[3]; /* separators, and '?' of URLs */
    size_t special_count;
    unsigned char ordinary[256]; /* fresh ones first, in order of preference */
    size_t ordinary_count;
    size_t fresh_count;
} alphabet;

typedef struct search {
    arcp__target_kind kind;
    const arcp__glob_states *child;
    arcp__glob_union *parents;
    alphabet alphabet;
    uint64_t work_max;
    arcp__arena arena; /* the sets */
    node *nodes;       /* a queue; nodes from `next` on are not expanded yet */
    size_t count;
    size_t capacity;
    size_t next;
    int32_t buckets[BUCKETS];
    arcp__glob_states_set scratch[2];
    int32_t found; /* the node with a counterexample */
    bool too_complex;
    bool no_memory;
} search;

static void fill_alphabet(search *s)
{
    /* Printable ASCII, the bytes that read best in a witness first. */
    static const char printable[] = "xabcdefghijklmnopqrstuvwyz1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "-_.~+=,!@$&()%:;'^|`[]{}<>\"#?\\ /*";
    alphabet *to = &s->alphabet;
    bool is_literal[256];
    for (size_t i = 0; i < sizeof is_literal; i++) {
        is_literal[i] = s->parents->literal[i] != 0;
    }
    for (uint32_t i = 0; i < s->child->last; i++) {
        is_literal[s->child->literals[i]] = true;
    }
    for (const char *byte = "/.?"; *byte != '\0'; byte++) {
        if (arcp__glob_class_of(s->kind, (unsigned char)*byte) != ARCP__GLOB_ORDINARY) {
            to->special[to->special_count++] = (unsigned char)*byte;
        }
    }
    for (size_t i = 0; i < sizeof printable - 1; i++) {
        const unsigned char byte = (unsigned char)printable[i];
        if (!is_literal[byte] && arcp__glob_class_of(s->kind, byte) == ARCP__GLOB_ORDINARY) {
            to->ordinary[to->ordinary_count++] = byte;
        }
    }
    to->fresh_count = to->ordinary_count;
    for (unsigned i = 1; i < sizeof is_literal; i++) {
        const unsigned char byte = (unsigned char)i;
        if (is_literal[byte] && arcp__glob_class_of(s->kind, byte) == ARCP__GLOB_ORDINARY) {
            to->ordinary[to->ordinary_count++] = byte;
        }
    }
}

static size_t bucket_of(const search *s, const node *n)
{
    const uint64_t family = arcp__shape_family(s->kind, n->shape);
    const uint64_t hash = (family ^ (uint64_t)n->state << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 54) % BUCKETS;
}

/* Whether an earlier node leads to a counterexample whenever this one does. */
static bool is_dominated(search *s, size_t bucket, const node *candidate)
{
    for (int32_t i = s->buckets[bucket]; i != NO_NODE; i = s->nodes[i].sibling) {
        const node *earlier = &s->nodes[i];
        s->parents->work++;
        if (earlier->state == candidate->state &&
            arcp__shape_covers(s->kind, earlier->shape, candidate->shape) &&
            arcp__glob_union_is_within(s->parents, &earlier->set, &candidate->set)) {
            return true;
        }
    }
    return false;
}

static bool is_over(const search *s)
{
    return s->found != NO_NODE || s->too_complex || s->no_memory;
}

/* Adds a node unless it cannot lead to a counterexample; checks whether it is one. */
static void add_node(search *s, node candidate)
{
    arcp__glob_union *parents = s->parents;
    const arcp__glob_states *child = s->child;
    if (is_over(s) || arcp__glob_union_meets(parents, &candidate.set, parents->eager)) {
        return;
    }
    const size_t bucket = bucket_of(s, &candidate);
    if (is_dominated(s, bucket, &candidate)) {
        return;
    }
    if (s->count == ARCP__GLOB_SUBSET_NODES_MAX || parents->work > s->work_max ||
        s->arena.used > SETS_BYTES_MAX) {
        s->too_complex = true;
        return;
    }
    node *nodes = arcp__make_room(s->nodes, s->count, &s->capacity, sizeof *nodes);
    const size_t set_size = candidate.set.count * sizeof(arcp__glob_word);
    arcp__glob_word *words = set_size == 0 ? NULL : arcp__arena_take(&s->arena, set_size);
    s->nodes = nodes == NULL ? s->nodes : nodes;
    s->no_memory = nodes == NULL || (words == NULL && set_size != 0);
    if (s->no_memory) {
        return;
    }
    if (set_size != 0) {
        memcpy(words, candidate.set.words, set_size);
    }
    candidate.set.words = words;
    candidate.sibling = s->buckets[bucket];
    s->buckets[bucket] = (int32_t)s->count;
    s->nodes[s->count] = candidate;
    const bool may_accept =
        candidate.state == child->last || (child->tail && candidate.state + 1 == child->last);
    if (may_accept && arcp__shape_is_target(s->kind, candidate.shape) &&
        !arcp__glob_union_meets(parents, &candidate.set, parents->accept)) {
        s->found = (int32_t)s->count;
    }
    s->count++;
}

/* Adds the node, and its successor if its state may be skipped. */
static void arrive(search *s, node candidate)
{
    add_node(s, candidate);
    if ((s->child->loops[candidate.state] & ARCP__GLOB_LOOP_SKIP) != 0) {
        candidate.state++;
        add_node(s, candidate);
    }
}

/* The node after reading one byte from the node `from`; its set is in the scratch. */
static node read_byte(search *s, int32_t from, unsigned char byte, arcp__shape shape)
{
    const node *parent = &s->nodes[from];
    const arcp__glob_class byte_class = arcp__glob_class_of(s->kind, byte);
    arcp__glob_union_step(s->parents, &parent->set, byte, byte_class, &s->scratch[0]);
    return (node){.parent = from,
                  .state = parent->state,
                  .depth = parent->depth + 1,
                  .shape = shape,
                  .set = s->scratch[0],
                  .byte = byte};
}

static arcp__shape step_shape(search *s, arcp__shape shape, unsigned char byte)
{
    s->parents->work++;
    return arcp__shape_step(s->kind, shape, byte);
}

static bool is_covered(search *s, const arcp__shape *covers, size_t count, arcp__shape shape)
{
    s->parents->work += count;
    for (size_t i = 0; i < count; i++) {
        if (arcp__shape_covers(s->kind, covers[i], shape)) {
            return true;
        }
    }
    return false;
}

/* Expands a loop with ordinary bytes: with each that no fresh byte represents. */
static void expand_ordinary(search *s, int32_t from)
{
    const arcp__shape before = s->nodes[from].shape;
    arcp__shape covers[COVERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < s->alphabet.ordinary_count && !is_over(s); i++) {
        const unsigned char byte = s->alphabet.ordinary[i];
        const arcp__shape shape = step_shape(s, before, byte);
        if (shape == ARCP__SHAPE_DEAD || is_covered(s, covers, count, shape)) {
            continue;
        }
        add_node(s, read_byte(s, from, byte, shape));
        if (i >= s->alphabet.fresh_count) {
            continue;
        }
        if (arcp__shape_is_widest(s->kind, shape)) {
            return;
        }
        if (count < COVERS_MAX) {
            covers[count++] = shape;
        }
    }
}

static void expand(search *s, int32_t from)
{
    const node n = s->nodes[from];
    if (n.depth == ARCP_TARGET_BYTES_MAX) {
        return; /* longer texts are not targets */
    }
    if (s->child->loops[n.state] != ARCP__GLOB_LOOP_NONE) {
        for (size_t i = 0; i < s->alphabet.special_count; i++) {
            const unsigned char byte = s->alphabet.special[i];
            if (!arcp__glob_loop_takes(s->child, n.state, arcp__glob_class_of(s->kind, byte))) {
                continue;
            }
            const arcp__shape shape = step_shape(s, n.shape, byte);
            if (shape != ARCP__SHAPE_DEAD) {
                add_node(s, read_byte(s, from, byte, shape));
            }
        }
        expand_ordinary(s, from);
    }
    if (n.state < s->child->last) {
        const unsigned char byte = s->child->literals[n.state];
        const arcp__shape shape = step_shape(s, n.shape, byte);
        if (shape != ARCP__SHAPE_DEAD) {
            node reached = read_byte(s, from, byte, shape);
            reached.state++;
            arrive(s, reached);
        }
    }
}

/* Starts after the child's literals before its first wildcard, which need no nodes. */
static void begin(search *s)
{
    const arcp__glob_states *child = s->child;
    uint32_t size = 0;
    while (size < child->last && child->loops[size] == ARCP__GLOB_LOOP_NONE) {
        size++;
    }
    if (child->tail && size == child->last) {
        size--; /* the pattern may end before the '/' */
    }
    arcp__shape shape = ARCP__SHAPE_START;
    for (uint32_t i = 0; i < size && shape != ARCP__SHAPE_DEAD; i++) {
        shape = step_shape(s, shape, child->literals[i]);
    }
    if (shape == ARCP__SHAPE_DEAD) {
        return;
    }
    arcp__glob_states_set *now = &s->scratch[0];
    arcp__glob_states_set *then = &s->scratch[1];
    arcp__glob_union_start(s->parents, now);
    for (uint32_t i = 0; i < size; i++) {
        const unsigned char byte = child->literals[i];
        arcp__glob_union_step(s->parents, now, byte, arcp__glob_class_of(s->kind, byte), then);
        arcp__glob_states_set *swapped = now;
        now = then;
        then = swapped;
    }
    arrive(s, (node){.parent = NO_NODE, .state = size, .depth = size, .shape = shape, .set = *now});
}

/* Writes the target that leads to the node found. */
static arcp_status write_witness(const search *s, arcp_buf *witness)
{
    const size_t size = s->nodes[s->found].depth;
    arcp_buf_clear(witness);
    if (!arcp_buf_reserve(witness, size)) {
        return ARCP_E_NO_MEMORY;
    }
    size_t first = size;
    for (int32_t i = s->found; i != NO_NODE; i = s->nodes[i].parent) {
        if (s->nodes[i].parent == NO_NODE) {
            memcpy(witness->data, s->child->literals, first);
        } else {
            witness->data[--first] = (char)s->nodes[i].byte;
        }
    }
    witness->size = size;
    return ARCP_OK;
}

arcp_status arcp__glob_search(arcp__target_kind kind, const arcp__glob_states *child,
                              arcp__glob_union *parents, uint64_t work_max,
                              arcp__glob_answer *answer, arcp_buf *witness)
{
    search s = {
        .kind = kind, .child = child, .parents = parents, .work_max = work_max, .found = NO_NODE};
    memset(s.buckets, 0xff, sizeof s.buckets);
    fill_alphabet(&s);
    /* Each of the two is large enough for any set. */
    const size_t set_size = parents->words * sizeof(arcp__glob_word);
    s.scratch[0].words = arcp__arena_take(&s.arena, set_size);
    s.scratch[1].words = arcp__arena_take(&s.arena, set_size);
    s.no_memory = s.scratch[0].words == NULL || s.scratch[1].words == NULL;
    if (!s.no_memory) {
        begin(&s);
    }
    while (s.next < s.count && !is_over(&s)) {
        expand(&s, (int32_t)s.next++);
    }
    arcp_status status = s.no_memory ? ARCP_E_NO_MEMORY : ARCP_OK;
    if (s.found != NO_NODE && status == ARCP_OK) {
        status = write_witness(&s, witness);
    }
    *answer = s.found != NO_NODE ? ARCP__GLOB_FOUND
              : s.too_complex    ? ARCP__GLOB_TOO_COMPLEX
                                 : ARCP__GLOB_NONE;
    arcp__free(s.nodes);
    arcp__arena_fini(&s.arena);
    return status;
}
