/* The canonical form of targets: paths and names here, URLs in target_url.c. */
#include "core/target.h"

#include "base/utf8.h"
#include "core/target_scan.h"
#include "core/target_url.h"

/* ---- paths, as bytes: empty and `.` segments are removed, `..` removes the one before it ---- */

/* Odd: a '/' or a '.' directly after a '/', and NUL. */
static inline arcp__scan_bytes is_odd_in_path(arcp__scan_bytes bytes, arcp__scan_bytes before)
{
    return (bytes == 0) | ((before == '/') & ((bytes == '/') | (bytes == '.')));
}

/* The next non-empty segment from *next on; empty at the end. */
static inline arcp_span next_segment(arcp_span target, size_t *next)
{
    while (*next < target.size && target.data[*next] == '/') {
        (*next)++;
    }
    const size_t begin = *next;
    if (begin == target.size) {
        return arcp_span_make(NULL, 0);
    }
    const char *slash = memchr(target.data + begin, '/', target.size - begin);
    *next = slash == NULL ? target.size : (size_t)(slash - target.data);
    return arcp_span_make(target.data + begin, *next - begin);
}

/* [arcp:LA-9] */
static arcp_deny_reason canonical_path(arcp_span target, bool has_cwd, char *bytes,
                                       arcp_span *canonical)
{
    const bool is_absolute = target.data[0] == '/';
    if (!is_absolute && !has_cwd) {
        return ARCP_DENY_ESCAPES_BASE;
    }
    const size_t root = is_absolute ? 1 : 0;
    size_t size = root; /* of the segments kept so far */
    if (is_absolute) {
        bytes[0] = '/';
    }
    size_t next = 0;
    for (arcp_span segment = next_segment(target, &next); segment.size != 0;
         segment = next_segment(target, &next)) {
        const bool may_be_dots = segment.data[0] == '.';
        if (may_be_dots && arcp_span_equal_cstr(segment, "..")) {
            if (size == root && !is_absolute) {
                return ARCP_DENY_ESCAPES_BASE;
            }
            while (size > root && bytes[size - 1] != '/') {
                size--;
            }
            size -= size > root ? 1 : 0;
        } else if (!may_be_dots || !arcp_span_equal_cstr(segment, ".")) {
            if (size > root) {
                bytes[size++] = '/';
            }
            memcpy(bytes + size, segment.data, segment.size);
            size += segment.size;
        }
    }
    if (size == 0) {
        return ARCP_DENY_BASE_ITSELF;
    }
    const arcp_span result = arcp_span_make(bytes, size);
    *canonical = arcp_span_equal(result, target) ? target : result;
    return ARCP_DENY_NONE;
}

/* ---- names (of tools, agents, models, and vendors' targets): unchanged bytes ---- */

/* Odd: bytes that are not printable ASCII, and a '.' after a '/'. */
static inline arcp__scan_bytes is_odd_in_name(arcp__scan_bytes bytes, arcp__scan_bytes before)
{
    return (bytes < 0x20) | (bytes == 0x7f) | ((bytes == '.') & (before == '/'));
}

/* A name is either canonical as it is or denied. [arcp:9.7-2] */
static arcp_deny_reason check_name(arcp_span target)
{
    if (!arcp__utf8_is_valid(target)) {
        return ARCP_DENY_BAD_UTF8;
    }
    if (arcp__has_control_byte(target)) {
        return ARCP_DENY_CONTROL_BYTE;
    }
    size_t next = 0;
    for (arcp_span segment = next_segment(target, &next); segment.size != 0;
         segment = next_segment(target, &next)) {
        if (arcp_span_equal_cstr(segment, ".") || arcp_span_equal_cstr(segment, "..")) {
            return ARCP_DENY_DOT_SEGMENT;
        }
    }
    return ARCP_DENY_NONE;
}

/* ---- all kinds ---- */

/* Whether the target is canonical already, as most are. One pass over its bytes. */
static bool is_plain(arcp__target_kind kind, arcp_span target)
{
    const char first = target.data[0];
    if (kind == ARCP__TARGET_PATH) {
        return first == '/' && (target.size == 1 || target.data[target.size - 1] != '/') &&
               arcp__scan_is_even(target, is_odd_in_path);
    }
    if (kind == ARCP__TARGET_URL) {
        return arcp__target_url_is_plain(target);
    }
    return (kind == ARCP__TARGET_TOOL || kind == ARCP__TARGET_NAME) && first >= 0x20 &&
           first < 0x7f && first != '.' && arcp__scan_is_even(target, is_odd_in_name);
}

/* [arcp:LA-7] */
arcp_deny_reason arcp__target_canonicalise(arcp__capability capability, arcp_span cwd,
                                           arcp_span target, arcp_target_scratch *scratch,
                                           arcp_span *canonical)
{
    if (target.size == 0) {
        return ARCP_DENY_EMPTY;
    }
    const arcp__target_kind kind = arcp__capability_kind(capability);
    if (target.size <= ARCP_TARGET_BYTES_MAX && is_plain(kind, target)) {
        *canonical = target;
        return ARCP_DENY_NONE;
    }
    /* All others, with every check in its documented order. */
    if (memchr(target.data, '\0', target.size) != NULL) {
        return ARCP_DENY_NUL;
    }
    if (target.size > ARCP_TARGET_BYTES_MAX) {
        return ARCP_DENY_TOO_LONG;
    }
    if (kind == ARCP__TARGET_PATH) {
        return canonical_path(target, cwd.size != 0, scratch->bytes, canonical);
    }
    if (kind == ARCP__TARGET_URL) {
        return arcp__target_url(target, scratch->bytes, canonical);
    }
    if (kind != ARCP__TARGET_TOOL && kind != ARCP__TARGET_NAME) {
        return ARCP_DENY_UNKNOWN_CAPABILITY;
    }
    const arcp_deny_reason reason = check_name(target);
    *canonical = reason == ARCP_DENY_NONE ? target : *canonical;
    return reason;
}
