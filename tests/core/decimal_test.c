/* Decimals are exact, and invalid text is refused (docs/leases.md, Budgets, draft §9.6). */
#include "support/check.h"

#include "core/decimal.h"

#define MAX_TEXT "170141183460469231731.687303715884105727"

static void check_text(arcp_decimal value, const char *want)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    const size_t size = arcp_decimal_format(value, text);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, want);
}

static arcp_decimal amount(const char *text)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse(arcp_span_cstr(text), &value, &err), &err);
    return value;
}

static arcp_decimal spend(const char *text)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse_spend(arcp_span_cstr(text), &value, &err), &err);
    return value;
}

typedef struct text_row {
    const char *name;
    const char *text;
    const char *want;
} text_row;

static const text_row amounts[] = {
    {"a whole number", "5", "5"},
    {"trailing zeros are dropped", "5.00", "5"},
    {"a fraction", "0.0234", "0.0234"},
    {"zero", "0", "0"},
    {"zero with a fraction", "0.000", "0"},
    {"leading zeros count for nothing", "0007.50", "7.5"},
    {"the smallest step", "0.000000000000000001", "0.000000000000000001"},
    {"18 fraction digits", "1.123456789012345678", "1.123456789012345678"},
    {"zeros beyond the 18th digit are not significant", "1.5000000000000000000000", "1.5"},
    {"the largest value", MAX_TEXT, MAX_TEXT},
    {"a whole part beyond 64 bits", "100000000000000000000", "100000000000000000000"},
    {"a whole part of 10^18", "1000000000000000000", "1000000000000000000"},
    {"just below 10^18", "999999999999999999.9", "999999999999999999.9"},
    {"many leading zeros", "0000000000000000000000000000000000000000000000000000000000000000001",
     "1"},
};

static void amounts_are_read_exactly_and_written_with_the_fewest_digits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        print_message("  %s\n", amounts[i].name);
        check_text(amount(amounts[i].text), amounts[i].want);
    }
}

typedef struct refusal_row {
    const char *name;
    const char *text;
    size_t offset;
    const char *says; /* part of the message */
} refusal_row;

static void check_refusals(const refusal_row *rows, size_t count,
                           arcp_status (*parse)(arcp_span, arcp_decimal *, arcp_error *))
{
    for (size_t i = 0; i < count; i++) {
        print_message("  %s\n", rows[i].name);
        arcp_decimal value = {42, 0};
        arcp_error err = {0};
        assert_int_equal(parse(arcp_span_cstr(rows[i].text), &value, &err), ARCP_E_INVALID_REQUEST);
        assert_true(arcp__decimal_units(value) == 42);
        assert_int_equal(err.offset, rows[i].offset);
        if (strstr(err.message, rows[i].says) == NULL) {
            fail_msg("message \"%s\" does not say \"%s\"", err.message, rows[i].says);
        }
    }
}

static const refusal_row bad_amounts[] = {
    {"nothing", "", 0, "begin with a digit"},
    {"NaN", "NaN", 0, "begin with a digit"},
    {"infinity", "Infinity", 0, "begin with a digit"},
    {"an exponent", "1e400", 1, "only digits and one point"},
    {"a small exponent", "1e3", 1, "only digits and one point"},
    {"a negative amount", "-0.1", 0, "begin with a digit"},
    {"a plus sign", "+1", 0, "begin with a digit"},
    {"a quoted amount", "\"5\"", 0, "begin with a digit"},
    {"a point at the end", "1.", 2, "must follow the point"},
    {"a point at the beginning", ".5", 0, "begin with a digit"},
    {"a point alone", ".", 0, "begin with a digit"},
    {"two points", "1.2.3", 3, "only digits and one point"},
    {"a point after a point", "1..2", 2, "must follow the point"},
    {"hexadecimal", "0x1", 1, "only digits and one point"},
    {"a space before", " 5", 0, "begin with a digit"},
    {"a space behind", "5 ", 1, "only digits and one point"},
    {"a comma", "1,5", 1, "only digits and one point"},
    {"an underscore", "1_000", 1, "only digits and one point"},
    {"digits of another script", "\xd9\xa3", 0, "begin with a digit"},
    {"19 significant fraction digits", "0.0000000000000000001", 20, "more than 18"},
    {"one more than the largest", "170141183460469231731.687303715884105728", 0, "out of range"},
    {"the next whole number", "170141183460469231732", 0, "out of range"},
    {"forty digits", "1000000000000000000000000000000000000000", 0, "out of range"},
};

/* [arcp:9.6-1] */
static void text_that_is_not_an_amount_is_refused_with_a_reason(void **state)
{
    (void)state;
    check_refusals(bad_amounts, sizeof bad_amounts / sizeof *bad_amounts, arcp_decimal_parse);
}

static void an_amount_of_400_digits_is_refused_and_its_message_stays_short(void **state)
{
    (void)state;
    char digits[400];
    memset(digits, '9', sizeof digits);
    arcp_decimal value = {42, 0};
    arcp_error err = {0};
    assert_int_equal(arcp_decimal_parse(arcp_span_make(digits, sizeof digits), &value, &err),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "...\" is out of range"));
}

static const text_row spends[] = {
    {"a whole number", "5", "5"},
    {"a fraction", "0.0234", "0.0234"},
    {"a positive exponent", "12e2", "1200"},
    {"a negative exponent", "12E-3", "0.012"},
    {"an exponent with a plus sign", "1.5e+1", "15"},
    {"a fraction shifted into whole digits", "1.2345e2", "123.45"},
    {"minus zero is zero", "-0", "0"},
    {"minus zero with all trimmings is zero", "-0.000e-7", "0"},
    {"zero with a huge exponent is zero", "0e99999999999999999999", "0"},
    {"the 19th digit rounds up", "0.0000000000000000001", "0.000000000000000001"},
    {"a small 19th digit rounds up too", "1.0000000000000000001", "1.000000000000000001"},
    {"a zero as 19th digit does not round", "1.0000000000000000010", "1.000000000000000001"},
    {"zeros beyond the 18th digit do not round", "0.50000000000000000000000", "0.5"},
    {"any cost that is not zero is at least one step", "1e-400", "0.000000000000000001"},
    {"an exponent beyond 64 bits", "1e-99999999999999999999999", "0.000000000000000001"},
    {"too large a value saturates", "1e400", MAX_TEXT},
    {"an exponent beyond 64 bits saturates", "1e99999999999999999999999", MAX_TEXT},
    {"the largest value", MAX_TEXT, MAX_TEXT},
    {"rounding up at the largest value saturates", MAX_TEXT "9", MAX_TEXT},
    {"one step more than the largest saturates", "170141183460469231731.687303715884105728",
     MAX_TEXT},
    {"many digits and an exponent that undoes them", "170141183460469231731687303715884105727e-18",
     MAX_TEXT},
};

static void spends_are_read_from_json_numbers_never_in_the_spenders_favour(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spends / sizeof *spends; i++) {
        print_message("  %s\n", spends[i].name);
        check_text(spend(spends[i].text), spends[i].want);
    }
}

static const refusal_row bad_spends[] = {
    {"nothing", "", 0, "not a number"},
    {"NaN", "NaN", 0, "not a number"},
    {"null", "null", 0, "not a number"},
    {"a quoted number", "\"5\"", 0, "not a number"},
    {"a negative value", "-0.1", 0, "negative"},
    {"a negative value that would round to zero", "-1e-400", 0, "negative"},
    {"a negative value out of range", "-1e400", 0, "negative"},
    {"a minus sign alone", "-", 1, "not a number"},
    {"minus infinity", "-Infinity", 1, "not a number"},
    {"a point at the end", "1.", 2, "must follow the point"},
    {"a point at the beginning", ".5", 0, "not a number"},
    {"a leading zero", "01", 0, "superfluous zero"},
    {"two zeros", "00", 0, "superfluous zero"},
    {"a plus sign", "+1", 0, "not a number"},
    {"an exponent without digits", "1e", 2, "must follow the exponent"},
    {"an exponent sign without digits", "1e+", 2, "must follow the exponent"},
    {"a fraction in the exponent", "1e1.5", 3, "not a number"},
    {"hexadecimal", "0x1", 1, "not a number"},
    {"a space behind", "1 ", 1, "not a number"},
};

static void a_number_that_is_not_a_cost_is_refused_with_a_reason(void **state)
{
    (void)state;
    check_refusals(bad_spends, sizeof bad_spends / sizeof *bad_spends, arcp_decimal_parse_spend);
}

static void a_spend_of_a_million_digits_is_read_in_linear_time(void **state)
{
    (void)state;
    const size_t size = 1000000;
    char *digits = malloc(size);
    assert_non_null(digits);
    memset(digits, '0', size);
    memcpy(digits, "0.", 2);
    digits[size - 1] = '1';
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse_spend(arcp_span_make(digits, size), &value, &err), &err);
    free(digits);
    check_text(value, "0.000000000000000001");
}

/* [arcp:LB-10] */
static void three_tenths_less_three_times_a_tenth_is_exactly_zero(void **state)
{
    (void)state;
    arcp_decimal left = amount("0.30");
    arcp_decimal tenth = spend("0.1");
    tenth = arcp__decimal_of(-arcp__decimal_units(tenth));
    for (int i = 0; i < 3; i++) {
        assert_true(arcp_decimal_add(left, tenth, &left));
    }
    assert_true(arcp__decimal_units(left) == 0);
}

static void sums_out_of_range_are_refused_and_leave_the_result_alone(void **state)
{
    (void)state;
    const arcp_decimal max = amount(MAX_TEXT);
    const arcp_decimal step = {1, 0};
    const arcp_decimal min = arcp__decimal_of(-arcp__decimal_units(max));
    const arcp_decimal down = arcp__decimal_of(-1);
    arcp_decimal sum = {42, 0};
    assert_false(arcp_decimal_add(max, step, &sum));
    assert_false(arcp_decimal_add(min, down, &sum));
    assert_true(arcp__decimal_units(sum) == 42);
    assert_true(arcp_decimal_add(max, min, &sum));
    assert_true(arcp__decimal_units(sum) == 0);
    assert_true(arcp_decimal_add(max, down, &sum));
    assert_true(arcp__decimal_units(sum) == arcp__decimal_units(max) - 1);
}

static void negative_values_are_written_with_a_sign(void **state)
{
    (void)state;
    const arcp_decimal max = amount(MAX_TEXT);
    const arcp_decimal half = arcp__decimal_of(-arcp__decimal_units(amount("0.5")));
    const arcp_decimal min = arcp__decimal_of(-arcp__decimal_units(max));
    const arcp_decimal step = arcp__decimal_of(-1);
    check_text(half, "-0.5");
    check_text(min, "-" MAX_TEXT);
    check_text(step, "-0.000000000000000001");
}

static void values_compare_by_size(void **state)
{
    (void)state;
    const arcp_decimal negative = arcp__decimal_of(-1);
    assert_true(arcp_decimal_compare(amount("1"), amount("1.00")) == 0);
    assert_true(arcp_decimal_compare(amount("0.999999999999999999"), amount("1")) < 0);
    assert_true(arcp_decimal_compare(amount("2"), amount("1")) > 0);
    assert_true(arcp_decimal_compare(negative, amount("0")) < 0);
}

/* A small generator, so that the test is the same on every machine. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void a_written_decimal_is_read_back_as_the_same_value(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252U;
    for (int i = 0; i < 100000; i++) {
        const arcp__units high = (arcp__units)(next_random(&seed) >> 1);
        arcp_decimal value = {next_random(&seed), (int64_t)high};
        value = arcp__decimal_of(arcp__decimal_units(value) >> (next_random(&seed) % 127));
        char text[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(value, text);
        assert_true(arcp__decimal_units(amount(text)) == arcp__decimal_units(value));
        assert_true(arcp__decimal_units(spend(text)) == arcp__decimal_units(value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_read_exactly_and_written_with_the_fewest_digits),
        cmocka_unit_test(text_that_is_not_an_amount_is_refused_with_a_reason),
        cmocka_unit_test(an_amount_of_400_digits_is_refused_and_its_message_stays_short),
        cmocka_unit_test(spends_are_read_from_json_numbers_never_in_the_spenders_favour),
        cmocka_unit_test(a_number_that_is_not_a_cost_is_refused_with_a_reason),
        cmocka_unit_test(a_spend_of_a_million_digits_is_read_in_linear_time),
        cmocka_unit_test(three_tenths_less_three_times_a_tenth_is_exactly_zero),
        cmocka_unit_test(sums_out_of_range_are_refused_and_leave_the_result_alone),
        cmocka_unit_test(negative_values_are_written_with_a_sign),
        cmocka_unit_test(values_compare_by_size),
        cmocka_unit_test(a_written_decimal_is_read_back_as_the_same_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
