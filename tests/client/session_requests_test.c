/* Requests (src/client/client_requests.c): deadlines, drops of the connection, the end of the
 * session. */
#include "client/story.h"

static void a_request_without_a_response_ends_at_its_deadline(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.request_timeout_ms = 5000;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    story_wait(&s, 4999);
    story_check_log(&s, "");
    story_wait(&s, 1);
    story_check_log(&s, "reply a DEADLINE\nreply l DEADLINE\n");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "added job_1\n");
    story_end(&s);
}

static void a_late_response_is_not_taken_for_the_next_request(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.request_timeout_ms = 5000;
    story_live_plain(&s, options);
    story_submit(&s, "a", "echo");
    story_wait(&s, 5000);
    story_submit(&s, "b", "echo");
    story_receive(&s, ACCEPTED("x", "", "job_a"));
    story_receive(&s, ACCEPTED("y", "", "job_b"));
    story_check_log(&s, "reply a DEADLINE\nadded job_a\nreply b ok job_b\n");
    story_end(&s);
}

static void an_abandoned_request_gets_no_reply(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    arcp__client_request *request = NULL;
    options.agent = ARCP_SPAN_LITERAL("echo");
    story_live(&s, DEFAULTS);
    check_ok(arcp__client_session_request(
                 s.session, s.now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBMIT,
                                                    .submit = &options,
                                                    .on_reply = story_on_reply(),
                                                    .user = (void *)"a"},
                 &request, &err),
             &err);
    story_drain(&s);
    arcp__client_request_abandon(s.session, request);
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_wait(&s, 60000);
    const arcp_span log = arcp_buf_span(&s.log);
    assert_null(memmem(log.data, log.size, "reply", 5));
    story_end(&s);
}

static void requests_made_before_the_welcome_are_sent_after_it(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_start(&s);
    story_connect(&s);
    assert_null(story_sent(&s, "job.submit"));
    story_receive(&s, WELCOME);
    assert_non_null(story_sent(&s, "job.submit"));
    story_end(&s);
}

/* The agents of the submits from the nth on, in the order in which they were sent. */
static void check_submits(const story *s, size_t nth, const char *agents)
{
    char sent[64] = "";
    size_t size = 0;
    for (; story_sent_nth(s, "job.submit", nth) != NULL; nth++) {
        const char *agent = strstr(story_sent_nth(s, "job.submit", nth), "\"agent\":\"");
        assert_non_null(agent);
        size += (size_t)snprintf(sent + size, sizeof sent - size, "%c", agent[9]);
    }
    assert_string_equal(sent, agents);
}

static void a_request_whose_feature_was_not_negotiated_does_not_block_later_ones(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_list(&s, "l");
    story_submit(&s, "a", "a");
    story_list(&s, "m");
    story_submit(&s, "b", "b");
    story_list(&s, "n");
    story_start(&s);
    story_connect(&s);
    story_receive(
        &s, "{'arcp':'1.1','id':'w1','type':'session.welcome','session_id':'sess_1','payload':{"
            "'request_id':'$(session.hello)','resume_token':'rt_1',"
            "'resume_window_sec':600,'heartbeat_interval_sec':30,"
            "'capabilities':{'features':['agent_versions']}}}");
    story_check_log(&s, "dial\nconnected\nreply l INVALID_REQUEST\nreply m INVALID_REQUEST\n"
                        "reply n INVALID_REQUEST\n");
    check_submits(&s, 1, "ab");
    story_submit(&s, "c", "c");
    check_submits(&s, 1, "abc");
    assert_int_equal(story_sent_count(&s, "session.list_jobs"), 0);
    story_end(&s);
}

/* ---- sent again ---- */

static void resume(story *s)
{
    story_reconnect(s);
    story_receive(s, WELCOME_AGAIN);
    arcp_buf_clear(&s->log);
}

static void requests_without_a_response_are_sent_again_with_the_same_id(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    story_cancel(&s, "c", "job_7");
    resume(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 2);
    assert_string_equal(story_sent_nth(&s, "job.submit", 1), story_sent_nth(&s, "job.submit", 2));
    assert_int_equal(story_sent_count(&s, "session.list_jobs"), 2);
    assert_int_equal(story_sent_count(&s, "job.cancel"), 2);
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_receive(&s, ACCEPTED("y", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

static void a_submit_without_any_key_is_not_sent_twice(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_auto_key = true;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    resume(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

/* The runtime repeats what it accepted (PROTOCOL, resume), naming no request. */
static void resume_with_repeated_accepted(story *s)
{
    story_reconnect(s);
    story_receive(s, WELCOME);
    arcp_buf_clear(&s->log);
    story_receive(s, "{'arcp':'1.1','id':'r','type':'job.accepted','session_id':'sess_1',"
                     "'job_id':'job_1','trace_id':'%(job.submit)','payload':{'job_id':'job_1',"
                     "'lease':{}}}");
}

static void after_a_repeated_accepted_the_submit_waits_for_the_response_that_names_it(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    resume_with_repeated_accepted(&s);
    story_receive(&s,
                  "{'arcp':'1.1','id':'e','type':'job.event','session_id':'sess_1','event_seq':1,"
                  "'job_id':'job_1','payload':{'kind':'log','ts':'','body':{}}}");
    story_check_log(&s, "");
    story_receive(&s, ACCEPTED("y", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\nevent job_1 1 log {}\n");
    story_end(&s);
}

static void a_repeated_accepted_answers_a_submit_that_was_sent_once(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_auto_key = true;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    resume_with_repeated_accepted(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

static void a_job_accepted_again_is_announced_if_its_second_submit_is_refused(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    resume_with_repeated_accepted(&s);
    story_receive(&s, SESSION_ERROR("y", "'request_id':'$(job.submit)',"));
    story_check_log(&s, "reply a AGENT_NOT_AVAILABLE\nadded job_1\n");
    story_end(&s);
}

static void requests_made_while_disconnected_follow_the_repeated_ones(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "a");
    story_submit(&s, "b", "b");
    story_drop(&s);
    story_submit(&s, "c", "c");
    story_wait_deadline(&s);
    story_connect(&s);
    story_submit(&s, "d", "d");
    check_submits(&s, 3, "");
    story_receive(&s, WELCOME_AGAIN);
    check_submits(&s, 3, "abcd");
    story_submit(&s, "e", "e");
    check_submits(&s, 3, "abcde");
    story_end(&s);
}

static arcp__client_request *submit_and_get(story *s, const char *agent)
{
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    arcp__client_request *request = NULL;
    options.agent = arcp_span_cstr(agent);
    check_ok(arcp__client_session_request(
                 s->session, s->now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBMIT,
                                                    .submit = &options,
                                                    .on_reply = story_on_reply(),
                                                    .user = (void *)agent},
                 &request, &err),
             &err);
    return request;
}

/* Whichever of those that wait it is. */
static void a_request_abandoned_unsent_does_not_block_later_ones(void **state)
{
    static const char *const left[] = {"bcd", "acd", "abd", "abc"};
    for (size_t gone = 0; gone < 4; gone++) {
        story s;
        story_new(&s, DEFAULTS);
        story_start(&s);
        arcp__client_request *waiting[] = {submit_and_get(&s, "a"), submit_and_get(&s, "b"),
                                           submit_and_get(&s, "c"), submit_and_get(&s, "d")};
        arcp__client_request_abandon(s.session, waiting[gone]);
        story_connect(&s);
        story_receive(&s, WELCOME);
        check_submits(&s, 1, left[gone]);
        story_submit(&s, "e", "e");
        check_submits(&s, 4, "e");
        story_end(&s);
    }
}

static void a_request_that_timed_out_unsent_does_not_block_later_ones(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.request_timeout_ms = 5000;
    story_new(&s, options);
    story_start(&s);
    story_submit(&s, "a", "a");
    story_wait(&s, 4999);
    story_submit(&s, "b", "b");
    story_wait(&s, 1);
    story_check_log(&s, "dial\nreply a DEADLINE\n");
    story_connect(&s);
    story_receive(&s, WELCOME);
    check_submits(&s, 1, "b");
    story_end(&s);
}

static void a_request_with_a_response_is_not_sent_again(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    resume(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_end(&s);
}

static void a_request_on_which_the_runtime_keeps_closing_is_given_up(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    for (int attempt = 0; attempt < 4; attempt++) {
        resume(&s);
    }
    assert_int_equal(story_sent_count(&s, "job.submit"), 5);
    story_reconnect(&s);
    arcp_buf_clear(&s.log);
    story_receive(&s, WELCOME_AGAIN);
    story_check_log(&s, "resumed\nreply a CLOSED\n");
    story_end(&s);
}

static void a_drop_after_received_frames_is_not_counted_against_a_request(void **state)
{
    story s;
    (void)state;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    for (size_t attempt = 1; attempt <= 8; attempt++) {
        assert_int_equal(story_sent_count(&s, "job.submit"), attempt);
        story_receive(&s, "{'arcp':'1.1','id':'p','type':'session.pong','payload':{}}");
        resume(&s);
    }
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

static void a_lost_heartbeat_is_not_counted_against_a_request(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    (void)state;
    options.request_timeout_ms = 3600000;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    for (size_t attempt = 1; attempt <= 8; attempt++) {
        assert_int_equal(story_sent_count(&s, "job.submit"), attempt);
        story_wait(&s, 30000);
        story_wait(&s, 30000);
        resume(&s);
    }
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

static void a_response_to_one_request_resets_the_count_of_all(void **state)
{
    enum { REQUESTS = 8 };
    story s;
    story_live(&s, DEFAULTS);
    for (int request = 0; request < REQUESTS; request++) {
        story_submit(&s, "a", "echo");
    }
    for (size_t answered = 0, sent = 0; answered < REQUESTS; answered++) {
        (void)story_receive_format(&s,
                                   ACCEPTED("x%zu", "'request_id':'$(job.submit %zu)',", "job_%zu"),
                                   answered, sent + 1, answered);
        sent += REQUESTS - answered;
        resume(&s);
        assert_int_equal(story_sent_count(&s, "job.submit"), sent + REQUESTS - answered - 1);
    }
    assert_int_equal(s.job_count, REQUESTS);
    story_end(&s);
}

static void submit_input(story *s, const char *name, const char *input)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.input = arcp_span_cstr(input);
    check_ok(story_submit_with(s, name, &options, &err), &err);
}

static void a_request_that_is_too_large_for_the_runtime_is_sent_once(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "small", "echo");
    submit_input(&s, "large", "[1,2,3,4,5,6,7,8,9]");
    story_list(&s, "l");
    story_drop_for(&s, ARCP_E_LIMIT);
    story_check_log(&s, "reply large LIMIT\ndisconnected LIMIT\n");
    story_wait_deadline(&s);
    story_connect(&s);
    story_receive(&s, WELCOME_AGAIN);
    /* Requests that were not to blame are sent again; a second such close blames those sent then.
     */
    assert_int_equal(story_sent_count(&s, "job.submit"), 3);
    story_check_log(&s, "dial\nresumed\n");
    story_drop_for(&s, ARCP_E_LIMIT);
    story_check_log(&s, "reply small LIMIT\ndisconnected LIMIT\n");
    story_end(&s);
}

static void a_request_that_the_runtime_rejected_by_closing_is_not_sent_again(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    story_drop_for(&s, ARCP_E_INVALID_REQUEST);
    story_check_log(&s, "reply a INVALID_REQUEST\nreply l INVALID_REQUEST\n"
                        "disconnected INVALID_REQUEST\n");
    story_wait_deadline(&s);
    story_connect(&s);
    story_receive(&s, WELCOME_AGAIN);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_end(&s);
}

/* ---- the end ---- */

static void the_end_of_the_session_ends_every_request(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_check_log(&s, "reply a CLOSED\nreply l CLOSED\n");
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = ARCP_SPAN_LITERAL("echo");
    assert_int_equal(story_submit_with(&s, "b", &options, &err), ARCP_E_CLOSED);
    story_end(&s);
}

static void after_a_fatal_error_requests_fail_with_its_reason(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_reconnect = true;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    story_drop(&s);
    story_check_log(&s, "reply a IO\nclosed IO\n");
    arcp_error err = {0};
    arcp_submit_options more = arcp_submit_options_init();
    more.agent = ARCP_SPAN_LITERAL("echo");
    assert_int_equal(story_submit_with(&s, "b", &more, &err), ARCP_E_IO);
    story_end(&s);
}

/* Asks for a view of the runtime; its reply is logged as "v". */
static arcp_status ask(story *s, const char *name, const char *payload)
{
    static char reply_name[] = "v";
    arcp__client_request *request = NULL;
    arcp_error err = {0};
    return arcp__client_session_request(
        s->session, s->now,
        &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_VIEW,
                                           .view = name,
                                           .payload = arcp_span_cstr(payload),
                                           .user = reply_name},
        &request, &err);
}

static void a_view_is_answered_by_its_own_response_only(void **state)
{
    story s;
    (void)state;
    story_live(&s, DEFAULTS);
    assert_int_equal(ask(&s, "job", "{ \"job_id\": \"x\" }"), ARCP_OK);
    story_drain(&s);
    story_check_member(story_sent(&s, "x-vendor.arcpd.job"), "payload", "{\"job_id\":\"x\"}");
    story_receive(&s, "{'arcp':'1.1','id':'p','type':'x-vendor.arcpd.changed',"
                      "'session_id':'sess_1','payload':{'jobs':[]}}");
    story_check_log(&s, "");
    story_receive(&s, "{'arcp':'1.1','id':'v','type':'x-vendor.arcpd.job.answer',"
                      "'session_id':'sess_1','payload':{'request_id':'$(x-vendor.arcpd.job)'}}");
    story_check_log(&s, "reply v ok\n");
    assert_int_equal(ask(&s, "Job", ""), ARCP_E_USAGE);
    assert_int_equal(ask(&s, "job", "[]"), ARCP_E_INVALID_REQUEST);
    /* Their reports would not be delivered. */
    assert_int_equal(ask(&s, "watch", "{\"what\":[\"jobs\"]}"), ARCP_E_USAGE);
    assert_int_equal(ask(&s, "unwatch", ""), ARCP_E_USAGE);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_a_response_ends_at_its_deadline),
        cmocka_unit_test(a_late_response_is_not_taken_for_the_next_request),
        cmocka_unit_test(an_abandoned_request_gets_no_reply),
        cmocka_unit_test(requests_made_before_the_welcome_are_sent_after_it),
        cmocka_unit_test(a_request_whose_feature_was_not_negotiated_does_not_block_later_ones),
        cmocka_unit_test(requests_without_a_response_are_sent_again_with_the_same_id),
        cmocka_unit_test(a_submit_without_any_key_is_not_sent_twice),
        cmocka_unit_test(after_a_repeated_accepted_the_submit_waits_for_the_response_that_names_it),
        cmocka_unit_test(a_repeated_accepted_answers_a_submit_that_was_sent_once),
        cmocka_unit_test(a_job_accepted_again_is_announced_if_its_second_submit_is_refused),
        cmocka_unit_test(a_view_is_answered_by_its_own_response_only),
        cmocka_unit_test(requests_made_while_disconnected_follow_the_repeated_ones),
        cmocka_unit_test(a_request_abandoned_unsent_does_not_block_later_ones),
        cmocka_unit_test(a_request_that_timed_out_unsent_does_not_block_later_ones),
        cmocka_unit_test(a_request_with_a_response_is_not_sent_again),
        cmocka_unit_test(a_request_on_which_the_runtime_keeps_closing_is_given_up),
        cmocka_unit_test(a_drop_after_received_frames_is_not_counted_against_a_request),
        cmocka_unit_test(a_lost_heartbeat_is_not_counted_against_a_request),
        cmocka_unit_test(a_response_to_one_request_resets_the_count_of_all),
        cmocka_unit_test(a_request_that_is_too_large_for_the_runtime_is_sent_once),
        cmocka_unit_test(a_request_that_the_runtime_rejected_by_closing_is_not_sent_again),
        cmocka_unit_test(the_end_of_the_session_ends_every_request),
        cmocka_unit_test(after_a_fatal_error_requests_fail_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
