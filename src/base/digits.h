/* Decimal numbers in untrusted text. */
#ifndef ARCP_BASE_DIGITS_H
#define ARCP_BASE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/span.h>

/* Reads the digits at the beginning of `text` and removes them from it. False, with nothing
 * changed, when there are none or the number does not fit. */
static inline bool arcp__digits_take(arcp_span *text, uint64_t *out)
{
    uint64_t number = 0;
    size_t size = 0;
    for (; size < text->size && text->data[size] >= '0' && text->data[size] <= '9'; size++) {
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text->data[size] - '0'), &number)) {
            return false;
        }
    }
    if (size == 0) {
        return false;
    }
    *text = arcp_span_from(*text, size);
    *out = number;
    return true;
}

/* Reads a text that must consist of digits only. */
static inline bool arcp__digits_parse(arcp_span text, uint64_t *out)
{
    uint64_t number = 0;
    const bool is_number = arcp__digits_take(&text, &number) && text.size == 0;
    *out = is_number ? number : *out;
    return is_number;
}

#endif
