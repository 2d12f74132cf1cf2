#include "core/target_shape.h"

#include "base/hex.h"
#include "core/target_url.h"

#include <string.h>

/* The place in the target: the lowest four bits of a state. The meaning of the other bits depends
 * on the place. */
typedef enum place {
    PLACE_DEAD = 0,
    PLACE_START = 1,
    /* Paths and names. */
    PLACE_ROOT,    /* the '/' at the beginning of a path */
    PLACE_BETWEEN, /* after any other '/' */
    PLACE_DOT,     /* a segment that is "." so far */
    PLACE_DOT_DOT,
    PLACE_INSIDE, /* any other segment; for names with the UTF-8 bytes that must follow */
    /* URLs. */
    PLACE_SCHEME, /* with the prefix of a known scheme */
    PLACE_COLON,  /* from here to PLACE_PORT with the kind of scheme */
    PLACE_SLASH,
    PLACE_AUTHORITY,
    PLACE_HOST,
    PLACE_IPV6,
    PLACE_IPV6_END,
    PLACE_PORT, /* with digits and value */
    PLACE_PATH, /* with the state of the segment, or the mark of a query */
    PLACE_COUNT
} place;

enum { PLACE_BITS = 4, KIND_SHIFT = 4, VALUE_SHIFT = 6 };
_Static_assert(PLACE_COUNT <= 1 << PLACE_BITS, "the places fit");
_Static_assert(VALUE_SHIFT + 1 + ARCP__ESCAPE_BITS <= 64, "the state of a segment fits");

static place place_of(arcp__shape shape)
{
    return (place)(shape & ((1 << PLACE_BITS) - 1));
}

static uint64_t value_of(arcp__shape shape)
{
    return shape >> VALUE_SHIFT;
}

static arcp__url_scheme scheme_of(arcp__shape shape)
{
    return (arcp__url_scheme)(shape >> KIND_SHIFT & 3);
}

static arcp__shape make(place where, arcp__url_scheme scheme, uint64_t value)
{
    return (uint64_t)where | (uint64_t)scheme << KIND_SHIFT | value << VALUE_SHIFT;
}

/* Segments of paths and names. */

static arcp__shape step_into_segment(place from, unsigned char byte)
{
    if (byte == '.' && from != PLACE_INSIDE && from != PLACE_DOT_DOT) {
        return from == PLACE_DOT ? PLACE_DOT_DOT : PLACE_DOT;
    }
    return PLACE_INSIDE;
}

/* UTF-8 (RFC 3629): the number of continuation bytes that must follow, and the range of the next
 * one. */
static uint64_t expect(unsigned count, unsigned char low, unsigned char high)
{
    return count | (uint64_t)low << 2 | (uint64_t)high << 10;
}

/* What must follow the first byte of a multi-byte character; 0: not a first byte. */
static uint64_t expect_behind(unsigned char byte)
{
    if (byte >= 0xc2 && byte <= 0xdf) {
        return expect(1, 0x80, 0xbf);
    }
    if (byte >= 0xe0 && byte <= 0xef) {
        return expect(2, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf);
    }
    if (byte >= 0xf0 && byte <= 0xf4) {
        return expect(3, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf);
    }
    return 0;
}

static arcp__shape step_name(arcp__shape shape, unsigned char byte)
{
    const place from = place_of(shape);
    const uint64_t expected = value_of(shape);
    if (expected != 0) {
        if (byte < (expected >> 2 & 0xff) || byte > (expected >> 10)) {
            return ARCP__SHAPE_DEAD;
        }
        const unsigned left = (expected & 3) - 1;
        return make(PLACE_INSIDE, ARCP__URL_OTHER, left == 0 ? 0 : expect(left, 0x80, 0xbf));
    }
    if (byte >= 0x80) {
        const uint64_t behind = expect_behind(byte);
        return behind == 0 ? ARCP__SHAPE_DEAD : make(PLACE_INSIDE, ARCP__URL_OTHER, behind);
    }
    if (byte < 0x20 || byte == 0x7f) {
        return ARCP__SHAPE_DEAD;
    }
    if (byte == '/') {
        return from == PLACE_DOT || from == PLACE_DOT_DOT ? ARCP__SHAPE_DEAD : PLACE_BETWEEN;
    }
    return step_into_segment(from, byte);
}

/* URLs. */

/* The prefixes of known schemes; their index is the value at PLACE_SCHEME. 0: not a known
 * scheme. */
static const char *const scheme_prefixes[] = {"",    "h", "ht", "htt", "http", "https", "w",   "ws",
                                              "wss", "f", "ft", "ftp", "fi",   "fil",   "file"};
enum { SCHEME_PREFIXES = sizeof scheme_prefixes / sizeof scheme_prefixes[0] };

static uint64_t extend_scheme(const char *prefix, unsigned char byte)
{
    const size_t size = strlen(prefix);
    for (uint64_t i = 1; i < SCHEME_PREFIXES; i++) {
        const char *longer = scheme_prefixes[i];
        if (strlen(longer) == size + 1 && memcmp(longer, prefix, size) == 0 &&
            (unsigned char)longer[size] == byte) {
            return i;
        }
    }
    return 0;
}

static arcp__shape step_scheme(arcp__shape shape, unsigned char byte)
{
    const bool is_first = shape == ARCP__SHAPE_START;
    const uint64_t known = is_first ? 0 : value_of(shape);
    if (byte >= 'a' && byte <= 'z') {
        const bool may_be_known = is_first || known != 0;
        return make(PLACE_SCHEME, ARCP__URL_OTHER,
                    may_be_known ? extend_scheme(scheme_prefixes[known], byte) : 0);
    }
    if (is_first) {
        return ARCP__SHAPE_DEAD;
    }
    if (byte == ':') {
        const arcp__url_scheme scheme = arcp__url_scheme_of(arcp_span_cstr(scheme_prefixes[known]));
        return scheme == ARCP__URL_FILE ? ARCP__SHAPE_DEAD : make(PLACE_COLON, scheme, 0);
    }
    if ((byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == '.') {
        return make(PLACE_SCHEME, ARCP__URL_OTHER, 0);
    }
    return ARCP__SHAPE_DEAD;
}

static bool is_host_byte(arcp__url_scheme scheme, unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '.' ||
           byte == '-' || byte == '_' || (byte >= 'A' && byte <= 'Z' && scheme == ARCP__URL_OTHER);
}

enum { PORT_DIGITS_MAX = 5, PORT_MAX = 65535, PORT_DIGITS_BITS = 3, QUERY = 1 };

static uint64_t port_value(arcp__shape shape)
{
    return value_of(shape) >> PORT_DIGITS_BITS;
}

static unsigned port_digits(arcp__shape shape)
{
    return value_of(shape) & ((1 << PORT_DIGITS_BITS) - 1);
}

/* In a path the value is the segment's state above a mark that is 0; in a query the mark
 * is 1 and the state above it counts the digits that an escape lacks. */
static arcp__shape make_path(uint64_t segment)
{
    return make(PLACE_PATH, ARCP__URL_OTHER, segment << 1);
}

static arcp__shape make_query(unsigned digits)
{
    return make(PLACE_PATH, ARCP__URL_OTHER, (uint64_t)digits << 1 | QUERY);
}

/* Steps past an authority that may end here. */
static arcp__shape step_behind_authority(arcp__url_scheme scheme, unsigned char byte)
{
    if (byte == '/') {
        return make_path(ARCP__ESCAPE_START);
    }
    return byte == '?' && scheme != ARCP__URL_HTTP ? make_query(0) : ARCP__SHAPE_DEAD;
}

static arcp__shape step_port(arcp__shape shape, unsigned char byte)
{
    const uint64_t value = port_value(shape);
    const unsigned digits = port_digits(shape);
    if (byte < '0' || byte > '9') {
        return value == 0 ? ARCP__SHAPE_DEAD : step_behind_authority(scheme_of(shape), byte);
    }
    const uint64_t grown = value * 10 + (uint64_t)(byte - '0');
    if (digits == PORT_DIGITS_MAX || grown > PORT_MAX) {
        return ARCP__SHAPE_DEAD;
    }
    return make(PLACE_PORT, scheme_of(shape), grown << PORT_DIGITS_BITS | (digits + 1));
}

static arcp__shape step_host(arcp__shape shape, unsigned char byte)
{
    const arcp__url_scheme scheme = scheme_of(shape);
    const place from = place_of(shape);
    if (from == PLACE_IPV6) {
        uint32_t address = (uint32_t)value_of(shape);
        if (byte == ']') {
            return arcp__ipv6_may_end(address) ? make(PLACE_IPV6_END, scheme, 0) : ARCP__SHAPE_DEAD;
        }
        const bool is_upper = byte >= 'A' && byte <= 'F';
        if ((is_upper && scheme != ARCP__URL_OTHER) || !arcp__ipv6_feed(&address, byte)) {
            return ARCP__SHAPE_DEAD;
        }
        return make(PLACE_IPV6, scheme, address);
    }
    if (from != PLACE_IPV6_END && is_host_byte(scheme, byte)) {
        return make(PLACE_HOST, scheme, 0);
    }
    if (from == PLACE_AUTHORITY) {
        return byte == '[' ? make(PLACE_IPV6, scheme, ARCP__IPV6_START) : ARCP__SHAPE_DEAD;
    }
    return byte == ':' ? make(PLACE_PORT, scheme, 0) : step_behind_authority(scheme, byte);
}

static arcp__shape step_url_path(arcp__shape shape, unsigned char byte)
{
    if (byte <= 0x20 || byte >= 0x7f || byte == '\\' || byte == '#') {
        return ARCP__SHAPE_DEAD;
    }
    uint64_t state = value_of(shape) >> 1;
    if ((value_of(shape) & QUERY) != 0) {
        if (state != 0) {
            return arcp__hex_value(byte) < 0 ? ARCP__SHAPE_DEAD : make_query((unsigned)state - 1);
        }
        return make_query(byte == '%' ? 2 : 0);
    }
    if (byte == '/' || byte == '?') {
        return !arcp__escape_may_end(state) ? ARCP__SHAPE_DEAD
               : byte == '/'                ? make_path(ARCP__ESCAPE_START)
                                            : make_query(0);
    }
    return arcp__escape_feed(&state, byte) ? make_path(state) : ARCP__SHAPE_DEAD;
}

static arcp__shape step_url(arcp__shape shape, unsigned char byte)
{
    const place from = place_of(shape);
    if (from == PLACE_PATH) {
        return step_url_path(shape, byte);
    }
    if (from == PLACE_START || from == PLACE_SCHEME) {
        return step_scheme(shape, byte);
    }
    if (from == PLACE_COLON || from == PLACE_SLASH) {
        const place next = from == PLACE_COLON ? PLACE_SLASH : PLACE_AUTHORITY;
        return byte == '/' ? make(next, scheme_of(shape), 0) : ARCP__SHAPE_DEAD;
    }
    if (from == PLACE_PORT) {
        return step_port(shape, byte);
    }
    return from == PLACE_DEAD ? ARCP__SHAPE_DEAD : step_host(shape, byte);
}

/* Paths: the place is the whole state. */
static arcp__shape step_path(place from, unsigned char byte)
{
    if (byte == '/' && (from == PLACE_START || from == PLACE_INSIDE)) {
        return from == PLACE_START ? PLACE_ROOT : PLACE_BETWEEN;
    }
    return byte == '/' || byte == '\0' ? ARCP__SHAPE_DEAD : step_into_segment(from, byte);
}

arcp__shape arcp__shape_step(arcp__target_kind kind, arcp__shape shape, unsigned char byte)
{
    if (kind == ARCP__TARGET_PATH) {
        return step_path(place_of(shape), byte);
    }
    if (kind == ARCP__TARGET_URL) {
        return step_url(shape, byte);
    }
    return kind == ARCP__TARGET_TOOL || kind == ARCP__TARGET_NAME ? step_name(shape, byte)
                                                                  : ARCP__SHAPE_DEAD;
}

bool arcp__shape_is_target(arcp__target_kind kind, arcp__shape shape)
{
    const place where = place_of(shape);
    if (kind == ARCP__TARGET_PATH) {
        return where == PLACE_ROOT || where == PLACE_INSIDE;
    }
    if (kind != ARCP__TARGET_URL) {
        return (kind == ARCP__TARGET_TOOL || kind == ARCP__TARGET_NAME) &&
               (shape == PLACE_BETWEEN || shape == PLACE_INSIDE);
    }
    if (where == PLACE_PATH) {
        const uint64_t state = value_of(shape) >> 1;
        return (value_of(shape) & QUERY) != 0 ? state == 0 : arcp__escape_may_end(state);
    }
    const bool may_end = where == PLACE_HOST || where == PLACE_IPV6_END ||
                         (where == PLACE_PORT && port_value(shape) != 0);
    return may_end && scheme_of(shape) != ARCP__URL_HTTP; /* whose path must not be empty */
}

/* `a` and `b` have the same place. */
static bool url_covers(arcp__shape a, arcp__shape b)
{
    const place where = place_of(a);
    if (where == PLACE_SCHEME) {
        return value_of(a) == 0;
    }
    if (where == PLACE_PATH) {
        return (value_of(a) & QUERY) == (value_of(b) & QUERY) &&
               arcp__shape_is_widest(ARCP__TARGET_URL, a);
    }
    /* Unknown schemes allow everything that known ones allow after them. */
    if (scheme_of(a) != ARCP__URL_OTHER && scheme_of(a) != scheme_of(b)) {
        return false;
    }
    if (where == PLACE_IPV6) {
        return arcp__ipv6_covers((uint32_t)value_of(a), (uint32_t)value_of(b));
    }
    if (where == PLACE_PORT) {
        return value_of(a) == value_of(b) ||
               (port_value(a) != 0 && port_digits(a) <= port_digits(b) &&
                port_value(a) <= port_value(b));
    }
    return where == PLACE_HOST || where == PLACE_IPV6_END;
}

bool arcp__shape_covers(arcp__target_kind kind, arcp__shape a, arcp__shape b)
{
    if (a == b) {
        return true;
    }
    if (kind == ARCP__TARGET_URL) {
        return place_of(a) == place_of(b) && url_covers(a, b);
    }
    /* Inside a segment the next one may begin, and dots have no special meaning. */
    return a == PLACE_INSIDE && value_of(b) == 0 && place_of(b) != PLACE_START;
}

uint64_t arcp__shape_family(arcp__target_kind kind, arcp__shape shape)
{
    return kind == ARCP__TARGET_URL ? place_of(shape) : value_of(shape);
}

bool arcp__shape_is_widest(arcp__target_kind kind, arcp__shape shape)
{
    if (kind == ARCP__TARGET_URL) {
        return shape == make_path(ARCP__ESCAPE_PLAIN) || shape == make_query(0);
    }
    return shape == PLACE_INSIDE;
}
