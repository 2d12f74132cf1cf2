/* The parents' patterns as one machine: the states of all patterns in one long row of bits. Sets of
 * states are sparse, because few patterns still match after a few literal bytes. docs/leases.md,
 * Subsets. One thread at a time. */
#ifndef ARCP_CORE_GLOB_UNION_H
#define ARCP_CORE_GLOB_UNION_H

#include <arcp/error.h>

#include "core/glob_pattern.h"

/* A group of 64 states. */
typedef struct arcp__glob_word {
    uint64_t bits; /* never 0 */
    uint32_t at;   /* index of the group; ascending in a set */
} arcp__glob_word;

typedef struct arcp__glob_states_set {
    arcp__glob_word *words;
    uint32_t count;
} arcp__glob_states_set;

typedef struct arcp__glob_union {
    uint32_t words; /* of a row */
    uint32_t row_count;
    uint64_t *rows;                         /* owned; everything below points into it */
    uint64_t *start;                        /* states before the first byte */
    uint64_t *accept;                       /* states in which the pattern matches */
    uint64_t *eager;                        /* states in which it matches whatever follows */
    uint64_t *skip;                         /* states that a '/' reaches by skipping one */
    uint64_t *keep[ARCP__GLOB_CLASS_COUNT]; /* states whose loop takes bytes of the class */
    uint64_t *steps;                        /* states that a literal byte reaches: a row for each */
    unsigned char literal[256];             /* index of the byte's row plus one; 0: not a literal */
    uint64_t work;                          /* steps taken: words checked, and the like */
} arcp__glob_union;

/* Makes a machine of `count` patterns (may be 0). ARCP_E_LIMIT when it would be too large,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__glob_union_init(arcp__glob_union *u, const arcp_span *patterns,
                                                  size_t count);
void arcp__glob_union_fini(arcp__glob_union *u);

/* The sets below have capacity for u->words words. `out` must not be `set`. */

void arcp__glob_union_start(arcp__glob_union *u, arcp__glob_states_set *out);

/* The states that a byte leads to. */
void arcp__glob_union_step(arcp__glob_union *u, const arcp__glob_states_set *set,
                           unsigned char byte, arcp__glob_class byte_class,
                           arcp__glob_states_set *out);

/* Keeps the states that are also in the row. */
void arcp__glob_union_filter(arcp__glob_union *u, arcp__glob_states_set *set, const uint64_t *row);

/* Keeps the states that are also in the other set. */
void arcp__glob_union_intersect(arcp__glob_union *u, arcp__glob_states_set *set,
                                const arcp__glob_states_set *other);

bool arcp__glob_union_meets(arcp__glob_union *u, const arcp__glob_states_set *set,
                            const uint64_t *row);

/* Whether all states of `a` are in `b`. */
bool arcp__glob_union_is_within(arcp__glob_union *u, const arcp__glob_states_set *a,
                                const arcp__glob_states_set *b);

#endif
