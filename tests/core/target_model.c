#include "core/target_model.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* A string cut at a byte; the parts are copies. */
typedef struct parts {
    char **texts;
    size_t count;
} parts;

static char *copy(const char *text, size_t size)
{
    char *made = calloc(size + 1, 1);
    if (made == NULL) {
        abort();
    }
    memcpy(made, text, size);
    return made;
}

static void push(parts *list, char *text)
{
    list->texts = realloc(list->texts, (list->count + 1) * sizeof *list->texts);
    if (list->texts == NULL) {
        abort();
    }
    list->texts[list->count++] = text;
}

static void pop(parts *list)
{
    free(list->texts[--list->count]);
}

static parts split(const char *text, const char *at_any_of)
{
    parts list = {NULL, 0};
    while (true) {
        const size_t size = strcspn(text, at_any_of);
        push(&list, copy(text, size));
        if (text[size] == '\0') {
            return list;
        }
        text += size + 1;
    }
}

static void free_parts(parts *list)
{
    while (list->count > 0) {
        pop(list);
    }
    free(list->texts);
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Paths. */

static arcp_deny_reason model_path(bool has_cwd, const char *target, arcp_buf *out)
{
    const bool absolute = target[0] == '/';
    parts given = split(target, "/");
    parts kept = {NULL, 0};
    arcp_deny_reason reason = absolute || has_cwd ? ARCP_DENY_NONE : ARCP_DENY_ESCAPES_BASE;
    for (size_t i = 0; i < given.count && reason == ARCP_DENY_NONE; i++) {
        const char *segment = given.texts[i];
        if (is(segment, "") || is(segment, ".")) {
            continue;
        }
        if (!is(segment, "..")) {
            push(&kept, copy(segment, strlen(segment)));
        } else if (kept.count > 0) {
            pop(&kept);
        } else if (!absolute) {
            reason = ARCP_DENY_ESCAPES_BASE;
        }
    }
    if (reason == ARCP_DENY_NONE && !absolute && kept.count == 0) {
        reason = ARCP_DENY_BASE_ITSELF;
    }
    if (reason == ARCP_DENY_NONE) {
        arcp_buf_append_cstr(out, absolute ? "/" : "");
        for (size_t i = 0; i < kept.count; i++) {
            arcp_buf_append_cstr(out, i == 0 ? "" : "/");
            arcp_buf_append_cstr(out, kept.texts[i]);
        }
    }
    free_parts(&given);
    free_parts(&kept);
    return reason;
}

/* Names. */

/* Decodes each character and checks that it is written in the only allowed way. */
static bool is_utf8(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    while (*bytes != 0) {
        const size_t size = *bytes < 0x80             ? 1
                            : (*bytes & 0xe0) == 0xc0 ? 2
                            : (*bytes & 0xf0) == 0xe0 ? 3
                            : (*bytes & 0xf8) == 0xf0 ? 4
                                                      : 0;
        unsigned long code = size == 1 ? *bytes : *bytes & (0x7fU >> size);
        for (size_t i = 1; i < size; i++) {
            if ((bytes[i] & 0xc0) != 0x80) {
                return false;
            }
            code = code << 6 | (bytes[i] & 0x3fU);
        }
        const size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (size != shortest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
            return false;
        }
        bytes += size;
    }
    return true;
}

static bool has_dot_segment(const char *text)
{
    parts segments = split(text, "/");
    bool has = false;
    for (size_t i = 0; i < segments.count; i++) {
        has = has || is(segments.texts[i], ".") || is(segments.texts[i], "..");
    }
    free_parts(&segments);
    return has;
}

static arcp_deny_reason model_name(const char *target, arcp_buf *out)
{
    if (!is_utf8(target)) {
        return ARCP_DENY_BAD_UTF8;
    }
    for (const char *byte = target; *byte != '\0'; byte++) {
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f) {
            return ARCP_DENY_CONTROL_BYTE;
        }
    }
    if (has_dot_segment(target)) {
        return ARCP_DENY_DOT_SEGMENT;
    }
    arcp_buf_append_cstr(out, target);
    return ARCP_DENY_NONE;
}

/* URLs. */

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (is(text, *list)) {
            return true;
        }
    }
    return false;
}

static void lower(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)tolower((unsigned char)*text);
    }
}

static bool is_port(const char *text)
{
    const size_t size = strlen(text);
    const long value = strtol(text, NULL, 10);
    return size >= 1 && size <= 5 && strspn(text, "0123456789") == size && value >= 1 &&
           value <= 65535;
}

/* host[:port] */
static bool is_authority(const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t size = strspn(text, letters);
    if (text[0] == '[') {
        size = strcspn(text, "]");
        char *address = copy(text + 1, size > 0 ? size - 1 : 0);
        struct in6_addr parsed;
        const bool good = text[size] == ']' && inet_pton(AF_INET6, address, &parsed) == 1;
        free(address);
        if (!good) {
            return false;
        }
        size++;
    }
    return size > 0 && (text[size] == '\0' || (text[size] == ':' && is_port(text + size + 1)));
}

static bool is_escape(const char *bytes)
{
    return bytes[0] == '%' && isxdigit((unsigned char)bytes[1]) &&
           isxdigit((unsigned char)bytes[2]);
}

/* One round of decoding; a NUL in the result becomes a 0x01 that targets do not have. */
static char *decode(const char *text)
{
    char *made = copy(text, strlen(text));
    char *to = made;
    for (const char *rest = text; *rest != '\0'; to++) {
        if (is_escape(rest)) {
            const char digits[3] = {rest[1], rest[2], '\0'};
            const long value = strtol(digits, NULL, 16);
            *to = value == 0 ? '\1' : (char)value;
            /* Not the same as an escaped 0x01, which is harmless. */
            if (value == 1) {
                *to = '\2';
            }
            rest += 3;
        } else {
            *to = *rest++;
        }
    }
    *to = '\0';
    return made;
}

static bool has_dot_component(const char *text)
{
    char ends[40] = ";?#\177"; /* then all control bytes, and the space */
    for (int byte = 1; byte <= ' '; byte++) {
        ends[3 + byte] = (char)byte;
    }
    const char *const blanks = ends + 3;
    parts components = split(text, "/\\");
    bool has = false;
    for (size_t i = 0; i < components.count; i++) {
        char *component = components.texts[i];
        component += strspn(component, blanks);
        component[strcspn(component, ends)] = '\0';
        has = has || is(component, ".") || is(component, "..");
    }
    free_parts(&components);
    return has;
}

/* Whether a character of UTF-8 has more bytes than it needs, by the value that it would decode
 * to. */
static bool has_overlong(const char *text)
{
    static const unsigned least[] = {0x80, 0x800, 0x10000};
    for (const unsigned char *byte = (const unsigned char *)text; *byte != '\0'; byte++) {
        const int more = *byte >= 0xf0 && *byte < 0xf8 ? 3 : *byte >= 0xe0 && *byte < 0xf0 ? 2 : 1;
        if (*byte == 0xc0 || *byte == 0xc1) { /* whatever follows */
            return true;
        }
        if (*byte < 0xe0 || *byte >= 0xf8 || (byte[1] & 0xc0) != 0x80) {
            continue;
        }
        /* The second byte decides: the others cannot correct it. */
        const unsigned most = (*byte & (0x3fu >> more)) << (6 * more) |
                              (byte[1] & 0x3fu) << (6 * (more - 1)) |
                              ((1u << (6 * (more - 1))) - 1);
        if (most < least[more - 1]) {
            return true;
        }
    }
    return false;
}

static bool hides_dots(const char *segment)
{
    char *now = copy(segment, strlen(segment));
    bool hides = has_dot_component(now) || has_overlong(now);
    for (int round = 1; round <= 4; round++) {
        char *next = decode(now);
        free(now);
        now = next;
        hides = hides || has_dot_component(now) || strchr(now, '\1') != NULL || has_overlong(now);
    }
    char *fifth = decode(now);
    hides = hides || !is(fifth, now);
    free(fifth);
    free(now);
    return hides;
}

static arcp_deny_reason model_url_path(bool resolves, char *path, arcp_buf *out)
{
    parts segments = split(path, "/");
    parts kept = {NULL, 0};
    bool has_dots = false;
    bool has_empty = false;
    bool hides = false;
    bool ends_open = false; /* the path ends with a '/' */
    for (size_t i = 1; i < segments.count; i++) {
        const char *segment = segments.texts[i];
        const bool is_last = i + 1 == segments.count;
        const bool dot = is(segment, ".");
        const bool dot_dot = is(segment, "..");
        has_dots = has_dots || dot || dot_dot;
        has_empty = has_empty || (is(segment, "") && !is_last);
        hides = hides || (!dot && !dot_dot && hides_dots(segment));
        ends_open = dot || dot_dot || (is_last && is(segment, ""));
        if (dot_dot && kept.count > 0) {
            pop(&kept);
        } else if (!dot && !dot_dot && !(is_last && is(segment, ""))) {
            push(&kept, copy(segment, strlen(segment)));
        }
    }
    for (size_t i = 0; i < kept.count; i++) {
        arcp_buf_append_cstr(out, "/");
        arcp_buf_append_cstr(out, kept.texts[i]);
    }
    arcp_buf_append_cstr(out, ends_open || (resolves && segments.count == 1) ? "/" : "");
    free_parts(&segments);
    free_parts(&kept);
    return hides                   ? ARCP_DENY_ENCODED_DOT_SEGMENT
           : has_dots && has_empty ? ARCP_DENY_AMBIGUOUS_DOT_SEGMENT
           : has_dots && !resolves ? ARCP_DENY_DOT_SEGMENT
                                   : ARCP_DENY_NONE;
}

static arcp_deny_reason model_url_rest(char *scheme, char *rest, arcp_buf *out)
{
    static const char *const lower_hosts[] = {"http", "https", "ws", "wss", "ftp", NULL};
    rest[strcspn(rest, "#")] = '\0';
    const size_t authority_size = strcspn(rest, "/?");
    char *authority = copy(rest, authority_size);
    char *path = copy(rest + authority_size, strcspn(rest + authority_size, "?"));
    const char *query = rest + authority_size + strlen(path);
    arcp_deny_reason reason = ARCP_DENY_NONE;
    if (strchr(authority, '@') != NULL) {
        reason = ARCP_DENY_USERINFO;
    } else if (!is_authority(authority)) {
        reason = ARCP_DENY_BAD_AUTHORITY;
    }
    for (const char *byte = rest + authority_size; *byte != '\0'; byte++) {
        if (*byte == '%' && !is_escape(byte) && reason == ARCP_DENY_NONE) {
            reason = ARCP_DENY_BAD_PERCENT;
        }
    }
    if (is_one_of(scheme, lower_hosts)) {
        lower(authority);
    }
    arcp_buf_append_cstr(out, scheme);
    arcp_buf_append_cstr(out, "://");
    arcp_buf_append_cstr(out, authority);
    if (reason == ARCP_DENY_NONE) {
        reason = model_url_path(is(scheme, "http") || is(scheme, "https"), path, out);
    }
    arcp_buf_append_cstr(out, query);
    free(authority);
    free(path);
    return reason;
}

static arcp_deny_reason model_url(const char *target, arcp_buf *out)
{
    for (const unsigned char *byte = (const unsigned char *)target; *byte != 0; byte++) {
        if (*byte <= 0x20 || *byte >= 0x7f || *byte == '\\') {
            return ARCP_DENY_BAD_BYTE;
        }
    }
    const size_t scheme_size =
        strspn(target, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.");
    if (!isalpha((unsigned char)target[0]) || target[scheme_size] != ':') {
        return ARCP_DENY_NOT_A_URL;
    }
    char *scheme = copy(target, scheme_size);
    lower(scheme);
    const char *behind = target + scheme_size;
    arcp_deny_reason reason = ARCP_DENY_SCHEME_NOT_FETCHABLE;
    if (strncmp(behind, "://", 3) == 0 && !is(scheme, "file")) {
        char *rest = copy(behind + 3, strlen(behind + 3));
        reason = model_url_rest(scheme, rest, out);
        free(rest);
    }
    free(scheme);
    return reason;
}

arcp_deny_reason model_canonicalise(arcp__target_kind kind, bool has_cwd, arcp_span target,
                                    arcp_buf *out)
{
    if (target.size == 0) {
        return ARCP_DENY_EMPTY;
    }
    if (memchr(target.data, 0, target.size) != NULL) {
        return ARCP_DENY_NUL;
    }
    if (target.size > 16384) {
        return ARCP_DENY_TOO_LONG;
    }
    char *text = copy(target.data, target.size);
    arcp_buf made = arcp_buf_init();
    arcp_deny_reason reason = ARCP_DENY_UNKNOWN_CAPABILITY;
    if (kind == ARCP__TARGET_PATH) {
        reason = model_path(has_cwd, text, &made);
    } else if (kind == ARCP__TARGET_URL) {
        reason = model_url(text, &made);
    } else if (kind == ARCP__TARGET_TOOL || kind == ARCP__TARGET_NAME) {
        reason = model_name(text, &made);
    }
    if (reason == ARCP_DENY_NONE && made.size > 16384) {
        reason = ARCP_DENY_TOO_LONG;
    }
    if (reason == ARCP_DENY_NONE) {
        arcp_buf_append(out, arcp_buf_span(&made));
    }
    arcp_buf_fini(&made);
    free(text);
    return reason;
}

bool model_is_canonical(arcp__target_kind kind, arcp_span target)
{
    arcp_buf made = arcp_buf_init();
    const bool is_same = model_canonicalise(kind, true, target, &made) == ARCP_DENY_NONE &&
                         arcp_span_equal(target, arcp_buf_span(&made));
    arcp_buf_fini(&made);
    return is_same;
}
