/* Names of tools, agents, models and whatever vendors name: the bytes as they are. */
#include "base/utf8.h"
#include "core/target_kinds.h"
#include "core/target_word.h"

/* Bytes that need a closer look: not ASCII, or control bytes. */
static uint64_t find_odd(uint64_t word)
{
    return ~arcp__word_within(word, 0x20, 0x7e) & ARCP__WORD_HIGHS;
}

bool arcp__target_name_is_plain(arcp_span target)
{
    if (target.data[0] == '.') {
        return false;
    }
    if (target.size < 8) {
        const uint64_t word = arcp__word_load_short(target.data, target.size, 'x');
        return (find_odd(word) |
                (arcp__word_equal(word, '/') << 8 & arcp__word_equal(word, '.'))) == 0;
    }
    uint64_t odd = 0;
    uint64_t after_slash = 0;
    size_t at = 0;
    for (; at + 8 <= target.size; at += 8) {
        const uint64_t word = arcp__word_load(target.data + at);
        const uint64_t slash = arcp__word_equal(word, '/');
        odd |= find_odd(word) | ((slash << 8 | after_slash) & arcp__word_equal(word, '.'));
        after_slash = slash >> 56;
    }
    /* The last eight bytes once more rather than fewer than eight. */
    const uint64_t word = arcp__word_load(target.data + target.size - 8);
    odd |= find_odd(word) | (arcp__word_equal(word, '/') << 8 & arcp__word_equal(word, '.'));
    return odd == 0;
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
