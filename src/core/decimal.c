#include "core/decimal.h"

#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

/* Every value is kept in -MAX..MAX, so that it can always be negated. */
#define DECIMAL_PLACES 18
#define DECIMAL_MAX    (~(wide)0 >> 1)
#define ONE            UINT64_C(1000000000000000000) /* 10^DECIMAL_PLACES */

/* Bytes of a refused text that a message quotes. */
#define QUOTED_MAX 40

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static arcp_status refuse(arcp_error *err, arcp_span text, size_t offset, const char *reason)
{
    const arcp_span shown = arcp_span_first(text, QUOTED_MAX);
    return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, offset, "\"%.*s%s\" %s", (int)shown.size,
                             shown.size == 0 ? "" : shown.data, shown.size < text.size ? "..." : "",
                             reason);
}

/* Appends a digit; false when the value is out of range. */
static bool push_digit(wide *value, unsigned digit)
{
    const wide bound = DECIMAL_MAX / 10;
    if (*value >= bound && (*value > bound || digit > (unsigned)(DECIMAL_MAX % 10))) {
        return false;
    }
    *value = *value * 10 + digit;
    return true;
}

/* The index of the first byte from `i` on that is not a digit. */
static size_t skip_digits(arcp_span text, size_t i)
{
    while (i < text.size && is_digit(text.data[i])) {
        i++;
    }
    return i;
}

/* The parts of an amount, or of a JSON number (RFC 8259 §6). */
typedef struct number_text {
    bool is_negative;
    arcp_span whole;    /* digits before the point */
    arcp_span fraction; /* digits after it, may be empty */
    int64_t exponent;   /* clamped to +-EXPONENT_MAX */
} number_text;

/* Larger than any text could compensate with its digits, and too small to overflow in sums with
 * sizes. */
#define EXPONENT_MAX (INT64_C(1) << 60)

/* Sums the digits as units; *has_rest says whether there are non-zero digits below one unit.
 * Returns false when the value is out of range. */
static bool sum_digits(const number_text *number, wide *value, bool *has_rest)
{
    const size_t count = number->whole.size + number->fraction.size;
    /* The power of ten, in units, of the first digit. */
    const int64_t first = (int64_t)number->whole.size - 1 + number->exponent + DECIMAL_PLACES;
    *value = 0;
    *has_rest = false;
    for (size_t i = 0; i < count; i++) {
        const char byte = i < number->whole.size ? number->whole.data[i]
                                                 : number->fraction.data[i - number->whole.size];
        if (first - (int64_t)i < 0) {
            *has_rest = *has_rest || byte != '0';
        } else if (!push_digit(value, (unsigned)(byte - '0'))) {
            return false;
        }
    }
    /* Append the zeros of the exponent. The loop is short, because a value that is not zero exceeds
     * the range within 39 digits. */
    for (int64_t left = first - (int64_t)count + 1; left > 0 && *value != 0; left--) {
        if (!push_digit(value, 0)) {
            return false;
        }
    }
    return true;
}

arcp_status arcp_decimal_parse(arcp_span text, arcp_decimal *out, arcp_error *err)
{
    const size_t point = skip_digits(text, 0);
    if (point == 0) {
        return refuse(err, text, 0, "is not an amount: it must begin with a digit");
    }
    size_t end = point;
    if (point < text.size && text.data[point] == '.') {
        end = skip_digits(text, point + 1);
        if (end == point + 1) {
            return refuse(err, text, end, "is not an amount: a digit must follow the point");
        }
    }
    if (end != text.size) {
        return refuse(err, text, end, "is not an amount: only digits and one point may occur");
    }
    size_t fraction_end = end;
    while (fraction_end > point && (text.data[fraction_end - 1] == '0')) {
        fraction_end--;
    }
    if (fraction_end > point && fraction_end - (point + 1) > DECIMAL_PLACES) {
        return refuse(err, text, point + 1 + DECIMAL_PLACES,
                      "has more than 18 significant digits after the point");
    }
    const number_text number = {.whole = arcp_span_first(text, point),
                                .fraction =
                                    arcp_span_from(arcp_span_first(text, fraction_end), point + 1)};
    wide value = 0;
    bool has_rest = false;
    if (!sum_digits(&number, &value, &has_rest)) {
        return refuse(err, text, 0, "is out of range: the largest amount is about 1.7e20");
    }
    *out = arcp__decimal_of((arcp__units)value);
    return ARCP_OK;
}

static arcp_status split_number(arcp_span text, number_text *out, arcp_error *err)
{
    size_t i = 0;
    out->exponent = 0;
    out->is_negative = text.size > 0 && text.data[0] == '-';
    i += out->is_negative;
    const size_t whole_end = skip_digits(text, i);
    if (whole_end == i) {
        return refuse(err, text, i, "is not a number");
    }
    if (text.data[i] == '0' && whole_end > i + 1) {
        return refuse(err, text, i, "is not a JSON number: it begins with a superfluous zero");
    }
    out->whole = arcp_span_make(text.data + i, whole_end - i);
    out->fraction = arcp_span_make(text.data + whole_end, 0);
    i = whole_end;
    if (i < text.size && text.data[i] == '.') {
        const size_t fraction_end = skip_digits(text, i + 1);
        if (fraction_end == i + 1) {
            return refuse(err, text, fraction_end,
                          "is not a JSON number: a digit must follow the point");
        }
        out->fraction = arcp_span_make(text.data + i + 1, fraction_end - (i + 1));
        i = fraction_end;
    }
    if (i < text.size && (text.data[i] == 'e' || text.data[i] == 'E')) {
        const size_t sign = ++i;
        i += i < text.size && (text.data[i] == '+' || text.data[i] == '-') ? 1 : 0;
        const size_t digits = i;
        for (; i < text.size && is_digit(text.data[i]); i++) {
            const bool is_small = out->exponent < EXPONENT_MAX / 10;
            out->exponent = is_small ? out->exponent * 10 + (text.data[i] - '0') : EXPONENT_MAX;
        }
        if (i == digits) {
            return refuse(err, text, sign,
                          "is not a JSON number: a digit must follow the exponent sign");
        }
        out->exponent = text.data[sign] == '-' ? -out->exponent : out->exponent;
    }
    if (i != text.size) {
        return refuse(err, text, i, "is not a number");
    }
    return ARCP_OK;
}

/* [arcp:LB-10] */
arcp_status arcp_decimal_parse_spend(arcp_span json_number, arcp_decimal *out, arcp_error *err)
{
    number_text number = {0};
    const arcp_status status = split_number(json_number, &number, err);
    if (status != ARCP_OK) {
        return status;
    }
    wide value = 0;
    bool has_rest = false;
    const bool fits = sum_digits(&number, &value, &has_rest);
    if (number.is_negative && (!fits || value != 0 || has_rest)) {
        return refuse(err, json_number, 0, "is negative: a cost must be 0 or more");
    }
    if (!fits) {
        value = DECIMAL_MAX;
    } else if (has_rest && value < DECIMAL_MAX) {
        value++;
    }
    *out = arcp__decimal_of((arcp__units)value);
    return ARCP_OK;
}

bool arcp_decimal_add(arcp_decimal a, arcp_decimal b, arcp_decimal *out)
{
    arcp__units sum = 0;
    if (__builtin_add_overflow(arcp__decimal_units(a), arcp__decimal_units(b), &sum) ||
        sum < -(arcp__units)DECIMAL_MAX) {
        return false;
    }
    *out = arcp__decimal_of(sum);
    return true;
}

int arcp_decimal_compare(arcp_decimal a, arcp_decimal b)
{
    const arcp__units left = arcp__decimal_units(a);
    const arcp__units right = arcp__decimal_units(b);
    return (left > right) - (left < right);
}

/* Writes `value` with at least `width` digits, backwards from `end`; returns its start. */
static char *write_digits(char *end, uint64_t value, int width)
{
    for (; value != 0 || width > 0; width--) {
        *--end = (char)('0' + (int)(value % 10));
        value /= 10;
    }
    return end;
}

size_t arcp_decimal_format(arcp_decimal value, char out[ARCP_DECIMAL_TEXT_MAX])
{
    const arcp__units units = arcp__decimal_units(value);
    const bool is_negative = units < 0;
    const wide magnitude = is_negative ? (wide)0 - (wide)units : (wide)units;
    const wide whole = magnitude / ONE;
    uint64_t fraction = (uint64_t)(magnitude % ONE);
    int places = fraction == 0 ? 0 : DECIMAL_PLACES;
    while (fraction != 0 && fraction % 10 == 0) {
        fraction /= 10;
        places--;
    }
    char digits[ARCP_DECIMAL_TEXT_MAX];
    char *const end = digits + sizeof digits;
    char *start = end;
    if (places > 0) {
        start = write_digits(start, fraction, places);
        *--start = '.';
    }
    if (whole < ONE) {
        start = write_digits(start, (uint64_t)whole, 1);
    } else {
        start = write_digits(start, (uint64_t)(whole % ONE), DECIMAL_PLACES);
        start = write_digits(start, (uint64_t)(whole / ONE), 1);
    }
    if (is_negative) {
        *--start = '-';
    }
    const size_t size = (size_t)(end - start);
    memcpy(out, start, size);
    out[size] = '\0';
    return size;
}
