/* Exact numbers, split into parts without computing their value; and the canonical form: two values
 * are equal if, and only if, their canonical texts are. */
#include <stdlib.h>

#include "base/alloc.h"
#include "json/json.h"
#include "json/json_parts.h"

/* An exponent of this many digits, with any shift added, fits 64 bits. */
#define SMALL_EXPONENT_DIGITS 18

/* Objects with at most this many members are sorted by insertion. */
#define INSERTION_MAX 16u

/* ---- numbers ---- */

/* A number is digits * 10^(exponent + shift), with its sign: `digits` is the literal from the first
 * to the last non-zero digit, read as an integer although a point may be in it. Spans borrow from
 * the literal. */
typedef struct number_parts {
    bool negative;      /* never for zero */
    arcp_span digits;   /* empty for zero */
    arcp_span exponent; /* digits without leading zeros; empty for none, and for 0 */
    bool exponent_negative;
    int64_t shift; /* less than 2^32 either way */
} number_parts;

static bool is_zero_or_point(char byte)
{
    return byte == '0' || byte == '.';
}

/* Splits a literal that was scanned before. */
static number_parts read_number(arcp_span literal)
{
    const bool negative = literal.data[0] == '-';
    const arcp_span body = arcp_span_from(literal, negative ? 1 : 0);
    size_t end = 0;
    size_t point = SIZE_MAX;
    while (end < body.size && (body.data[end] | 0x20) != 'e') {
        if (body.data[end] == '.') {
            point = end;
        }
        end++;
    }
    size_t first = 0;
    while (first < end && is_zero_or_point(body.data[first])) {
        first++;
    }
    if (first == end) {
        return (number_parts){0};
    }
    size_t last = end - 1;
    while (is_zero_or_point(body.data[last])) {
        last--;
    }
    point = point == SIZE_MAX ? end : point;
    number_parts number = {
        .negative = negative,
        .digits = {body.data + first, last - first + 1},
        .shift = last < point ? (int64_t)(point - last) - 1 : -(int64_t)(last - point),
    };
    arcp_span exponent = arcp_span_from(body, end + 1);
    if (exponent.size != 0 && (exponent.data[0] == '-' || exponent.data[0] == '+')) {
        number.exponent_negative = exponent.data[0] == '-';
        exponent = arcp_span_from(exponent, 1);
    }
    while (exponent.size != 0 && exponent.data[0] == '0') {
        exponent = arcp_span_from(exponent, 1);
    }
    number.exponent = exponent;
    return number;
}

/* The sum of exponent and shift; false when it might not fit 64 bits. */
static bool small_exponent(const number_parts *number, int64_t *out)
{
    if (number->exponent.size > SMALL_EXPONENT_DIGITS) {
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < number->exponent.size; i++) {
        value = value * 10 + (number->exponent.data[i] - '0');
    }
    *out = (number->exponent_negative ? -value : value) + number->shift;
    return true;
}

/* Appends the sum of an exponent of more than 18 digits and the shift, digit by digit from the
 * right. The sign is the exponent's, which is far larger. */
static void append_large_exponent(const number_parts *number, arcp_buf *out)
{
    if (number->exponent_negative) {
        arcp_buf_append_byte(out, '-');
    }
    const size_t start = out->size;
    arcp_buf_append(out, number->exponent);
    if (out->failed) {
        return;
    }
    int64_t carry = number->exponent_negative ? -number->shift : number->shift;
    for (size_t i = out->size; carry != 0 && i > start; i--) {
        const int64_t sum = carry + (out->data[i - 1] - '0');
        int64_t digit = sum % 10;
        carry = sum / 10;
        if (digit < 0) {
            digit += 10;
            carry--;
        }
        out->data[i - 1] = (char)('0' + digit);
    }
    if (carry != 0) {
        /* 99...9 became 1 and a row of digits; the carry is 1, as 2^32 has 10 digits. */
        arcp_buf_append_byte(out, '0');
        if (!out->failed) {
            memmove(out->data + start + 1, out->data + start, out->size - start - 1);
            out->data[start] = '1';
        }
    } else if (out->data[start] == '0') {
        /* 10...0 lost its first digit. */
        memmove(out->data + start, out->data + start + 1, out->size - start - 1);
        out->size--;
    }
}

/* Appends the one spelling of the value: -digits'e'exponent, the digits without zeros at either
 * end, the exponent left out when it is 0; `0` for zero. At most 12 bytes longer than the literal,
 * whatever the exponent. */
static void append_number(arcp_span literal, arcp_buf *out)
{
    number_parts number = read_number(literal);
    if (number.digits.size == 0) {
        arcp_buf_append_byte(out, '0');
        return;
    }
    if (number.negative) {
        arcp_buf_append_byte(out, '-');
    }
    const char *point = memchr(number.digits.data, '.', number.digits.size);
    const size_t whole = point == NULL ? number.digits.size : (size_t)(point - number.digits.data);
    arcp_buf_append(out, arcp_span_first(number.digits, whole));
    arcp_buf_append(out, arcp_span_from(number.digits, whole + 1));
    int64_t exponent = 0;
    if (!small_exponent(&number, &exponent)) {
        arcp_buf_append_byte(out, 'e');
        append_large_exponent(&number, out);
    } else if (exponent != 0) {
        arcp_buf_append_byte(out, 'e');
        arcp_buf_append_i64(out, exponent);
    }
}

bool arcp_json_u64(const arcp_json *json, arcp_json_ref ref, uint64_t *out)
{
    if (!arcp_json_is(json, ref, ARCP_JSON_NUMBER)) {
        return false;
    }
    number_parts number = read_number(arcp_json_raw(json, ref));
    int64_t exponent = 0;
    /* A negative exponent leaves digits behind the point; 10^20 does not fit. */
    if (number.negative || !small_exponent(&number, &exponent) || exponent < 0 || exponent > 19) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < number.digits.size; i++) {
        const char digit = number.digits.data[i];
        if (digit != '.' && (__builtin_mul_overflow(value, 10, &value) ||
                             __builtin_add_overflow(value, (uint64_t)(digit - '0'), &value))) {
            return false;
        }
    }
    for (; exponent > 0; exponent--) {
        if (__builtin_mul_overflow(value, 10, &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

/* ---- the canonical form ---- */

typedef struct form {
    const arcp_json *json;
    arcp_buf *out;
    uint32_t *names; /* names of the objects being written, the innermost last */
    size_t count;
    size_t capacity;
    uint32_t *owned; /* `names`, once they do not fit `few` */
    uint32_t few[32];
    uint32_t depth;
    bool too_deep;
} form;

static void append_value(form *f, arcp_json_ref ref);

static int by_name(const void *a, const void *b, void *user)
{
    const form *f = user;
    return arcp__json_compare_strings(arcp_json_raw(f->json, *(const uint32_t *)a),
                                      arcp_json_raw(f->json, *(const uint32_t *)b));
}

/* Sorts the names from f->names[base] on. */
static void sort_names(form *f, size_t base)
{
    const size_t count = f->count - base;
    if (count < 2) {
        return;
    }
    uint32_t *names = f->names + base;
    if (count > INSERTION_MAX) {
        qsort_r(names, count, sizeof *names, by_name, f);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint32_t name = names[i];
        size_t to = i;
        for (; to > 0 && by_name(&names[to - 1], &name, f) > 0; to--) {
            names[to] = names[to - 1];
        }
        names[to] = name;
    }
}

static bool push_name(form *f, uint32_t name)
{
    if (f->count == f->capacity) {
        const size_t capacity = f->capacity * 2;
        uint32_t *names = arcp__realloc_array(f->owned, capacity, sizeof *names);
        if (names == NULL) {
            f->out->failed = true;
            return false;
        }
        if (f->owned == NULL) {
            memcpy(names, f->few, sizeof f->few);
        }
        f->names = f->owned = names;
        f->capacity = capacity;
    }
    f->names[f->count++] = name;
    return true;
}

static void append_string(form *f, arcp_json_ref ref)
{
    const arcp_span raw = arcp_json_raw(f->json, ref);
    if ((f->json->nodes[ref].flags & ARCP__JSON_ESCAPED) == 0) {
        arcp_buf_append(f->out, raw); /* without escapes it is canonical already */
        return;
    }
    arcp_buf_append_byte(f->out, '"');
    arcp__json_reader reader = arcp__json_reader_make(raw);
    for (arcp_span run = arcp__json_read(&reader); run.size != 0; run = arcp__json_read(&reader)) {
        arcp__json_append_escaped(run, f->out);
    }
    arcp_buf_append_byte(f->out, '"');
}

static void append_object(form *f, arcp_json_ref ref)
{
    const size_t base = f->count;
    for (arcp_json_ref name = arcp_json_first(f->json, ref); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(f->json, ref, name)) {
        if (!push_name(f, name)) {
            return;
        }
    }
    sort_names(f, base);
    arcp_buf_append_byte(f->out, '{');
    const size_t end = f->count;
    for (size_t i = base; i < end; i++) {
        const uint32_t name = f->names[i];
        if (i > base) {
            arcp_buf_append_byte(f->out, ',');
        }
        append_string(f, name);
        arcp_buf_append_byte(f->out, ':');
        append_value(f, name + 1);
    }
    arcp_buf_append_byte(f->out, '}');
    f->count = base;
}

static void append_array(form *f, arcp_json_ref ref)
{
    arcp_buf_append_byte(f->out, '[');
    const uint32_t end = f->json->nodes[ref].next;
    for (uint32_t item = ref + 1; item < end; item = f->json->nodes[item].next) {
        if (item > ref + 1) {
            arcp_buf_append_byte(f->out, ',');
        }
        append_value(f, item);
    }
    arcp_buf_append_byte(f->out, ']');
}

static void append_value(form *f, arcp_json_ref ref)
{
    switch ((arcp_json_type)f->json->nodes[ref].type) {
    case ARCP_JSON_NULL:
    case ARCP_JSON_FALSE:
    case ARCP_JSON_TRUE:
        arcp_buf_append(f->out, arcp_json_raw(f->json, ref));
        break;
    case ARCP_JSON_NUMBER:
        append_number(arcp_json_raw(f->json, ref), f->out);
        break;
    case ARCP_JSON_STRING:
        append_string(f, ref);
        break;
    case ARCP_JSON_ARRAY:
    case ARCP_JSON_OBJECT:
        f->too_deep = f->too_deep || f->depth == ARCP_JSON_CANONICAL_DEPTH_MAX;
        if (f->too_deep || f->out->failed) {
            return;
        }
        f->depth++;
        if (f->json->nodes[ref].type == ARCP_JSON_OBJECT) {
            append_object(f, ref);
        } else {
            append_array(f, ref);
        }
        f->depth--;
        break;
    }
}

arcp_status arcp_json_canonical(const arcp_json *json, arcp_json_ref ref, arcp_buf *out,
                                arcp_error *err)
{
    const size_t start = out->size;
    form f = {.json = json, .out = out, .capacity = sizeof f.few / sizeof f.few[0]};
    f.names = f.few;
    if (ref == ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(out, "null");
    } else {
        append_value(&f, ref);
    }
    arcp__free(f.owned);
    if (f.too_deep) {
        out->size = start;
        return arcp_error_set(err, ARCP_E_LIMIT, "JSON: more than %d levels have no canonical form",
                              ARCP_JSON_CANONICAL_DEPTH_MAX);
    }
    if (out->failed) {
        out->size = start;
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return ARCP_OK;
}
