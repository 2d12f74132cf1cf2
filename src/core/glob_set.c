/* Compiles patterns into a set.
 *
 * Each pattern is an entry: its next literals, and what the wildcard after them amounts to. Tries
 * are made from sorted entries without recursion: a work item writes one node and queues an item
 * for each of its branches. The ranges of queued items are disjoint, so there are never more items
 * than patterns.
 *
 * The block grows and moves while it is built, so parts are named by their offsets. */
#include "core/glob_trie.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/glob_machine.h"

enum {
    ALIGNMENT = 8,
    INSERTION_MAX = 16, /* entries that are sorted by insertion */
    /* The deepest recursion of a match; patterns of leases stay far below. */
    SEGMENTS_MAX = 64
};

/* What follows the literals of an entry's key. */
typedef enum ending {
    EXACT,    /* nothing */
    TAIL,     /* nothing, or '/' and anything */
    SEGMENT,  /* one segment */
    ANYTHING, /* anything */
    /* Sorted by the end of the rest. */
    REST_ANY,   /* anything, then the suffix */
    REST_WHOLE, /* whole segments, then the suffix */
    REST_MACHINE,
    /* Sorted by the end of the segment. */
    SEGMENTED
} ending;

typedef struct glob_entry {
    const unsigned char *key; /* the literals for this trie */
    uint32_t size;
    uint32_t pattern;
    uint32_t first;    /* the state of the wildcard after the literals */
    uint32_t last;     /* the state at which the suffix begins, or the segment ends */
    uint32_t segments; /* segment wildcards before this one */
    ending ending;
} glob_entry;

typedef enum trie { TRIE_FORWARD, TRIE_REST, TRIE_SEGMENT } trie;

typedef struct work {
    trie trie;
    arcp__glob_part slot; /* where to write the node's offset */
    size_t low;           /* the range of entries */
    size_t high;
    uint32_t depth; /* bytes of the keys that the nodes above have */
} work;

typedef struct builder {
    char *block; /* begins with the set */
    size_t used;
    size_t capacity;
    bool failed;
    arcp__target_kind kind;
    arcp__glob_states *states; /* of each pattern */
    glob_entry *entries;
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

/* Takes `size` zeroed bytes of the block; 0 when out of memory, and from then on. */
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

static void queue_work(builder *b, trie kind, arcp__glob_part slot, size_t low, size_t high,
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

/* ---- keys of entries, and what follows them ---- */

static uint32_t next_loop(const arcp__glob_states *states, uint32_t state)
{
    while (state < states->last && states->loops[state] == ARCP__GLOB_LOOP_NONE) {
        state++;
    }
    return state;
}

static ending classify_any(arcp__target_kind kind, const arcp__glob_states *states, glob_entry *one)
{
    uint32_t first = one->first;
    const bool is_whole = (states->loops[first] & ARCP__GLOB_LOOP_SKIP) != 0;
    if (is_whole) {
        first++;
        /* Whole segments and then part of one are together anything, if both loops take a query or
         * neither does. */
        if (states->loops[first] == ARCP__GLOB_LOOP_SEGMENT && !arcp__target_kind_has_dots(kind) &&
            (kind != ARCP__TARGET_URL || first != states->last)) {
            if (first == states->last) {
                return ANYTHING;
            }
            if (next_loop(states, first + 1) == states->last &&
                states->loops[states->last] == ARCP__GLOB_LOOP_NONE) {
                one->last = first;
                return REST_ANY;
            }
        }
    } else if (first == states->last) {
        return ANYTHING;
    }
    const uint32_t loop = next_loop(states, is_whole ? first : first + 1);
    if (loop == states->last && states->loops[loop] == ARCP__GLOB_LOOP_NONE) {
        one->last = first;
        return is_whole ? REST_WHOLE : REST_ANY;
    }
    return REST_MACHINE;
}

/* Classifies the wildcard at one->first and all that follows it. */
static ending classify(arcp__target_kind kind, const arcp__glob_states *states, glob_entry *one)
{
    const uint8_t loop = states->loops[one->first];
    if (loop == ARCP__GLOB_LOOP_NONE) {
        return EXACT;
    }
    if ((loop & ARCP__GLOB_LOOP_ANY) != 0) {
        return classify_any(kind, states, one);
    }
    if (one->first == states->last) {
        return SEGMENT;
    }
    /* Find the separator after the literals of the segment, unless another loop comes first. */
    uint32_t state = one->first;
    while (state < states->last &&
           arcp__glob_class_of(kind, states->literals[state]) != ARCP__GLOB_SEPARATOR) {
        state++;
        if (states->loops[state] != ARCP__GLOB_LOOP_NONE) {
            return REST_MACHINE;
        }
    }
    one->last = state;
    return one->segments == SEGMENTS_MAX ? REST_MACHINE : SEGMENTED;
}

/* Sets the key to the literals up to the next wildcard: from the beginning of the pattern, or from
 * the separator at one->last that ends the segment. */
static void set_forward_key(glob_entry *one, arcp__target_kind kind,
                            const arcp__glob_states *states, bool is_first)
{
    const uint32_t state = is_first ? 0 : one->last;
    one->segments = is_first ? 0 : one->segments + 1;
    one->first = next_loop(states, is_first ? 0 : state + 1);
    one->key = states->literals + state;
    one->size = one->first - state;
    if (states->tail && one->first == states->last) {
        one->size--; /* the '/' belongs to the tail */
        one->ending = TAIL;
        return;
    }
    one->ending = classify(kind, states, one);
    if (one->ending == REST_MACHINE) {
        one->last = states->last;
        while (states->loops[one->last] == ARCP__GLOB_LOOP_NONE) {
            one->last--;
        }
        if ((states->loops[one->last] & ARCP__GLOB_LOOP_SKIP) != 0) {
            one->last++; /* the '/' may be skipped with the loop */
        }
    }
}

/* The byte of the key at `depth`, from the front or from the back. */
static inline unsigned char key_byte(const glob_entry *one, bool backward, uint32_t depth)
{
    return backward ? one->key[one->size - 1 - depth] : one->key[depth];
}

/* By key, shorter ones first, then by pattern. */
static int compare_sizes(const glob_entry *a, const glob_entry *b)
{
    if (a->size != b->size) {
        return a->size < b->size ? -1 : 1;
    }
    return (a->pattern > b->pattern) - (a->pattern < b->pattern);
}

static int compare_forward(const void *left, const void *right)
{
    const glob_entry *a = left;
    const glob_entry *b = right;
    const int order = memcmp(a->key, b->key, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : compare_sizes(a, b);
}

static int compare_backward(const void *left, const void *right)
{
    const glob_entry *a = left;
    const glob_entry *b = right;
    const uint32_t common = a->size < b->size ? a->size : b->size;
    for (uint32_t depth = 0; depth < common; depth++) {
        const int order = (int)key_byte(a, true, depth) - (int)key_byte(b, true, depth);
        if (order != 0) {
            return order;
        }
    }
    return compare_sizes(a, b);
}

static void sort(glob_entry *entries, size_t count, int (*compare)(const void *, const void *))
{
    if (count > INSERTION_MAX) {
        qsort(entries, count, sizeof *entries, compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const glob_entry moved = entries[i];
        size_t place = i;
        while (place > 0 && compare(&moved, &entries[place - 1]) < 0) {
            entries[place] = entries[place - 1];
            place--;
        }
        entries[place] = moved;
    }
}

static void sort_forward(builder *b, size_t low, size_t high, bool is_first)
{
    for (size_t i = low; i < high; i++) {
        set_forward_key(&b->entries[i], b->kind, &b->states[b->entries[i].pattern], is_first);
    }
    sort(b->entries + low, high - low, compare_forward);
}

/* Sets the keys to the literals at the end of the rest, or of the segment. */
static void sort_backward(builder *b, size_t low, size_t high)
{
    for (size_t i = low; i < high; i++) {
        glob_entry *one = &b->entries[i];
        const arcp__glob_states *states = &b->states[one->pattern];
        const bool is_segment = one->ending == SEGMENTED;
        const uint32_t from = is_segment ? one->first : one->last;
        one->key = states->literals + from;
        one->size = (is_segment ? one->last : states->last) - from;
    }
    sort(b->entries + low, high - low, compare_backward);
}

/* ---- payloads of nodes, from the entries `low` to `high` whose keys end there ---- */

/* Moves the entries whose ending is before `first` to the front; returns where the others begin. */
static size_t partition(glob_entry *entries, size_t low, size_t high, ending first)
{
    for (size_t i = low; i < high; i++) {
        if (entries[i].ending < first) {
            const glob_entry moved = entries[i];
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
    const size_t rest = partition(b->entries, low, high, REST_ANY);
    const size_t segmented = partition(b->entries, rest, high, SEGMENTED);
    arcp__glob_hit *const hits[] = {[EXACT] = &ends->exact,
                                    [TAIL] = &ends->tail,
                                    [SEGMENT] = &ends->segment,
                                    [ANYTHING] = &ends->any};
    for (size_t i = low; i < rest; i++) {
        set_hit(hits[b->entries[i].ending], b->entries[i].pattern);
    }
    if (rest < segmented) {
        sort_backward(b, rest, segmented);
        queue_work(b, TRIE_REST, part + offsetof(arcp__glob_ends, rest), rest, segmented, 0);
    }
    if (segmented < high) {
        sort_backward(b, segmented, high);
        queue_work(b, TRIE_SEGMENT, part + offsetof(arcp__glob_ends, segments), segmented, high, 0);
    }
    return part;
}

/* Makes the machine of an entry, and notes the literals that must occur for it to match. */
static arcp__glob_candidate make_machine(builder *b, const glob_entry *one)
{
    const arcp__glob_states *states = &b->states[one->pattern];
    arcp__glob_candidate made = {0};
    if (set_of(b)->classes == 0) {
        const arcp__glob_part classes = take(b, 256);
        if (classes == 0) {
            return made;
        }
        set_of(b)->class_count =
            arcp__glob_classes_fill(b->kind, b->states, b->count, part_at(b, classes));
        set_of(b)->classes = classes;
    }
    /* The '/' of a tail may be missing. */
    const bool has_tail = states->tail && one->last == states->last;
    const arcp__glob_range range = {
        .first = one->first, .last = one->last, .accept_too = one->last - (has_tail ? 1 : 0)};
    made.machine = take(b, arcp__glob_machine_size(&range, set_of(b)->class_count));
    if (made.machine != 0) {
        arcp__glob_machine_fill(part_at(b, made.machine), one->pattern, states, &range,
                                part_at(b, set_of(b)->classes));
    }
    for (uint32_t state = range.first; state < range.accept_too; state++) {
        if ((states->loops[state] & ARCP__GLOB_LOOP_SKIP) == 0) {
            made.literals |= arcp__glob_mark(states->literals[state]);
        }
    }
    return made;
}

static arcp__glob_part make_rest(builder *b, size_t low, size_t high)
{
    const size_t machines = partition(b->entries, low, high, REST_MACHINE);
    const arcp__glob_part part = take(b, sizeof(arcp__glob_rest));
    const arcp__glob_part list = take(b, (high - machines) * sizeof(arcp__glob_candidate));
    if (list == 0) {
        return 0;
    }
    arcp__glob_rest *rest = part_at(b, part);
    for (size_t i = low; i < machines; i++) {
        set_hit(b->entries[i].ending == REST_ANY ? &rest->any : &rest->whole,
                b->entries[i].pattern);
    }
    rest->machine_count = (uint32_t)(high - machines);
    rest->machines = list;
    for (size_t i = machines; i < high; i++) {
        const arcp__glob_candidate made = make_machine(b, &b->entries[i]);
        arcp__glob_candidate *const candidates = part_at(b, list); /* the block may have moved */
        candidates[i - machines] = made;
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
        const glob_entry one = b->entries[i];
        if (one.last == b->states[one.pattern].last) {
            set_hit(&segment->end, one.pattern);
            b->entries[i] = b->entries[next];
            b->entries[next++] = one;
        }
    }
    if (next < high) {
        sort_forward(b, next, high, false);
        queue_work(b, TRIE_FORWARD, part + offsetof(arcp__glob_segment, next), next, high, 0);
    }
    return part;
}

/* ---- nodes ---- */

/* The end of the entries from `low` on that have the same byte at `depth`. */
static size_t same_byte(const builder *b, size_t low, size_t high, bool backward, uint32_t depth)
{
    const unsigned char byte = key_byte(&b->entries[low], backward, depth);
    while (low < high && key_byte(&b->entries[low], backward, depth) == byte) {
        low++;
    }
    return low;
}

static arcp__glob_part make_branches(builder *b, trie kind, size_t low, size_t high, uint32_t depth)
{
    const bool backward = kind != TRIE_FORWARD;
    uint32_t count = 0;
    for (size_t i = low; i < high; i = same_byte(b, i, high, backward, depth)) {
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
    for (size_t i = low; i < high; index++) {
        const unsigned char byte = key_byte(&b->entries[i], backward, depth);
        const size_t end = same_byte(b, i, high, backward, depth);
        if (table == ARCP__GLOB_BRANCHES_FEW) {
            branches->bytes[index] = byte;
        } else {
            branches->bytes[byte] = (unsigned char)(index + 1);
        }
        queue_work(b, kind, part + (arcp__glob_part)(nodes + index * sizeof(arcp__glob_part)), i,
                   end, depth);
        i = end;
    }
    return part;
}

static void make_node(builder *b, const work *w)
{
    const bool backward = w->trie != TRIE_FORWARD;
    const glob_entry *first = &b->entries[w->low];
    const glob_entry *last = &b->entries[w->high - 1];
    /* The length to which the keys of the sorted range agree. */
    const uint32_t end = first->size < last->size ? first->size : last->size;
    uint32_t depth = w->depth;
    while (depth < end && key_byte(first, backward, depth) == key_byte(last, backward, depth)) {
        depth++;
    }
    const uint32_t size = depth - w->depth;
    const arcp__glob_part part = take(b, sizeof(arcp__glob_node) + size);
    if (part == 0) {
        return;
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
    arcp__glob_part payload = 0;
    if (longer > w->low) {
        payload = w->trie == TRIE_FORWARD ? make_ends(b, w->low, longer)
                  : w->trie == TRIE_REST  ? make_rest(b, w->low, longer)
                                          : make_segment(b, w->low, longer);
    }
    node = part_at(b, part);
    node->branches = branches;
    node->payload = payload;
    *(arcp__glob_part *)part_at(b, w->slot) = part;
}

/* ---- compiling ---- */

/* Makes the builder's tables in one allocation: entries, states, queued work, and the parsed
 * patterns. */
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
    b->entries = (glob_entry *)(void *)tables;
    b->states = (arcp__glob_states *)(void *)(b->entries + b->count);
    b->waiting = (work *)(void *)(b->states + b->count);
    unsigned char *text = (unsigned char *)(b->waiting + b->count);
    for (size_t i = 0; i < b->count; i++) {
        b->entries[i].pattern = (uint32_t)i;
        arcp__glob_parse(patterns[i], text, &b->states[i]);
        text += ARCP__GLOB_ROOM(patterns[i].size);
    }
    return tables;
}

arcp_status arcp__glob_set_compile(arcp__capability capability, const arcp_span *patterns,
                                   size_t count, arcp__glob_set **out, arcp_error *err)
{
    if (!arcp__capability_is_glob(capability)) {
        return arcp_error_set(err, ARCP_E_USAGE, "this capability has no patterns");
    }
    for (size_t i = 0; i < count; i++) {
        const char *fault = arcp__glob_pattern_fault(patterns[i]);
        if (fault != NULL) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s[%zu] %s",
                                  arcp__capability_name(capability), i, fault);
        }
    }
    builder b = {.kind = arcp__capability_kind(capability),
                 .count = count,
                 .used = (sizeof(arcp__glob_set) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                 .capacity = sizeof(arcp__glob_set) + count * 96};
    b.block = arcp__alloc(b.capacity);
    void *tables = b.block == NULL || count == 0 ? NULL : make_tables(&b, patterns);
    b.failed = b.block == NULL || (count > 0 && tables == NULL);
    if (!b.failed) {
        *set_of(&b) = (arcp__glob_set){
            .patterns = patterns, .count = count, .capability = capability, .kind = b.kind};
    }
    if (tables != NULL) {
        sort_forward(&b, 0, count, true);
        queue_work(&b, TRIE_FORWARD, offsetof(arcp__glob_set, root), 0, count, 0);
        while (b.waiting_count > 0 && !b.failed) {
            const work w = b.waiting[--b.waiting_count];
            make_node(&b, &w);
        }
        arcp__free(tables);
    }
    if (b.failed) {
        arcp__free(b.block);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for patterns");
    }
    /* A set lives as long as its lease, so shrink the block to its size. */
    char *fitted = arcp__realloc(b.block, b.used);
    *out = (arcp__glob_set *)(void *)(fitted == NULL ? b.block : fitted);
    return ARCP_OK;
}

void arcp__glob_set_free(arcp__glob_set *set)
{
    arcp__free(set);
}
