/* A buffer grows, keeps what it has when memory runs out, and remembers that it did. */
#include "support/check.h"

#include <inttypes.h>

#include <arcp/buf.h>

#include "support/failing_alloc.h"

static void appended_bytes_follow_each_other(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_init();
    for (int i = 0; i < 1000; i++) {
        arcp_buf_append(&buf, ARCP_SPAN_LITERAL("abc"));
        arcp_buf_append_byte(&buf, '-');
    }
    assert_int_equal(arcp_buf_status(&buf), ARCP_OK);
    assert_int_equal(buf.size, 4000);
    for (size_t i = 0; i < 4000; i++) {
        assert_int_equal(buf.data[i], "abc-"[i % 4]);
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
    arcp_buf buf = arcp_buf_init();
    arcp_buf_append(&buf, arcp_span_make(NULL, 0));
    arcp_buf_append_cstr(&buf, NULL);
    assert_true(arcp_buf_reserve(&buf, 0));
    assert_null(buf.data);
    assert_int_equal(buf.size, 0);
}

static void a_size_that_overflows_fails_the_buffer(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_init();
    arcp_buf_append_cstr(&buf, "abc");
    assert_false(arcp_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(arcp_buf_status(&buf), ARCP_E_NO_MEMORY);
    check_span(arcp_buf_span(&buf), "abc");
    arcp_buf_fini(&buf);
}

static void a_failed_buffer_ignores_appends_until_it_is_cleared(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_init();
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
    arcp_buf buf = arcp_buf_init();
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
    arcp_buf buf = arcp_buf_init();
    for (int width = 0; width < 300; width++) {
        arcp_buf_clear(&buf);
        arcp_buf_append_cstr(&buf, "<");
        arcp_buf_append_format(&buf, "%*s|", width, "");
        assert_int_equal(buf.size, (size_t)width + 2);
        assert_int_equal(buf.data[buf.size - 1], '|');
    }
    arcp_buf_fini(&buf);
}

static void consumed_bytes_are_removed_from_the_front(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_init();
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

static void a_taken_string_belongs_to_the_caller(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_init();
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
    arcp_buf buf = arcp_buf_init();
    for (int i = 0; i < 100; i++) {
        arcp_buf_append_format(&buf, "%d-", i);
        arcp_buf_append_i64(&buf, -i);
    }
    const arcp_status status = arcp_buf_status(&buf);
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

static void spans_have_prefixes_and_suffixes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof span_rows / sizeof *span_rows; i++) {
        const span_row *row = &span_rows[i];
        print_message("  %s\n", row->name);
        const arcp_span text = arcp_span_cstr(row->text);
        const arcp_span affix = arcp_span_cstr(row->affix);
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

/* ---- secrets ---- */

#define SECRET "sk-a-secret-value"

typedef struct leaks {
    size_t blocks, found;
} leaks;

static void look(void *user, const void *block, size_t size)
{
    leaks *l = user;
    l->blocks++;
    l->found += memmem(block, size, SECRET, strlen(SECRET)) != NULL;
}

static bool holds(const char *memory, size_t size)
{
    return memmem(memory, size, SECRET, strlen(SECRET)) != NULL;
}

/* How many freed blocks had the secret in them. */
static size_t grow(arcp_buf buf)
{
    leaks seen = {0};
    failing_alloc_watch(look, &seen);
    arcp_buf_append_cstr(&buf, SECRET);
    for (int i = 0; i < 100; i++) {
        arcp_buf_append_cstr(&buf, "0123456789");
    }
    const bool whole =
        buf.size == strlen(SECRET) + 1000 && holds(buf.data, buf.size) && !buf.failed;
    arcp_buf_fini(&buf);
    failing_alloc_watch(NULL, NULL);
    assert_true(whole);
    assert_true(seen.blocks > 3);
    return seen.found;
}

static void a_secret_buffer_that_grows_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(grow(arcp_buf_secret_init()), 0);
    /* Shows that `look` finds a secret that is there. */
    assert_true(grow(arcp_buf_init()) > 3);
}

static void a_buffer_may_become_secret_before_the_secret_is_appended(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_init();
    arcp_buf_append_cstr(&buf, "{\"value\":");
    buf.secret = true;
    leaks seen = {0};
    failing_alloc_watch(look, &seen);
    arcp_buf_append_cstr(&buf, SECRET);
    const bool grown = arcp_buf_reserve(&buf, 1000);
    arcp_buf_fini(&buf);
    failing_alloc_watch(NULL, NULL);
    assert_true(grown);
    assert_int_equal(seen.blocks, 2);
    assert_int_equal(seen.found, 0);
}

/* Its memory is written to the last byte, so that all of it may be read. */
static arcp_buf secret_buffer(void)
{
    arcp_buf buf = arcp_buf_secret_init();
    assert_true(arcp_buf_reserve(&buf, 64));
    memset(buf.data, 0, buf.capacity);
    return buf;
}

static void memory_that_spans_point_to_is_kept_until_the_buffer_is_cleared(void **state)
{
    (void)state;
    arcp_buf buf = secret_buffer();
    arcp_buf_append_cstr(&buf, SECRET);
    const arcp_span first = arcp_buf_span(&buf);
    leaks seen = {0};
    buf.stays = true;
    failing_alloc_watch(look, &seen);
    const bool grown = arcp_buf_reserve(&buf, 1000) && arcp_buf_reserve(&buf, 10000);
    const size_t given_back = seen.blocks;
    const bool moved = buf.data != first.data;
    const bool same = arcp_span_equal(first, arcp_buf_span(&buf));
    arcp_buf_clear(&buf);
    failing_alloc_watch(NULL, NULL);
    assert_true(grown && moved && same);
    assert_int_equal(given_back, 0);
    assert_int_equal(seen.blocks, 4); /* two that remained, and the array of them */
    assert_int_equal(seen.found, 0);
    assert_false(buf.stays);
    arcp_buf_fini(&buf);
}

static void a_buffer_that_cannot_keep_its_memory_does_not_grow(void **state)
{
    (void)state;
    for (size_t nth = 1; nth <= 2; nth++) {
        arcp_buf buf = arcp_buf_init();
        arcp_buf_append_cstr(&buf, "given out");
        const arcp_span first = arcp_buf_span(&buf);
        buf.stays = true;
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        const bool grown = arcp_buf_reserve(&buf, 1000);
        assert_true(failing_alloc_disarm());
        assert_false(grown);
        check_span(first, "given out");
        arcp_buf_fini(&buf);
    }
}

static void a_secret_buffer_that_is_cleared_holds_nothing_and_keeps_its_memory(void **state)
{
    (void)state;
    arcp_buf buf = secret_buffer();
    arcp_buf_append_cstr(&buf, SECRET);
    const char *memory = buf.data;
    arcp_buf_clear(&buf);
    assert_ptr_equal(buf.data, memory);
    assert_false(holds(buf.data, buf.capacity));
    assert_true(buf.secret);
    arcp_buf_fini(&buf);
}

static void bytes_after_the_end_are_wiped_when_it_is_freed(void **state)
{
    (void)state;
    leaks seen = {0};
    arcp_buf buf = arcp_buf_secret_init();
    failing_alloc_watch(look, &seen);
    arcp_buf_append_cstr(&buf, SECRET);
    buf.size = 1; /* as a writer does that removes what it wrote last */
    arcp_buf_fini(&buf);
    failing_alloc_watch(NULL, NULL);
    assert_int_equal(seen.blocks, 1);
    assert_int_equal(seen.found, 0);
    assert_true(buf.secret);
    assert_null(buf.data);
}

static void consumed_bytes_of_a_secret_buffer_are_wiped(void **state)
{
    (void)state;
    arcp_buf buf = secret_buffer();
    arcp_buf_append_cstr(&buf, "12" SECRET);
    arcp_buf_consume(&buf, 2);
    check_span(arcp_buf_span(&buf), SECRET);
    /* The bytes were moved, and their old end is wiped. */
    assert_int_equal(buf.data[buf.size], 0);
    assert_int_equal(buf.data[buf.size + 1], 0);
    arcp_buf_consume(&buf, buf.size);
    assert_false(holds(buf.data, buf.capacity));
    arcp_buf_append_cstr(&buf, SECRET);
    arcp_buf_consume(&buf, SIZE_MAX);
    assert_false(holds(buf.data, buf.capacity));
    arcp_buf_fini(&buf);
}

static void the_memory_of_a_taken_secret_holds_nothing_else(void **state)
{
    (void)state;
    arcp_buf buf = secret_buffer();
    arcp_buf_append_cstr(&buf, "short " SECRET);
    const size_t capacity = buf.capacity;
    buf.size = 5;
    char *text = arcp_buf_take_cstr(&buf);
    assert_string_equal(text, "short");
    assert_false(holds(text, capacity));
    assert_true(buf.secret);
    assert_null(buf.data);
    arcp_free(text);
}

static void a_string_taken_of_a_full_secret_buffer_leaves_no_copy(void **state)
{
    (void)state;
    leaks seen = {0};
    arcp_buf buf = arcp_buf_secret_init();
    failing_alloc_watch(look, &seen);
    arcp_buf_append_cstr(&buf, SECRET);
    while (buf.size < buf.capacity) {
        arcp_buf_append_byte(&buf, '-');
    }
    char *text = arcp_buf_take_cstr(&buf);
    failing_alloc_watch(NULL, NULL);
    assert_true(holds(text, strlen(text)));
    assert_int_equal(seen.blocks, 1);
    assert_int_equal(seen.found, 0);
    arcp_free(text);
}

static void a_secret_buffer_that_cannot_grow_keeps_its_content(void **state)
{
    (void)state;
    arcp_buf buf = arcp_buf_secret_init();
    arcp_buf_append_cstr(&buf, SECRET);
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    const bool grown = arcp_buf_reserve(&buf, 1000);
    assert_true(failing_alloc_disarm());
    assert_false(grown);
    assert_true(buf.failed);
    check_span(arcp_buf_span(&buf), SECRET);
    arcp_buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_bytes_follow_each_other),
        cmocka_unit_test(appending_nothing_allocates_nothing),
        cmocka_unit_test(a_size_that_overflows_fails_the_buffer),
        cmocka_unit_test(a_failed_buffer_ignores_appends_until_it_is_cleared),
        cmocka_unit_test(numbers_are_written_in_full),
        cmocka_unit_test(formatted_text_of_any_length_is_whole),
        cmocka_unit_test(consumed_bytes_are_removed_from_the_front),
        cmocka_unit_test(a_taken_string_belongs_to_the_caller),
        cmocka_unit_test(no_failure_is_forgotten),
        cmocka_unit_test(spans_have_prefixes_and_suffixes),
        cmocka_unit_test(a_secret_buffer_that_grows_leaves_nothing_behind),
        cmocka_unit_test(a_buffer_may_become_secret_before_the_secret_is_appended),
        cmocka_unit_test(memory_that_spans_point_to_is_kept_until_the_buffer_is_cleared),
        cmocka_unit_test(a_buffer_that_cannot_keep_its_memory_does_not_grow),
        cmocka_unit_test(a_secret_buffer_that_is_cleared_holds_nothing_and_keeps_its_memory),
        cmocka_unit_test(bytes_after_the_end_are_wiped_when_it_is_freed),
        cmocka_unit_test(consumed_bytes_of_a_secret_buffer_are_wiped),
        cmocka_unit_test(the_memory_of_a_taken_secret_holds_nothing_else),
        cmocka_unit_test(a_string_taken_of_a_full_secret_buffer_leaves_no_copy),
        cmocka_unit_test(a_secret_buffer_that_cannot_grow_keeps_its_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
