/* Due times, compared with those that croniter found (croniter.tsv, recorded by
 * tests/calendar/record), and the rules that no expression of that table shows. */
#include "calendar/calendar.h"
#include "calendar/zone_file.h"
#include "support/check.h"

static arcp__recurrence cron(const char *text, const arcp__zone *zone)
{
    arcp__recurrence recurrence = {.zone = zone};
    arcp_error error = {0};
    if (arcp__cron_read(arcp_span_cstr(text), &recurrence.cron, &error) != ARCP_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    return recurrence;
}

/* Checks one row: zone, start, expression, due times. */
static void check_row(char *line, arcp__zone *zone)
{
    char *rest = line;
    (void)strsep(&rest, "\t");
    int64_t at = strtoll(strsep(&rest, "\t"), NULL, 10);
    const char *text = strsep(&rest, "\t");
    const int64_t start = at;
    const arcp__recurrence recurrence = cron(text, zone);
    for (char *word = strsep(&rest, " \n"); word != NULL && *word != '\0';
         word = strsep(&rest, " \n")) {
        const int64_t due = strtoll(word, NULL, 10);
        const int64_t found = arcp__recurrence_next(&recurrence, at);
        if (found != due) {
            fail_msg("%s: \"%s\" after %lld: %lld instead of %lld", line, text, (long long)at,
                     (long long)found, (long long)due);
        }
        assert_int_equal(arcp__recurrence_last(&recurrence, start, due), due);
        assert_int_equal(arcp__recurrence_last(&recurrence, at, due - 1), ARCP__DUE_NEVER);
        at = due;
    }
}

static void due_times_are_those_that_croniter_finds(void **state)
{
    FILE *table = fopen(CALENDAR_DATA "/croniter.tsv", "r");
    char line[512];
    char name[64] = "";
    arcp__zone *zone = NULL;
    size_t rows = 0;
    (void)state;
    assert_non_null(table);
    while (fgets(line, sizeof line, table) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        const size_t size = strcspn(line, "\t");
        if (strlen(name) != size || strncmp(name, line, size) != 0) {
            (void)snprintf(name, sizeof name, "%.*s", (int)size, line);
            arcp__zone_free(zone);
            zone = zone_read(name);
        }
        check_row(line, zone);
        rows++;
    }
    arcp__zone_free(zone);
    (void)fclose(table);
    assert_true(rows > 1500);
}

static void an_interval_is_due_at_its_multiples(void **state)
{
    const arcp__recurrence recurrence = {.every_sec = 600};
    (void)state;
    assert_int_equal(arcp__recurrence_next(&recurrence, 600599), 600600);
    assert_int_equal(arcp__recurrence_next(&recurrence, 600600), 601200);
    assert_int_equal(arcp__recurrence_last(&recurrence, 600599, 600600), 600600);
    assert_int_equal(arcp__recurrence_last(&recurrence, 0, 601199), 600600);
    assert_int_equal(arcp__recurrence_last(&recurrence, 600600, 601199), ARCP__DUE_NEVER);
}

static void nothing_is_due_in_the_first_days_of_1970(void **state)
{
    const arcp__recurrence hourly = cron("@hourly", NULL);
    const arcp__recurrence recurrence = {.every_sec = 600};
    (void)state;
    assert_int_equal(arcp__recurrence_next(&hourly, -100000), 2 * 86400 + 3600);
    assert_int_equal(arcp__recurrence_next(&recurrence, -100000), 2 * 86400 + 600);
    assert_int_equal(arcp__recurrence_last(&recurrence, -100000, 86400), ARCP__DUE_NEVER);
    assert_int_equal(arcp__recurrence_last(&hourly, -100000, 86400), ARCP__DUE_NEVER);
}

static void the_last_due_time_of_a_long_time_is_found(void **state)
{
    const arcp__recurrence recurrence = cron("* * * 1 *", NULL);
    (void)state;
    /* 2026-02-01T00:00Z and 2026-12-31T23:59Z */
    assert_int_equal(arcp__recurrence_last(&recurrence, 0, 1798761540), 1769903940);
}

static void a_leap_day_is_found_across_2100(void **state)
{
    const arcp__recurrence recurrence = cron("0 0 29 2 *", NULL);
    (void)state;
    /* After 2096-02-29 comes 2104-02-29. */
    assert_int_equal(arcp__recurrence_next(&recurrence, INT64_C(3981312000)), INT64_C(4233686400));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(due_times_are_those_that_croniter_finds),
        cmocka_unit_test(an_interval_is_due_at_its_multiples),
        cmocka_unit_test(nothing_is_due_in_the_first_days_of_1970),
        cmocka_unit_test(the_last_due_time_of_a_long_time_is_found),
        cmocka_unit_test(a_leap_day_is_found_across_2100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
