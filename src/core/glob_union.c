#include "core/glob_union.h"

#include "base/alloc.h"

enum {
    ROWS_FIXED = 4 + ARCP__GLOB_CLASS_COUNT, /* start, accept, eager, skip, keep */
    /* Far beyond what the limits of leases allow; only callers that raise them get here. */
    ROWS_BYTES_MAX = 256 << 20
};

static void set_bit(uint64_t *row, size_t bit)
{
    row[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* Adds one pattern's states from bit `base` on. */
static void add_pattern(arcp__glob_union *u, const arcp__glob_states *states, size_t base)
{
    set_bit(u->start, base);
    set_bit(u->accept, base + states->last);
    if (states->tail) {
        set_bit(u->accept, base + states->last - 1);
    }
    if ((states->loops[states->last] & ARCP__GLOB_LOOP_ANY) != 0) {
        set_bit(u->eager, base + states->last);
    }
    for (uint32_t state = 0; state <= states->last; state++) {
        for (int byte_class = 0; byte_class < ARCP__GLOB_CLASS_COUNT; byte_class++) {
            if (arcp__glob_loop_takes(states, state, (arcp__glob_class)byte_class)) {
                set_bit(u->keep[byte_class], base + state);
            }
        }
        if ((states->loops[state] & ARCP__GLOB_LOOP_SKIP) != 0) {
            set_bit(state == 0 ? u->start : u->skip, base + state + 1);
        }
        if (state < states->last) {
            set_bit(u->steps + (u->literal[states->literals[state]] - 1U) * (size_t)u->words,
                    base + state + 1);
        }
    }
}

/* Makes empty rows for this many states. */
static arcp_status make_rows(arcp__glob_union *u, size_t bits)
{
    /* Thirteen byte values never occur in UTF-8, so a byte can number the rows. */
    unsigned char literals = 0;
    for (int byte = 0; byte < 256; byte++) {
        if (u->literal[byte] != 0) {
            u->literal[byte] = ++literals;
        }
    }
    const size_t words = bits / 64 + 1;
    const size_t rows = ROWS_FIXED + (size_t)literals;
    if (words > ROWS_BYTES_MAX / sizeof(uint64_t) / rows) {
        return ARCP_E_LIMIT;
    }
    u->words = (uint32_t)words;
    u->row_count = (uint32_t)rows;
    u->rows = arcp__alloc_array(words * rows, sizeof(uint64_t));
    if (u->rows == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    u->start = u->rows;
    u->accept = u->rows + words;
    u->eager = u->rows + 2 * words;
    u->skip = u->rows + 3 * words;
    for (size_t i = 0; i < ARCP__GLOB_CLASS_COUNT; i++) {
        u->keep[i] = u->rows + (4 + i) * words;
    }
    u->steps = u->rows + ROWS_FIXED * words;
    return ARCP_OK;
}

arcp_status arcp__glob_union_init(arcp__glob_union *u, const arcp_span *patterns, size_t count)
{
    *u = (arcp__glob_union){0};
    size_t size = count * sizeof(arcp__glob_states);
    for (size_t i = 0; i < count; i++) {
        size += ARCP__GLOB_ROOM(patterns[i].size);
    }
    arcp__glob_states *states = arcp__alloc(size + 1);
    if (states == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    unsigned char *room = (unsigned char *)(states + count);
    size_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        arcp__glob_parse(patterns[i], room, &states[i]);
        room += ARCP__GLOB_ROOM(patterns[i].size);
        bits += states[i].last + 1;
        for (uint32_t k = 0; k < states[i].last; k++) {
            u->literal[states[i].literals[k]] = 1;
        }
    }
    const arcp_status status = make_rows(u, bits);
    size_t base = 0;
    for (size_t i = 0; i < count && status == ARCP_OK; i++) {
        add_pattern(u, &states[i], base);
        base += states[i].last + 1;
    }
    arcp__free(states);
    return status;
}

void arcp__glob_union_fini(arcp__glob_union *u)
{
    arcp__free(u->rows);
    *u = (arcp__glob_union){0};
}

static void add_word(arcp__glob_states_set *out, uint32_t index, uint64_t bits)
{
    if (bits != 0) {
        out->words[out->count++] = (arcp__glob_word){.bits = bits, .at = index};
    }
}

void arcp__glob_union_start(arcp__glob_union *u, arcp__glob_states_set *out)
{
    out->count = 0;
    u->work += u->words;
    for (uint32_t i = 0; i < u->words; i++) {
        add_word(out, i, u->start[i]);
    }
}

/* The states reached in word `index` from that word and from the word below it. */
static uint64_t step_word(const arcp__glob_union *u, uint32_t index, uint64_t bits, uint64_t below,
                          const uint64_t *step, const uint64_t *keep, bool is_slash)
{
    uint64_t next = bits & keep[index];
    if (step != NULL) {
        next |= (bits << 1 | below >> 63) & step[index];
    }
    if (is_slash) {
        next |= (bits << 2 | below >> 62) & u->skip[index];
    }
    return next;
}

void arcp__glob_union_step(arcp__glob_union *u, const arcp__glob_states_set *set,
                           unsigned char byte, arcp__glob_class byte_class,
                           arcp__glob_states_set *out)
{
    const unsigned row = u->literal[byte];
    const uint64_t *const step = row == 0 ? NULL : u->steps + (row - 1U) * (size_t)u->words;
    const uint64_t *const keep = u->keep[byte_class];
    const bool is_slash = byte == '/';
    uint32_t next_at = 0; /* where the bits that leave `below` go */
    uint64_t below = 0;
    out->count = 0;
    u->work += set->count;
    for (uint32_t i = 0; i < set->count; i++) {
        const arcp__glob_word word = set->words[i];
        if (below != 0 && word.at != next_at) {
            add_word(out, next_at, step_word(u, next_at, 0, below, step, keep, is_slash));
            below = 0;
        }
        add_word(out, word.at, step_word(u, word.at, word.bits, below, step, keep, is_slash));
        below = word.bits;
        next_at = word.at + 1;
    }
    if (below != 0 && next_at < u->words) {
        add_word(out, next_at, step_word(u, next_at, 0, below, step, keep, is_slash));
    }
}

void arcp__glob_union_filter(arcp__glob_union *u, arcp__glob_states_set *set, const uint64_t *row)
{
    uint32_t count = 0;
    u->work += set->count;
    for (uint32_t i = 0; i < set->count; i++) {
        arcp__glob_word word = set->words[i];
        word.bits &= row[word.at];
        if (word.bits != 0) {
            set->words[count++] = word;
        }
    }
    set->count = count;
}

void arcp__glob_union_intersect(arcp__glob_union *u, arcp__glob_states_set *set,
                                const arcp__glob_states_set *other)
{
    uint32_t count = 0;
    uint32_t k = 0;
    u->work += set->count;
    for (uint32_t i = 0; i < set->count; i++) {
        arcp__glob_word word = set->words[i];
        while (k < other->count && other->words[k].at < word.at) {
            k++;
        }
        word.bits &= k < other->count && other->words[k].at == word.at ? other->words[k].bits : 0;
        if (word.bits != 0) {
            set->words[count++] = word;
        }
    }
    set->count = count;
}

bool arcp__glob_union_meets(arcp__glob_union *u, const arcp__glob_states_set *set,
                            const uint64_t *row)
{
    u->work += set->count;
    for (uint32_t i = 0; i < set->count; i++) {
        if ((set->words[i].bits & row[set->words[i].at]) != 0) {
            return true;
        }
    }
    return false;
}

bool arcp__glob_union_is_within(arcp__glob_union *u, const arcp__glob_states_set *a,
                                const arcp__glob_states_set *b)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const arcp__glob_word word = a->words[i];
        while (k < b->count && b->words[k].at < word.at) {
            k++;
        }
        if (k == b->count || b->words[k].at != word.at || (word.bits & ~b->words[k].bits) != 0) {
            u->work += i + k + 1;
            return false;
        }
    }
    u->work += a->count + k + 1;
    return true;
}
