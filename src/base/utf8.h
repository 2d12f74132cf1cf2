/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF. */
#ifndef ARCP_BASE_UTF8_H
#define ARCP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/span.h>

/* Length of the longest valid prefix; text.size when all of it is valid. */
size_t arcp__utf8_valid_prefix(arcp_span text);

static inline bool arcp__utf8_is_valid(arcp_span text)
{
    return arcp__utf8_valid_prefix(text) == text.size;
}

/* Writes `code_point` (no surrogate, at most 0x10FFFF); returns 1 to 4. */
size_t arcp__utf8_encode(uint32_t code_point, char out[4]);

/* The largest prefix of at most `size` bytes that does not cut a character. */
size_t arcp__utf8_cut(arcp_span text, size_t size);

#endif
