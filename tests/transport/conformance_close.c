/* What every transport guarantees about closing. */
#include "transport/conformance.h"

/* The lines transport has no close codes: the other side sees the end of its input, which is a
 * normal close. */
static arcp_close_code as_seen(const pair *p, arcp_close_code code)
{
    return pair_has_codes(p) ? code : ARCP_CLOSE_NORMAL;
}

static void close_sends_what_is_buffered_and_tells_both(pair *p)
{
    p->b.keep = true;
    owner_send_text(&p->a, "one");
    owner_send_text(&p->a, "two");
    owner_close(&p->a, ARCP_CLOSE_GOING_AWAY, "restart");
    assert_false(p->a.closed); /* later */
    run_until(&p->test, p->a.closed && p->b.closed);
    check_span(arcp_buf_span(&p->b.log), "one|two|");
    assert_int_equal(p->a.code, ARCP_CLOSE_GOING_AWAY);
    assert_string_equal(p->a.reason, "restart");
    assert_int_equal(p->b.code, as_seen(p, ARCP_CLOSE_GOING_AWAY));
    assert_string_equal(p->b.reason, pair_has_codes(p) ? "restart" : "");
    assert_false(p->a.closed_by_peer);
    assert_int_equal(p->b.closed_by_peer, pair_has_codes(p));
}

static void the_connecting_end_can_close_too(pair *p)
{
    owner_send_text(&p->b, "bye");
    owner_close(&p->b, ARCP_CLOSE_NORMAL, "");
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->a.messages, 1);
    assert_int_equal(p->a.code, ARCP_CLOSE_NORMAL);
    assert_int_equal(p->b.code, ARCP_CLOSE_NORMAL);
}

static void both_ends_may_close_at_once(pair *p)
{
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "a");
    owner_close(&p->b, ARCP_CLOSE_NORMAL, "b");
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->a.code, ARCP_CLOSE_NORMAL);
    assert_int_equal(p->b.code, ARCP_CLOSE_NORMAL);
}

static void the_first_close_decides(pair *p)
{
    owner_close(&p->a, ARCP_CLOSE_POLICY, "first");
    owner_close(&p->a, ARCP_CLOSE_INTERNAL, "second");
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->a.code, ARCP_CLOSE_POLICY);
    assert_string_equal(p->a.reason, "first");
    assert_int_equal(p->b.code, as_seen(p, ARCP_CLOSE_POLICY));
}

static void nothing_is_accepted_after_close(pair *p)
{
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    assert_int_equal(owner_send(&p->a, ARCP_SPAN_LITERAL("late")), ARCP_E_CLOSED);
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(owner_send(&p->a, ARCP_SPAN_LITERAL("later")), ARCP_E_CLOSED);
    assert_int_equal(owner_send(&p->b, ARCP_SPAN_LITERAL("later")), ARCP_E_CLOSED);
    assert_int_equal(p->b.messages, 0);
}

static void no_message_is_delivered_after_close(pair *p)
{
    owner_send_text(&p->b, "on its way");
    owner_flush(&p->b);
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    run_until(&p->test, p->a.closed);
    assert_int_equal(p->a.messages, 0);
}

static void close_works_while_paused(pair *p)
{
    owner_pause(&p->a);
    owner_send_text(&p->b, "not wanted");
    owner_flush(&p->b);
    test_loop_settle(&p->test);
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->a.messages, 0);
    assert_int_equal(p->a.code, ARCP_CLOSE_NORMAL);
}

static void a_close_behind_unread_frames_comes_after_them(pair *p)
{
    p->b.keep = true;
    owner_pause(&p->b);
    owner_send_text(&p->a, "one");
    owner_send_text(&p->a, "two");
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    test_loop_settle(&p->test);
    assert_int_equal(p->b.messages, 0);
    owner_resume(&p->b);
    run_until(&p->test, p->b.closed);
    check_span(arcp_buf_span(&p->b.log), "one|two|");
    assert_int_equal(p->b.code, ARCP_CLOSE_NORMAL);
    run_until(&p->test, p->a.closed);
}

/* More than the buffers between the ends can hold. */
static void send_more_than_fits(pair *p)
{
    static char data[64 * 1024];
    memset(data, 'x', sizeof data);
    owner_pause(&p->b);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(owner_send(&p->a, arcp_span_make(data, sizeof data)), ARCP_OK);
    }
}

static void a_peer_that_takes_nothing_is_given_up(pair *p)
{
    send_more_than_fits(p);
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    run_until(&p->test, p->a.closed); /* after the close timeout */
    assert_int_equal(p->a.code, ARCP_CLOSE_ABNORMAL);
    assert_true(owner_unsent(&p->a) > 0);
}

static void abort_cuts_and_tells_abnormal(pair *p)
{
    owner_abort(&p->a);
    assert_false(p->a.closed); /* later */
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->a.code, ARCP_CLOSE_ABNORMAL);
    assert_int_equal(p->b.code, as_seen(p, ARCP_CLOSE_ABNORMAL));
}

static void abort_ends_a_close_that_waits(pair *p)
{
    send_more_than_fits(p);
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    test_loop_settle(&p->test);
    assert_false(p->a.closed);
    owner_abort(&p->a);
    run_until(&p->test, p->a.closed);
    assert_int_equal(p->a.code, ARCP_CLOSE_ABNORMAL);
}

static void everything_is_allowed_after_the_end(pair *p)
{
    owner_abort(&p->a);
    run_until(&p->test, p->a.closed);
    owner_pause(&p->a);
    owner_resume(&p->a);
    owner_flush(&p->a);
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    owner_abort(&p->a);
    test_loop_settle(&p->test);
    assert_int_equal(p->a.code, ARCP_CLOSE_ABNORMAL);
}

static void release_cuts_without_a_word_to_the_owner(pair *p)
{
    owner_release(&p->a);
    run_until(&p->test, p->b.closed);
    assert_int_equal(p->b.code, as_seen(p, ARCP_CLOSE_ABNORMAL));
    assert_false(p->a.closed);
}

/* ---- from inside callbacks ---- */

static void release_in_message(owner *o, arcp_span frame)
{
    owner_release(o);
}

static void release_inside_a_message_is_the_last_of_it(pair *p)
{
    p->b.on_message = release_in_message;
    owner_send_text(&p->a, "one");
    owner_send_text(&p->a, "two");
    owner_flush(&p->a);
    run_until(&p->test, p->a.closed);
    assert_int_equal(p->b.messages, 1);
}

static void abort_in_message(owner *o, arcp_span frame)
{
    owner_abort(o);
}

static void abort_inside_a_message_is_the_last_of_it(pair *p)
{
    p->b.on_message = abort_in_message;
    owner_send_text(&p->a, "one");
    owner_send_text(&p->a, "two");
    owner_flush(&p->a);
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->b.messages, 1);
}

static void close_in_message(owner *o, arcp_span frame)
{
    owner_close(o, ARCP_CLOSE_POLICY, "enough");
}

static void close_inside_a_message_is_the_last_of_it(pair *p)
{
    p->b.on_message = close_in_message;
    owner_send_text(&p->a, "one");
    owner_send_text(&p->a, "two");
    owner_flush(&p->a);
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->b.messages, 1);
    assert_int_equal(p->a.code, as_seen(p, ARCP_CLOSE_POLICY));
}

static void release_owner(owner *o)
{
    owner_release(o);
}

static void release_inside_drained_is_allowed(pair *p)
{
    p->a.on_drained = release_owner;
    owner_send_text(&p->a, "one");
    run_until(&p->test, p->b.closed);
    assert_int_equal(p->b.messages, 1);
}

static void release_inside_closed_is_allowed(pair *p)
{
    p->a.on_closed = release_owner;
    p->b.on_closed = release_owner;
    owner_close(&p->a, ARCP_CLOSE_NORMAL, "");
    run_until(&p->test, p->a.closed && p->b.closed);
}

static void release_the_other(owner *o, arcp_span frame)
{
    owner_release(o->other);
    owner_release(o);
}

static void both_ends_may_be_released_inside_one_callback(pair *p)
{
    p->b.on_message = release_the_other;
    owner_send_text(&p->a, "one");
    owner_send_text(&p->a, "two");
    run_until(&p->test, p->b.messages == 1);
}

static void a_pair_that_was_never_used_can_go(pair *p)
{
    owner_release(&p->a);
    owner_release(&p->b);
}

static void frames_that_wait_go_with_the_connection(pair *p)
{
    owner_pause(&p->b);
    for (int i = 0; i < 1000; i++) {
        owner_send_text(&p->a, "{\"some\":\"frame that nobody reads\"}");
    }
    owner_flush(&p->a);
    owner_send_text(&p->a, "not even flushed");
    test_loop_settle(&p->test);
    owner_release(&p->b);
    owner_release(&p->a);
}

const conformance_case close_cases[] = {
    CASE(close_sends_what_is_buffered_and_tells_both),
    CASE(the_connecting_end_can_close_too),
    CASE(both_ends_may_close_at_once),
    CASE(the_first_close_decides),
    CASE(nothing_is_accepted_after_close),
    CASE(no_message_is_delivered_after_close),
    CASE(close_works_while_paused),
    CASE(a_close_behind_unread_frames_comes_after_them),
    CASE_WITH_TIMEOUT(a_peer_that_takes_nothing_is_given_up, 100),
    CASE(abort_cuts_and_tells_abnormal),
    CASE(abort_ends_a_close_that_waits),
    CASE(everything_is_allowed_after_the_end),
    CASE(release_cuts_without_a_word_to_the_owner),
    CASE(release_inside_a_message_is_the_last_of_it),
    CASE(abort_inside_a_message_is_the_last_of_it),
    CASE(close_inside_a_message_is_the_last_of_it),
    CASE(release_inside_drained_is_allowed),
    CASE(release_inside_closed_is_allowed),
    CASE(both_ends_may_be_released_inside_one_callback),
    CASE(a_pair_that_was_never_used_can_go),
    CASE(frames_that_wait_go_with_the_connection),
};

const size_t close_case_count = sizeof close_cases / sizeof close_cases[0];
