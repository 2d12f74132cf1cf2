#include "base/base64.h"

#include <string.h>

#define NONE 0xff

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void arcp__base64_encode(arcp_span bytes, arcp__base64_form form, arcp_buf *out)
{
    const char *alphabet = form == ARCP__BASE64_STANDARD ? standard : url_safe;
    const unsigned char *data = (const unsigned char *)bytes.data;
    if (bytes.size > SIZE_MAX / 2 || !arcp_buf_reserve(out, bytes.size / 3 * 4 + 4)) {
        out->failed = true;
        return;
    }
    char *text = out->data + out->size;
    size_t i = 0;
    for (; bytes.size - i >= 3; i += 3) {
        const uint32_t group =
            (uint32_t)data[i] << 16 | (uint32_t)data[i + 1] << 8 | (uint32_t)data[i + 2];
        *text++ = alphabet[group >> 18];
        *text++ = alphabet[(group >> 12) & 63];
        *text++ = alphabet[(group >> 6) & 63];
        *text++ = alphabet[group & 63];
    }
    const size_t left = bytes.size - i;
    if (left > 0) {
        const uint32_t group =
            (uint32_t)data[i] << 16 | (left == 2 ? (uint32_t)data[i + 1] << 8 : 0);
        *text++ = alphabet[group >> 18];
        *text++ = alphabet[(group >> 12) & 63];
        if (left == 2) {
            *text++ = alphabet[(group >> 6) & 63];
        }
        for (size_t padding = left; form == ARCP__BASE64_STANDARD && padding < 3; padding++) {
            *text++ = '=';
        }
    }
    out->size = (size_t)(text - out->data);
}

/* Fills in the value of each byte as a digit, or NONE. It is made from the alphabet for each call:
 * that costs less than decoding 100 bytes, and there is no second table to keep in step. */
static void fill_values(unsigned char values[256], arcp__base64_form form)
{
    const char *alphabet = form == ARCP__BASE64_STANDARD ? standard : url_safe;
    memset(values, NONE, 256);
    for (unsigned char digit = 0; digit < 64; digit++) {
        values[(unsigned char)alphabet[digit]] = digit;
    }
}

/* Checks the text; `digits` is its length without padding. */
static arcp_status check(const unsigned char values[256], arcp_span text, arcp__base64_form form,
                         size_t *digits, arcp_error *err)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t count = text.size;
    if (form == ARCP__BASE64_STANDARD) {
        for (int padding = 0; padding < 2 && count > 0 && bytes[count - 1] == '='; padding++) {
            count--;
        }
    }
    unsigned char seen = 0;
    for (size_t i = 0; i < count; i++) {
        seen |= values[bytes[i]];
    }
    for (size_t i = 0; (seen & 0xc0) != 0 && i < count; i++) {
        if (values[bytes[i]] == NONE) {
            return bytes[i] == '='
                       ? arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, i,
                                           "base64: padding in the wrong place at byte %zu", i)
                       : arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, i,
                                           "base64: byte 0x%02x at byte %zu is not a digit",
                                           bytes[i], i);
        }
    }
    const size_t rest = count % 4;
    if (form == ARCP__BASE64_STANDARD && text.size - count != (rest == 0 ? 0 : 4 - rest)) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, text.size,
                                 "base64: groups of four characters, the last one filled up "
                                 "with '=', were expected");
    }
    unsigned unused = rest == 2 ? 15 : (rest == 3 ? 3 : 0);
    if (rest == 1 || (unused != 0 && (values[bytes[count - 1]] & unused) != 0)) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, count - 1,
                                 "base64: the text ends in the middle of a byte");
    }
    *digits = count;
    return ARCP_OK;
}

static size_t decoded_size(size_t digits)
{
    return digits / 4 * 3 + (digits % 4 == 0 ? 0 : digits % 4 - 1);
}

arcp_status arcp__base64_decoded_size(arcp_span text, arcp__base64_form form, size_t *out,
                                      arcp_error *err)
{
    unsigned char values[256];
    fill_values(values, form);
    size_t digits = 0;
    const arcp_status status = check(values, text, form, &digits, err);
    if (status == ARCP_OK) {
        *out = decoded_size(digits);
    }
    return status;
}

arcp_status arcp__base64_decode(arcp_span text, arcp__base64_form form, arcp_buf *out,
                                arcp_error *err)
{
    unsigned char values[256];
    fill_values(values, form);
    size_t digits = 0;
    const arcp_status status = check(values, text, form, &digits, err);
    if (status != ARCP_OK || digits == 0) {
        return status;
    }
    if (!arcp_buf_reserve(out, decoded_size(digits))) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const unsigned char *from = (const unsigned char *)text.data;
    char *to = out->data + out->size;
    for (size_t group = digits / 4; group > 0; group--, from += 4) {
        const uint32_t bits = (uint32_t)values[from[0]] << 18 | (uint32_t)values[from[1]] << 12 |
                              (uint32_t)values[from[2]] << 6 | values[from[3]];
        *to++ = (char)(bits >> 16);
        *to++ = (char)(bits >> 8);
        *to++ = (char)bits;
    }
    if (digits % 4 != 0) {
        uint32_t bits = (uint32_t)values[from[0]] << 18 | (uint32_t)values[from[1]] << 12;
        *to++ = (char)(bits >> 16);
        if (digits % 4 == 3) {
            bits |= (uint32_t)values[from[2]] << 6;
            *to++ = (char)(bits >> 8);
        }
    }
    out->size += decoded_size(digits);
    return ARCP_OK;
}
