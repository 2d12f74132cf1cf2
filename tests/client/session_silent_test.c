/* Jobs that are over and about which the runtime sends nothing more (src/client/client_silent.c),
 * and abandoned requests that are overtaken. The runtimes here name no requests, like those of the
 * TypeScript and Java SDKs. */
#include "client/story.h"

#define PONG                                                                                       \
    "{'arcp':'1.1','id':'p','type':'session.pong','session_id':'sess_1',"                          \
    "'payload':{'ping_nonce':'$(session.ping)'}}"
#define SUBSCRIBED(status, replayed)                                                               \
    "{'arcp':'1.1','id':'s','type':'job.subscribed','session_id':'sess_1','job_id':'job_1',"       \
    "'payload':{'job_id':'job_1','current_status':'" status "','agent':'echo','lease':{},"         \
    "'subscribed_from':0,'replayed':" replayed "}}"
#define REFUSAL(job, seq, code)                                                                    \
    "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1','job_id':'" job               \
    "','event_seq':" #seq ",'payload':{'final_status':'error','code':'" code                       \
    "','message':'no','retryable':false}}"

static void live(story *s, const char *features)
{
    char welcome[512];
    arcp_client_options options = DEFAULTS;
    options.request_timeout_ms = 5000;
    story_hello(s, options);
    snprintf(welcome, sizeof welcome,
             "{'arcp':'1.1','id':'w1','type':'session.welcome','session_id':'sess_1','payload':{"
             "'resume_token':'rt_1','resume_window_sec':600,'heartbeat_interval_sec':600,"
             "'capabilities':{'features':['list_jobs','subscribe','agent_versions'%s]}}}",
             features);
    story_receive(s, welcome);
    story_check_log(s, "dial\nconnected\n");
}

#define HEARTBEAT ",'heartbeat'"

static void submit_with_key(story *s, const char *name)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.idempotency_key = ARCP_SPAN_LITERAL("weekly");
    check_ok(story_submit_with(s, name, &options, &err), &err);
}

static void check_end(const story *s, arcp_status status, const char *message)
{
    const arcp_outcome *outcome = arcp_job_outcome(s->jobs[0]);
    assert_non_null(outcome);
    assert_int_equal(outcome->status, status);
    assert_string_equal(outcome->error->message, message);
}

/* ---- subscribing to a job that is over ---- */

static void a_final_status_without_a_replayed_end_ends_the_job(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, SUBSCRIBED("cancelled", "true"));
    story_receive(&s, EVENT_OF("job_1", 1, "log", "{'level':'info','message':'m'}"));
    story_check_log(&s,
                    "reply w ok job_1\nevent job_1 1 log {\"level\":\"info\",\"message\":\"m\"}\n");
    story_receive(&s, PONG);
    story_check_log(&s, "ended job_1 0 cancelled CANCELLED\n");
    check_end(&s, ARCP_E_CANCELLED,
              "job job_1 is over (cancelled); the runtime does not send its result again");
    story_end(&s);
}

static void a_replayed_end_is_the_one_delivered(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, SUBSCRIBED("success", "true"));
    story_receive(&s, RESULT_OF("job_1", 1, ",'result':7"));
    story_receive(&s, PONG);
    story_check_log(&s, "reply w ok job_1\nended job_1 1 success\n");
    story_end(&s);
}

static void history_may_precede_the_response(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, ERROR_OF("job_1", 1, "'final_status':'error','code':'INTERNAL_ERROR'"));
    story_receive(&s, SUBSCRIBED("error", "true"));
    story_check_log(&s, "reply w ok job_1\nended job_1 0 error INTERNAL_ERROR\n");
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_end(&s);
}

static void without_heartbeats_the_job_ends_at_the_request_timeout(void **state)
{
    story s;
    live(&s, "");
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, SUBSCRIBED("success", "false"));
    story_wait(&s, 4999);
    story_check_log(&s, "reply w ok job_1\n");
    story_wait(&s, 1);
    story_check_log(&s, "ended job_1 0 success CLOSED\n");
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_end(&s);
}

static void a_fence_is_repeated_after_a_drop(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, SUBSCRIBED("timed_out", "false"));
    story_reconnect(&s);
    story_receive(&s, "{'arcp':'1.1','id':'w2','type':'session.welcome','session_id':'sess_1',"
                      "'payload':{'resume_token':'rt_2','resume_window_sec':600,"
                      "'heartbeat_interval_sec':600,"
                      "'capabilities':{'features':['subscribe','heartbeat']}}}");
    assert_int_equal(story_sent_count(&s, "session.ping"), 2);
    arcp_buf_clear(&s.log);
    story_receive(&s, PONG);
    story_check_log(&s, "ended job_1 0 timed_out TIMEOUT\n");
    story_end(&s);
}

static void after_an_unsubscribe_no_probe_is_sent(void **state)
{
    story s;
    arcp_error err = {0};
    live(&s, HEARTBEAT);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, SUBSCRIBED("success", "true"));
    check_ok(arcp__client_session_unsubscribe(s.session, s.now, ARCP_SPAN_LITERAL("job_1"), &err),
             &err);
    story_receive(&s, PONG);
    story_check_log(&s, "reply w ok job_1\n");
    story_end(&s);
}

/* Like arcpd: the end is in the history, however long the replay takes. */
static void a_runtime_that_names_requests_needs_no_fence(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(
        &s, "{'arcp':'1.1','id':'s','type':'job.subscribed','session_id':'sess_1',"
            "'payload':{'request_id':'$(job.subscribe)','job_id':'job_1','lease':{},"
            "'current_status':'success','agent':'echo','subscribed_from':0,'replayed':true}}");
    story_wait(&s, 20000);
    story_check_log(&s, "reply w ok job_1\n");
    assert_int_equal(story_sent_count(&s, "session.ping"), 0);
    story_receive(&s, RESULT_OF("job_1", 1, ""));
    story_check_log(&s, "ended job_1 1 success\n");
    story_end(&s);
}

static void a_response_that_announces_no_replay_ends_the_job_too(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_subscribe(&s, "w", "job_1", true);
    story_receive(&s, "{'arcp':'1.1','id':'s','type':'job.subscribed','session_id':'sess_1',"
                      "'payload':{'request_id':'$(job.subscribe)','job_id':'job_1','lease':{},"
                      "'current_status':'success','agent':'echo','subscribed_from':9,"
                      "'replayed':false}}");
    story_receive(&s, PONG);
    story_check_log(&s, "reply w ok job_1\nended job_1 0 success CLOSED\n");
    story_end(&s);
}

/* ---- keys of jobs that are over ---- */

static void a_silent_job_of_a_key_is_over_if_the_runtime_has_removed_it(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    submit_with_key(&s, "a");
    story_receive(&s, ACCEPTED("x", "'trace_id':'4bf92f3577b34da6a3ce929d0e0e4736',", "job_1"));
    story_wait(&s, 999);
    assert_int_equal(story_sent_count(&s, "job.subscribe"), 0);
    story_wait(&s, 1);
    assert_int_equal(story_sent_count(&s, "job.subscribe"), 1);
    story_receive(&s, REFUSAL("job_1", 1, "JOB_NOT_FOUND"));
    story_check_log(&s, "reply a ok job_1\nended job_1 0 error CLOSED\n");
    check_end(&s, ARCP_E_CLOSED, "job job_1 is over; the runtime does not report how it ended");
    story_end(&s);
}

static void a_silent_job_of_a_key_is_over_if_its_status_is_final(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    submit_with_key(&s, "a");
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_wait(&s, 1000);
    story_receive(&s, SUBSCRIBED("success", "false"));
    story_receive(&s, PONG);
    story_check_log(&s, "reply a ok job_1\nended job_1 0 success CLOSED\n");
    story_end(&s);
}

static void a_job_of_the_key_in_another_session_is_followed(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    submit_with_key(&s, "a");
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_wait(&s, 1000);
    story_receive(&s, SUBSCRIBED("running", "false"));
    story_receive(&s, RESULT_OF("job_1", 1, ",'result':1"));
    story_check_log(&s, "reply a ok job_1\nended job_1 1 success\n");
    story_end(&s);
}

static void a_job_of_a_key_with_events_is_not_probed(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    submit_with_key(&s, "a");
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_receive(&s, EVENT_OF("job_1", 1, "status", "{'phase':'running'}"));
    story_wait(&s, 60000);
    assert_int_equal(story_sent_count(&s, "job.subscribe"), 0);
    story_end(&s);
}

static void with_named_requests_a_job_of_a_key_is_not_probed(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    submit_with_key(&s, "a");
    story_receive(&s, JOB_1_ACCEPTED);
    story_wait(&s, 20000);
    assert_int_equal(story_sent_count(&s, "job.subscribe"), 0);
    story_end(&s);
}

/* ---- overtaken requests ---- */

static void an_abandoned_request_takes_no_response_of_another_one(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    story_submit(&s, "a", "nobody");
    story_wait(&s, 5000);
    story_check_log(&s, "reply a DEADLINE\n");
    story_receive(&s, PONG);
    story_submit(&s, "b", "echo@9");
    story_receive(&s, SESSION_ERROR("x", ""));
    story_check_log(&s, "reply b AGENT_NOT_AVAILABLE\n");
    story_end(&s);
}

static void a_response_to_a_later_request_overtakes_an_abandoned_one(void **state)
{
    story s;
    live(&s, "");
    story_submit(&s, "a", "nobody");
    story_wait(&s, 5000);
    story_submit(&s, "b", "echo");
    story_receive(&s, ACCEPTED("x", "'trace_id':'%(job.submit)',", "job_b"));
    story_submit(&s, "c", "echo@9");
    story_receive(&s, SESSION_ERROR("x", ""));
    story_check_log(&s, "reply a DEADLINE\nreply b ok job_b\nreply c AGENT_NOT_AVAILABLE\n");
    story_end(&s);
}

static void a_late_response_is_recognised_by_its_trace_id(void **state)
{
    story s;
    live(&s, HEARTBEAT);
    story_submit(&s, "a", "echo");
    char late[512];
    snprintf(late, sizeof late, "%s", ACCEPTED("x", "'trace_id':'%(job.submit 1)',", "job_a"));
    story_wait(&s, 5000);
    story_receive(&s, PONG);
    story_submit(&s, "b", "echo");
    story_receive(&s, late);
    story_receive(&s, ACCEPTED("y", "'trace_id':'%(job.submit)',", "job_b"));
    story_check_log(&s, "reply a DEADLINE\nadded job_a\nreply b ok job_b\n");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_final_status_without_a_replayed_end_ends_the_job),
        cmocka_unit_test(a_replayed_end_is_the_one_delivered),
        cmocka_unit_test(history_may_precede_the_response),
        cmocka_unit_test(without_heartbeats_the_job_ends_at_the_request_timeout),
        cmocka_unit_test(a_fence_is_repeated_after_a_drop),
        cmocka_unit_test(after_an_unsubscribe_no_probe_is_sent),
        cmocka_unit_test(a_runtime_that_names_requests_needs_no_fence),
        cmocka_unit_test(a_response_that_announces_no_replay_ends_the_job_too),
        cmocka_unit_test(a_silent_job_of_a_key_is_over_if_the_runtime_has_removed_it),
        cmocka_unit_test(a_silent_job_of_a_key_is_over_if_its_status_is_final),
        cmocka_unit_test(a_job_of_the_key_in_another_session_is_followed),
        cmocka_unit_test(a_job_of_a_key_with_events_is_not_probed),
        cmocka_unit_test(with_named_requests_a_job_of_a_key_is_not_probed),
        cmocka_unit_test(an_abandoned_request_takes_no_response_of_another_one),
        cmocka_unit_test(a_response_to_a_later_request_overtakes_an_abandoned_one),
        cmocka_unit_test(a_late_response_is_recognised_by_its_trace_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
