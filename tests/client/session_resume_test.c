/* Resuming after a drop (draft §6.3): what is sent, what is replayed, and when the client gives up.
 */
#include "client/story.h"

#define EVENT(seq)                                                                                 \
    "{'arcp':'1.1','id':'e" #seq "','type':'job.event','session_id':'sess_1','job_id':'job_1',"    \
    "'event_seq':" #seq ",'payload':{'kind':'log','ts':'t','body':{'n':" #seq "}}}"

/* [arcp:6.3-2] */
static void after_a_drop_the_session_is_resumed_from_the_last_number(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, EVENT(1));
    story_receive(&s, EVENT(2));
    story_check_log(&s, "added job_1\nevent job_1 1 log {\"n\":1}\nevent job_1 2 log {\"n\":2}\n");
    story_drop(&s);
    story_check_log(&s, "disconnected IO\n");
    story_wait_deadline(&s);
    story_check_log(&s, "dial\n");
    story_connect(&s);
    const char *hello = story_sent(&s, "session.hello");
    story_check_member(hello, "session_id", "\"sess_1\"");
    story_check_member(hello, "payload/resume",
                       "{\"session_id\":\"sess_1\",\"token\":\"rt_1\",\"resume_token\":\"rt_1\","
                       "\"last_event_seq\":2}");
    story_check_member(hello, "payload/resume_token", "\"rt_1\"");
    story_check_member(hello, "payload/last_event_seq", "2");
    story_receive(&s, WELCOME_AGAIN);
    story_receive(&s, EVENT(3));
    story_check_log(&s, "resumed\nevent job_1 3 log {\"n\":3}\n");
    check_span(arcp__client_session_resume_token(s.session), "rt_2");
    story_end(&s);
}

static void events_that_are_replayed_twice_are_delivered_once(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, EVENT(1));
    story_receive(&s, EVENT(1));
    story_receive(&s, EVENT(2));
    story_receive(&s, EVENT(1));
    story_receive(&s, EVENT(2));
    story_receive(&s, EVENT(3));
    story_check_log(&s, "added job_1\nevent job_1 1 log {\"n\":1}\nevent job_1 2 log {\"n\":2}\n"
                        "event job_1 3 log {\"n\":3}\n");
    story_end(&s);
}

/* [arcp:8.3-2] */
static void a_gap_is_never_delivered_but_resumed(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, EVENT(1));
    story_receive(&s, EVENT(3));
    story_receive(&s, EVENT(4));
    story_check_log(&s, "added job_1\nevent job_1 1 log {\"n\":1}\nabort\nabort\n");
    story_reconnect(&s);
    story_check_member(story_sent(&s, "session.hello"), "payload/resume/last_event_seq", "1");
    story_receive(&s, WELCOME_AGAIN);
    story_receive(&s, EVENT(2));
    story_receive(&s, EVENT(3));
    story_check_log(&s, "disconnected IO\ndial\nresumed\nevent job_1 2 log {\"n\":2}\n"
                        "event job_1 3 log {\"n\":3}\n");
    story_end(&s);
}

static void a_gap_that_a_resume_does_not_fill_ends_the_client(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, EVENT(1));
    for (int attempt = 0; attempt < 3; attempt++) {
        story_receive(&s, EVENT(3));
        story_reconnect(&s);
        story_receive(&s, WELCOME_AGAIN);
    }
    arcp_buf_clear(&s.log);
    story_receive(&s, EVENT(3));
    story_drop(&s);
    story_check_log(&s, "abort\nclosed CORRUPT\n");
    assert_non_null(strstr(s.session->failure.message, "received event 3, expected 2"));
    story_end(&s);
}

/* [arcp:EG-13] */
static void an_expired_resume_window_ends_the_client_with_its_code(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_reconnect(&s);
    story_receive(&s,
                  "{'arcp':'1.1','id':'e','type':'session.error','session_id':'sess_x','payload':"
                  "{'code':'RESUME_WINDOW_EXPIRED','message':'too late','retryable':false}}");
    story_drop(&s);
    story_check_log(&s, "disconnected IO\ndial\nclose\nclosed RESUME_WINDOW_EXPIRED\n");
    assert_int_equal(s.session->failure.status, ARCP_E_RESUME_WINDOW_EXPIRED);
    story_end(&s);
}

static void a_retryable_refusal_of_a_resume_is_retried(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_reconnect(&s);
    story_receive(&s, "{'arcp':'1.1','id':'e','type':'session.error','session_id':'x','payload':"
                      "{'code':'INTERNAL_ERROR','message':'busy','retryable':true}}");
    story_drop(&s);
    story_wait_deadline(&s);
    story_check_log(&s, "disconnected IO\ndial\nclose\ndisconnected INTERNAL_ERROR\ndial\n");
    story_end(&s);
}

static void attempts_end_with_the_resume_window(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    const int64_t start_ns = s.now.mono_ns;
    story_drop(&s);
    unsigned dials = 0;
    while (s.session->state != ARCP__SESSION_CLOSED) {
        story_wait_deadline(&s);
        story_drop(&s);
        dials++;
        assert_true(dials < 1000);
    }
    const int64_t took_ms = (s.now.mono_ns - start_ns) / ARCP_NS_PER_MS;
    assert_true(took_ms <= 600000 && took_ms > 580000);
    /* Pauses of 5 to 10 s after the first ones: neither too many attempts nor too few. */
    assert_true(dials > 60 && dials < 140);
    story_end(&s);
}

/* Drops the connection and checks the pause: at most `most_ms`, and half of it is random. Returns
 * the limit of the next pause. */
static int64_t drop_and_pause(story *s, int64_t most_ms)
{
    story_drop(s);
    const int64_t pause_ms =
        (arcp__client_session_deadline(s->session) - s->now.mono_ns) / ARCP_NS_PER_MS;
    assert_true(pause_ms >= most_ms / 2 && pause_ms <= most_ms);
    story_wait_deadline(s);
    return most_ms * 2 > 10000 ? 10000 : most_ms * 2;
}

static void pauses_double_and_half_of_each_is_random(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    int64_t most_ms = 100;
    for (int attempt = 0; attempt < 10; attempt++) {
        most_ms = drop_and_pause(&s, most_ms);
    }
    story_end(&s);
}

static void pauses_double_too_when_each_welcome_is_followed_by_a_drop(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    int64_t most_ms = 100;
    for (int attempt = 0; attempt < 10; attempt++) {
        most_ms = drop_and_pause(&s, most_ms);
        story_connect(&s);
        story_receive(&s, WELCOME_AGAIN);
    }
    /* After a useful connection the pauses start over. */
    story_receive(&s, EVENT_OF("job_1", 1, "log", "{}"));
    story_drop(&s);
    assert_true(arcp__client_session_deadline(s.session) - s.now.mono_ns <= 100 * ARCP_NS_PER_MS);
    story_end(&s);
}

static void without_reconnecting_a_drop_is_the_end(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_reconnect = true;
    story_live(&s, options);
    story_drop(&s);
    story_check_log(&s, "closed IO\n");
    story_end(&s);
}

static void without_a_resume_token_a_drop_is_the_end(void **state)
{
    story s;
    story_hello(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_1',"
                      "'payload':{}}");
    story_drop(&s);
    story_check_log(&s, "dial\nconnected\nclosed IO\n");
    story_end(&s);
}

static void a_runtime_that_ignores_the_resume_in_hello_gets_a_session_resume(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, EVENT(1));
    story_reconnect(&s);
    arcp_buf_clear(&s.log);
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_2',"
                      "'payload':{'resume_token':'other'}}");
    const char *resume = story_sent(&s, "session.resume");
    story_check_member(resume, "session_id", "\"sess_2\"");
    story_check_member(resume, "payload/resume_token", "\"rt_1\"");
    story_check_member(resume, "payload/last_event_seq", "1");
    story_receive(&s, WELCOME_AGAIN);
    story_receive(&s, EVENT(2));
    story_check_log(&s, "resumed\nevent job_1 2 log {\"n\":2}\n");
    story_end(&s);
}

static void a_runtime_that_only_begins_new_sessions_has_lost_the_session(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_reconnect(&s);
    arcp_buf_clear(&s.log);
    for (int time = 0; time < 2; time++) {
        story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_2',"
                          "'payload':{'resume_token':'other'}}");
    }
    story_drop(&s);
    story_check_log(&s, "abort\nclosed RESUME_WINDOW_EXPIRED\n");
    story_end(&s);
}

static void a_refused_session_resume_means_the_session_is_lost(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_reconnect(&s);
    arcp_buf_clear(&s.log);
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_2',"
                      "'payload':{'resume_token':'other'}}");
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.error','session_id':'sess_2',"
                      "'payload':{'code':'INVALID_REQUEST','message':'what is that?'}}");
    story_drop(&s);
    story_check_log(&s, "close\nclosed RESUME_WINDOW_EXPIRED\n");
    story_end(&s);
}

/* The runtime of the Java SDK does this: it has no session.error. */
static void a_resume_may_be_refused_with_a_job_error(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_reconnect(&s);
    arcp_buf_clear(&s.log);
    story_receive(&s, "{'arcp':'1.1','id':'e','type':'job.error','payload':{'final_status':'error',"
                      "'code':'RESUME_WINDOW_EXPIRED','message':'unknown or expired'}}");
    story_drop(&s);
    story_check_log(&s, "close\nclosed RESUME_WINDOW_EXPIRED\n");
    story_end(&s);
}

static void a_saved_session_is_resumed_by_the_first_hello(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.resume.session_id = ARCP_SPAN_LITERAL("sess_1");
    options.resume.resume_token = ARCP_SPAN_LITERAL("saved");
    options.resume.last_event_seq = 41;
    story_hello(&s, options);
    story_check_member(story_sent(&s, "session.hello"), "payload/resume/last_event_seq", "41");
    story_receive(&s, WELCOME_AGAIN);
    story_receive(&s, EVENT(42));
    story_check_log(&s, "dial\nresumed\nadded job_1\nevent job_1 42 log {\"n\":42}\n");
    story_end(&s);
}

static void a_newer_token_of_another_process_is_used(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    story_wait_deadline(&s);
    assert_int_equal(arcp__client_session_set_resume_token(s.session, ARCP_SPAN_LITERAL("rt_7")),
                     ARCP_OK);
    story_connect(&s);
    story_check_member(story_sent(&s, "session.hello"), "payload/resume/resume_token", "\"rt_7\"");
    story_end(&s);
}

static void an_attempt_can_be_postponed_but_not_for_ever(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    unsigned turns = 0;
    while (s.session->state != ARCP__SESSION_CLOSED) {
        story_wait_deadline(&s);
        arcp__client_session_postpone(s.session, s.now, 1000);
        story_drain(&s);
        assert_true(++turns < 1000);
    }
    assert_true(turns >= 590);
    assert_int_equal(s.session->failure.status, ARCP_E_DEADLINE);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_drop_the_session_is_resumed_from_the_last_number),
        cmocka_unit_test(events_that_are_replayed_twice_are_delivered_once),
        cmocka_unit_test(a_gap_is_never_delivered_but_resumed),
        cmocka_unit_test(a_gap_that_a_resume_does_not_fill_ends_the_client),
        cmocka_unit_test(an_expired_resume_window_ends_the_client_with_its_code),
        cmocka_unit_test(a_retryable_refusal_of_a_resume_is_retried),
        cmocka_unit_test(attempts_end_with_the_resume_window),
        cmocka_unit_test(pauses_double_and_half_of_each_is_random),
        cmocka_unit_test(pauses_double_too_when_each_welcome_is_followed_by_a_drop),
        cmocka_unit_test(without_reconnecting_a_drop_is_the_end),
        cmocka_unit_test(without_a_resume_token_a_drop_is_the_end),
        cmocka_unit_test(a_runtime_that_ignores_the_resume_in_hello_gets_a_session_resume),
        cmocka_unit_test(a_runtime_that_only_begins_new_sessions_has_lost_the_session),
        cmocka_unit_test(a_refused_session_resume_means_the_session_is_lost),
        cmocka_unit_test(a_resume_may_be_refused_with_a_job_error),
        cmocka_unit_test(a_saved_session_is_resumed_by_the_first_hello),
        cmocka_unit_test(a_newer_token_of_another_process_is_used),
        cmocka_unit_test(an_attempt_can_be_postponed_but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
