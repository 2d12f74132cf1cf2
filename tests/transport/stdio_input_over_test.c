/* The end of standard input: what is still written, and when the owner is notified. */
#include "transport/stdio_ends.h"

#include <sys/socket.h>

static void reply(owner *o, arcp_span frame)
{
    assert_int_equal(owner_send(o, ARCP_SPAN_LITERAL("reply")), ARCP_OK);
}

static void at_the_end_of_the_input_queued_output_is_written(void **state)
{
    stdio s;
    stdio_open(&s);
    s.owner.on_message = reply;
    stdio_put(&s, "question");
    stdio_hang_up(&s.to);
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    stdio_expect(&s, "reply\n");
    stdio_expect(&s, ""); /* the end */
    stdio_close(&s);
}

static void an_owner_notified_of_the_end_of_the_input_may_go_on_sending(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    stdio_put(&s, "one\ntwo");
    stdio_hang_up(&s.to);
    run_until(&s.test, s.owner.input_overs == 1);
    check_span(arcp_buf_span(&s.owner.log), "one|two|");
    owner_send_text(&s.owner, "later");
    owner_flush(&s.owner);
    test_loop_settle(&s.test);
    stdio_expect(&s, "later\n");
    assert_false(s.owner.closed);
    owner_send_text(&s.owner, "last");
    owner_close(&s.owner, ARCP_CLOSE_NORMAL, "bye");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    assert_string_equal(s.owner.reason, "bye");
    assert_int_equal(s.owner.input_overs, 1);
    stdio_expect(&s, "last\n");
    stdio_expect(&s, ""); /* the end */
    stdio_close(&s);
}

static void the_end_of_the_input_is_reported_once_and_after_a_pause(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    owner_pause(&s.owner);
    stdio_put(&s, "one\n");
    stdio_hang_up(&s.to);
    test_loop_settle(&s.test);
    assert_int_equal(s.owner.input_overs, 0);
    for (int round = 0; round < 2; round++) {
        owner_resume(&s.owner);
        test_loop_settle(&s.test);
        assert_int_equal(s.owner.input_overs, 1);
        assert_int_equal(s.owner.messages, 1);
        owner_pause(&s.owner);
    }
    assert_false(s.owner.closed);
    stdio_close(&s);
}

static void a_reader_that_closes_after_the_end_of_the_input_is_abnormal(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    stdio_hang_up(&s.to);
    run_until(&s.test, s.owner.input_overs == 1);
    stdio_hang_up(&s.from);
    owner_send_text(&s.owner, "to nobody");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_ABNORMAL);
    stdio_close(&s);
}

static void a_line_above_the_limit_at_the_end_of_the_input_closes_the_connection(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    char line[102];
    memset(line, 'x', sizeof line);
    line[101] = '\0';
    stdio_put(&s, line);
    stdio_hang_up(&s.to);
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_TOO_BIG);
    assert_int_equal(s.owner.input_overs, 0);
    stdio_close(&s);
}

static void a_half_closed_socket_can_be_written(void **state)
{
    stdio s;
    int ends[2];
    stdio_init(&s);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    s.from = ends[1];
    s.owner.wants_input_over = true;
    stdio_open_over(&s, ends[0], ends[0], 100);
    assert_int_equal(shutdown(s.from, SHUT_WR), 0);
    run_until(&s.test, s.owner.input_overs == 1);
    owner_send_text(&s.owner, "later");
    owner_close(&s.owner, ARCP_CLOSE_NORMAL, "bye");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    stdio_expect(&s, "later\n");
    stdio_expect(&s, "");
    stdio_close(&s);
}

static void an_end_while_paused_is_reported_after_the_lines_before_it(void **state)
{
    stdio s;
    stdio_open(&s);
    owner_pause(&s.owner);
    stdio_put(&s, "one\ntwo");
    stdio_hang_up(&s.to);
    test_loop_settle(&s.test);
    assert_false(s.owner.closed);
    assert_int_equal(s.owner.messages, 0);
    owner_resume(&s.owner);
    run_until(&s.test, s.owner.closed);
    check_span(arcp_buf_span(&s.owner.log), "one|two|");
    stdio_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_end_of_the_input_queued_output_is_written),
        cmocka_unit_test(an_owner_notified_of_the_end_of_the_input_may_go_on_sending),
        cmocka_unit_test(the_end_of_the_input_is_reported_once_and_after_a_pause),
        cmocka_unit_test(a_reader_that_closes_after_the_end_of_the_input_is_abnormal),
        cmocka_unit_test(a_line_above_the_limit_at_the_end_of_the_input_closes_the_connection),
        cmocka_unit_test(a_half_closed_socket_can_be_written),
        cmocka_unit_test(an_end_while_paused_is_reported_after_the_lines_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
