/* Heartbeats and acknowledgements (draft §6.4, §6.5). The interval of the stories is 30 s. */
#include "client/story.h"

#define PING "{'arcp':'1.1','id':'p','type':'session.ping','payload':{'nonce':'n1'}}"

#define EVENT(seq)                                                                                 \
    "{'arcp':'1.1','id':'e" #seq "','type':'job.event','session_id':'sess_1','job_id':'job_1',"    \
    "'event_seq':" #seq ",'payload':{'kind':'log','body':{}}}"

static void receive_events(story *s, unsigned from, unsigned to)
{
    for (unsigned seq = from; seq <= to; seq++) {
        story_receive_format(
            s,
            "{'arcp':'1.1','id':'e','type':'job.event','session_id':'sess_1','job_id':"
            "'job_1','event_seq':%u,'payload':{'kind':'log','body':{}}}",
            seq);
    }
}

/* [arcp:6.4-3] */
static void a_ping_is_answered_with_its_nonce(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, PING);
    const char *pong = story_sent(&s, "session.pong");
    story_check_member(pong, "payload/ping_nonce", "\"n1\"");
    story_check_member(pong, "payload/received_at", "\"2026-01-01T00:00:00.000Z\"");
    story_check_member(pong, "session_id", "\"sess_1\"");
    story_check_member(pong, "event_seq", "");
    story_end(&s);
}

static void an_older_ping_gets_an_older_pong(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, "{'id':'p7','type':'ping','payload':{'nonce':7}}");
    const char *pong = story_sent(&s, "pong");
    story_check_member(pong, "id", "\"p7\"");
    story_check_member(pong, "payload/ping_nonce", "7");
    story_end(&s);
}

static void pings_are_answered_even_when_heartbeats_were_not_negotiated(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_receive(&s, PING);
    assert_non_null(story_sent(&s, "session.pong"));
    story_end(&s);
}

/* [arcp:6.4-1] [arcp:6.4-2] */
static void an_interval_without_frames_causes_a_ping(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_wait(&s, 29999);
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_wait(&s, 1);
    assert_int_equal(story_sent_count(&s, "session.ping"), 1);
    story_end(&s);
}

static void receiving_without_sending_causes_a_ping_too(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    s.keeps_unread = true; /* no acks: they would count as sent frames */
    for (int tenth = 1; tenth <= 10; tenth++) {
        story_wait(&s, 2999);
        story_receive_format(
            &s, "{'id':'e','type':'job.event','job_id':'j','event_seq':%d,'payload':{}}", tenth);
    }
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_wait(&s, 10);
    assert_int_equal(story_sent_count(&s, "session.ping"), 1);
    story_end(&s);
}

static void sending_without_receiving_causes_a_ping_too(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    for (int tenth = 1; tenth <= 10; tenth++) {
        story_wait(&s, 2999);
        story_cancel(&s, "c", "job_1");
    }
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_wait(&s, 10);
    assert_int_equal(story_sent_count(&s, "session.ping"), 1);
    story_wait(&s, 1000);
    assert_int_equal(story_sent_count(&s, "session.ping"), 1);
    story_end(&s);
}

/* [arcp:6.4-4] */
static void two_silent_intervals_end_the_connection_but_not_the_session(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_wait(&s, 30000);
    story_wait(&s, 29999);
    story_check_log(&s, "");
    story_wait(&s, 1);
    story_check_log(&s, "abort\n");
    story_drop(&s);
    story_wait_deadline(&s);
    story_check_log(&s, "disconnected HEARTBEAT_LOST\ndial\n");
    story_end(&s);
}

static void any_frame_counts_as_a_heartbeat(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    for (int turn = 0; turn < 10; turn++) {
        story_wait(&s, 59999);
        story_receive(&s, "{'type':'x-vendor.acme.noise'}");
    }
    story_check_log(&s, "");
    story_end(&s);
}

static void without_heartbeats_silence_is_accepted(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    assert_true(arcp__client_session_deadline(s.session) == ARCP_TIME_NEVER);
    story_wait(&s, 3600000);
    story_check_log(&s, "");
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_end(&s);
}

static void while_nothing_is_read_silence_is_accepted_and_pings_are_sent(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    arcp__client_session_set_reading(s.session, s.now, false);
    for (int turn = 0; turn < 10; turn++) {
        story_wait(&s, 30000);
    }
    story_check_log(&s, "");
    assert_int_equal(story_sent_count(&s, "session.ping"), 10);
    arcp__client_session_set_reading(s.session, s.now, true);
    story_wait(&s, 59999);
    story_check_log(&s, "");
    story_wait(&s, 1);
    story_check_log(&s, "abort\n");
    story_end(&s);
}

static const struct interval {
    const char *name;
    const char *value;
    int64_t ping_ms; /* 0: never */
} intervals[] = {
    {"a fraction of a second", "0.5", 500},
    {"a whole number", "2", 2000},
    {"an exponent", "1e1", 10000},
    {"almost zero", "0.001", 50},
    {"zero", "0", 0},
    {"null", "null", 0},
    {"a word", "'soon'", 0},
    {"negative", "-3", 0},
    {"too long", "1e15", 0},
};

static void heartbeat_intervals_are_read_in_all_forms(void **state)
{
    for (size_t row = 0; row < sizeof intervals / sizeof intervals[0]; row++) {
        story s;
        print_message("  %s\n", intervals[row].name);
        story_hello(&s, DEFAULTS);
        story_receive_format(
            &s,
            "{'type':'session.welcome','session_id':'sess_1','payload':{'resume_token':'r',"
            "'heartbeat_interval_sec':%s,'capabilities':{'features':['heartbeat']}}}",
            intervals[row].value);
        if (intervals[row].ping_ms == 0) {
            story_wait(&s, 3600000);
            assert_int_equal(story_sent_count(&s, "session.ping"), 0);
        } else {
            story_wait(&s, intervals[row].ping_ms - 1);
            assert_int_equal(story_sent_count(&s, "session.ping"), 0);
            story_wait(&s, 1);
            assert_int_equal(story_sent_count(&s, "session.ping"), 1);
        }
        story_end(&s);
    }
}

/* ---- acknowledgements ---- */

/* [arcp:6.5-1] [arcp:6.5-5] [arcp:6.5-6] */
static void an_ack_is_sent_after_ack_ms(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, EVENT(1));
    story_receive(&s, EVENT(2));
    story_wait(&s, 249);
    assert_null(story_sent(&s, "session.ack"));
    story_wait(&s, 1);
    story_check_member(story_sent(&s, "session.ack"), "payload", "{\"last_processed_seq\":2}");
    story_wait(&s, 1000);
    assert_int_equal(story_sent_count(&s, "session.ack"), 1);
    story_end(&s);
}

/* [arcp:6.5-5] */
static void an_ack_is_sent_after_ack_events(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    receive_events(&s, 1, 499);
    assert_null(story_sent(&s, "session.ack"));
    receive_events(&s, 500, 500);
    story_check_member(story_sent(&s, "session.ack"), "payload", "{\"last_processed_seq\":500}");
    receive_events(&s, 501, 999);
    assert_int_equal(story_sent_count(&s, "session.ack"), 1);
    receive_events(&s, 1000, 1000);
    assert_int_equal(story_sent_count(&s, "session.ack"), 2);
    story_end(&s);
}

static void unread_events_are_not_acknowledged(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    s.keeps_unread = true;
    receive_events(&s, 1, 10);
    arcp__client_session_handed_over(s.session, s.now, 4);
    story_wait(&s, 1000);
    story_check_member(story_sent(&s, "session.ack"), "payload", "{\"last_processed_seq\":4}");
    arcp__client_session_handed_over(s.session, s.now, 3);
    story_wait(&s, 1000);
    assert_int_equal(story_sent_count(&s, "session.ack"), 1);
    story_end(&s);
}

static void with_manual_ack_the_program_acknowledges(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_client_options options = DEFAULTS;
    options.manual_ack = true;
    story_live(&s, options);
    receive_events(&s, 1, 600);
    story_wait(&s, 10000);
    assert_null(story_sent(&s, "session.ack"));
    check_ok(arcp__client_session_ack(s.session, s.now, 600, &err), &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "session.ack"), "payload", "{\"last_processed_seq\":600}");
    check_ok(arcp__client_session_ack(s.session, s.now, 500, &err), &err);
    story_drain(&s);
    assert_int_equal(story_sent_count(&s, "session.ack"), 1);
    assert_int_equal(arcp__client_session_ack(s.session, s.now, 601, &err), ARCP_E_INVALID_REQUEST);
    story_end(&s);
}

static void without_the_ack_feature_nothing_is_acknowledged(void **state)
{
    story s;
    arcp_error err = {0};
    story_live_plain(&s, DEFAULTS);
    receive_events(&s, 1, 600);
    check_ok(arcp__client_session_ack(s.session, s.now, 600, &err), &err);
    story_wait(&s, 10000);
    assert_null(story_sent(&s, "session.ack"));
    story_end(&s);
}

static void refusals_count_as_delivered(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_cancel(&s, "c", "job_9");
    story_receive(&s, "{'id':'x','type':'job.error','event_seq':1,'payload':{'request_id':"
                      "'$(job.cancel)','code':'JOB_NOT_FOUND','message':'m'}}");
    story_wait(&s, 250);
    story_check_member(story_sent(&s, "session.ack"), "payload", "{\"last_processed_seq\":1}");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ping_is_answered_with_its_nonce),
        cmocka_unit_test(an_older_ping_gets_an_older_pong),
        cmocka_unit_test(pings_are_answered_even_when_heartbeats_were_not_negotiated),
        cmocka_unit_test(an_interval_without_frames_causes_a_ping),
        cmocka_unit_test(receiving_without_sending_causes_a_ping_too),
        cmocka_unit_test(sending_without_receiving_causes_a_ping_too),
        cmocka_unit_test(two_silent_intervals_end_the_connection_but_not_the_session),
        cmocka_unit_test(any_frame_counts_as_a_heartbeat),
        cmocka_unit_test(without_heartbeats_silence_is_accepted),
        cmocka_unit_test(while_nothing_is_read_silence_is_accepted_and_pings_are_sent),
        cmocka_unit_test(heartbeat_intervals_are_read_in_all_forms),
        cmocka_unit_test(an_ack_is_sent_after_ack_ms),
        cmocka_unit_test(an_ack_is_sent_after_ack_events),
        cmocka_unit_test(unread_events_are_not_acknowledged),
        cmocka_unit_test(with_manual_ack_the_program_acknowledges),
        cmocka_unit_test(without_the_ack_feature_nothing_is_acknowledged),
        cmocka_unit_test(refusals_count_as_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
