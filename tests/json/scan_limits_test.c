/* Both sides of every limit, and texts made to be expensive. */
#include "support/check.h"

#include <time.h>

#include "json/json.h"

static arcp_status scan(arcp_json *json, const arcp_buf *text, const arcp_json_limits *limits,
                        arcp_error *err)
{
    assert_int_equal(arcp_buf_status(text), ARCP_OK);
    return arcp_json_scan(json, arcp_buf_span(text), limits, err);
}

static void repeat(arcp_buf *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        arcp_buf_append_cstr(out, text);
    }
}

typedef struct nest_row {
    const char *name;
    const char *open;
    const char *inside;
    const char *close;
    size_t first_deep; /* offset of the bracket after `levels` others */
} nest_row;

static const nest_row nests[] = {
    {"arrays", "[", "", "]", 1},
    {"objects", "{\"a\":", "1", "}", 5},
};

static void the_outermost_level_counts_as_one(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        for (uint32_t levels = 1; levels <= 66; levels++) {
            arcp_buf text = arcp_buf_init();
            repeat(&text, nests[i].open, levels);
            repeat(&text, nests[i].inside, 1);
            repeat(&text, nests[i].close, levels);
            arcp_json_limits limits = arcp_json_limits_init();
            arcp_error err = {0};
            const arcp_status status = scan(&json, &text, &limits, &err);
            if (levels <= 64) {
                check_ok(status, &err);
            } else {
                assert_int_equal(status, ARCP_E_INVALID_REQUEST);
                assert_int_equal(err.offset, 64 * nests[i].first_deep);
                assert_non_null(strstr(err.message, "more than 64 levels"));
            }
            limits.depth_max = levels;
            check_ok(scan(&json, &text, &limits, &err), &err);
            limits.depth_max = levels - 1;
            assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
            arcp_buf_fini(&text);
        }
    }
    arcp__json_fini(&json);
}

static void a_scalar_needs_no_level(void **state)
{
    (void)state;
    const arcp_json_limits limits = {.depth_max = 0, .members_max = 0, .bytes_max = 4};
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, ARCP_SPAN_LITERAL("true"), &limits, &err), &err);
    assert_int_equal(arcp_json_scan(&json, ARCP_SPAN_LITERAL("[]"), &limits, &err),
                     ARCP_E_INVALID_REQUEST);
    arcp__json_fini(&json);
}

static void levels_are_counted_down_again(void **state)
{
    (void)state;
    arcp_json_limits limits = arcp_json_limits_init();
    limits.depth_max = 2;
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, ARCP_SPAN_LITERAL("[[],{},[1],{\"a\":1},[]]"), &limits, &err),
             &err);
    arcp__json_fini(&json);
}

static void ten_thousand_levels_are_refused_at_the_sixty_fifth(void **state)
{
    (void)state;
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    repeat(&text, "[", 10000);
    repeat(&text, "]", 10000);
    arcp_error err = {0};
    assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
    assert_int_equal(err.offset, 64);
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
}

/* No recursion: a caller may raise the limit as far as it likes. */
static void a_million_levels_need_no_stack(void **state)
{
    (void)state;
    const arcp_json_limits limits = {1000000, 10, 64 << 20};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    repeat(&text, "{\"a\":[", 500000);
    repeat(&text, "]}", 500000);
    arcp_error err = {0};
    check_ok(scan(&json, &text, &limits, &err), &err);
    assert_int_equal(json.count, 1500000);
    arcp_buf_append_byte(&text, ']');
    assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
}

/* {"m0":0,"m1":1,...}, followed by `extra`. */
static void make_wide(arcp_buf *out, const char *prefix, size_t members, const char *extra)
{
    arcp_buf_append_byte(out, '{');
    for (size_t i = 0; i < members; i++) {
        arcp_buf_append_format(out, "%s\"%s%zu\":%zu", i == 0 ? "" : ",", prefix, i, i);
    }
    arcp_buf_append_cstr(out, extra);
    arcp_buf_append_byte(out, '}');
}

static void an_object_has_ten_thousand_members_at_most(void **state)
{
    (void)state;
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    arcp_buf text = arcp_buf_init();
    make_wide(&text, "m", 10000, "");
    check_ok(scan(&json, &text, &limits, &err), &err);
    assert_int_equal(arcp_json_count(&json, ARCP_JSON_ROOT), 10000);
    const size_t full = text.size;
    arcp_buf_clear(&text);
    make_wide(&text, "m", 10000, ",\"one more\":1");
    assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "more than 10000 members"));
    assert_int_equal(err.offset, full);
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
}

static void small_limits_of_members_hold_too(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (uint32_t members = 0; members <= 20; members++) {
        arcp_buf text = arcp_buf_init();
        make_wide(&text, "m", members, "");
        arcp_json_limits limits = arcp_json_limits_init();
        limits.members_max = members;
        arcp_error err = {0};
        check_ok(scan(&json, &text, &limits, &err), &err);
        if (members > 0) {
            limits.members_max = members - 1;
            assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
        }
        arcp_buf_fini(&text);
    }
    arcp__json_fini(&json);
}

static void elements_are_not_members(void **state)
{
    (void)state;
    arcp_json_limits limits = arcp_json_limits_init();
    limits.members_max = 1;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "{\"a\":[0");
    repeat(&text, ",{\"a\":1}", 50000);
    arcp_buf_append_cstr(&text, "]}");
    arcp_error err = {0};
    check_ok(scan(&json, &text, &limits, &err), &err);
    assert_int_equal(json.count, 4 + 3 * 50000);
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
}

/* The same name again, at every distance around the size from which names are hashed. */
static void a_name_twice_is_found_in_objects_of_any_size(void **state)
{
    (void)state;
    const arcp_json_limits limits = arcp_json_limits_init();
    static const size_t sizes[] = {1, 2, 12, 14, 15, 16, 17, 31, 32, 33, 100, 1000, 9999};
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t members = sizes[i];
        for (size_t step = 0; step < 3; step++) {
            const size_t which = step == 0 ? 0 : step == 1 ? members / 2 : members - 1;
            for (int escaped = 0; escaped < 2; escaped++) {
                char extra[64];
                (void)snprintf(extra, sizeof extra, ",\"%s%zu\":null", escaped ? "\\u006d" : "m",
                               which);
                arcp_buf text = arcp_buf_init();
                make_wide(&text, "m", members, extra);
                arcp_error err = {0};
                assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
                assert_int_equal(err.offset, text.size - strlen(extra));
                assert_non_null(strstr(err.message, "occurs twice"));
                arcp_buf_clear(&text);
                make_wide(&text, "m", members, ",\"n\":null");
                check_ok(scan(&json, &text, &limits, &err), &err);
                arcp_buf_fini(&text);
            }
        }
    }
    arcp__json_fini(&json);
}

/* Names of 1 to 11 bytes: the search of a small object must not miss any. */
static void no_name_is_overlooked_in_a_small_object(void **state)
{
    (void)state;
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_json json = ARCP__JSON_INIT;
    for (unsigned i = 0; i < 3000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%0*u", (int)(i % 12), i * 7919u);
        char text[64];
        (void)snprintf(text, sizeof text, "{\"%s\":0,\"x\":1,\"%s\":2}", name, name);
        arcp_error err = {0};
        assert_int_equal(arcp_json_scan(&json, arcp_span_cstr(text), &limits, &err),
                         ARCP_E_INVALID_REQUEST);
        assert_int_equal(err.offset, strlen(name) + 12);
        (void)snprintf(text, sizeof text, "{\"%s\":0,\"x\":1,\"%sx\":2}", name, name);
        check_ok(arcp_json_scan(&json, arcp_span_cstr(text), &limits, &err), &err);
    }
    arcp__json_fini(&json);
}

static void a_text_may_have_as_many_bytes_as_allowed(void **state)
{
    (void)state;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_byte(&text, '"');
    assert_true(arcp_buf_reserve(&text, limits.bytes_max));
    while (text.size < limits.bytes_max - 1) {
        arcp_buf_append_byte(&text, 'x');
    }
    arcp_buf_append_byte(&text, '"');
    arcp_error err = {0};
    check_ok(scan(&json, &text, &limits, &err), &err);
    arcp_buf_append_byte(&text, ' ');
    assert_int_equal(scan(&json, &text, &limits, &err), ARCP_E_INVALID_REQUEST);
    assert_int_equal(err.offset, limits.bytes_max);
    assert_non_null(strstr(err.message, "more than 4194304 bytes"));
    limits.bytes_max = SIZE_MAX;
    check_ok(scan(&json, &text, &limits, &err), &err);
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
}

/* Places are 32 bits wide, whatever the caller allows. The text is never read. */
static void a_text_of_four_gigabytes_is_refused_unread(void **state)
{
    (void)state;
    const arcp_json_limits limits = {64, 10000, SIZE_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    assert_int_equal(arcp_json_scan(&json, arcp_span_make("1", (size_t)UINT32_MAX), &limits, &err),
                     ARCP_E_INVALID_REQUEST);
    assert_true(err.offset == (size_t)UINT32_MAX - 1);
    arcp__json_fini(&json);
}

static double seconds_to_scan(arcp_json *json, const arcp_buf *text, const arcp_json_limits *limits)
{
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        struct timespec start;
        struct timespec end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        arcp_error err = {0};
        check_ok(scan(json, text, limits, &err), &err);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        const double took =
            (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
        best = took < best ? took : best;
    }
    return best;
}

/* Eight times the members may cost 8 times the time, not 64 times; with caches in between
 * the line is drawn at 30. */
static void the_time_for_names_grows_with_their_number_only(void **state)
{
    (void)state;
    const arcp_json_limits limits = {64, 1000000, 64 << 20};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf few = arcp_buf_init();
    arcp_buf many = arcp_buf_init();
    make_wide(&few, "member_", 4000, "");
    make_wide(&many, "member_", 32000, "");
    const double short_time = seconds_to_scan(&json, &few, &limits);
    const double long_time = seconds_to_scan(&json, &many, &limits);
    if (long_time > 30 * short_time) {
        fail_msg("4000 members took %.6f s, 32000 took %.6f s", short_time, long_time);
    }
    arcp_buf_fini(&few);
    arcp_buf_fini(&many);
    arcp__json_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_level_counts_as_one),
        cmocka_unit_test(a_scalar_needs_no_level),
        cmocka_unit_test(levels_are_counted_down_again),
        cmocka_unit_test(ten_thousand_levels_are_refused_at_the_sixty_fifth),
        cmocka_unit_test(a_million_levels_need_no_stack),
        cmocka_unit_test(an_object_has_ten_thousand_members_at_most),
        cmocka_unit_test(small_limits_of_members_hold_too),
        cmocka_unit_test(elements_are_not_members),
        cmocka_unit_test(a_name_twice_is_found_in_objects_of_any_size),
        cmocka_unit_test(no_name_is_overlooked_in_a_small_object),
        cmocka_unit_test(a_text_may_have_as_many_bytes_as_allowed),
        cmocka_unit_test(a_text_of_four_gigabytes_is_refused_unread),
        cmocka_unit_test(the_time_for_names_grows_with_their_number_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
