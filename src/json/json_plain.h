/* Runs of plain characters: printable ASCII but quote and backslash, which stand for
 * themselves in a JSON string and need no second look. */
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

/* The first of the bytes from `at` on that is not plain, or so many as are looked at. */
#if defined(__SSE2__) && !defined(ARCP__JSON_PLAIN_GENERIC)
#define ARCP__JSON_STEP 16u

static inline unsigned arcp__json_step(const unsigned char *at)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* As signed numbers those from 0x80 on are below 0x20 too. */
    const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const int stop = _mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, slash)));
    return (unsigned)__builtin_ctz((unsigned)stop | 1u << ARCP__JSON_STEP);
}
#else
#define ARCP__JSON_STEP  8u
#define ARCP__JSON_ONES  UINT64_C(0x0101010101010101)
#define ARCP__JSON_HIGHS UINT64_C(0x8080808080808080)

/* In `stop` the high bit of each byte that is not plain gets set. Borrows can set bits of bytes
 * behind such a byte too, never before it, and only the first one is looked at. */
static inline unsigned arcp__json_step(const unsigned char *at)
{
    uint64_t word = 0;
    memcpy(&word, at, sizeof(word));
    word = le64toh(word);
    uint64_t quote = word ^ (ARCP__JSON_ONES * '"');
    uint64_t slash = word ^ (ARCP__JSON_ONES * '\\');
    uint64_t stop = (quote - ARCP__JSON_ONES) | (slash - ARCP__JSON_ONES) |
                    (word - ARCP__JSON_ONES * 0x20) | word;
    stop &= ARCP__JSON_HIGHS;
    return stop == 0 ? ARCP__JSON_STEP : (unsigned)__builtin_ctzll(stop) / 8;
}
#endif

/* The first byte of [at, end) that is not plain, or end. */
static inline const unsigned char *arcp__json_skip_plain(const unsigned char *at,
                                                         const unsigned char *end)
{
    const size_t size = (size_t)(end - at);
    for (size_t left = size; left >= ARCP__JSON_STEP; left -= ARCP__JSON_STEP) {
        const unsigned plain = arcp__json_step(at);
        at += plain;
        if (plain != ARCP__JSON_STEP) {
            return at;
        }
    }
    if (at < end && size >= ARCP__JSON_STEP) {
        /* With bytes before it that are plain, as is known. */
        const unsigned char *last = end - ARCP__JSON_STEP;
        return last + arcp__json_step(last);
    }
    while (at < end && arcp__json_is_plain(*at)) {
        at++;
    }
    return at;
}

#endif
