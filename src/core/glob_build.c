/* Cuts tries from sorted entries, without recursion: a trie is an item of work, which
 * writes one node and leaves an item for each of its branches. The ranges of items that
 * wait are disjoint, so there are never more of them than patterns.
 *
 * The block grows while it is built; parts are named by their offset, because it moves. */
#include "core/glob_build.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "core/glob_entry.h"
#include "core/glob_machine.h"

enum { ALIGNMENT = 8 };

typedef enum trie { TRIE_FORWARD, TRIE_REST, TRIE_SEGMENT } trie;

typedef struct work {
    trie trie;
    arcp__glob_part slot; /* where the node's part is to be written */
    size_t low;           /* the range of entries */
    size_t high;
    uint32_t depth; /* bytes of the keys that stand in the nodes above */
} work;

typedef struct builder {
    char *block; /* begins with the set */
    size_t used;
    size_t capacity;
    bool failed;
    arcp__target_kind kind;
    arcp__glob_states *states; /* of each pattern */
    arcp__glob_entry *entries;
    size_t count;
    work *waiting;
    size_t waiting_count;
} builder;

static arcp__glob_set *set_of(const builder *b)
{
    return (arcp__glob_set *)(void *)b->block;
}

static void *part_at(const builder *b, arcp__glob_part part)
{
    return b->block + part;
}

/* `size` zeroed bytes of the block; 0 when out of memory, and for ever after. */
static arcp__glob_part take(builder *b, size_t size)
{
    const size_t begin = b->used;
    size_t end = 0;
    if (b->failed || __builtin_add_overflow(begin, size, &end) || end > UINT32_MAX / 2) {
        b->failed = true;
        return 0;
    }
    end = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (end > b->capacity) {
        const size_t capacity = end + end / 2;
        char *block = arcp__realloc(b->block, capacity);
        if (block == NULL) {
            b->failed = true;
            return 0;
        }
        b->block = block;
        b->capacity = capacity;
    }
    memset(b->block + begin, 0, end - begin);
    b->used = end;
    return (arcp__glob_part)begin;
}

static void wait_for(builder *b, trie kind, arcp__glob_part slot, size_t low, size_t high,
                     uint32_t depth)
{
    assert(b->waiting_count < b->count);
    b->waiting[b->waiting_count++] =
        (work){.trie = kind, .slot = slot, .low = low, .high = high, .depth = depth};
}

static void set_hit(arcp__glob_hit *hit, uint32_t pattern)
{
    if (*hit == 0 || pattern + 1 < *hit) {
        *hit = pattern + 1;
    }
}

/* The keys of a range of entries, and their order. */

static void sort_forward(builder *b, size_t low, size_t high, bool is_first)
{
    for (size_t i = low; i < high; i++) {
        arcp__glob_entry *entry = &b->entries[i];
        arcp__glob_entry_forward(entry, b->kind, &b->states[entry->pattern], is_first);
    }
    arcp__glob_sort(b->entries + low, high - low, false);
}

static void sort_backward(builder *b, size_t low, size_t high)
{
    for (size_t i = low; i < high; i++) {
        arcp__glob_entry *entry = &b->entries[i];
        arcp__glob_entry_backward(entry, &b->states[entry->pattern]);
    }
    arcp__glob_sort(b->entries + low, high - low, true);
}

/* Payloads: of the entries from `low` to `high`, whose keys end at the node. */

/* Moves the entries whose kind comes before `kind` to the front; where the others begin. */
static size_t partition(arcp__glob_entry *entries, size_t low, size_t high, arcp__glob_kind kind)
{
    for (size_t i = low; i < high; i++) {
        if (entries[i].kind < kind) {
            const arcp__glob_entry moved = entries[i];
            entries[i] = entries[low];
            entries[low++] = moved;
        }
    }
    return low;
}

static arcp__glob_part make_ends(builder *b, size_t low, size_t high)
{
    const arcp__glob_part part = take(b, sizeof(arcp__glob_ends));
    if (part == 0) {
        return 0;
    }
    arcp__glob_ends *ends = part_at(b, part);
    const size_t rest = partition(b->entries, low, high, ARCP__GLOB_REST_ANY);
    const size_t segmented = partition(b->entries, rest, high, ARCP__GLOB_SEGMENTED);
    for (size_t i = low; i < rest; i++) {
        arcp__glob_hit *const hits[] = {[ARCP__GLOB_EXACT] = &ends->exact,
                                        [ARCP__GLOB_TAIL] = &ends->tail,
                                        [ARCP__GLOB_SEGMENT] = &ends->segment,
                                        [ARCP__GLOB_ANYTHING] = &ends->any};
        set_hit(hits[b->entries[i].kind], b->entries[i].pattern);
    }
    if (rest < segmented) {
        sort_backward(b, rest, segmented);
        wait_for(b, TRIE_REST, part + offsetof(arcp__glob_ends, rest), rest, segmented, 0);
    }
    if (segmented < high) {
        sort_backward(b, segmented, high);
        wait_for(b, TRIE_SEGMENT, part + offsetof(arcp__glob_ends, segments), segmented, high, 0);
    }
    return part;
}

static arcp__glob_part make_classes(builder *b)
{
    const arcp__glob_part part = take(b, 256);
    if (part != 0) {
        set_of(b)->class_count =
            arcp__glob_classes_fill(b->kind, b->states, b->count, part_at(b, part));
        set_of(b)->classes = part;
    }
    return part;
}

static arcp__glob_part make_machine(builder *b, const arcp__glob_entry *entry)
{
    const arcp__glob_states *states = &b->states[entry->pattern];
    if (set_of(b)->classes == 0 && make_classes(b) == 0) {
        return 0;
    }
    arcp__glob_range range = {
        .first = entry->first, .last = entry->last, .accept_too = entry->last};
    if (states->tail && entry->last == states->last) {
        range.accept_too--;
    }
    const arcp__glob_part part = take(b, arcp__glob_machine_size(&range, set_of(b)->class_count));
    if (part != 0) {
        arcp__glob_machine_fill(part_at(b, part), entry->pattern, states, &range,
                                part_at(b, set_of(b)->classes));
    }
    return part;
}

static uint64_t mark_literals(const builder *b, const arcp__glob_entry *entry)
{
    const arcp__glob_states *states = &b->states[entry->pattern];
    uint64_t marks = 0;
    uint32_t end = entry->last;
    if (states->tail && end == states->last) {
        end--; /* the '/' of a tail may be missing */
    }
    for (uint32_t state = entry->first; state < end; state++) {
        if ((states->loops[state] & ARCP__GLOB_LOOP_SKIP) == 0) {
            marks |= arcp__glob_mark(states->literals[state]);
        }
    }
    return marks;
}

static arcp__glob_part make_rest(builder *b, size_t low, size_t high)
{
    const size_t machines = partition(b->entries, low, high, ARCP__GLOB_REST_MACHINE);
    const arcp__glob_part part = take(b, sizeof(arcp__glob_rest));
    const arcp__glob_part list = take(b, (high - machines) * sizeof(arcp__glob_candidate));
    if (list == 0) {
        return 0;
    }
    arcp__glob_rest *rest = part_at(b, part);
    for (size_t i = low; i < machines; i++) {
        set_hit(b->entries[i].kind == ARCP__GLOB_REST_ANY ? &rest->any : &rest->whole,
                b->entries[i].pattern);
    }
    rest->machine_count = (uint32_t)(high - machines);
    rest->machines = list;
    for (size_t i = machines; i < high; i++) {
        const arcp__glob_part machine = make_machine(b, &b->entries[i]);
        arcp__glob_candidate *const candidates = part_at(b, list);
        candidates[i - machines] = (arcp__glob_candidate){
            .literals = mark_literals(b, &b->entries[i]), .machine = machine};
    }
    return part;
}

static arcp__glob_part make_segment(builder *b, size_t low, size_t high)
{
    const arcp__glob_part part = take(b, sizeof(arcp__glob_segment));
    if (part == 0) {
        return 0;
    }
    arcp__glob_segment *segment = part_at(b, part);
    size_t next = low;
    for (size_t i = low; i < high; i++) {
        arcp__glob_entry *entry = &b->entries[i];
        if (entry->last == b->states[entry->pattern].last) {
            set_hit(&segment->end, entry->pattern);
            const arcp__glob_entry moved = *entry;
            *entry = b->entries[next];
            b->entries[next++] = moved;
        }
    }
    if (next < high) {
        sort_forward(b, next, high, false);
        wait_for(b, TRIE_FORWARD, part + offsetof(arcp__glob_segment, next), next, high, 0);
    }
    return part;
}

static arcp__glob_part make_payload(builder *b, trie kind, size_t low, size_t high)
{
    if (low == high) {
        return 0;
    }
    return kind == TRIE_FORWARD ? make_ends(b, low, high)
           : kind == TRIE_REST  ? make_rest(b, low, high)
                                : make_segment(b, low, high);
}

/* Nodes. */

/* How far the keys of a sorted range agree, from `depth` on. */
static uint32_t common_depth(const arcp__glob_entry *first, const arcp__glob_entry *last,
                             bool backward, uint32_t depth)
{
    const uint32_t end = first->size < last->size ? first->size : last->size;
    while (depth < end && arcp__glob_key_byte(first, backward, depth) ==
                              arcp__glob_key_byte(last, backward, depth)) {
        depth++;
    }
    return depth;
}

/* The end of the entries from `low` on that have the same byte at `depth`. */
static size_t same_byte(const builder *b, size_t low, size_t high, bool backward, uint32_t depth)
{
    const unsigned char byte = arcp__glob_key_byte(&b->entries[low], backward, depth);
    while (low < high && arcp__glob_key_byte(&b->entries[low], backward, depth) == byte) {
        low++;
    }
    return low;
}

static arcp__glob_part make_branches(builder *b, trie kind, size_t low, size_t high, uint32_t depth)
{
    const bool backward = kind != TRIE_FORWARD;
    uint32_t count = 0;
    for (size_t at = low; at < high; at = same_byte(b, at, high, backward, depth)) {
        count++;
    }
    const size_t table = count <= ARCP__GLOB_BRANCHES_FEW ? ARCP__GLOB_BRANCHES_FEW : 256;
    const size_t nodes = sizeof(arcp__glob_branches) + table;
    const arcp__glob_part part = take(b, nodes + count * sizeof(arcp__glob_part));
    if (part == 0) {
        return 0;
    }
    arcp__glob_branches *branches = part_at(b, part);
    branches->count = count;
    branches->nodes = (uint32_t)nodes;
    uint32_t index = 0;
    for (size_t at = low; at < high; index++) {
        const unsigned char byte = arcp__glob_key_byte(&b->entries[at], backward, depth);
        const size_t end = same_byte(b, at, high, backward, depth);
        if (table == ARCP__GLOB_BRANCHES_FEW) {
            branches->bytes[index] = byte;
        } else {
            branches->bytes[byte] = (unsigned char)(index + 1);
        }
        wait_for(b, kind, part + (arcp__glob_part)(nodes + index * sizeof(arcp__glob_part)), at,
                 end, depth);
        at = end;
    }
    return part;
}

static arcp__glob_part make_node(builder *b, const work *w)
{
    const bool backward = w->trie != TRIE_FORWARD;
    const arcp__glob_entry *first = &b->entries[w->low];
    const uint32_t depth = common_depth(first, &b->entries[w->high - 1], backward, w->depth);
    const uint32_t size = depth - w->depth;
    const arcp__glob_part part = take(b, sizeof(arcp__glob_node) + size);
    if (part == 0) {
        return 0;
    }
    arcp__glob_node *node = part_at(b, part);
    node->label_size = size;
    if (size != 0) {
        memcpy(node->label, backward ? first->key + first->size - depth : first->key + w->depth,
               size);
    }
    size_t longer = w->low;
    while (longer < w->high && b->entries[longer].size == depth) {
        longer++;
    }
    const arcp__glob_part branches =
        longer == w->high ? 0 : make_branches(b, w->trie, longer, w->high, depth);
    const arcp__glob_part payload = make_payload(b, w->trie, w->low, longer);
    node = part_at(b, part);
    node->branches = branches;
    node->payload = payload;
    return part;
}

static void build_tries(builder *b)
{
    for (size_t i = 0; i < b->count; i++) {
        b->entries[i].pattern = (uint32_t)i;
    }
    sort_forward(b, 0, b->count, true);
    wait_for(b, TRIE_FORWARD, offsetof(arcp__glob_set, root), 0, b->count, 0);
    while (b->waiting_count > 0 && !b->failed) {
        const work w = b->waiting[--b->waiting_count];
        const arcp__glob_part node = make_node(b, &w);
        if (node != 0) {
            *(arcp__glob_part *)part_at(b, w.slot) = node;
        }
    }
}

/* The builder's own tables, in one allocation: states, entries, waiting work, and the
 * room of the parsed patterns. */
static void *make_tables(builder *b, const arcp_span *patterns)
{
    size_t room = 0;
    for (size_t i = 0; i < b->count; i++) {
        room += ARCP__GLOB_ROOM(patterns[i].size);
    }
    const size_t each = sizeof *b->states + sizeof *b->entries + sizeof *b->waiting;
    size_t size = 0;
    if (b->count >= UINT32_MAX || __builtin_mul_overflow(b->count, each, &size) ||
        __builtin_add_overflow(size, room, &size)) {
        return NULL;
    }
    char *tables = arcp__alloc(size);
    if (tables == NULL) {
        return NULL;
    }
    b->entries = (arcp__glob_entry *)(void *)tables;
    b->states = (arcp__glob_states *)(void *)(b->entries + b->count);
    b->waiting = (work *)(void *)(b->states + b->count);
    unsigned char *text = (unsigned char *)(b->waiting + b->count);
    for (size_t i = 0; i < b->count; i++) {
        arcp__glob_parse(patterns[i], text, &b->states[i]);
        text += ARCP__GLOB_ROOM(patterns[i].size);
    }
    return tables;
}

arcp__glob_set *arcp__glob_build(arcp__capability capability, const arcp_span *patterns,
                                 size_t count)
{
    builder b = {.kind = arcp__capability_kind(capability), .count = count};
    b.capacity = sizeof(arcp__glob_set) + count * 96;
    b.block = arcp__alloc(b.capacity);
    if (b.block == NULL) {
        return NULL;
    }
    b.used = (sizeof(arcp__glob_set) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *set_of(&b) = (arcp__glob_set){
        .patterns = patterns, .count = count, .capability = capability, .kind = b.kind};
    if (count > 0) {
        void *tables = make_tables(&b, patterns);
        if (tables != NULL) {
            build_tries(&b);
        }
        b.failed = b.failed || tables == NULL;
        arcp__free(tables);
    }
    if (b.failed) {
        arcp__free(b.block);
        return NULL;
    }
    /* A set lives as long as its lease: give back what was too much. */
    char *fitted = arcp__realloc(b.block, b.used);
    return (arcp__glob_set *)(void *)(fitted == NULL ? b.block : fitted);
}
