/* Hexadecimal digits. */
#ifndef ARCP_BASE_HEX_H
#define ARCP_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* The value of a digit, of either case, or -1. */
static inline int arcp__hex_value(unsigned char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    const unsigned char lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Writes 2 * size lower-case digits, and no NUL. */
static inline void arcp__hex_format(const uint8_t *bytes, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
}

#endif
