/* The queue of spans: bounded, in order, in batches of whole spans. */
#include "support/check.h"

#include "tracing/span_queue.h"

static bool add(arcp__span_queue *queue, const char *text)
{
    return arcp__span_queue_add(queue, arcp_span_cstr(text));
}

static void check_batch(const arcp__span_queue *queue, const char *expected)
{
    arcp_buf text = arcp_buf_init();
    arcp__span_queue_format(queue, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_string_equal(text.data, expected);
    arcp_buf_fini(&text);
}

static void a_batch_has_the_oldest_spans_separated_by_commas(void **state)
{
    (void)state;
    arcp__span_queue queue = {.bytes_max = 100};
    assert_true(add(&queue, "{1}"));
    assert_true(add(&queue, "{2}"));
    assert_true(add(&queue, "{3}"));
    assert_true(arcp__span_queue_take(&queue, 8)); /* two of three bytes and a line feed each */
    assert_int_equal(queue.taken_count, 2);
    check_batch(&queue, "{1},{2}");
    assert_true(add(&queue, "{4}"));
    arcp__span_queue_release(&queue);
    assert_true(arcp__span_queue_take(&queue, 100));
    check_batch(&queue, "{3},{4}");
    arcp__span_queue_release(&queue);
    assert_false(arcp__span_queue_take(&queue, 100));
    assert_int_equal(queue.spans.size, 0);
    arcp_buf_fini(&queue.spans);
}

static void a_batch_has_no_more_than_its_bytes_unless_one_span_has(void **state)
{
    (void)state;
    arcp__span_queue queue = {.bytes_max = 100};
    assert_true(add(&queue, "{1}"));
    assert_true(add(&queue, "{2}"));
    assert_true(arcp__span_queue_take(&queue, 7));
    check_batch(&queue, "{1}");
    arcp__span_queue_release(&queue);
    assert_true(arcp__span_queue_take(&queue, 1));
    check_batch(&queue, "{2}");
    arcp_buf_fini(&queue.spans);
}

static void a_span_without_room_is_refused(void **state)
{
    (void)state;
    arcp__span_queue queue = {.bytes_max = 8};
    assert_true(add(&queue, "{1}"));
    assert_false(add(&queue, "{22}"));
    assert_true(add(&queue, "{2}"));
    assert_int_equal(queue.spans.size, 8);
    assert_false(add(&queue, ""));
    assert_true(arcp__span_queue_take(&queue, 4));
    assert_false(add(&queue, "{3}")); /* what is on its way counts */
    arcp__span_queue_release(&queue);
    assert_true(add(&queue, "{3}"));
    assert_int_equal(queue.count, 2);
    arcp_buf_fini(&queue.spans);
}

static void a_span_larger_than_the_queue_is_refused(void **state)
{
    (void)state;
    arcp__span_queue queue = {.bytes_max = 8};
    assert_false(add(&queue, "{123456}")); /* eight bytes and its line feed */
    assert_true(add(&queue, "{12345}"));
    arcp_buf_fini(&queue.spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_has_the_oldest_spans_separated_by_commas),
        cmocka_unit_test(a_batch_has_no_more_than_its_bytes_unless_one_span_has),
        cmocka_unit_test(a_span_without_room_is_refused),
        cmocka_unit_test(a_span_larger_than_the_queue_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
