/* Names of tools, agents, models and whatever vendors name: the bytes as they are. */
#include "base/utf8.h"
#include "core/target_kinds.h"
#include "core/target_scan.h"

/* Bytes that are not printable ASCII, and a '.' behind a '/'. */
static inline arcp__scan_bytes is_odd(arcp__scan_bytes bytes, arcp__scan_bytes before)
{
    return (bytes < 0x20) | (bytes == 0x7f) | ((bytes == '.') & (before == '/'));
}

bool arcp__target_name_is_plain(arcp_span target)
{
    const char first = target.data[0];
    return first >= 0x20 && first < 0x7f && first != '.' && arcp__scan_is_even(target, is_odd);
}

static bool has_control_byte(arcp_span target)
{
    for (size_t i = 0; i < target.size; i++) {
        const unsigned char byte = (unsigned char)target.data[i];
        if (byte < 0x20 || byte == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool has_dot_segment(arcp_span target)
{
    size_t begin = 0;
    for (size_t i = 0; i <= target.size; i++) {
        if (i != target.size && target.data[i] != '/') {
            continue;
        }
        const arcp_span segment = arcp_span_make(target.data + begin, i - begin);
        if (arcp_span_equal_cstr(segment, ".") || arcp_span_equal_cstr(segment, "..")) {
            return true;
        }
        begin = i + 1;
    }
    return false;
}

/* [arcp:9.7-2] */
arcp_deny_reason arcp__target_name(arcp_span target)
{
    if (!arcp__utf8_is_valid(target)) {
        return ARCP_DENY_BAD_UTF8;
    }
    if (has_control_byte(target)) {
        return ARCP_DENY_CONTROL_BYTE;
    }
    return has_dot_segment(target) ? ARCP_DENY_DOT_SEGMENT : ARCP_DENY_NONE;
}
