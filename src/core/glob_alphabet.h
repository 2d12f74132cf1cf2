/* Which bytes a wildcard has to be tried with. docs/leases.md, Subsets.
 *
 * A byte that is no literal of any pattern in the question ("fresh") keeps only those of
 * the parents' states whose loop takes it; any other byte of the same class keeps these
 * too. So one fresh byte stands for all bytes that lead to no better place in the shape of
 * targets, and separators, which some loops do not take, are tried by themselves. */
#ifndef ARCP_CORE_GLOB_ALPHABET_H
#define ARCP_CORE_GLOB_ALPHABET_H

#include "core/glob_pattern.h"
#include "core/target_shape.h"

typedef struct arcp__glob_alphabet {
    unsigned char special[3]; /* separators, and '?' of URLs */
    size_t special_count;
    unsigned char ordinary[256]; /* fresh ones first, in the order of preference */
    size_t ordinary_count;
    size_t fresh_count;
} arcp__glob_alphabet;

/* `used`: the literals of all patterns in the question. A star is never one of them, so a
 * fresh byte is there wherever a target may have a star. */
void arcp__glob_alphabet_fill(arcp__glob_alphabet *alphabet, arcp__target_kind kind,
                              const bool used[256]);

#endif
