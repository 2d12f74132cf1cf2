/* The scanner: one pass over the text, no recursion, one node per value and name.
 *
 * Every function takes the position where it starts and returns the position after what it read, or
 * NULL for an error (in scan.status), so that the position stays in a register. A container's node
 * is written when it opens and completed when it closes; the stack of open containers is threaded
 * through the nodes' `next` members, so that nesting costs no memory of its own and no depth can
 * exhaust the machine's stack. Names are compared when an object closes, with its nodes at hand
 * (json_names.c). */

#include "base/alloc.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/json_parts.h"
#include "json/json_plain.h"

#define NO_PARENT UINT32_MAX

typedef struct scan {
    arcp_json *json;
    const unsigned char *text;
    const unsigned char *end;
    uint32_t parent;      /* node of the innermost open container, or NO_PARENT */
    unsigned char closer; /* the bracket that closes it */
    uint32_t depth;
    arcp_status status;
    const arcp_json_limits *limits;
    arcp_error *err;
} scan;

/* ---- errors ---- */

static __attribute__((cold, noinline)) const unsigned char *
refuse(scan *s, const unsigned char *cursor, const char *what)
{
    const size_t offset = (size_t)(cursor - s->text);
    s->status = arcp_error_set_at(s->err, ARCP_E_INVALID_REQUEST, offset, "JSON: %s, at byte %zu",
                                  what, offset);
    return NULL;
}

/* An error: not what is expected was found at `cursor`. */
static __attribute__((cold, noinline)) const unsigned char *
refuse_found(scan *s, const unsigned char *cursor, const char *expected)
{
    const size_t offset = (size_t)(cursor - s->text);
    char found[32] = "the end of the text";
    if (cursor < s->end && 0x20 < *cursor && *cursor < 0x7f) {
        found[0] = '\'';
        found[1] = (char)*cursor;
        found[2] = '\'';
        found[3] = '\0';
    } else if (cursor < s->end) {
        memcpy(found, "byte 0x", 7);
        arcp__hex_format(cursor, 1, found + 7);
        found[9] = '\0';
    }
    s->status =
        arcp_error_set_at(s->err, ARCP_E_INVALID_REQUEST, offset,
                          "JSON: expected %s, found %s, at byte %zu", expected, found, offset);
    return NULL;
}

/* ---- nodes ---- */

static __attribute__((cold, noinline)) bool grow(scan *s)
{
    arcp_json *json = s->json;
    uint32_t capacity = json->capacity == 0 ? 64 : json->capacity;
    arcp__json_node *nodes = NULL;
    if (json->capacity == 0 || !__builtin_mul_overflow(capacity, 2, &capacity)) {
        nodes = arcp__realloc_array(json->nodes, capacity, sizeof *nodes);
    }
    if (nodes == NULL) {
        s->status = arcp_error_set(s->err, ARCP_E_NO_MEMORY, "out of memory");
        return false;
    }
    json->nodes = nodes;
    json->capacity = capacity;
    return true;
}

/* Adds a node for the text from `start` to `cursor`; returns `cursor`. */
static inline const unsigned char *add_node(scan *s, arcp_json_type type, uint8_t flags,
                                            const unsigned char *start, const unsigned char *cursor)
{
    arcp_json *json = s->json;
    if (__builtin_expect(json->count == json->capacity, 0) && !grow(s)) {
        return NULL;
    }
    const uint32_t count = json->count;
    json->nodes[count] = (arcp__json_node){.start = (uint32_t)(start - s->text),
                                           .size = (uint32_t)(cursor - start),
                                           .next = count + 1,
                                           .type = (uint8_t)type,
                                           .flags = flags};
    json->count = count + 1;
    return cursor;
}

static __attribute__((noinline)) const unsigned char *skip_space_slow(scan *s,
                                                                      const unsigned char *cursor)
{
    const unsigned char *start = cursor;
    while (cursor < s->end &&
           (*cursor == ' ' || *cursor == '\n' || *cursor == '\r' || *cursor == '\t')) {
        cursor++;
    }
    if (cursor != start) {
        s->json->has_space = true;
    }
    return cursor;
}

static inline const unsigned char *skip_space(scan *s, const unsigned char *cursor)
{
    return cursor < s->end && ' ' < *cursor ? cursor : skip_space_slow(s, cursor);
}

/* ---- strings ---- */

/* The value of \uXXXX at `cursor`; -1 when there is none. */
static int32_t unicode_escape(const scan *s, const unsigned char *cursor)
{
    if (s->end - cursor < 6 || cursor[0] != '\\' || cursor[1] != 'u') {
        return -1;
    }
    int32_t value = 0;
    for (int digit = 2; digit < 6; digit++) {
        const int nibble = arcp__hex_value(cursor[digit]);
        if (nibble < 0) {
            return -1;
        }
        value = value * 16 + nibble;
    }
    return value;
}

/* Starts at a backslash. */
static const unsigned char *scan_escape(scan *s, const unsigned char *cursor)
{
    if (s->end - cursor < 2) {
        return refuse_found(s, s->end, "the rest of an escape");
    }
    switch (cursor[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return cursor + 2;
    case 'u':
        break;
    default:
        return refuse_found(s, cursor + 1, "one of \"\\/bfnrtu after a backslash");
    }
    const int32_t unit = unicode_escape(s, cursor);
    if (unit < 0) {
        return refuse(s, cursor, "\\u without four hexadecimal digits after it");
    }
    if (unit < 0xd800 || unit > 0xdfff) {
        return cursor + 6;
    }
    const int32_t low = unit < 0xdc00 ? unicode_escape(s, cursor + 6) : -1;
    if (low < 0xdc00 || low > 0xdfff) {
        return refuse(s, cursor, "half a surrogate pair (\\ud800-\\udbff, then \\udc00-\\udfff)");
    }
    return cursor + 12;
}

/* Starts in a string at a byte that is neither plain nor the closing quote, and skips it and all
 * non-ASCII characters that follow. */
static const unsigned char *scan_special(scan *s, const unsigned char *cursor, uint8_t *flags)
{
    if (*cursor == '\\') {
        *flags = ARCP__JSON_ESCAPED;
        return scan_escape(s, cursor);
    }
    if (*cursor < 0x20) {
        return refuse(s, cursor, "a control character in a string (write it as an escape)");
    }
    do {
        const size_t character = arcp__utf8_character_size(cursor, (size_t)(s->end - cursor));
        if (character == 0) {
            return refuse(s, cursor, "a string that is not UTF-8");
        }
        cursor += character;
    } while (cursor < s->end && *cursor >= 0x80);
    return cursor;
}

/* Starts at the opening quote. */
static const unsigned char *scan_string(scan *s, const unsigned char *start)
{
    uint8_t flags = 0;
    const unsigned char *cursor = arcp__json_skip_plain(start + 1, s->end);
    while (cursor < s->end && *cursor != '"') {
        cursor = scan_special(s, cursor, &flags);
        if (cursor == NULL) {
            return NULL;
        }
        cursor = arcp__json_skip_plain(cursor, s->end);
    }
    if (cursor == s->end) {
        return refuse_found(s, cursor, "the closing quote of a string");
    }
    return add_node(s, ARCP_JSON_STRING, flags, start, cursor + 1);
}

/* ---- numbers and words ---- */

/* One digit or more. */
static inline const unsigned char *scan_digits(scan *s, const unsigned char *cursor,
                                               const char *what)
{
    const unsigned char *start = cursor;
    while (cursor < s->end && (unsigned char)(*cursor - '0') <= 9) {
        cursor++;
    }
    return cursor == start ? refuse_found(s, cursor, what) : cursor;
}

/* Starts at a minus sign or a digit. */
static const unsigned char *scan_number(scan *s, const unsigned char *start)
{
    const unsigned char *cursor = *start == '-' ? start + 1 : start;
    const unsigned char *whole = cursor;
    cursor = scan_digits(s, cursor, "a digit after the minus sign");
    if (cursor == NULL) {
        return NULL;
    }
    if (*whole == '0' && cursor - whole > 1) {
        return refuse(s, whole, "a number with a leading zero");
    }
    if (cursor < s->end && *cursor == '.') {
        cursor = scan_digits(s, cursor + 1, "a digit after the decimal point");
        if (cursor == NULL) {
            return NULL;
        }
    }
    if (cursor < s->end && (*cursor | 0x20) == 'e') {
        cursor++;
        if (cursor < s->end && (*cursor == '+' || *cursor == '-')) {
            cursor++;
        }
        cursor = scan_digits(s, cursor, "a digit of the exponent");
        if (cursor == NULL) {
            return NULL;
        }
    }
    return add_node(s, ARCP_JSON_NUMBER, 0, start, cursor);
}

static const unsigned char *scan_word(scan *s, const unsigned char *cursor)
{
    static const struct {
        const char *word;
        size_t size;
        arcp_json_type type;
    } words[] = {
        {"null", 4, ARCP_JSON_NULL}, {"true", 4, ARCP_JSON_TRUE}, {"false", 5, ARCP_JSON_FALSE}};
    for (size_t row = 0; row < sizeof words / sizeof words[0]; row++) {
        if ((size_t)(s->end - cursor) >= words[row].size &&
            memcmp(cursor, words[row].word, words[row].size) == 0) {
            return add_node(s, words[row].type, 0, cursor, cursor + words[row].size);
        }
    }
    return refuse_found(s, cursor, "a value (object, array, string, number, true, false or null)");
}

/* ---- containers ---- */

static const unsigned char *close_container(scan *s, const unsigned char *cursor)
{
    arcp_json *json = s->json;
    const uint32_t container = s->parent;
    arcp__json_node *node = &json->nodes[container];
    cursor++;
    node->size = (uint32_t)(cursor - s->text) - node->start;
    s->parent = node->next;
    s->depth--;
    node->next = json->count;
    if (s->parent != NO_PARENT) {
        s->closer = json->nodes[s->parent].type == ARCP_JSON_OBJECT ? '}' : ']';
    }
    if (node->type == ARCP_JSON_OBJECT && json->count > container + 1) {
        s->status = arcp__json_check_names(json, container, s->limits->members_max, s->err);
        return s->status == ARCP_OK ? cursor : NULL;
    }
    return cursor;
}

/* A name and its colon. */
static const unsigned char *scan_name(scan *s, const unsigned char *cursor)
{
    cursor = skip_space(s, cursor);
    if (cursor == s->end || *cursor != '"') {
        return refuse_found(s, cursor, "a member's name in quotes");
    }
    cursor = scan_string(s, cursor);
    if (cursor == NULL) {
        return NULL;
    }
    cursor = skip_space(s, cursor);
    if (cursor == s->end || *cursor != ':') {
        return refuse_found(s, cursor, "a colon after a member's name");
    }
    return cursor + 1;
}

/* Starts at an opening bracket; returns where the first element's or member's value begins. An
 * empty container is closed at once, and *opened is then false. */
static const unsigned char *open_container(scan *s, const unsigned char *cursor, bool *opened)
{
    if (s->depth >= s->limits->depth_max) {
        const size_t offset = (size_t)(cursor - s->text);
        s->status = arcp_error_set_at(s->err, ARCP_E_INVALID_REQUEST, offset,
                                      "JSON: more than %u levels of arrays and objects, at byte "
                                      "%zu",
                                      s->limits->depth_max, offset);
        return NULL;
    }
    const bool is_object = *cursor == '{';
    cursor = add_node(s, is_object ? ARCP_JSON_OBJECT : ARCP_JSON_ARRAY, 0, cursor, cursor);
    if (cursor == NULL) {
        return NULL;
    }
    const uint32_t container = s->json->count - 1;
    s->json->nodes[container].next = s->parent;
    s->parent = container;
    s->closer = is_object ? '}' : ']';
    s->depth++;
    cursor = skip_space(s, cursor + 1);
    *opened = cursor == s->end || *cursor != s->closer;
    if (!*opened) {
        return close_container(s, cursor);
    }
    return is_object ? scan_name(s, cursor) : cursor;
}

/* Scans one value that is no container or an empty one, and all brackets that open before it. */
static const unsigned char *scan_value(scan *s, const unsigned char *cursor)
{
    for (;;) {
        cursor = skip_space(s, cursor);
        if (cursor == s->end) {
            return refuse_found(s, cursor, "a value");
        }
        if (*cursor == '"') {
            return scan_string(s, cursor);
        }
        if (*cursor == '-' || (unsigned char)(*cursor - '0') <= 9) {
            return scan_number(s, cursor);
        }
        if (*cursor != '{' && *cursor != '[') {
            return scan_word(s, cursor);
        }
        bool opened = false;
        cursor = open_container(s, cursor, &opened);
        if (cursor == NULL || !opened) {
            return cursor;
        }
    }
}

/* After a value: scans the brackets that close, then a comma; or reaches the end of the outermost
 * value (there is no parent then). */
static const unsigned char *scan_after_value(scan *s, const unsigned char *cursor)
{
    while (s->parent != NO_PARENT) {
        cursor = skip_space(s, cursor);
        if (cursor < s->end && *cursor == ',') {
            return s->closer == '}' ? scan_name(s, cursor + 1) : cursor + 1;
        }
        if (cursor == s->end || *cursor != s->closer) {
            return refuse_found(s, cursor,
                                s->closer == '}' ? "a comma or '}' after a member"
                                                 : "a comma or ']' after an element");
        }
        cursor = close_container(s, cursor);
        if (cursor == NULL) {
            return NULL;
        }
    }
    return cursor;
}

arcp_status arcp_json_scan(arcp_json *json, arcp_span text, const arcp_json_limits *limits,
                           arcp_error *err)
{
    const arcp_json_limits defaults = arcp_json_limits_init();
    limits = limits == NULL ? &defaults : limits;
    json->text = text.size == 0 ? ARCP_SPAN_LITERAL("") : text;
    json->count = 0;
    json->has_space = false;
    scan s = {.json = json,
              .text = (const unsigned char *)json->text.data,
              .end = (const unsigned char *)json->text.data + text.size,
              .parent = NO_PARENT,
              .limits = limits,
              .err = err};
    const size_t bytes_max = limits->bytes_max < UINT32_MAX ? limits->bytes_max : UINT32_MAX - 1;
    const unsigned char *cursor = s.text;
    if (text.size > bytes_max) {
        cursor = NULL;
        s.status = arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, bytes_max,
                                     "JSON: the text has more than %zu bytes", bytes_max);
    }
    while (cursor != NULL) {
        cursor = scan_value(&s, cursor);
        cursor = cursor == NULL ? NULL : scan_after_value(&s, cursor);
        if (cursor != NULL && s.parent == NO_PARENT) {
            cursor = skip_space(&s, cursor);
            if (cursor != s.end) {
                (void)refuse_found(&s, cursor, "the end of the text after the value");
            }
            break;
        }
    }
    if (s.status != ARCP_OK) {
        json->count = 0;
        json->text = arcp_span_make(NULL, 0);
    }
    return s.status;
}

arcp_json *arcp_json_new(void)
{
    return arcp__alloc(sizeof(arcp_json)); /* zero is an empty index */
}

void arcp_json_free(arcp_json *json)
{
    if (json != NULL) {
        arcp__json_fini(json);
        arcp__free(json);
    }
}

void arcp__json_fini(arcp_json *json)
{
    arcp__json_names_fini(json);
    arcp__free(json->nodes);
    *json = (arcp_json)ARCP__JSON_INIT;
}
