/* The patterns of the parent side as one machine: all states of all patterns in one long
 * row of bits. Sets of them are kept sparsely, since few patterns outlive a few literal
 * bytes. docs/leases.md, Subsets. One thread at a time. */
#ifndef ARCP_CORE_GLOB_UNION_H
#define ARCP_CORE_GLOB_UNION_H

#include <arcp/error.h>

#include "core/glob_pattern.h"

/* 64 states. */
typedef struct arcp__glob_word {
    uint64_t bits; /* never 0 */
    uint32_t at;   /* which 64: ascending in a set */
} arcp__glob_word;

typedef struct arcp__glob_states_set {
    arcp__glob_word *words;
    uint32_t count;
} arcp__glob_states_set;

typedef struct arcp__glob_union {
    uint32_t words; /* of a row */
    uint32_t row_count;
    uint64_t *rows;                         /* owned; everything below points into it */
    uint64_t *start;                        /* before the first byte */
    uint64_t *accept;                       /* the pattern matches */
    uint64_t *eager;                        /* and goes on matching, whatever comes */
    uint64_t *skip;                         /* reached over the state between, by a '/' */
    uint64_t *keep[ARCP__GLOB_CLASS_COUNT]; /* the loop takes bytes of the class */
    uint64_t *steps;            /* reached by a byte: a row for each that is a literal */
    unsigned char literal[256]; /* which row, plus one; 0: the byte is none */
    uint64_t work;              /* words that were looked at, ever, and the like */
} arcp__glob_union;

/* For patterns that may be none. ARCP_E_LIMIT when the machine would be too large,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__glob_union_init(arcp__glob_union *u, const arcp_span *patterns,
                                                  size_t count);
void arcp__glob_union_fini(arcp__glob_union *u);

/* The sets below have room for u->words words. `out` may not be `set`. */

void arcp__glob_union_start(arcp__glob_union *u, arcp__glob_states_set *out);

/* What a byte leads to. */
void arcp__glob_union_step(arcp__glob_union *u, const arcp__glob_states_set *set,
                           unsigned char byte, arcp__glob_class byte_class,
                           arcp__glob_states_set *out);

/* Leaves the states that are in the row too. */
void arcp__glob_union_filter(arcp__glob_union *u, arcp__glob_states_set *set, const uint64_t *row);

/* Leaves the states that are in the other set too. */
void arcp__glob_union_intersect(arcp__glob_union *u, arcp__glob_states_set *set,
                                const arcp__glob_states_set *other);

bool arcp__glob_union_meets(arcp__glob_union *u, const arcp__glob_states_set *set,
                            const uint64_t *row);

/* Whether all states of `a` are in `b`. */
bool arcp__glob_union_is_within(arcp__glob_union *u, const arcp__glob_states_set *a,
                                const arcp__glob_states_set *b);

#endif
