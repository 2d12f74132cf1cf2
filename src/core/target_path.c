/* Paths: lexical, as bytes. Empty and `.` segments go, `..` takes the one before it. */
#include "core/target_kinds.h"
#include "core/target_scan.h"

/* A '/' or a '.' right behind a '/', and NUL. */
static inline arcp__scan_bytes is_odd(arcp__scan_bytes bytes, arcp__scan_bytes before)
{
    return (bytes == 0) | ((before == '/') & ((bytes == '/') | (bytes == '.')));
}

bool arcp__target_path_is_plain(arcp_span target)
{
    return target.data[0] == '/' && (target.size == 1 || target.data[target.size - 1] != '/') &&
           arcp__scan_is_even(target, is_odd);
}

/* The segments kept so far, in the scratch. */
typedef struct path {
    char *bytes;
    size_t size;
    size_t root; /* 1 when the path begins with '/' */
} path;

static void add_segment(path *out, arcp_span segment)
{
    if (out->size > out->root) {
        out->bytes[out->size++] = '/';
    }
    memcpy(out->bytes + out->size, segment.data, segment.size);
    out->size += segment.size;
}

/* Drops the last segment; false when there is none. */
static bool drop_segment(path *out)
{
    if (out->size == out->root) {
        return false;
    }
    while (out->size > out->root && out->bytes[out->size - 1] != '/') {
        out->size--;
    }
    if (out->size > out->root) {
        out->size--;
    }
    return true;
}

/* The next segment that is not empty, from *at on; empty at the end. */
static arcp_span next_segment(arcp_span target, size_t *at)
{
    while (*at < target.size && target.data[*at] == '/') {
        (*at)++;
    }
    const size_t begin = *at;
    if (begin == target.size) {
        return arcp_span_make(NULL, 0);
    }
    const char *slash = memchr(target.data + begin, '/', target.size - begin);
    *at = slash == NULL ? target.size : (size_t)(slash - target.data);
    return arcp_span_make(target.data + begin, *at - begin);
}

/* [arcp:LA-9] */
arcp_deny_reason arcp__target_path(arcp_span target, bool has_cwd, char *scratch,
                                   arcp_span *canonical)
{
    const bool is_absolute = target.data[0] == '/';
    if (!is_absolute && !has_cwd) {
        return ARCP_DENY_ESCAPES_BASE;
    }
    path out = {.bytes = scratch};
    if (is_absolute) {
        out.bytes[out.size++] = '/';
        out.root = 1;
    }
    size_t at = 0;
    while (true) {
        const arcp_span segment = next_segment(target, &at);
        if (segment.size == 0) {
            break;
        }
        if (arcp_span_equal_cstr(segment, ".")) {
            continue;
        }
        if (!arcp_span_equal_cstr(segment, "..")) {
            add_segment(&out, segment);
        } else if (!drop_segment(&out) && !is_absolute) {
            return ARCP_DENY_ESCAPES_BASE;
        }
    }
    if (out.size == 0) {
        return ARCP_DENY_BASE_ITSELF;
    }
    const arcp_span result = arcp_span_make(out.bytes, out.size);
    *canonical = arcp_span_equal(result, target) ? target : result;
    return ARCP_DENY_NONE;
}
