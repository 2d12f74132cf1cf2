/* The canonical form: equal values have equal text, different ones never do. */
#include <arcp/json.h>

#include <stdlib.h>

#include "base/alloc.h"

/* ---- numbers: d[.ddd]e<exponent> with no zero at either end ---- */

/* The written exponent, with its sign; false when it does not fit. */
static bool read_exponent(arcp_span text, int64_t *out)
{
    size_t at = text.size != 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    int64_t value = 0;
    for (; at < text.size; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text.data[at] - '0', &value) ||
            value > INT64_C(1000000000000000)) {
            return false;
        }
    }
    *out = text.size != 0 && text.data[0] == '-' ? -value : value;
    return true;
}

/* An exponent of any size without sign clutter and leading zeros. */
static void append_huge_exponent(arcp_span text, arcp_buf *out)
{
    bool negative = text.data[0] == '-';
    size_t at = negative || text.data[0] == '+' ? 1 : 0;
    while (at + 1 < text.size && text.data[at] == '0') {
        at++;
    }
    arcp_buf_append_cstr(out, negative ? "E-" : "E");
    arcp_buf_append(out, arcp_span_from(text, at));
}

static void append_digits(arcp_span mantissa, size_t first, size_t last, arcp_buf *out)
{
    for (size_t at = first; at <= last; at++) {
        if (mantissa.data[at] != '.') {
            arcp_buf_append_byte(out, mantissa.data[at]);
        }
    }
}

/* digits e exponent, the digits being an integer without a zero at either end. A huge
 * exponent is kept as written next to the place of the point, which is exact too: two
 * such numbers are equal only when they are spelled alike up to that. */
static void append_number(arcp_span text, arcp_buf *out)
{
    bool negative = text.data[0] == '-';
    arcp_span body = arcp_span_from(text, negative ? 1 : 0);
    size_t mantissa_size = 0;
    while (mantissa_size < body.size && body.data[mantissa_size] != 'e' &&
           body.data[mantissa_size] != 'E') {
        mantissa_size++;
    }
    arcp_span mantissa = arcp_span_first(body, mantissa_size);
    arcp_span exponent_text = arcp_span_from(body, mantissa_size + 1);
    size_t first = 0;
    while (first < mantissa.size && (mantissa.data[first] == '0' || mantissa.data[first] == '.')) {
        first++;
    }
    if (first == mantissa.size) {
        arcp_buf_append_byte(out, '0');
        return;
    }
    size_t last = mantissa.size - 1;
    while (mantissa.data[last] == '0' || mantissa.data[last] == '.') {
        last--;
    }
    const char *point = memchr(mantissa.data, '.', mantissa.size);
    size_t point_at = point == NULL ? mantissa.size : (size_t)(point - mantissa.data);
    int64_t shift = last < point_at ? (int64_t)(point_at - last) - 1 : -(int64_t)(last - point_at);
    if (negative) {
        arcp_buf_append_byte(out, '-');
    }
    append_digits(mantissa, first, last, out);
    int64_t exponent = 0;
    if (exponent_text.size != 0 && !read_exponent(exponent_text, &exponent)) {
        arcp_buf_append_byte(out, 'e');
        arcp_buf_append_i64(out, shift);
        append_huge_exponent(exponent_text, out);
        return;
    }
    exponent += shift;
    if (exponent != 0) {
        arcp_buf_append_byte(out, 'e');
        arcp_buf_append_i64(out, exponent);
    }
}

/* ---- objects ---- */

typedef struct member {
    arcp_span name;
    arcp_json_ref value;
} member;

static int by_name(const void *a, const void *b)
{
    const member *first = a;
    const member *second = b;
    size_t common = first->name.size < second->name.size ? first->name.size : second->name.size;
    int order = common == 0 ? 0 : memcmp(first->name.data, second->name.data, common);
    if (order != 0) {
        return order;
    }
    return first->name.size == second->name.size ? 0
                                                 : (first->name.size < second->name.size ? -1 : 1);
}

static void append_value(const arcp_json *json, arcp_json_ref ref, arcp_buf *out);

static void append_object(const arcp_json *json, arcp_json_ref ref, arcp_buf *out)
{
    size_t count = arcp_json_count(json, ref);
    member *members = arcp__alloc_array(count, sizeof(*members));
    arcp_buf scratch = ARCP_BUF_INIT;
    if (members == NULL || !arcp_buf_reserve(&scratch, json->nodes[ref].size)) {
        out->failed = true;
    } else {
        size_t at = 0;
        for (arcp_json_ref name = arcp_json_first(json, ref); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(json, ref, name)) {
            members[at++] = (member){arcp_json_string(json, name, &scratch), name + 1};
        }
        qsort(members, count, sizeof(*members), by_name);
        arcp_buf_append_byte(out, '{');
        for (at = 0; at < count; at++) {
            if (at > 0) {
                arcp_buf_append_byte(out, ',');
            }
            arcp_json_quote(members[at].name, out);
            arcp_buf_append_byte(out, ':');
            append_value(json, members[at].value, out);
        }
        arcp_buf_append_byte(out, '}');
    }
    arcp_buf_fini(&scratch);
    arcp__free(members);
}

static void append_array(const arcp_json *json, arcp_json_ref ref, arcp_buf *out)
{
    arcp_buf_append_byte(out, '[');
    bool comma = false;
    for (arcp_json_ref at = arcp_json_first(json, ref); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, ref, at)) {
        if (comma) {
            arcp_buf_append_byte(out, ',');
        }
        comma = true;
        append_value(json, at, out);
    }
    arcp_buf_append_byte(out, ']');
}

/* Recursion is bounded by the depth the text was scanned with. */
static void append_value(const arcp_json *json, arcp_json_ref ref, arcp_buf *out)
{
    switch (arcp_json_type_of(json, ref)) {
    case ARCP_JSON_NULL:
    case ARCP_JSON_FALSE:
    case ARCP_JSON_TRUE:
        arcp_buf_append(out, arcp_json_raw(json, ref));
        break;
    case ARCP_JSON_NUMBER:
        append_number(arcp_json_raw(json, ref), out);
        break;
    case ARCP_JSON_STRING: {
        arcp_buf scratch = ARCP_BUF_INIT;
        arcp_json_quote(arcp_json_string(json, ref, &scratch), out);
        out->failed = out->failed || scratch.failed;
        arcp_buf_fini(&scratch);
        break;
    }
    case ARCP_JSON_ARRAY:
        append_array(json, ref, out);
        break;
    case ARCP_JSON_OBJECT:
        append_object(json, ref, out);
        break;
    }
}

arcp_status arcp_json_canonical(const arcp_json *json, arcp_json_ref ref, arcp_buf *out,
                                arcp_error *err)
{
    if (ref == ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(out, "null");
    } else {
        append_value(json, ref, out);
    }
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

bool arcp_json_u64(const arcp_json *json, arcp_json_ref ref, uint64_t *out)
{
    if (!arcp_json_is(json, ref, ARCP_JSON_NUMBER)) {
        return false;
    }
    arcp_span raw = arcp_json_raw(json, ref);
    char plain[48];
    uint64_t value = 0;
    size_t at = 0;
    arcp_buf text = ARCP_BUF_INIT;
    if (raw.size > 19 || memchr(raw.data, '.', raw.size) != NULL ||
        memchr(raw.data, 'e', raw.size) != NULL || memchr(raw.data, 'E', raw.size) != NULL ||
        raw.data[0] == '-') {
        append_number(raw, &text);
        raw = arcp_buf_span(&text);
    }
    bool fits = raw.size != 0 && raw.size < sizeof(plain) && !text.failed;
    for (; fits && at < raw.size && raw.data[at] != 'e'; at++) {
        fits = raw.data[at] >= '0' && raw.data[at] <= '9' &&
               !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(raw.data[at] - '0'), &value);
    }
    if (fits && at < raw.size) {
        int64_t exponent = 0;
        fits = memchr(raw.data + at, 'E', raw.size - at) == NULL &&
               read_exponent(arcp_span_from(raw, at + 1), &exponent) && exponent >= 0 &&
               exponent < 20;
        for (; fits && exponent > 0; exponent--) {
            fits = !__builtin_mul_overflow(value, 10, &value);
        }
    }
    arcp_buf_fini(&text);
    if (fits) {
        *out = value;
    }
    return fits;
}
