/* The patterns that are being put into a set: which literals they go on with, what the
 * wildcard behind these comes to, and the order in which tries are cut from them. */
#ifndef ARCP_CORE_GLOB_ENTRY_H
#define ARCP_CORE_GLOB_ENTRY_H

#include <stddef.h>

#include "core/glob_pattern.h"

/* What follows the literals of an entry's key. */
typedef enum arcp__glob_kind {
    ARCP__GLOB_EXACT,    /* nothing */
    ARCP__GLOB_TAIL,     /* nothing, or '/' and anything */
    ARCP__GLOB_SEGMENT,  /* one segment */
    ARCP__GLOB_ANYTHING, /* anything */
    /* By how the rest ends. */
    ARCP__GLOB_REST_ANY,   /* anything, then the suffix */
    ARCP__GLOB_REST_WHOLE, /* whole segments, then the suffix */
    ARCP__GLOB_REST_MACHINE,
    /* By how the segment ends. */
    ARCP__GLOB_SEGMENTED
} arcp__glob_kind;

typedef struct arcp__glob_entry {
    const unsigned char *key; /* the literals this trie is about */
    uint32_t size;
    uint32_t pattern;
    uint32_t first;    /* the state that the wildcard behind the literals is at */
    uint32_t last;     /* the state that the suffix begins at, or that the segment ends at */
    uint32_t segments; /* wildcards that are behind us, one segment each */
    arcp__glob_kind kind;
} arcp__glob_entry;

/* Makes the key the literals up to the next wildcard: of the whole pattern, or from the
 * separator on that ends the segment entry->last. */
void arcp__glob_entry_forward(arcp__glob_entry *entry, arcp__target_kind kind,
                              const arcp__glob_states *states, bool is_first);

/* Makes the key what the rest of the target ends with, or its segment. */
void arcp__glob_entry_backward(arcp__glob_entry *entry, const arcp__glob_states *states);

/* The byte of the key that comes at `depth`: from the front, or from the back. */
static inline unsigned char arcp__glob_key_byte(const arcp__glob_entry *entry, bool backward,
                                                uint32_t depth)
{
    return backward ? entry->key[entry->size - 1 - depth] : entry->key[depth];
}

/* By key, shorter ones first, then by pattern. */
void arcp__glob_sort(arcp__glob_entry *entries, size_t count, bool backward);

#endif
