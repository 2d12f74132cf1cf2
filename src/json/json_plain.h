/* Runs of plain characters: printable ASCII but quote and backslash, which stand for
 * themselves in a JSON string and need no second look. */
#ifndef ARCP_JSON_JSON_PLAIN_H
#define ARCP_JSON_JSON_PLAIN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARCP__JSON_ONES  UINT64_C(0x0101010101010101)
#define ARCP__JSON_HIGHS UINT64_C(0x8080808080808080)

static inline bool arcp__json_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* The first byte of [at, end) that is not plain, or end. Eight bytes at a time: in `stop`
 * the high bit of each byte that is not plain gets set. Borrows can set bits of bytes
 * behind such a byte too, never before it, and only the first one is looked at. */
static inline const unsigned char *arcp__json_skip_plain(const unsigned char *at,
                                                         const unsigned char *end)
{
    while ((size_t)(end - at) >= sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, at, sizeof(word));
        word = le64toh(word);
        uint64_t quote = word ^ (ARCP__JSON_ONES * '"');
        uint64_t slash = word ^ (ARCP__JSON_ONES * '\\');
        uint64_t stop = (quote - ARCP__JSON_ONES) | (slash - ARCP__JSON_ONES) |
                        (word - ARCP__JSON_ONES * 0x20) | word;
        stop &= ARCP__JSON_HIGHS;
        if (stop != 0) {
            return at + (size_t)__builtin_ctzll(stop) / 8;
        }
        at += sizeof(word);
    }
    while (at < end && arcp__json_is_plain(*at)) {
        at++;
    }
    return at;
}

#endif
