/* Decimals against a model that only moves digits: a value that either parser accepts must be
 * written as the text that the model derives from the input. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decimal.h"

/* Long enough for every value of the model: 400 input bytes, shifted by at most SHIFT_MAX
 * places. */
#define INPUT_MAX 400
#define SHIFT_MAX 500
#define WHOLE_MAX (INPUT_MAX + SHIFT_MAX)

static const char max_whole[] = "170141183460469231731";
static const char max_fraction[] = "687303715884105727";

/* A non-negative number as digits before and after the point. */
typedef struct digits {
    char text[2 * (INPUT_MAX + SHIFT_MAX) + 64];
    size_t whole; /* digits before the point, without leading zeros */
    size_t total;
} digits;

/* Collects the digits of `text` up to `end` and puts the point `shift` places further. */
static void collect(digits *out, const char *text, size_t end, long shift)
{
    char all[INPUT_MAX + 1];
    size_t count = 0;
    long point = -1;
    for (size_t i = 0; i < end; i++) {
        if (text[i] == '.') {
            point = (long)count;
        } else if (text[i] >= '0' && text[i] <= '9') {
            all[count++] = text[i];
        }
    }
    point = (point < 0 ? (long)count : point) + shift;
    out->whole = 0;
    out->total = 0;
    for (long place = point < 0 ? point : 0; place < (long)count || place < point; place++) {
        const char digit = place >= 0 && place < (long)count ? all[place] : '0';
        if (place < point && (out->whole > 0 || digit != '0')) {
            out->text[out->whole++] = digit;
            out->total = out->whole;
        } else if (place >= point) {
            out->text[out->total++] = digit;
        }
    }
    while (out->total > out->whole && out->text[out->total - 1] == '0') {
        out->total--;
    }
}

static int exceeds_max(const digits *value)
{
    const size_t max_size = sizeof max_whole - 1;
    if (value->whole != max_size) {
        return value->whole > max_size;
    }
    int order = memcmp(value->text, max_whole, max_size);
    if (order == 0) {
        char fraction[18];
        memset(fraction, '0', sizeof fraction);
        size_t size = value->total - value->whole;
        size = size < sizeof fraction ? size : sizeof fraction;
        memcpy(fraction, value->text + value->whole, size);
        order = memcmp(fraction, max_fraction, sizeof fraction);
    }
    return order > 0;
}

/* Cuts to 18 fraction digits and adds one step when something was cut. */
static void round_up(digits *value)
{
    const size_t keep = value->whole + 18;
    if (value->total <= keep) {
        return;
    }
    value->total = keep;
    size_t i = keep;
    while (i > 0 && value->text[i - 1] == '9') {
        value->text[--i] = '0';
    }
    if (i > 0) {
        value->text[i - 1]++;
    } else {
        memmove(value->text + 1, value->text, value->total);
        value->text[0] = '1';
        value->whole++;
        value->total++;
    }
    while (value->total > value->whole && value->text[value->total - 1] == '0') {
        value->total--;
    }
}

static void require_text(arcp_decimal got, const digits *want)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    const size_t size = arcp_decimal_format(got, text);
    char model[sizeof want->text + 4];
    size_t used = 0;
    if (want->whole == 0) {
        model[used++] = '0';
    }
    memcpy(model + used, want->text, want->whole);
    used += want->whole;
    if (want->total > want->whole) {
        model[used++] = '.';
        memcpy(model + used, want->text + want->whole, want->total - want->whole);
        used += want->total - want->whole;
    }
    require(size == used && memcmp(text, model, used) == 0);
}

static void check_amount(arcp_span text)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    const int accepted = arcp_decimal_parse(text, &value, &err) == ARCP_OK;
    int well_formed = text.size > 0 && text.data[0] != '.' && text.data[text.size - 1] != '.';
    size_t points = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        points += byte == '.';
        well_formed = well_formed && (byte == '.' || (byte >= '0' && byte <= '9'));
    }
    if (!well_formed || points > 1) {
        require(!accepted);
        return;
    }
    digits want;
    collect(&want, text.data, text.size, 0);
    require(accepted == (want.total - want.whole <= 18 && !exceeds_max(&want)));
    if (accepted) {
        require_text(value, &want);
    }
}

static void check_spend(arcp_span text)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    if (arcp_decimal_parse_spend(text, &value, &err) != ARCP_OK) {
        require(err.message[0] != '\0');
        return;
    }
    require(arcp__decimal_units(value) >= 0);
    size_t end = 0;
    while (end < text.size && text.data[end] != 'e' && text.data[end] != 'E') {
        end++;
    }
    char exponent[INPUT_MAX + 1] = "0";
    if (end < text.size) {
        memcpy(exponent, text.data + end + 1, text.size - end - 1);
        exponent[text.size - end - 1] = '\0';
    }
    const long shift = strtol(exponent, NULL, 10);
    if (shift > SHIFT_MAX || shift < -SHIFT_MAX) {
        return;
    }
    digits want;
    collect(&want, text.data, end, shift);
    round_up(&want);
    if (exceeds_max(&want)) {
        collect(&want, "170141183460469231731.687303715884105727", 40, 0);
    }
    require_text(value, &want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) {
        return 0;
    }
    const arcp_span text = arcp_span_make((const char *)data, size);
    check_amount(text);
    check_spend(text);
    /* The same input as a text with only the characters of numbers. */
    static const char alphabet[] = "0123456789.e-+0";
    char number[INPUT_MAX];
    for (size_t i = 0; i < size; i++) {
        number[i] = alphabet[data[i] % (sizeof alphabet - 1)];
    }
    check_amount(arcp_span_make(number, size));
    check_spend(arcp_span_make(number, size));
    return 0;
}
