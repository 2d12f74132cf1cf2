/* Paths: lexical, as bytes. Empty and `.` segments go, `..` takes the one before it. */
#include "core/target_kinds.h"
#include "core/target_word.h"

/* Each '/' or '.' that comes right behind a '/', and each NUL. ('/' is '.' + 1.) */
static uint64_t find_odd(uint64_t word, uint64_t after_slash, uint64_t *slash)
{
    *slash = arcp__word_equal(word, '/');
    const uint64_t slash_or_dot = arcp__word_equal(word | ARCP__WORD_ONES, '/');
    return arcp__word_zero(word) | ((*slash << 8 | after_slash) & slash_or_dot);
}

bool arcp__target_path_is_plain(arcp_span target)
{
    uint64_t odd = 0;
    uint64_t slash = 0;
    if (target.size < 8) {
        odd = find_odd(arcp__word_load_short(target.data, target.size, 'x'), 0, &slash);
    } else {
        for (size_t at = 0; at + 8 <= target.size; at += 8) {
            odd |= find_odd(arcp__word_load(target.data + at), slash >> 56, &slash);
        }
        /* The last eight bytes once more rather than fewer than eight. */
        odd |= find_odd(arcp__word_load(target.data + target.size - 8), 0, &slash);
    }
    return odd == 0 && (target.size == 1 || target.data[target.size - 1] != '/');
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
