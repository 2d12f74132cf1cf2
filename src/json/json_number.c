#include "json/json_number.h"

#include <string.h>

/* Exponents of so many digits, and any shift added to one, fit 64 bits. */
#define SMALL_EXPONENT_DIGITS 18

static arcp_span without_leading_zeros(arcp_span digits)
{
    while (digits.size != 0 && digits.data[0] == '0') {
        digits = arcp_span_from(digits, 1);
    }
    return digits;
}

static bool is_zero_or_point(char byte)
{
    return byte == '0' || byte == '.';
}

arcp__json_number arcp__json_number_read(arcp_span literal)
{
    bool negative = literal.data[0] == '-';
    arcp_span body = arcp_span_from(literal, negative ? 1 : 0);
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
        return (arcp__json_number){0};
    }
    size_t last = end - 1;
    while (is_zero_or_point(body.data[last])) {
        last--;
    }
    point = point == SIZE_MAX ? end : point;
    arcp__json_number number = {
        .negative = negative,
        .digits = {body.data + first, last - first + 1},
        .shift = last < point ? (int64_t)(point - last) - 1 : -(int64_t)(last - point),
    };
    arcp_span exponent = arcp_span_from(body, end + 1);
    if (exponent.size != 0 && (exponent.data[0] == '-' || exponent.data[0] == '+')) {
        number.exponent_negative = exponent.data[0] == '-';
        exponent = arcp_span_from(exponent, 1);
    }
    number.exponent = without_leading_zeros(exponent);
    return number;
}

/* Exponent and shift together; false when that could leave 64 bits. */
static bool small_exponent(const arcp__json_number *number, int64_t *out)
{
    if (number->exponent.size > SMALL_EXPONENT_DIGITS) {
        return false;
    }
    int64_t value = 0;
    for (size_t at = 0; at < number->exponent.size; at++) {
        value = value * 10 + (number->exponent.data[at] - '0');
    }
    *out = (number->exponent_negative ? -value : value) + number->shift;
    return true;
}

/* The sum of an exponent of more than 18 digits and the shift: on paper, from the right.
 * The sign is the exponent's, which is far larger. */
static void append_large_exponent(const arcp__json_number *number, arcp_buf *out)
{
    if (number->exponent_negative) {
        arcp_buf_append_byte(out, '-');
    }
    size_t start = out->size;
    arcp_buf_append(out, number->exponent);
    if (out->failed) {
        return;
    }
    int64_t carry = number->exponent_negative ? -number->shift : number->shift;
    for (size_t at = out->size; carry != 0 && at > start; at--) {
        int64_t sum = carry + (out->data[at - 1] - '0');
        int64_t digit = sum % 10;
        carry = sum / 10;
        if (digit < 0) {
            digit += 10;
            carry--;
        }
        out->data[at - 1] = (char)('0' + digit);
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

void arcp__json_number_append(arcp_span literal, arcp_buf *out)
{
    arcp__json_number number = arcp__json_number_read(literal);
    if (number.digits.size == 0) {
        arcp_buf_append_byte(out, '0');
        return;
    }
    if (number.negative) {
        arcp_buf_append_byte(out, '-');
    }
    const char *point = memchr(number.digits.data, '.', number.digits.size);
    size_t whole = point == NULL ? number.digits.size : (size_t)(point - number.digits.data);
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

bool arcp__json_number_u64(arcp_span literal, uint64_t *out)
{
    arcp__json_number number = arcp__json_number_read(literal);
    int64_t exponent = 0;
    /* Below 0 there would be digits behind the point; 10^20 is past the end anyway. */
    if (number.negative || !small_exponent(&number, &exponent) || exponent < 0 || exponent > 19) {
        return false;
    }
    uint64_t value = 0;
    for (size_t at = 0; at < number.digits.size; at++) {
        char digit = number.digits.data[at];
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
