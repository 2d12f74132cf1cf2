/* A buffer grows, keeps what it has when memory runs out, and remembers that it did. */
#include "support/check.h"

#include <inttypes.h>

#include <arcp/buf.h>

#include "support/failing_alloc.h"

static void appended_bytes_stand_one_behind_the_other(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        arcp_buf_append(&buf, ARCP_SPAN_LITERAL("abc"));
        arcp_buf_append_byte(&buf, '-');
    }
    assert_int_equal(arcp_buf_status(&buf), ARCP_OK);
    assert_int_equal(buf.size, 4000);
    for (size_t at = 0; at < 4000; at++) {
        assert_int_equal(buf.data[at], "abc-"[at % 4]);
    }
    arcp_buf_fini(&buf);
    assert_null(buf.data);
    arcp_buf_append_cstr(&buf, "again");
    check_span(arcp_buf_span(&buf), "again");
    arcp_buf_fini(&buf);
}

static void appending_nothing_allocates_nothing(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    arcp_buf_append(&buf, arcp_span_make(NULL, 0));
    arcp_buf_append_cstr(&buf, NULL);
    assert_true(arcp_buf_reserve(&buf, 0));
    assert_null(buf.data);
    assert_int_equal(buf.size, 0);
}

static void a_size_that_overflows_fails_the_buffer(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&buf, "abc");
    assert_false(arcp_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(arcp_buf_status(&buf), ARCP_E_NO_MEMORY);
    check_span(arcp_buf_span(&buf), "abc");
    arcp_buf_fini(&buf);
}

static void a_failed_buffer_ignores_appends_until_it_is_cleared(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&buf, "abc");
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    assert_false(arcp_buf_reserve(&buf, 1000000));
    assert_true(failing_alloc_disarm());
    arcp_buf_append_cstr(&buf, "d");
    arcp_buf_append_u64(&buf, 1);
    arcp_buf_append_format(&buf, "%d", 1);
    check_span(arcp_buf_span(&buf), "abc");
    assert_false(arcp_buf_reserve(&buf, 1));
    assert_null(arcp_buf_take_cstr(&buf));
    assert_int_equal(arcp_buf_status(&buf), ARCP_E_NO_MEMORY);
    arcp_buf_clear(&buf);
    assert_int_equal(arcp_buf_status(&buf), ARCP_OK);
    arcp_buf_append_cstr(&buf, "d");
    check_span(arcp_buf_span(&buf), "d");
    arcp_buf_fini(&buf);
}

static void numbers_are_written_in_full(void **state)
{
    (void)state;
    static const uint64_t unsigned_values[] = {0, 9, 10, 99, 100, 4711, UINT64_MAX - 1, UINT64_MAX};
    static const int64_t signed_values[] = {0, -1, 1, -10, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    char want[32];
    arcp_buf buf = ARCP_BUF_INIT;
    for (size_t i = 0; i < sizeof unsigned_values / sizeof *unsigned_values; i++) {
        arcp_buf_clear(&buf);
        arcp_buf_append_u64(&buf, unsigned_values[i]);
        (void)snprintf(want, sizeof want, "%" PRIu64, unsigned_values[i]);
        check_span(arcp_buf_span(&buf), want);
    }
    for (size_t i = 0; i < sizeof signed_values / sizeof *signed_values; i++) {
        arcp_buf_clear(&buf);
        arcp_buf_append_i64(&buf, signed_values[i]);
        (void)snprintf(want, sizeof want, "%" PRIi64, signed_values[i]);
        check_span(arcp_buf_span(&buf), want);
    }
    arcp_buf_fini(&buf);
}

static void formatted_text_of_any_length_is_whole(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    for (int width = 0; width < 300; width++) {
        arcp_buf_clear(&buf);
        arcp_buf_append_cstr(&buf, "<");
        arcp_buf_append_format(&buf, "%*s|", width, "");
        assert_int_equal(buf.size, (size_t)width + 2);
        assert_int_equal(buf.data[buf.size - 1], '|');
    }
    arcp_buf_fini(&buf);
}

static void consumed_bytes_are_gone_from_the_front(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&buf, "abcdef");
    arcp_buf_consume(&buf, 0);
    check_span(arcp_buf_span(&buf), "abcdef");
    arcp_buf_consume(&buf, 2);
    check_span(arcp_buf_span(&buf), "cdef");
    arcp_buf_consume(&buf, 4);
    check_span(arcp_buf_span(&buf), "");
    arcp_buf_append_cstr(&buf, "xy");
    arcp_buf_consume(&buf, SIZE_MAX);
    check_span(arcp_buf_span(&buf), "");
    arcp_buf_fini(&buf);
}

static void a_taken_string_is_the_callers(void **state)
{
    (void)state;
    arcp_buf buf = ARCP_BUF_INIT;
    char *empty = arcp_buf_take_cstr(&buf);
    assert_string_equal(empty, "");
    arcp_free(empty);
    for (int i = 0; i < 64; i++) {
        arcp_buf_append_byte(&buf, 'x');
    }
    char *text = arcp_buf_take_cstr(&buf);
    assert_int_equal(strlen(text), 64);
    assert_null(buf.data);
    assert_int_equal(buf.size, 0);
    arcp_free(text);
}

static arcp_status fill(void *user, arcp_error *err)
{
    (void)user;
    (void)err;
    arcp_buf buf = ARCP_BUF_INIT;
    for (int i = 0; i < 100; i++) {
        arcp_buf_append_format(&buf, "%d-", i);
        arcp_buf_append_i64(&buf, -i);
    }
    arcp_status status = arcp_buf_status(&buf);
    arcp_buf_fini(&buf);
    return status;
}

static void no_failure_is_forgotten(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(fill, NULL) > 2);
}

typedef struct span_row {
    const char *name;
    const char *text;
    const char *affix;
    bool starts;
    bool ends;
} span_row;

static const span_row span_rows[] = {
    {"nothing begins and ends everything", "abc", "", true, true},
    {"nothing begins nothing", "", "", true, true},
    {"the whole", "abc", "abc", true, true},
    {"the beginning", "abc", "ab", true, false},
    {"the end", "abc", "bc", false, true},
    {"longer than the text", "abc", "abcd", false, false},
    {"other bytes", "abc", "b", false, false},
};

static void spans_know_how_they_begin_and_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof span_rows / sizeof *span_rows; i++) {
        const span_row *row = &span_rows[i];
        print_message("  %s\n", row->name);
        arcp_span text = arcp_span_cstr(row->text);
        arcp_span affix = arcp_span_cstr(row->affix);
        assert_int_equal(arcp_span_starts_with(text, affix), row->starts);
        assert_int_equal(arcp_span_ends_with(text, affix), row->ends);
    }
    check_span(arcp_span_from(ARCP_SPAN_LITERAL("abc"), 1), "bc");
    check_span(arcp_span_from(ARCP_SPAN_LITERAL("abc"), 3), "");
    check_span(arcp_span_from(ARCP_SPAN_LITERAL("abc"), 4), "");
    check_span(arcp_span_first(ARCP_SPAN_LITERAL("abc"), 2), "ab");
    check_span(arcp_span_first(ARCP_SPAN_LITERAL("abc"), 9), "abc");
    assert_true(arcp_span_equal(arcp_span_make(NULL, 0), ARCP_SPAN_LITERAL("")));
    assert_false(arcp_span_equal(ARCP_SPAN_LITERAL("a"), ARCP_SPAN_LITERAL("b")));
    assert_true(arcp_span_is_empty(arcp_span_cstr(NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_bytes_stand_one_behind_the_other),
        cmocka_unit_test(appending_nothing_allocates_nothing),
        cmocka_unit_test(a_size_that_overflows_fails_the_buffer),
        cmocka_unit_test(a_failed_buffer_ignores_appends_until_it_is_cleared),
        cmocka_unit_test(numbers_are_written_in_full),
        cmocka_unit_test(formatted_text_of_any_length_is_whole),
        cmocka_unit_test(consumed_bytes_are_gone_from_the_front),
        cmocka_unit_test(a_taken_string_is_the_callers),
        cmocka_unit_test(no_failure_is_forgotten),
        cmocka_unit_test(spans_know_how_they_begin_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
