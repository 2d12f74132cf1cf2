/* Eight bytes at a time: masks with 0x80 in the place of each byte that a test is true of.
 * Words are as little-endian machines load them: earlier bytes are lower. */
#ifndef ARCP_CORE_TARGET_WORD_H
#define ARCP_CORE_TARGET_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARCP__WORD_ONES  UINT64_C(0x0101010101010101)
#define ARCP__WORD_HIGHS UINT64_C(0x8080808080808080)

static inline uint64_t arcp__word_load(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Fewer than eight bytes, followed by as many of `fill` as are missing. */
static inline uint64_t arcp__word_load_short(const char *bytes, size_t size, unsigned char fill)
{
    char padded[8];
    memset(padded, fill, sizeof padded);
    for (size_t i = 0; i < size; i++) {
        padded[i] = bytes[i];
    }
    return arcp__word_load(padded);
}

/* Bytes that are zero. */
static inline uint64_t arcp__word_zero(uint64_t word)
{
    return ~(((word & ~ARCP__WORD_HIGHS) + ~ARCP__WORD_HIGHS) | word) & ARCP__WORD_HIGHS;
}

static inline uint64_t arcp__word_equal(uint64_t word, unsigned char byte)
{
    return arcp__word_zero(word ^ (ARCP__WORD_ONES * byte));
}

/* Bytes from `low` to `high`, both at most 0x7f. */
static inline uint64_t arcp__word_within(uint64_t word, unsigned char low, unsigned char high)
{
    const uint64_t seven = word & ~ARCP__WORD_HIGHS;
    const uint64_t at_least = seven + ARCP__WORD_ONES * (uint64_t)(0x80 - low);
    const uint64_t above = seven + ARCP__WORD_ONES * (uint64_t)(0x7f - high);
    return at_least & ~above & ~word & ARCP__WORD_HIGHS;
}

#endif
