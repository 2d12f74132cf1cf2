/* URLs: scheme://authority, then path and query, unchanged except for dot segments.
 *
 * Nothing is decoded for the canonical form. Escapes are checked only to deny a path that a server
 * could decode to another place than the text says (target_escape.c). */
#include "core/target_url.h"
#include "base/hex.h"
#include "core/target_scan.h"

enum { PORT_DIGITS_MAX = 5, PORT_MAX = 65535 };

arcp__url_scheme arcp__url_scheme_of(arcp_span lower)
{
    static const struct {
        const char *name;
        arcp__url_scheme scheme;
    } known[] = {{"https", ARCP__URL_HTTP}, {"http", ARCP__URL_HTTP}, {"ws", ARCP__URL_WEB},
                 {"wss", ARCP__URL_WEB},    {"ftp", ARCP__URL_WEB},   {"file", ARCP__URL_FILE}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (arcp_span_equal_cstr(lower, known[i].name)) {
            return known[i].scheme;
        }
    }
    return ARCP__URL_OTHER;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Bytes of the host in canonical form. */
static bool is_lower_host_byte(char byte)
{
    static const bool allowed[128] = {
        ['-'] = true, ['.'] = true, ['_'] = true, ['0'] = true, ['1'] = true, ['2'] = true,
        ['3'] = true, ['4'] = true, ['5'] = true, ['6'] = true, ['7'] = true, ['8'] = true,
        ['9'] = true, ['a'] = true, ['b'] = true, ['c'] = true, ['d'] = true, ['e'] = true,
        ['f'] = true, ['g'] = true, ['h'] = true, ['i'] = true, ['j'] = true, ['k'] = true,
        ['l'] = true, ['m'] = true, ['n'] = true, ['o'] = true, ['p'] = true, ['q'] = true,
        ['r'] = true, ['s'] = true, ['t'] = true, ['u'] = true, ['v'] = true, ['w'] = true,
        ['x'] = true, ['y'] = true, ['z'] = true};
    const unsigned char index = (unsigned char)byte;
    return index < sizeof allowed && allowed[index];
}

/* The index after the digits of a valid port; `from` when there is none. */
static size_t skip_port(arcp_span target, size_t from)
{
    unsigned long value = 0;
    size_t end = from;
    while (end < target.size && is_digit(target.data[end])) {
        if (end - from == PORT_DIGITS_MAX) {
            return from;
        }
        value = value * 10 + (unsigned long)(target.data[end] - '0');
        end++;
    }
    return value >= 1 && value <= PORT_MAX ? end : from;
}

/* Odd after the authority: bytes that URLs cannot contain, '\\', '%' and '#' (and '$', which is
 * between them), and a '.' after a '/'. */
static inline arcp__scan_bytes is_odd(arcp__scan_bytes bytes, arcp__scan_bytes before)
{
    return (bytes < 0x21) | (bytes == 0x7f) | ((bytes >= '#') & (bytes <= '%')) | (bytes == '\\') |
           ((bytes == '.') & (before == '/'));
}

/* Recognises the common form: a lower-case scheme, "://", a host and perhaps a port; false for all
 * others. */
bool arcp__target_url_is_plain(arcp_span target)
{
    size_t host = sizeof "https://" - 1;
    if (!arcp_span_starts_with(target, ARCP_SPAN_LITERAL("https://"))) {
        size_t end = 0;
        while (end < target.size && ((target.data[end] >= 'a' && target.data[end] <= 'z') ||
                                     (end > 0 && is_digit(target.data[end])))) {
            end++;
        }
        if (end == 0 || target.size - end < 3 || memcmp(target.data + end, "://", 3) != 0 ||
            arcp__url_scheme_of(arcp_span_first(target, end)) == ARCP__URL_FILE) {
            return false;
        }
        host = end + 3;
    }
    size_t i = host;
    while (i < target.size && is_lower_host_byte(target.data[i])) {
        i++;
    }
    if (i == host) {
        return false;
    }
    if (i < target.size && target.data[i] == ':') {
        const size_t port = i + 1;
        i = skip_port(target, port);
        if (i == port) {
            return false;
        }
    }
    return i < target.size && target.data[i] == '/' &&
           arcp__scan_is_even(arcp_span_from(target, i), is_odd);
}

/* The parts of a URL, as spans of the target. */
typedef struct url {
    arcp_span scheme;
    arcp_span host;
    arcp_span port; /* with its ':'; may be empty */
    arcp_span path;
    arcp_span query; /* with its '?'; may be empty */
    arcp__url_scheme kind;
} url;

static char to_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

/* Reads the scheme; false when the target does not begin with one and a ':'. [arcp:LA-8] */
static bool read_scheme(arcp_span target, url *out)
{
    char lower[5] = {0}; /* known schemes fit */
    size_t size = 0;
    for (; size < target.size; size++) {
        const char byte = to_lower(target.data[size]);
        const bool is_letter = byte >= 'a' && byte <= 'z';
        if (!is_letter &&
            (size == 0 || !(is_digit(byte) || byte == '+' || byte == '-' || byte == '.'))) {
            break;
        }
        if (size < sizeof lower) {
            lower[size] = byte;
        }
    }
    out->scheme = arcp_span_first(target, size);
    if (size <= sizeof lower) {
        out->kind = arcp__url_scheme_of(arcp_span_make(lower, size));
    }
    return size > 0 && size < target.size && target.data[size] == ':';
}

/* host[:port] */
static bool read_authority(arcp_span authority, url *out)
{
    size_t end = 0;
    if (authority.size > 0 && authority.data[0] == '[') {
        uint32_t state = ARCP__IPV6_START;
        for (end = 1; end < authority.size && authority.data[end] != ']'; end++) {
            if (!arcp__ipv6_feed(&state, (unsigned char)authority.data[end])) {
                return false;
            }
        }
        if (end == authority.size || !arcp__ipv6_may_end(state)) {
            return false;
        }
        end++;
    } else {
        while (end < authority.size && is_lower_host_byte(to_lower(authority.data[end]))) {
            end++;
        }
    }
    out->host = arcp_span_first(authority, end);
    out->port = arcp_span_from(authority, end);
    return end > 0 && (out->port.size == 0 || (out->port.data[0] == ':' && out->port.size > 1 &&
                                               skip_port(out->port, 1) == out->port.size));
}

/* The part of `text` before the first of three bytes. */
static arcp_span before_any(arcp_span text, char a, char b, char c)
{
    size_t size = 0;
    while (size < text.size && text.data[size] != a && text.data[size] != b &&
           text.data[size] != c) {
        size++;
    }
    return arcp_span_first(text, size);
}

static arcp_deny_reason split(arcp_span target, url *out)
{
    for (size_t i = 0; i < target.size; i++) {
        const unsigned char byte = (unsigned char)target.data[i];
        if (byte <= 0x20 || byte >= 0x7f || byte == '\\') {
            return ARCP_DENY_BAD_BYTE;
        }
    }
    if (!read_scheme(target, out)) {
        return ARCP_DENY_NOT_A_URL;
    }
    arcp_span rest = arcp_span_from(target, out->scheme.size);
    if (out->kind == ARCP__URL_FILE || !arcp_span_starts_with(rest, ARCP_SPAN_LITERAL("://"))) {
        return ARCP_DENY_SCHEME_NOT_FETCHABLE;
    }
    rest = arcp_span_from(rest, 3);
    const arcp_span authority = before_any(rest, '/', '?', '#');
    if (authority.size != 0 && memchr(authority.data, '@', authority.size) != NULL) {
        return ARCP_DENY_USERINFO;
    }
    if (!read_authority(authority, out)) {
        return ARCP_DENY_BAD_AUTHORITY;
    }
    /* A fragment is never sent. */
    rest = before_any(arcp_span_from(rest, authority.size), '#', '#', '#');
    for (size_t i = 0; i < rest.size; i++) {
        if (rest.data[i] == '%' &&
            (rest.size - i < 3 || arcp__hex_value((unsigned char)rest.data[i + 1]) < 0 ||
             arcp__hex_value((unsigned char)rest.data[i + 2]) < 0)) {
            return ARCP_DENY_BAD_PERCENT;
        }
    }
    out->path = before_any(rest, '?', '?', '?');
    out->query = arcp_span_from(rest, out->path.size);
    return ARCP_DENY_NONE;
}

/* The segment of `path` that begins at *next; *next is moved after its '/'. */
static arcp_span take_segment(arcp_span path, size_t *next)
{
    const arcp_span segment = before_any(arcp_span_from(path, *next), '/', '/', '/');
    *next += segment.size + 1;
    return segment;
}

static bool hides_dots(arcp_span segment)
{
    if (segment.data[0] != '.' && memchr(segment.data, '%', segment.size) == NULL) {
        return false;
    }
    uint64_t state = ARCP__ESCAPE_START;
    for (size_t i = 0; i < segment.size; i++) {
        if (!arcp__escape_feed(&state, (unsigned char)segment.data[i])) {
            return true;
        }
    }
    return !arcp__escape_may_end(state);
}

/* Finds whether the path has dot segments, and checks that it may. */
static arcp_deny_reason check_segments(const url *parts, bool *has_dots)
{
    bool has_empty = false;
    bool hides = false;
    *has_dots = false;
    for (size_t next = 1; next <= parts->path.size;) {
        const arcp_span segment = take_segment(parts->path, &next);
        if (segment.size == 0) {
            has_empty = has_empty || next <= parts->path.size;
        } else if (segment.data[0] == '.' &&
                   (arcp_span_equal_cstr(segment, ".") || arcp_span_equal_cstr(segment, ".."))) {
            *has_dots = true;
        } else {
            hides = hides || hides_dots(segment);
        }
    }
    if (hides) {
        return ARCP_DENY_ENCODED_DOT_SEGMENT;
    }
    if (*has_dots && has_empty) {
        return ARCP_DENY_AMBIGUOUS_DOT_SEGMENT;
    }
    return *has_dots && parts->kind != ARCP__URL_HTTP ? ARCP_DENY_DOT_SEGMENT : ARCP_DENY_NONE;
}

typedef struct writer {
    char *bytes;
    size_t size;
} writer;

static void put(writer *out, arcp_span bytes)
{
    if (bytes.size != 0) {
        memcpy(out->bytes + out->size, bytes.data, bytes.size);
        out->size += bytes.size;
    }
}

static void put_lower(writer *out, arcp_span bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        out->bytes[out->size++] = to_lower(bytes.data[i]);
    }
}

/* Resolves dot segments (RFC 3986 §5.2.4) in a path in which only the last segment may be empty. */
static void put_resolved(writer *out, arcp_span path)
{
    const size_t root = out->size;
    out->bytes[out->size++] = '/';
    for (size_t next = 1; next <= path.size;) {
        const arcp_span segment = take_segment(path, &next);
        if (arcp_span_equal_cstr(segment, "..")) {
            if (out->size > root + 1) {
                do {
                    out->size--;
                } while (out->bytes[out->size - 1] != '/');
            }
        } else if (!arcp_span_equal_cstr(segment, ".")) {
            put(out, segment);
            if (next <= path.size) {
                out->bytes[out->size++] = '/';
            }
        }
    }
}

arcp_deny_reason arcp__target_url(arcp_span target, char *scratch, arcp_span *canonical)
{
    url parts = {.kind = ARCP__URL_OTHER};
    arcp_deny_reason reason = split(target, &parts);
    if (reason != ARCP_DENY_NONE) {
        return reason;
    }
    bool has_dots = false;
    reason = check_segments(&parts, &has_dots);
    if (reason != ARCP_DENY_NONE) {
        return reason;
    }
    writer out = {.bytes = scratch};
    put_lower(&out, parts.scheme);
    put(&out, ARCP_SPAN_LITERAL("://"));
    if (parts.kind == ARCP__URL_OTHER) {
        put(&out, parts.host);
    } else {
        put_lower(&out, parts.host);
    }
    put(&out, parts.port);
    if (has_dots || (parts.path.size == 0 && parts.kind == ARCP__URL_HTTP)) {
        put_resolved(&out, parts.path);
    } else {
        put(&out, parts.path);
    }
    put(&out, parts.query);
    if (out.size > ARCP_TARGET_BYTES_MAX) {
        /* Adding the '/' of an empty path exceeded the limit. */
        return ARCP_DENY_TOO_LONG;
    }
    const arcp_span result = arcp_span_make(out.bytes, out.size);
    *canonical = arcp_span_equal(result, target) ? target : result;
    return ARCP_DENY_NONE;
}
