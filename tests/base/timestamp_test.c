/* Instants are RFC 3339 in UTC, exact to the last digit (draft §9.5). */
#include "support/check.h"

#include <arcp/time.h>

#include "base/timestamp.h"

typedef struct instant_row {
    const char *name;
    const char *text;
    int64_t seconds;
    int64_t ns;
} instant_row;

/* Seconds from date(1). */
static const instant_row instants[] = {
    {"the epoch", "1970-01-01T00:00:00Z", 0, 0},
    {"a second later", "1970-01-01T00:00:01Z", 1, 0},
    {"the draft's example", "2026-05-13T19:42:13Z", 1778701333, 0},
    {"one digit of a fraction", "2026-05-13T19:42:13.5Z", 1778701333, 500000000},
    {"milliseconds", "2026-05-13T19:42:13.123Z", 1778701333, 123000000},
    {"nanoseconds", "2026-05-13T19:42:13.123456789Z", 1778701333, 123456789},
    {"digits beyond nanoseconds round down", "2026-05-13T19:42:13.9999999999999Z", 1778701333,
     999999999},
    {"a leap day", "2024-02-29T00:00:00Z", 1709164800, 0},
    {"a leap day of a 400th year", "2000-02-29T12:00:00Z", 951825600, 0},
    {"the day after a February of 28", "2023-03-01T00:00:00Z", 1677628800, 0},
    {"the last second of a year", "2025-12-31T23:59:59Z", 1767225599, 0},
    {"a leap second is the next second", "2016-12-31T23:59:60Z", 1483228800, 0},
    {"beyond 32 bits", "2038-01-19T03:14:08Z", 2147483648, 0},
    {"the last instant in 64 bits", "2262-04-11T23:47:16.854775806Z", 9223372036, 854775806},
    {"never, as databases write it", "9999-12-31T23:59:59Z", 253402300799, 0},
    {"the last instant", "9999-12-31T23:59:60.999999999Z", 253402300800, 999999999},
};

static void instants_are_counted_from_the_epoch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof instants / sizeof *instants; i++) {
        const instant_row *row = &instants[i];
        print_message("  %s\n", row->name);
        arcp__instant got = {0};
        arcp_error err = {0};
        check_ok(arcp__timestamp_parse(arcp_span_cstr(row->text), &got, &err), &err);
        assert_true(got.seconds == row->seconds && got.ns == row->ns);
        int64_t wall_ns = 0;
        if (__builtin_mul_overflow(row->seconds, ARCP_NS_PER_SEC, &wall_ns) ||
            __builtin_add_overflow(wall_ns, row->ns, &wall_ns)) {
            wall_ns = ARCP_TIME_NEVER;
        }
        assert_true(got.wall_ns == wall_ns);
    }
}

typedef struct refusal {
    const char *name;
    const char *text;
    size_t offset;
} refusal;

static const refusal refusals[] = {
    {"nothing", "", 0},
    {"a date", "2026-05-13", 10},
    {"no zone", "2026-05-13T19:42:13", 19},
    {"an offset of zero", "2026-05-13T19:42:13+00:00", 19},
    {"an offset", "2026-05-13T19:42:13.5+02:00", 21},
    {"a lower-case t", "2026-05-13t19:42:13Z", 10},
    {"a lower-case z", "2026-05-13T19:42:13z", 19},
    {"a space for the T", "2026-05-13 19:42:13Z", 10},
    {"no seconds", "2026-05-13T19:42Z", 16},
    {"a point without digits", "2026-05-13T19:42:13.Z", 20},
    {"a comma", "2026-05-13T19:42:13,5Z", 19},
    {"month 0", "2026-00-13T19:42:13Z", 5},
    {"month 13", "2026-13-01T00:00:00Z", 5},
    {"day 0", "2026-05-00T19:42:13Z", 8},
    {"day 32", "2026-05-32T19:42:13Z", 8},
    {"30 February", "2026-02-30T00:00:00Z", 8},
    {"29 February of no leap year", "2025-02-29T00:00:00Z", 8},
    {"29 February 2100", "2100-02-29T00:00:00Z", 8},
    {"31 April", "2026-04-31T00:00:00Z", 8},
    {"hour 24", "2026-05-13T24:00:00Z", 11},
    {"minute 60", "2026-05-13T19:60:13Z", 11},
    {"second 60 in mid-day", "2026-05-13T19:42:60Z", 17},
    {"second 61", "2026-12-31T23:59:61Z", 17},
    {"before the epoch", "1969-12-31T23:59:59Z", 0},
    {"a year of five digits", "10000-01-01T00:00:00Z", 4},
    {"something behind", "2026-05-13T19:42:13Z ", 19},
    {"something before", " 2026-05-13T19:42:13Z", 0},
    {"two digits of a year", "26-05-13T19:42:13Z", 2},
    {"a plus sign", "+026-05-13T19:42:13Z", 0},
    {"week dates", "2026-W20-3T19:42:13Z", 5},
    {"a number", "1778701333", 4},
};

static void everything_else_is_refused_with_its_place_and_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *row = &refusals[i];
        print_message("  %s\n", row->name);
        arcp__instant got = {.wall_ns = 42};
        arcp_error err = {0};
        assert_int_equal(arcp__timestamp_parse(arcp_span_cstr(row->text), &got, &err),
                         ARCP_E_INVALID_REQUEST);
        assert_int_equal(err.offset, row->offset);
        assert_non_null(strstr(err.message, "(expected e.g. 2026-05-13T19:42:13Z)"));
        char quoted[64];
        (void)snprintf(quoted, sizeof quoted, "\"%s\"", row->text);
        assert_int_equal(strncmp(err.message, quoted, strlen(quoted)), 0);
        assert_true(got.wall_ns == 42);
    }
    arcp__instant got;
    assert_int_equal(
        arcp__timestamp_parse(arcp_span_make("2026-05-13T19:42:13Z\0", 21), &got, NULL),
        ARCP_E_INVALID_REQUEST);
}

static void any_changed_byte_but_a_digit_is_refused(void **state)
{
    (void)state;
    static const char text[] = "2026-05-13T19:42:13Z";
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char changed[sizeof text];
            memcpy(changed, text, sizeof text);
            changed[i] = (char)byte;
            arcp__instant got;
            const bool digit = byte >= '0' && byte <= '9' && text[i] >= '0' && text[i] <= '9';
            if (!digit && changed[i] != text[i]) {
                assert_int_equal(
                    arcp__timestamp_parse(arcp_span_make(changed, sizeof text - 1), &got, NULL),
                    ARCP_E_INVALID_REQUEST);
            }
        }
        arcp__instant got;
        assert_int_equal(arcp__timestamp_parse(arcp_span_make(text, i), &got, NULL),
                         ARCP_E_INVALID_REQUEST);
    }
}

static void each_month_has_its_last_day_and_no_more(void **state)
{
    (void)state;
    static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (unsigned month = 1; month <= 12; month++) {
        for (unsigned year = 2023; year <= 2024; year++) {
            const unsigned last = days[month - 1] + (month == 2 && year == 2024);
            char text[32];
            arcp__instant got = {0};
            (void)snprintf(text, sizeof text, "%04u-%02u-%02uT00:00:00Z", year, month, last);
            arcp_error err = {0};
            check_ok(arcp__timestamp_parse(arcp_span_cstr(text), &got, &err), &err);
            (void)snprintf(text, sizeof text, "%04u-%02u-%02uT00:00:00Z", year, month, last + 1);
            assert_int_equal(arcp__timestamp_parse(arcp_span_cstr(text), &got, NULL),
                             ARCP_E_INVALID_REQUEST);
        }
    }
}

typedef struct order_row {
    const char *name;
    const char *a;
    const char *b;
    int order;
} order_row;

static const order_row orders[] = {
    {"the same", "2026-05-13T19:42:13Z", "2026-05-13T19:42:13Z", 0},
    {"zeros change nothing", "2026-05-13T19:42:13Z", "2026-05-13T19:42:13.000000000000Z", 0},
    {"a nanosecond", "2026-05-13T19:42:13Z", "2026-05-13T19:42:13.000000001Z", -1},
    {"the tenth digit", "2026-05-13T19:42:13.0000000001Z", "2026-05-13T19:42:13Z", 1},
    {"the twelfth digit", "2026-05-13T19:42:13.123456789001Z", "2026-05-13T19:42:13.123456789002Z",
     -1},
    {"more digits behind the same ones", "2026-05-13T19:42:13.1234567891Z",
     "2026-05-13T19:42:13.12345678911Z", -1},
    {"zeros behind digits", "2026-05-13T19:42:13.1234567891Z",
     "2026-05-13T19:42:13.12345678910000Z", 0},
    {"seconds beyond 64 bits of nanoseconds", "9999-12-31T23:59:58Z", "9999-12-31T23:59:59Z", -1},
    {"digits there", "9999-12-31T23:59:59.1234567891Z", "9999-12-31T23:59:59.123456789Z", 1},
    {"the last in 64 bits and the next", "2262-04-11T23:47:16.854775807Z",
     "2262-04-11T23:47:16.854775808Z", -1},
    {"a second beats all digits", "2026-05-13T19:42:12.999999999999Z", "2026-05-13T19:42:13Z", -1},
};

static void instants_compare_exactly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        print_message("  %s\n", orders[i].name);
        arcp__instant a = {0};
        arcp__instant b = {0};
        arcp_error err = {0};
        check_ok(arcp__timestamp_parse(arcp_span_cstr(orders[i].a), &a, &err), &err);
        check_ok(arcp__timestamp_parse(arcp_span_cstr(orders[i].b), &b, &err), &err);
        assert_int_equal(arcp__instant_compare(a, b), orders[i].order);
        assert_int_equal(arcp__instant_compare(b, a), -orders[i].order);
    }
}

static void formatting_rounds_down_to_milliseconds(void **state)
{
    (void)state;
    char text[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(0, text);
    check_span(arcp_span_make(text, sizeof text), "1970-01-01T00:00:00.000Z");
    arcp__timestamp_format(INT64_C(1778701333123999999), text);
    check_span(arcp_span_make(text, sizeof text), "2026-05-13T19:42:13.123Z");
    arcp__timestamp_format(-1, text);
    check_span(arcp_span_make(text, sizeof text), "1970-01-01T00:00:00.000Z");
    arcp__timestamp_format(INT64_MAX, text);
    check_span(arcp_span_make(text, sizeof text), "2262-04-11T23:47:16.854Z");
}

/* Every day of the range, at a changing time of day. */
static void every_day_is_parsed_as_it_was_formatted(void **state)
{
    (void)state;
    const int64_t day_ns = 86400 * ARCP_NS_PER_SEC;
    const int64_t last = (INT64_C(9214646399) + 1) * ARCP_NS_PER_SEC;
    char before[ARCP__TIMESTAMP_SIZE] = {0};
    for (int64_t ns = 0, i = 0; ns < last; ns += day_ns, i++) {
        const int64_t when = ns + i * 40127 % 86400000 * ARCP_NS_PER_MS;
        char text[ARCP__TIMESTAMP_SIZE];
        arcp__timestamp_format(when, text);
        arcp__instant got = {0};
        arcp_error err = {0};
        check_ok(arcp__timestamp_parse(arcp_span_make(text, sizeof text), &got, &err), &err);
        assert_true(got.wall_ns == when);
        assert_true(memcmp(before, text, 10) < 0);
        memcpy(before, text, sizeof before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_are_counted_from_the_epoch),
        cmocka_unit_test(everything_else_is_refused_with_its_place_and_an_example),
        cmocka_unit_test(each_month_has_its_last_day_and_no_more),
        cmocka_unit_test(any_changed_byte_but_a_digit_is_refused),
        cmocka_unit_test(instants_compare_exactly),
        cmocka_unit_test(formatting_rounds_down_to_milliseconds),
        cmocka_unit_test(every_day_is_parsed_as_it_was_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
