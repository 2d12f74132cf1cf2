/* What a job has written is kept, sent and forgotten by number. */
#include "support/check.h"

#include "support/failing_alloc.h"
#include "worker/worker_stream.h"

static void add(arcp__worker_stream *stream, const char *text)
{
    assert_true(arcp__worker_stream_add(stream, ARCP__WORKER_ITEM_LINE, arcp_span_cstr(text)));
}

static void check_piece(arcp__worker_stream *stream, uint64_t first, uint64_t count,
                        const char *bytes)
{
    arcp__worker_piece piece;
    assert_true(arcp__worker_stream_take(stream, &piece));
    assert_int_equal(piece.first, first);
    assert_int_equal(piece.count, count);
    check_span(piece.bytes, bytes);
}

static void check_no_piece(arcp__worker_stream *stream)
{
    arcp__worker_piece piece;
    assert_false(arcp__worker_stream_take(stream, &piece));
    assert_int_equal(stream->unsent_bytes, 0);
}

static void forget(arcp__worker_stream *stream, uint64_t end)
{
    assert_true(arcp__worker_stream_forget(stream, end, NULL, 0));
}

static void lines_are_sent_together_and_only_once(void **state)
{
    (void)state;
    arcp__worker_stream stream;
    arcp__worker_stream_init(&stream, false);
    check_no_piece(&stream);
    add(&stream, "a");
    add(&stream, "");
    check_piece(&stream, 1, 2, "a\n\n");
    check_no_piece(&stream);
    add(&stream, "c");
    check_piece(&stream, 3, 1, "c\n");
    check_no_piece(&stream);
    arcp__worker_stream_fini(&stream);
}

static void records_and_long_lines_are_sent_alone(void **state)
{
    (void)state;
    arcp__worker_stream stream;
    arcp__worker_piece piece;
    arcp__worker_stream_init(&stream, false);
    add(&stream, "a");
    assert_true(arcp__worker_stream_add(&stream, ARCP__WORKER_ITEM_RECORD, ARCP_SPAN_LITERAL("r")));
    assert_true(
        arcp__worker_stream_add(&stream, ARCP__WORKER_ITEM_TOO_LONG, arcp_span_make(NULL, 0)));
    add(&stream, "d");
    check_piece(&stream, 1, 1, "a\n");
    assert_true(arcp__worker_stream_take(&stream, &piece));
    assert_int_equal(piece.what, ARCP__WORKER_ITEM_RECORD);
    check_span(piece.bytes, "r");
    assert_true(arcp__worker_stream_take(&stream, &piece));
    assert_int_equal(piece.what, ARCP__WORKER_ITEM_TOO_LONG);
    assert_int_equal(piece.first, 3);
    assert_int_equal(piece.bytes.size, 0);
    check_piece(&stream, 4, 1, "d\n");
    arcp__worker_stream_fini(&stream);
}

static void a_new_link_gets_all_that_is_kept(void **state)
{
    (void)state;
    arcp__worker_stream stream;
    arcp__worker_stream_init(&stream, false);
    add(&stream, "a");
    add(&stream, "b");
    add(&stream, "c");
    check_piece(&stream, 1, 3, "a\nb\nc\n");
    forget(&stream, 2);
    check_no_piece(&stream);
    arcp__worker_stream_rewind(&stream);
    check_piece(&stream, 2, 2, "b\nc\n");
    assert_int_equal(stream.first, 2);
    arcp__worker_stream_fini(&stream);
}

static void what_is_not_sent_can_be_forgotten(void **state)
{
    (void)state;
    arcp__worker_stream stream;
    arcp__worker_stream_init(&stream, false);
    add(&stream, "a");
    check_piece(&stream, 1, 1, "a\n");
    add(&stream, "b");
    add(&stream, "c");
    forget(&stream, 3);
    check_piece(&stream, 3, 1, "c\n");
    forget(&stream, 4);
    assert_int_equal(stream.kept_bytes, 0);
    assert_int_equal(stream.next, 4);
    arcp__worker_stream_fini(&stream);
}

static void open_items_stay(void **state)
{
    (void)state;
    const uint64_t open[] = {2, 4, 5};
    arcp__worker_stream stream;
    arcp__worker_stream_init(&stream, false);
    for (const char *text = "a\0b\0c\0d\0e\0f\0"; text[0] != '\0'; text += 2) {
        add(&stream, text);
    }
    assert_true(arcp__worker_stream_forget(&stream, 6, open, 3));
    assert_int_equal(stream.first, 6);
    check_piece(&stream, 2, 1, "b\n");
    check_piece(&stream, 4, 1, "d\n");
    check_piece(&stream, 5, 1, "e\n");
    check_piece(&stream, 6, 1, "f\n");
    assert_true(arcp__worker_stream_has(&stream, 4));
    assert_false(arcp__worker_stream_has(&stream, 3));
    assert_false(arcp__worker_stream_has(&stream, 7));
    assert_true(arcp__worker_stream_forget(&stream, 7, open + 1, 1));
    arcp__worker_stream_rewind(&stream);
    check_piece(&stream, 4, 1, "d\n");
    check_no_piece(&stream);
    /* The next line has the next number, and is not that of the open one. */
    add(&stream, "g");
    check_piece(&stream, 7, 1, "g\n");
    forget(&stream, 8);
    assert_int_equal(stream.kept_bytes, 0);
    arcp__worker_stream_fini(&stream);
}

static void output_is_counted_in_bytes(void **state)
{
    (void)state;
    arcp__worker_stream stream;
    arcp__worker_stream_init(&stream, true);
    add(&stream, "abc");
    add(&stream, "de");
    check_piece(&stream, 0, 5, "abcde");
    forget(&stream, 2);
    add(&stream, "f");
    check_piece(&stream, 5, 1, "f");
    arcp__worker_stream_rewind(&stream);
    check_piece(&stream, 2, 4, "cdef");
    arcp__worker_stream_fini(&stream);
}

static void runs_have_a_limit(void **state)
{
    (void)state;
    arcp__worker_stream stream;
    arcp__worker_piece piece;
    char line[1000];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    arcp__worker_stream_init(&stream, false);
    for (size_t i = 0; i < 100; i++) {
        add(&stream, line);
    }
    assert_true(arcp__worker_stream_take(&stream, &piece));
    assert_int_equal(piece.count, ARCP__WORKER_RUN_BYTES / 1000);
    assert_true(arcp__worker_stream_take(&stream, &piece));
    assert_int_equal(piece.count, 100 - ARCP__WORKER_RUN_BYTES / 1000);
    check_no_piece(&stream);
    arcp__worker_stream_fini(&stream);
}

static arcp_status write_and_forget(void *user, arcp_error *err)
{
    const uint64_t open[] = {1, 3};
    arcp__worker_stream stream;
    (void)user;
    arcp__worker_stream_init(&stream, false);
    bool is_ok = arcp__worker_stream_add(&stream, ARCP__WORKER_ITEM_LINE, ARCP_SPAN_LITERAL("a"));
    is_ok =
        is_ok && arcp__worker_stream_add(&stream, ARCP__WORKER_ITEM_LINE, ARCP_SPAN_LITERAL("b"));
    is_ok =
        is_ok && arcp__worker_stream_add(&stream, ARCP__WORKER_ITEM_RECORD, ARCP_SPAN_LITERAL("c"));
    is_ok = is_ok && arcp__worker_stream_forget(&stream, 4, open, 2);
    arcp__worker_stream_fini(&stream);
    return is_ok ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    (void)failing_alloc_sweep(write_and_forget, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_sent_together_and_only_once),
        cmocka_unit_test(records_and_long_lines_are_sent_alone),
        cmocka_unit_test(a_new_link_gets_all_that_is_kept),
        cmocka_unit_test(what_is_not_sent_can_be_forgotten),
        cmocka_unit_test(open_items_stay),
        cmocka_unit_test(output_is_counted_in_bytes),
        cmocka_unit_test(runs_have_a_limit),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
