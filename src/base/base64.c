#include "base/base64.h"

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void arcp__base64_encode(arcp_span bytes, arcp__base64_form form, arcp_buf *out)
{
    const char *alphabet = form == ARCP__BASE64_STANDARD ? standard : url_safe;
    const unsigned char *data = (const unsigned char *)bytes.data;
    for (size_t at = 0; at < bytes.size; at += 3) {
        size_t left = bytes.size - at;
        uint32_t group = (uint32_t)data[at] << 16;
        group |= left > 1 ? (uint32_t)data[at + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)data[at + 2] : 0;
        char text[4] = {alphabet[group >> 18], alphabet[(group >> 12) & 63],
                        alphabet[(group >> 6) & 63], alphabet[group & 63]};
        size_t size = left >= 3 ? 4 : left + 1;
        arcp_buf_append(out, arcp_span_make(text, size));
        if (form == ARCP__BASE64_STANDARD && size < 4) {
            arcp_buf_append(out, arcp_span_make("==", 4 - size));
        }
    }
}

static int value_of(char digit, arcp__base64_form form)
{
    if (digit >= 'A' && digit <= 'Z') {
        return digit - 'A';
    }
    if (digit >= 'a' && digit <= 'z') {
        return digit - 'a' + 26;
    }
    if (digit >= '0' && digit <= '9') {
        return digit - '0' + 52;
    }
    if (form == ARCP__BASE64_STANDARD) {
        return digit == '+' ? 62 : (digit == '/' ? 63 : -1);
    }
    return digit == '-' ? 62 : (digit == '_' ? 63 : -1);
}

/* Checks the text; `digits` is its length without padding. */
static arcp_status check(arcp_span text, arcp__base64_form form, size_t *digits, arcp_error *err)
{
    size_t count = text.size;
    if (form == ARCP__BASE64_STANDARD) {
        if (text.size % 4 != 0) {
            return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, text.size,
                                     "base64 must come in groups of four characters");
        }
        for (int padding = 0; padding < 2 && count > 0 && text.data[count - 1] == '='; padding++) {
            count--;
        }
    }
    for (size_t at = 0; at < count; at++) {
        if (value_of(text.data[at], form) < 0) {
            return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, at, "character %zu is not base64",
                                     at);
        }
    }
    size_t rest = count % 4;
    int unused = rest == 2 ? 15 : (rest == 3 ? 3 : 0);
    if (rest == 1 || (unused != 0 && (value_of(text.data[count - 1], form) & unused) != 0)) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, count == 0 ? 0 : count - 1,
                                 "base64 ends in the middle of a byte");
    }
    *digits = count;
    return ARCP_OK;
}

arcp_status arcp__base64_decoded_size(arcp_span text, arcp__base64_form form, size_t *out,
                                      arcp_error *err)
{
    size_t digits = 0;
    arcp_status status = check(text, form, &digits, err);
    if (status == ARCP_OK) {
        *out = digits / 4 * 3 + (digits % 4 == 0 ? 0 : digits % 4 - 1);
    }
    return status;
}

arcp_status arcp__base64_decode(arcp_span text, arcp__base64_form form, arcp_buf *out,
                                arcp_error *err)
{
    size_t digits = 0;
    arcp_status status = check(text, form, &digits, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_buf_reserve(out, digits / 4 * 3 + 3)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t at = 0; at < digits; at += 4) {
        size_t left = digits - at < 4 ? digits - at : 4;
        uint32_t group = 0;
        for (size_t digit = 0; digit < 4; digit++) {
            group <<= 6;
            group |= digit < left ? (uint32_t)value_of(text.data[at + digit], form) : 0;
        }
        char bytes[3] = {(char)(group >> 16), (char)(group >> 8), (char)group};
        arcp_buf_append(out, arcp_span_make(bytes, left - 1));
    }
    return ARCP_OK;
}
