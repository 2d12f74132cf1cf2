/* What only the memory transport can do: delay, loss, partition, and the same twice. */
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

static void a_delay_is_so_many_turns_more(void **state)
{
    for (uint32_t delay = 0; delay < 5; delay++) {
        pair p;
        memory_open(&p);
        arcp_memory_delay(p.a.connection, delay);
        owner_send_text(&p.a, "late");
        owner_flush(&p.a);
        for (uint32_t i = 0; i < delay; i++) {
            turn(&p);
            assert_int_equal(p.b.messages, 0);
        }
        turn(&p);
        assert_int_equal(p.b.messages, 1);
        pair_close(&p);
    }
}

static void a_shorter_delay_does_not_overtake(void **state)
{
    pair p;
    memory_open(&p);
    p.b.keep = true;
    arcp_memory_delay(p.a.connection, 5);
    owner_send_text(&p.a, "first");
    owner_flush(&p.a);
    arcp_memory_delay(p.a.connection, 0);
    owner_send_text(&p.a, "second");
    owner_flush(&p.a);
    run_until(&p.test, p.b.messages == 2);
    check_span(arcp_buf_span(&p.b.log), "first|second|");
    pair_close(&p);
}

static void lost_frames_count_as_sent_and_do_not_arrive(void **state)
{
    pair p;
    memory_open(&p);
    p.b.keep = true;
    arcp_memory_lose(p.a.connection, 2);
    owner_send_text(&p.a, "one");
    owner_send_text(&p.a, "two");
    owner_send_text(&p.a, "three");
    owner_send_text(&p.b, "the other way");
    run_until(&p.test, p.b.messages == 1 && p.a.messages == 1);
    check_span(arcp_buf_span(&p.b.log), "three|");
    assert_int_equal(p.a.written, 11);
    pair_close(&p);
}

static void nothing_passes_a_partition_until_it_heals(void **state)
{
    pair p;
    memory_open(&p);
    p.b.keep = true;
    arcp_memory_partition(p.a.connection, true);
    owner_send_text(&p.a, "one");
    owner_send_text(&p.b, "other");
    owner_close(&p.a, ARCP_CLOSE_GOING_AWAY, "");
    test_loop_settle(&p.test);
    assert_int_equal(p.b.messages, 0);
    assert_int_equal(p.a.messages, 0);
    assert_false(p.a.closed || p.b.closed);
    assert_int_equal(owner_unsent(&p.a), 3);
    arcp_memory_partition(p.b.connection, false); /* either end will do */
    run_until(&p.test, p.a.closed && p.b.closed);
    check_span(arcp_buf_span(&p.b.log), "one|");
    assert_int_equal(p.b.code, ARCP_CLOSE_GOING_AWAY);
    pair_close(&p);
}

static void a_partition_costs_no_turns(void **state)
{
    pair p;
    memory_open(&p);
    arcp_memory_partition(p.a.connection, true);
    owner_send_text(&p.a, "one");
    test_loop_settle(&p.test);
    assert_int_equal(uv_loop_alive(&p.test.loop), 0); /* nothing to wake up for */
    pair_close(&p);
}

static void a_close_into_a_partition_is_given_up(void **state)
{
    pair p;
    pair_open(&p, PAIR_MEMORY, (pair_limits){0, 20});
    arcp_memory_partition(p.a.connection, true);
    owner_close(&p.a, ARCP_CLOSE_NORMAL, "");
    run_until(&p.test, p.a.closed);
    assert_int_equal(p.a.code, ARCP_CLOSE_ABNORMAL);
    assert_false(p.b.closed); /* it cannot know */
    pair_close(&p);
}

static void a_cut_loses_what_is_on_the_way(void **state)
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

static void a_cut_twice_is_as_once(void **state)
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

static void an_empty_frame_is_a_frame(void **state)
{
    pair p;
    memory_open(&p);
    owner_send_text(&p.a, "");
    run_until(&p.test, p.b.messages == 1);
    assert_int_equal(p.b.last_size, 0);
    pair_close(&p);
}

/* What arrives in which turn, for a fixed play with delays, losses and pauses. */
static void play(arcp_buf *story)
{
    pair p;
    memory_open(&p);
    p.a.keep = p.b.keep = true;
    for (int i = 0; i < 60; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", i);
        arcp_memory_delay(p.a.connection, (uint32_t)(i * 7 % 5));
        owner_send_text(i % 3 == 0 ? &p.a : &p.b, text);
        if (i % 11 == 0) {
            arcp_memory_lose(p.a.connection, 1);
        }
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
    arcp_buf first = ARCP_BUF_INIT;
    arcp_buf second = ARCP_BUF_INIT;
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
        cmocka_unit_test(a_delay_is_so_many_turns_more),
        cmocka_unit_test(a_shorter_delay_does_not_overtake),
        cmocka_unit_test(lost_frames_count_as_sent_and_do_not_arrive),
        cmocka_unit_test(nothing_passes_a_partition_until_it_heals),
        cmocka_unit_test(a_partition_costs_no_turns),
        cmocka_unit_test(a_close_into_a_partition_is_given_up),
        cmocka_unit_test(a_cut_loses_what_is_on_the_way),
        cmocka_unit_test(a_cut_twice_is_as_once),
        cmocka_unit_test(an_empty_frame_is_a_frame),
        cmocka_unit_test(the_same_calls_have_the_same_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
