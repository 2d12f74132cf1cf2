#include "core/glob_entry.h"

#include <stdlib.h>
#include <string.h>

enum {
    INSERTION_MAX = 16, /* entries that are sorted by insertion */
    /* How deep the recursion of a match may become; patterns of leases stay far below. */
    SEGMENTS_MAX = 64
};

/* What the wildcard at entry->first and all behind it come to. */

static uint32_t next_loop(const arcp__glob_states *states, uint32_t state)
{
    while (state < states->last && states->loops[state] == ARCP__GLOB_LOOP_NONE) {
        state++;
    }
    return state;
}

/* The state behind the literals of the segment that the loop at `first` is in: of its
 * separator, or the last one. UINT32_MAX when another loop comes before. */
static uint32_t segment_end(arcp__target_kind kind, const arcp__glob_states *states, uint32_t first)
{
    uint32_t state = first;
    while (state < states->last &&
           arcp__glob_class_of(kind, states->literals[state]) != ARCP__GLOB_SEPARATOR) {
        state++;
        if (states->loops[state] != ARCP__GLOB_LOOP_NONE) {
            return UINT32_MAX;
        }
    }
    return state;
}

/* Whether a query is taken by both of two neighbouring loops or by neither. */
static bool agree_on_query(arcp__target_kind kind, const arcp__glob_states *states, uint32_t second)
{
    return kind != ARCP__TARGET_URL || second != states->last;
}

static arcp__glob_kind classify_any(arcp__target_kind kind, const arcp__glob_states *states,
                                    arcp__glob_entry *entry)
{
    uint32_t first = entry->first;
    const bool is_whole = (states->loops[first] & ARCP__GLOB_LOOP_SKIP) != 0;
    if (is_whole) {
        first++;
        /* Whole segments and then a part of one are together anything. */
        if (states->loops[first] == ARCP__GLOB_LOOP_SEGMENT && !arcp__target_kind_has_dots(kind) &&
            agree_on_query(kind, states, first)) {
            if (first == states->last) {
                return ARCP__GLOB_ANYTHING;
            }
            if (next_loop(states, first + 1) == states->last &&
                states->loops[states->last] == ARCP__GLOB_LOOP_NONE) {
                entry->last = first;
                return ARCP__GLOB_REST_ANY;
            }
        }
    } else if (first == states->last) {
        return ARCP__GLOB_ANYTHING;
    }
    const uint32_t loop = next_loop(states, is_whole ? first : first + 1);
    if (loop == states->last && states->loops[loop] == ARCP__GLOB_LOOP_NONE) {
        entry->last = first;
        return is_whole ? ARCP__GLOB_REST_WHOLE : ARCP__GLOB_REST_ANY;
    }
    return ARCP__GLOB_REST_MACHINE;
}

static arcp__glob_kind classify(arcp__target_kind kind, const arcp__glob_states *states,
                                arcp__glob_entry *entry)
{
    const uint32_t first = entry->first;
    const uint8_t loop = states->loops[first];
    if (loop == ARCP__GLOB_LOOP_NONE) {
        return ARCP__GLOB_EXACT;
    }
    if ((loop & ARCP__GLOB_LOOP_ANY) != 0) {
        return classify_any(kind, states, entry);
    }
    if (first == states->last) {
        return ARCP__GLOB_SEGMENT;
    }
    entry->last = segment_end(kind, states, first);
    return entry->last == UINT32_MAX || entry->segments == SEGMENTS_MAX ? ARCP__GLOB_REST_MACHINE
                                                                        : ARCP__GLOB_SEGMENTED;
}

void arcp__glob_entry_forward(arcp__glob_entry *entry, arcp__target_kind kind,
                              const arcp__glob_states *states, bool is_first)
{
    const uint32_t state = is_first ? 0 : entry->last;
    entry->segments = is_first ? 0 : entry->segments + 1;
    entry->first = next_loop(states, is_first ? 0 : state + 1);
    entry->key = states->literals + state;
    entry->size = entry->first - state;
    if (states->tail && entry->first == states->last) {
        entry->size--; /* the '/' belongs to the tail */
        entry->kind = ARCP__GLOB_TAIL;
        return;
    }
    entry->kind = classify(kind, states, entry);
    if (entry->kind == ARCP__GLOB_REST_MACHINE) {
        entry->last = states->last;
        while (states->loops[entry->last] == ARCP__GLOB_LOOP_NONE) {
            entry->last--;
        }
        if ((states->loops[entry->last] & ARCP__GLOB_LOOP_SKIP) != 0) {
            entry->last++; /* the '/' may be passed over with the loop */
        }
    }
}

void arcp__glob_entry_backward(arcp__glob_entry *entry, const arcp__glob_states *states)
{
    const bool is_segment = entry->kind == ARCP__GLOB_SEGMENTED;
    const uint32_t from = is_segment ? entry->first : entry->last;
    entry->key = states->literals + from;
    entry->size = (is_segment ? entry->last : states->last) - from;
}

static int compare_sizes(const arcp__glob_entry *a, const arcp__glob_entry *b)
{
    if (a->size != b->size) {
        return a->size < b->size ? -1 : 1;
    }
    return (a->pattern > b->pattern) - (a->pattern < b->pattern);
}

static int compare_forward(const void *left, const void *right)
{
    const arcp__glob_entry *a = left;
    const arcp__glob_entry *b = right;
    const uint32_t common = a->size < b->size ? a->size : b->size;
    const int order = memcmp(a->key, b->key, common);
    return order != 0 ? order : compare_sizes(a, b);
}

static int compare_backward(const void *left, const void *right)
{
    const arcp__glob_entry *a = left;
    const arcp__glob_entry *b = right;
    const uint32_t common = a->size < b->size ? a->size : b->size;
    for (uint32_t depth = 0; depth < common; depth++) {
        const int order =
            (int)arcp__glob_key_byte(a, true, depth) - (int)arcp__glob_key_byte(b, true, depth);
        if (order != 0) {
            return order;
        }
    }
    return compare_sizes(a, b);
}

void arcp__glob_sort(arcp__glob_entry *entries, size_t count, bool backward)
{
    int (*const compare)(const void *, const void *) =
        backward ? compare_backward : compare_forward;
    if (count > INSERTION_MAX) {
        qsort(entries, count, sizeof *entries, compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const arcp__glob_entry moved = entries[i];
        size_t at = i;
        while (at > 0 && compare(&moved, &entries[at - 1]) < 0) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = moved;
    }
}
