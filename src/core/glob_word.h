/* Eight bytes at a time. Words are as little-endian machines load them: earlier bytes are
 * lower. */
#ifndef ARCP_CORE_GLOB_WORD_H
#define ARCP_CORE_GLOB_WORD_H

#include <stdint.h>
#include <string.h>

static inline uint64_t arcp__word_load(const void *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* 0x80 in the place of each byte that is `byte`. */
static inline uint64_t arcp__word_equal(uint64_t word, unsigned char byte)
{
    const uint64_t sevens = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t other = word ^ (UINT64_C(0x0101010101010101) * byte);
    return ~(((other & sevens) + sevens) | other | sevens);
}

#endif
