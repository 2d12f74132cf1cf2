/* Files of the time zone database: what is read of them, and that damaged ones are refused. */
#include "calendar/calendar_state.h"
#include "calendar/zone_file.h"
#include "support/check.h"

static void a_zone_changes_its_offset_at_its_transitions(void **state)
{
    arcp__zone *zone = zone_read("Europe-Berlin");
    (void)state;
    /* 2026-03-29T01:00Z and 2026-10-25T01:00Z, then 2050-03-27T01:00Z, by the rule */
    const arcp__zone_period winter = arcp__zone_at(zone, 1774745999);
    const arcp__zone_period summer = arcp__zone_at(zone, 1774746000);
    const arcp__zone_period later = arcp__zone_at(zone, INT64_C(2531955600));
    assert_int_equal(winter.offset, 3600);
    assert_int_equal(winter.end, 1774746000);
    assert_int_equal(summer.offset, 7200);
    assert_int_equal(summer.end, 1792890000);
    assert_int_equal(later.offset, 7200);
    assert_int_equal(arcp__zone_at(zone, INT64_C(2531955599)).offset, 3600);
    arcp__zone_free(zone);
}

static void every_prefix_of_a_file_is_refused(void **state)
{
    char room[8192];
    const arcp_span whole = zone_bytes("Asia-Kathmandu", room, sizeof room);
    (void)state;
    for (size_t size = 0; size < whole.size; size++) {
        arcp__zone *zone = NULL;
        char *copy = malloc(size + 1); /* so that a sanitizer sees reads beyond the end */
        assert_non_null(copy);
        memcpy(copy, whole.data, size);
        arcp_error error = {0};
        assert_int_equal(arcp__zone_new(arcp_span_make(copy, size), &zone, &error), ARCP_E_USAGE);
        assert_non_null(strstr(error.message, "not a time zone file: "));
        free(copy);
    }
}

static void a_file_that_counts_leap_seconds_is_refused(void **state)
{
    /* Version 1: one leap second, one type, no transition. */
    static const char bytes[44 + 6 + 4 + 8] = {'T', 'Z', 'i', 'f', [31] = 1, [39] = 1, [43] = 4};
    arcp__zone *zone = NULL;
    arcp_error error = {0};
    (void)state;
    assert_int_equal(arcp__zone_new(arcp_span_make(bytes, sizeof bytes), &zone, &error),
                     ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "it counts leap seconds"));
}

static void rules_are_read(void **state)
{
    static const struct {
        const char *text;
        bool is_rule;
    } rows[] = {
        {"UTC0", true},
        {"<-03>3", true},
        {"CET-1CEST,M3.5.0,M10.5.0/3", true},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", true},
        {"XXX3EDT4,0/0,J365/23", true},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", true},
        {"AAA-5:30:15BBB,J1/167,365/-167:59:59", true},
        {"", false},
        {"UTC", false},
        {"3", false},
        {"<>3", false},
        {"<-03", false},
        {"CET-1CEST", false},
        {"CET-1CEST,M3.5.0", false},
        {"CET-1CEST,M0.5.0,M10.5.0", false},
        {"CET-1CEST,M13.5.0,M10.5.0", false},
        {"CET-1CEST,M3.0.0,M10.5.0", false},
        {"CET-1CEST,M3.6.0,M10.5.0", false},
        {"CET-1CEST,M3.5.7,M10.5.0", false},
        {"CET-1CEST,J0,M10.5.0", false},
        {"CET-1CEST,J366,M10.5.0", false},
        {"CET-1CEST,366,M10.5.0", false},
        {"CET-1CEST,M3.5.0/168,M10.5.0", false},
        {"CET-1:60", false},
        {"CET-1CEST,M3.5.0,M10.5.0,", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__zone_rule rule;
        if (arcp__zone_rule_read(arcp_span_cstr(rows[i].text), &rule) != rows[i].is_rule) {
            fail_msg("%s", rows[i].text);
        }
    }
}

/* Daylight saving time that ends when it begins again. */
static void saving_time_may_last_the_whole_year(void **state)
{
    arcp__zone_rule rule;
    (void)state;
    assert_true(arcp__zone_rule_read(ARCP_SPAN_LITERAL("XXX3EDT4,0/0,J365/23"), &rule));
    for (int64_t at = INT64_C(1767225600); at < INT64_C(1830297600); at += 3600) {
        assert_int_equal(arcp__zone_rule_at(&rule, at).offset, -4 * 3600);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zone_changes_its_offset_at_its_transitions),
        cmocka_unit_test(every_prefix_of_a_file_is_refused),
        cmocka_unit_test(a_file_that_counts_leap_seconds_is_refused),
        cmocka_unit_test(rules_are_read),
        cmocka_unit_test(saving_time_may_last_the_whole_year),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
