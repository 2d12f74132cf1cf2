#include "support/slow_json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPONENT_DIGITS_MAX 36

/* Exponents. */
__extension__ typedef __int128 wide;

/* A growing array of 32-bit units: code points of a string, digits of a number. */
typedef struct units {
    uint32_t *at;
    size_t count;
} units;

struct slow_json {
    arcp_json_type type;
    units text; /* of a string; of a number: its digits without zeros at either end */
    bool negative;
    bool huge;
    wide exponent;
    units *names; /* of an object, one for each child */
    slow_json **children;
    size_t count;
};

typedef struct reader {
    const unsigned char *text;
    size_t size;
    size_t at;
    uint32_t depth;
    const arcp_json_limits *limits;
} reader;

static slow_json *read_value(reader *r);

static void *grown(void *memory, size_t count, size_t size)
{
    void *more = realloc(memory, (count + 1) * size);
    if (more == NULL) {
        abort();
    }
    return more;
}

static void add_unit(units *to, uint32_t unit)
{
    to->at = grown(to->at, to->count, sizeof *to->at);
    to->at[to->count++] = unit;
}

static bool same_units(const units *a, const units *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->at, b->at, a->count * sizeof *a->at) == 0);
}

static slow_json *new_value(arcp_json_type type)
{
    slow_json *value = calloc(1, sizeof *value);
    if (value == NULL) {
        abort();
    }
    value->type = type;
    return value;
}

void slow_json_free(slow_json *value)
{
    if (value == NULL) {
        return;
    }
    for (size_t i = 0; i < value->count; i++) {
        if (value->names != NULL) {
            free(value->names[i].at);
        }
        slow_json_free(value->children[i]);
    }
    free(value->names);
    free(value->children);
    free(value->text.at);
    free(value);
}

/* The byte at the reader's place, -1 at the end. */
static int peek(const reader *r)
{
    return r->at < r->size ? r->text[r->at] : -1;
}

static bool take(reader *r, char byte)
{
    if (peek(r) != (unsigned char)byte) {
        return false;
    }
    r->at++;
    return true;
}

static void skip_space(reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r') {
        r->at++;
    }
}

/* ---- strings ---- */

/* Four hexadecimal digits; -1 when they are not there. */
static long read_hex(reader *r)
{
    long value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const int byte = peek(r);
        const char *digit = byte <= 0 ? NULL : strchr(digits, byte);
        if (digit == NULL) {
            return -1;
        }
        const long index = digit - digits;
        value = value * 16 + (index < 16 ? index : index - 6);
        r->at++;
    }
    return value;
}

/* The character after a backslash. */
static bool read_escape(reader *r, units *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const int letter = peek(r);
    const char *simple = letter <= 0 ? NULL : strchr(letters, letter);
    if (simple != NULL) {
        r->at++;
        add_unit(out, (unsigned char)meant[simple - letters]);
        return true;
    }
    if (!take(r, 'u')) {
        return false;
    }
    const long first = read_hex(r);
    if (first < 0 || (first >= 0xdc00 && first <= 0xdfff)) {
        return false;
    }
    if (first < 0xd800 || first > 0xdbff) {
        add_unit(out, (uint32_t)first);
        return true;
    }
    if (!take(r, '\\') || !take(r, 'u')) {
        return false;
    }
    const long second = read_hex(r);
    if (second < 0xdc00 || second > 0xdfff) {
        return false;
    }
    add_unit(out, (uint32_t)(0x10000 + (first - 0xd800) * 0x400 + (second - 0xdc00)));
    return true;
}

/* One character of UTF-8: decoded, then judged by its value. */
static bool read_character(reader *r, units *out)
{
    const unsigned lead = r->text[r->at++];
    size_t more = 0;
    uint32_t code = lead;
    if (lead >= 0x80) {
        more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc0 || lead >= 0xf8) {
            return false;
        }
        code = lead & (0x3fu >> more);
    }
    for (size_t i = 0; i < more; i++) {
        const int byte = peek(r);
        if (byte < 0x80 || byte > 0xbf) {
            return false;
        }
        code = code * 64 + ((unsigned)byte - 0x80);
        r->at++;
    }
    static const uint32_t lowest[] = {0, 0x80, 0x800, 0x10000};
    if (code < lowest[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return false;
    }
    add_unit(out, code);
    return true;
}

static bool read_string(reader *r, units *out)
{
    if (!take(r, '"')) {
        return false;
    }
    while (peek(r) >= 0x20) {
        if (take(r, '"')) {
            return true;
        }
        if (take(r, '\\') ? !read_escape(r, out) : !read_character(r, out)) {
            return false;
        }
    }
    return false;
}

/* ---- numbers ---- */

static size_t read_digits(reader *r, units *out)
{
    size_t count = 0;
    for (; peek(r) >= '0' && peek(r) <= '9'; r->at++, count++) {
        add_unit(out, (uint32_t)peek(r));
    }
    return count;
}

static bool read_exponent(reader *r, slow_json *number)
{
    const bool negative = take(r, '-');
    if (!negative) {
        (void)take(r, '+');
    }
    units digits = {0};
    const size_t count = read_digits(r, &digits);
    wide value = 0;
    size_t significant = 0;
    for (size_t i = 0; i < count; i++) {
        significant += significant > 0 || digits.at[i] != '0';
        number->huge = significant > EXPONENT_DIGITS_MAX;
        if (significant > EXPONENT_DIGITS_MAX + 1) { /* one more is read: what canonical may add */
            break;
        }
        value = value * 10 + (digits.at[i] - '0');
    }
    free(digits.at);
    number->exponent += negative ? -value : value;
    return count > 0;
}

static bool read_number(reader *r, slow_json *number)
{
    number->negative = take(r, '-');
    const size_t first = r->at;
    const size_t whole = read_digits(r, &number->text);
    if (whole == 0 || (whole > 1 && r->text[first] == '0')) {
        return false;
    }
    if (take(r, '.')) {
        const size_t fraction = read_digits(r, &number->text);
        if (fraction == 0) {
            return false;
        }
        number->exponent -= (wide)fraction;
    }
    if ((take(r, 'e') || take(r, 'E')) && !read_exponent(r, number)) {
        return false;
    }
    units *digits = &number->text;
    while (digits->count > 0 && digits->at[digits->count - 1] == '0') {
        digits->count--;
        number->exponent++;
    }
    while (digits->count > 0 && digits->at[0] == '0') {
        memmove(digits->at, digits->at + 1, --digits->count * sizeof *digits->at);
    }
    if (digits->count == 0) {
        number->negative = false;
        number->exponent = 0;
        number->huge = false;
    }
    return true;
}

/* ---- containers ---- */

static bool has_name(const slow_json *object, const units *name)
{
    for (size_t i = 0; i < object->count; i++) {
        if (same_units(&object->names[i], name)) {
            return true;
        }
    }
    return false;
}

static bool read_member(reader *r, slow_json *object)
{
    units name = {0};
    skip_space(r);
    bool good =
        object->count < r->limits->members_max && read_string(r, &name) && !has_name(object, &name);
    if (good) {
        skip_space(r);
        good = take(r, ':');
    }
    slow_json *value = good ? read_value(r) : NULL;
    if (value == NULL) {
        free(name.at);
        return false;
    }
    object->names = grown(object->names, object->count, sizeof *object->names);
    object->names[object->count] = name;
    object->children = grown(object->children, object->count, sizeof(slow_json *));
    object->children[object->count++] = value;
    return true;
}

static bool read_element(reader *r, slow_json *array)
{
    slow_json *value = read_value(r);
    if (value == NULL) {
        return false;
    }
    array->children = grown(array->children, array->count, sizeof(slow_json *));
    array->children[array->count++] = value;
    return true;
}

static bool read_container(reader *r, slow_json *container)
{
    const bool is_object = container->type == ARCP_JSON_OBJECT;
    const char closer = is_object ? '}' : ']';
    r->at++;
    if (++r->depth > r->limits->depth_max) {
        return false;
    }
    skip_space(r);
    if (!take(r, closer)) {
        do {
            if (is_object ? !read_member(r, container) : !read_element(r, container)) {
                return false;
            }
            skip_space(r);
        } while (take(r, ','));
        if (!take(r, closer)) {
            return false;
        }
    }
    r->depth--;
    return true;
}

/* ---- values ---- */

static bool read_word(reader *r, const char *word)
{
    for (; *word != '\0'; word++) {
        if (!take(r, *word)) {
            return false;
        }
    }
    return true;
}

static bool read_into(reader *r, slow_json *value)
{
    switch (value->type) {
    case ARCP_JSON_OBJECT:
    case ARCP_JSON_ARRAY:
        return read_container(r, value);
    case ARCP_JSON_STRING:
        return read_string(r, &value->text);
    case ARCP_JSON_TRUE:
        return read_word(r, "true");
    case ARCP_JSON_FALSE:
        return read_word(r, "false");
    case ARCP_JSON_NULL:
        return read_word(r, "null");
    case ARCP_JSON_NUMBER:
        return read_number(r, value);
    }
    return false;
}

static slow_json *read_value(reader *r)
{
    skip_space(r);
    arcp_json_type type = ARCP_JSON_NUMBER; /* unless its first byte says otherwise */
    switch (peek(r)) {
    case '{':
        type = ARCP_JSON_OBJECT;
        break;
    case '[':
        type = ARCP_JSON_ARRAY;
        break;
    case '"':
        type = ARCP_JSON_STRING;
        break;
    case 't':
        type = ARCP_JSON_TRUE;
        break;
    case 'f':
        type = ARCP_JSON_FALSE;
        break;
    case 'n':
        type = ARCP_JSON_NULL;
        break;
    default:
        break;
    }
    slow_json *value = new_value(type);
    if (!read_into(r, value)) {
        slow_json_free(value);
        return NULL;
    }
    return value;
}

slow_json *slow_json_read(arcp_span text, const arcp_json_limits *limits)
{
    if (text.size > limits->bytes_max) {
        return NULL;
    }
    reader r = {.text = (const unsigned char *)text.data, .size = text.size, .limits = limits};
    slow_json *value = read_value(&r);
    skip_space(&r);
    if (r.at != r.size) {
        slow_json_free(value);
        return NULL;
    }
    return value;
}

static const slow_json *member_of(const slow_json *object, const units *name)
{
    for (size_t i = 0; i < object->count; i++) {
        if (same_units(&object->names[i], name)) {
            return object->children[i];
        }
    }
    return NULL;
}

bool slow_json_equal(const slow_json *a, const slow_json *b)
{
    if (a->type != b->type || a->count != b->count || !same_units(&a->text, &b->text) ||
        a->negative != b->negative || a->exponent != b->exponent) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        const slow_json *other =
            a->type == ARCP_JSON_OBJECT ? member_of(b, &a->names[i]) : b->children[i];
        if (other == NULL || !slow_json_equal(a->children[i], other)) {
            return false;
        }
    }
    return true;
}

bool slow_json_is_huge(const slow_json *value)
{
    bool huge = value->huge;
    for (size_t i = 0; i < value->count; i++) {
        huge = huge || slow_json_is_huge(value->children[i]);
    }
    return huge;
}
