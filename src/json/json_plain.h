/* Runs of plain characters: printable ASCII except quote and backslash, which stand for themselves
 * in a JSON string. */
#ifndef ARCP_JSON_JSON_PLAIN_H
#define ARCP_JSON_JSON_PLAIN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && !defined(ARCP__JSON_PLAIN_GENERIC)
#include <emmintrin.h>
#endif

static inline bool arcp__json_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* Loads `size` bytes, at most 8, the first one lowest. */
static inline uint64_t arcp__json_word(const unsigned char *text, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, text, size);
    return le64toh(word);
}

#define ARCP__JSON_ONES  UINT64_C(0x0101010101010101)
#define ARCP__JSON_HIGHS UINT64_C(0x8080808080808080)

/* Sets the high bit of each byte that is not plain. Borrows may also set bits of bytes behind such
 * a byte, but never before it: 0 means that all are plain, and the lowest bit marks the first that
 * is not. */
static inline uint64_t arcp__json_stops(uint64_t word)
{
    const uint64_t quote = word ^ (ARCP__JSON_ONES * '"');
    const uint64_t slash = word ^ (ARCP__JSON_ONES * '\\');
    const uint64_t stops = (quote - ARCP__JSON_ONES) | (slash - ARCP__JSON_ONES) |
                           (word - ARCP__JSON_ONES * 0x20) | word;
    return stops & ARCP__JSON_HIGHS;
}

/* The number of plain bytes from `cursor` on, up to ARCP__JSON_STEP. */
#if defined(__SSE2__) && !defined(ARCP__JSON_PLAIN_GENERIC)
#define ARCP__JSON_STEP 16u

static inline unsigned arcp__json_step(const unsigned char *cursor)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)cursor);
    /* As signed numbers the bytes from 0x80 on are below 0x20, too. */
    const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const int stop = _mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, slash)));
    return (unsigned)__builtin_ctz((unsigned)stop | 1u << ARCP__JSON_STEP);
}
#else
#define ARCP__JSON_STEP 8u

static inline unsigned arcp__json_step(const unsigned char *cursor)
{
    const uint64_t stops = arcp__json_stops(arcp__json_word(cursor, 8));
    return stops == 0 ? ARCP__JSON_STEP : (unsigned)__builtin_ctzll(stops) / 8;
}
#endif

/* The first byte of [cursor, end) that is not plain, or end. */
static inline const unsigned char *arcp__json_skip_plain(const unsigned char *cursor,
                                                         const unsigned char *end)
{
    const size_t size = (size_t)(end - cursor);
    for (size_t left = size; left >= ARCP__JSON_STEP; left -= ARCP__JSON_STEP) {
        const unsigned plain = arcp__json_step(cursor);
        cursor += plain;
        if (plain != ARCP__JSON_STEP) {
            return cursor;
        }
    }
    if (cursor < end && size >= ARCP__JSON_STEP) {
        /* Step over the last bytes again; those before `cursor` are known to be plain. */
        const unsigned char *last = end - ARCP__JSON_STEP;
        return last + arcp__json_step(last);
    }
    while (cursor < end && arcp__json_is_plain(*cursor)) {
        cursor++;
    }
    return cursor;
}

/* Short texts, such as names, are checked without a loop, as two words that may overlap. */
static inline bool arcp__json_is_all_plain(const unsigned char *text, size_t size)
{
    if (size > 16) {
        return arcp__json_skip_plain(text, text + size) == text + size;
    }
    uint64_t stops = 0;
    if (size >= 8) {
        stops = arcp__json_stops(arcp__json_word(text, 8)) |
                arcp__json_stops(arcp__json_word(text + size - 8, 8));
    } else if (size >= 4) {
        stops =
            arcp__json_stops(arcp__json_word(text, 4) | arcp__json_word(text + size - 4, 4) << 32);
    } else {
        for (size_t byte = 0; byte < size; byte++) {
            stops |= arcp__json_is_plain(text[byte]) ? 0 : 1;
        }
    }
    return stops == 0;
}

#endif
