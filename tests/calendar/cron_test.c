/* The grammar of cron expressions: what is read, and what is refused with which message. */
#include "calendar/calendar.h"
#include "support/check.h"

static void names_ranges_lists_and_steps_are_read(void **state)
{
    arcp__cron cron;
    (void)state;
    assert_int_equal(arcp__cron_read(ARCP_SPAN_LITERAL(" 0,30\t*/6 1-9/4,31 Jan-MAR,dec mon-fri/2"),
                                     &cron, NULL),
                     ARCP_OK);
    assert_int_equal(cron.minutes, 1u | 1u << 30);
    assert_int_equal(cron.hours, 1u | 1u << 6 | 1u << 12 | 1u << 18);
    assert_int_equal(cron.days, 1u << 1 | 1u << 5 | 1u << 9 | 1u << 31);
    assert_int_equal(cron.months, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 12);
    assert_int_equal(cron.weekdays, 1u << 1 | 1u << 3 | 1u << 5);
    assert_false(cron.needs_both);
}

static void seven_is_sunday(void **state)
{
    arcp__cron cron;
    (void)state;
    assert_int_equal(arcp__cron_read(ARCP_SPAN_LITERAL("0 0 * * 5-7"), &cron, NULL), ARCP_OK);
    assert_int_equal(cron.weekdays, 1u | 1u << 5 | 1u << 6);
    assert_true(cron.needs_both);
}

static void both_days_must_match_if_one_field_begins_with_an_asterisk(void **state)
{
    const struct {
        const char *text;
        bool needs_both;
    } rows[] = {
        {"0 0 1 * 1", false},  {"0 0 * * 1", true},   {"0 0 1 * *", true},
        {"0 0 */2 * 1", true}, {"0 0 1 * */2", true}, {"0 0 1-31 * 1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__cron cron;
        assert_int_equal(arcp__cron_read(arcp_span_cstr(rows[i].text), &cron, NULL), ARCP_OK);
        assert_int_equal(cron.needs_both, rows[i].needs_both);
    }
}

typedef struct refusal {
    const char *text;
    const char *message;
} refusal;

static const refusal refusals[] = {
    {"", "must have five fields"},
    {"* * * *", "must have five fields"},
    {"* * * * * *", "must have five fields"},
    {"60 * * * *", "minute \"60\": must be 0 to 59"},
    {"* 24 * * *", "hour \"24\": must be 0 to 23"},
    {"* * 0 * *", "day of the month \"0\": must be 1 to 31"},
    {"* * 32 * *", "day of the month \"32\": must be 1 to 31"},
    {"* * * 0 *", "month \"0\": must be 1 to 12, or the first three letters of a name"},
    {"* * * 13 *", "month \"13\": must be 1 to 12"},
    {"* * * * 8", "weekday \"8\": must be 0 to 7"},
    {"* * * january *", "month \"january\": must be"},
    {"* * * * jan", "weekday \"jan\": must be"},
    {"-1 * * * *", "minute \"\": must be"},
    {"1- * * * *", "minute \"\": must be"},
    {"1,,2 * * * *", "minute \"\": must be"},
    {"1, * * * *", "minute \"\": must be"},
    {"*/0 * * * *", "minute \"*/0\": a step is a number from 1 on"},
    {"*/ * * * *", "minute \"*/\": a step is a number from 1 on"},
    {"*/x * * * *", "minute \"*/x\": a step is a number from 1 on"},
    {"5/10 * * * *", "minute \"5/10\": a step follows * or a range"},
    {"* 22-3 * * *", "hour \"22-3\": the range ends before it begins; write two, as in 22-23,0-3"},
    {"* * * * fri-mon", "weekday \"fri-mon\": the range ends before it begins"},
    {"*-5 * * * *", "minute \"*\": must be"},
    {"** * * * *", "minute \"**\": must be"},
    {"? * * * *", "minute \"?\": must be"},
    {"* * L * *", "day of the month \"L\": must be"},
    {"* * * * 5#2", "weekday \"5#2\": must be"},
    {"99999999999999999999 * * * *", "must be 0 to 59"},
    {"@reboot", "\"@reboot\" must be @hourly, @daily"},
    {"@daily *", "stand alone"},
    {"0 0 30 2 *", "no date matches it"},
    {"0 0 31 4,6,9,11 *", "no date matches it"},
};

static void an_expression_is_refused_with_its_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        arcp__cron cron;
        arcp_error error = {0};
        assert_int_equal(arcp__cron_read(arcp_span_cstr(refusals[i].text), &cron, &error),
                         ARCP_E_USAGE);
        if (strstr(error.message, refusals[i].message) == NULL) {
            fail_msg("\"%s\": %s", refusals[i].text, error.message);
        }
    }
}

static void the_limits_of_each_field_are_accepted(void **state)
{
    const char *const rows[] = {"0 0 1 1 0", "59 23 31 12 7", "*/99 */99 */99 */99 */99",
                                "* * 29 2 *", "5-5 * * * *"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__cron cron;
        assert_int_equal(arcp__cron_read(arcp_span_cstr(rows[i]), &cron, NULL), ARCP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_ranges_lists_and_steps_are_read),
        cmocka_unit_test(seven_is_sunday),
        cmocka_unit_test(both_days_must_match_if_one_field_begins_with_an_asterisk),
        cmocka_unit_test(an_expression_is_refused_with_its_field),
        cmocka_unit_test(the_limits_of_each_field_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
