/* 16-byte atomics for machines other than x86-64, from the compiler and its libatomic:
 * lock-free where the machine has such an instruction (64-bit Arm does), correct
 * everywhere. */
#ifndef ARCP_CORE_BUDGET_WORD_GENERIC_H
#define ARCP_CORE_BUDGET_WORD_GENERIC_H

#include <stdbool.h>

#include <arcp/decimal.h>

/* clang warns of what this file is for. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Watomic-alignment"
#endif

static inline arcp_decimal_units word_load(const arcp_decimal_units *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* On failure *expected becomes what the word holds. */
static inline bool word_swap(arcp_decimal_units *word, arcp_decimal_units *expected,
                             arcp_decimal_units wanted)
{
    return __atomic_compare_exchange_n(word, expected, wanted, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

#endif
