/* 16-byte atomics of x86-64: `lock cmpxchg16b` to change a word, a plain aligned vector
 * load to read it. Both vendors promise that such a load is atomic on every processor
 * that has AVX; on older ones the load is a compare-and-swap too. The files that include
 * this are compiled with -mcx16 (src/core/CMakeLists.txt). */
#ifndef ARCP_CORE_BUDGET_WORD_X86_64_H
#define ARCP_CORE_BUDGET_WORD_X86_64_H

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include <arcp/decimal.h>

static inline arcp_decimal_units word_load(const arcp_decimal_units *word)
{
    if (!__builtin_cpu_supports("avx")) {
        return __sync_val_compare_and_swap((arcp_decimal_units *)word, 0, 0);
    }
    __m128i vector;
    __asm__ volatile("vmovdqa %1, %0" : "=x"(vector) : "m"(*word) : "memory");
    arcp_decimal_units value;
    memcpy(&value, &vector, sizeof value);
    return value;
}

/* On failure *expected becomes what the word holds. */
static inline bool word_swap(arcp_decimal_units *word, arcp_decimal_units *expected,
                             arcp_decimal_units wanted)
{
    const arcp_decimal_units seen = __sync_val_compare_and_swap(word, *expected, wanted);
    const bool swapped = seen == *expected;
    *expected = seen;
    return swapped;
}

#endif
