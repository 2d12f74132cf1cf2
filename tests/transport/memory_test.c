/* Properties of the memory transport only: cuts, and repeatable behaviour. */
#include "transport/pair.h"

static void memory_open(pair *p)
{
    pair_open(p, PAIR_MEMORY, (pair_limits){0, 2 * TEST_PATIENCE_MS});
}

/* One turn of the loop, without waiting. */
static void turn(pair *p)
{
    uv_run(&p->test.loop, UV_RUN_NOWAIT);
}

static void a_frame_arrives_in_the_turn_after_its_flush(void **state)
{
    pair p;
    memory_open(&p);
    turn(&p); /* both start reading */
    turn(&p);
    owner_send_text(&p.a, "one");
    owner_flush(&p.a);
    assert_int_equal(p.b.messages, 0);
    turn(&p);
    assert_int_equal(p.b.messages, 1);
    pair_close(&p);
}

static void an_idle_pair_does_not_wake_the_loop(void **state)
{
    pair p;
    memory_open(&p);
    owner_pause(&p.b);
    owner_send_text(&p.a, "one");
    test_loop_settle(&p.test);
    assert_int_equal(owner_unsent(&p.a), 3);
    assert_int_equal(uv_loop_alive(&p.test.loop), 0); /* nothing keeps the loop alive */
    pair_close(&p);
}

static void a_cut_loses_frames_in_transit(void **state)
{
    pair p;
    memory_open(&p);
    owner_send_text(&p.a, "arrived");
    run_until(&p.test, p.b.messages == 1);
    owner_send_text(&p.a, "on its way");
    owner_flush(&p.a);
    owner_send_text(&p.b, "not flushed");
    arcp_memory_cut(p.a.connection);
    run_until(&p.test, p.a.closed && p.b.closed);
    assert_int_equal(p.a.code, ARCP_CLOSE_ABNORMAL);
    assert_int_equal(p.b.code, ARCP_CLOSE_ABNORMAL);
    assert_int_equal(p.b.messages, 1);
    assert_int_equal(p.a.messages, 0);
    pair_close(&p);
}

static void a_second_cut_has_no_effect(void **state)
{
    pair p;
    memory_open(&p);
    arcp_memory_cut(p.a.connection);
    arcp_memory_cut(p.b.connection);
    run_until(&p.test, p.a.closed && p.b.closed);
    arcp_memory_cut(p.a.connection);
    test_loop_settle(&p.test);
    pair_close(&p);
}

static void an_empty_frame_is_delivered(void **state)
{
    pair p;
    memory_open(&p);
    owner_send_text(&p.a, "");
    run_until(&p.test, p.b.messages == 1);
    assert_int_equal(p.b.last_size, 0);
    pair_close(&p);
}

/* What arrives in which turn, for a fixed sequence of calls with pauses. */
static void play(arcp_buf *story)
{
    pair p;
    memory_open(&p);
    p.a.keep = p.b.keep = true;
    for (int i = 0; i < 60; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        owner_send_text(i % 3 == 0 ? &p.a : &p.b, text);
        if (i % 13 == 0) {
            owner_pause(&p.b);
        } else if (i % 13 == 6) {
            owner_resume(&p.b);
        }
        turn(&p);
        arcp_buf_append_format(story, "%d:%zu,%zu,%zu,%zu ", i, p.a.messages, p.b.messages,
                               owner_unsent(&p.a), owner_unsent(&p.b));
    }
    arcp_buf_append(story, arcp_buf_span(&p.a.log));
    arcp_buf_append(story, arcp_buf_span(&p.b.log));
    pair_close(&p);
}

static void the_same_calls_have_the_same_outcome(void **state)
{
    arcp_buf first = arcp_buf_init();
    arcp_buf second = arcp_buf_init();
    play(&first);
    play(&second);
    assert_true(first.size > 500);
    assert_true(arcp_span_equal(arcp_buf_span(&first), arcp_buf_span(&second)));
    arcp_buf_fini(&first);
    arcp_buf_fini(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_arrives_in_the_turn_after_its_flush),
        cmocka_unit_test(an_idle_pair_does_not_wake_the_loop),
        cmocka_unit_test(a_cut_loses_frames_in_transit),
        cmocka_unit_test(a_second_cut_has_no_effect),
        cmocka_unit_test(an_empty_frame_is_delivered),
        cmocka_unit_test(the_same_calls_have_the_same_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
