/* Each request gets its own response, in whichever way the runtime identifies the request
 * (src/client/client_binding.c). */
#include "client/story.h"

#define REFUSED(id, members)                                                                       \
    "{'arcp':'1.1','id':'" id "','type':'job.error','session_id':'sess_1',"                        \
    "'payload':{" members "'code':'AGENT_NOT_AVAILABLE','message':'no','final_status':'error'}}"

typedef struct binding_row {
    const char *name;
    bool plain; /* the runtime names no requests */
    const char *frames[3];
    const char *log;
} binding_row;

/* Two submits wait for a response: a, then b. */
static const binding_row bindings[] = {
    {"by request_id, out of order",
     false,
     {ACCEPTED("x", "'request_id':'$(job.submit 2)',", "job_b"),
      ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by reply_to",
     true,
     {ACCEPTED("x", "'reply_to':'$(job.submit 2)',", "job_b"),
      ACCEPTED("y", "'reply_to':'$(job.submit 1)',", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by correlation_id in the payload",
     true,
     {ACCEPTED("x", "'correlation_id':'$(job.submit 2)',", "job_b")},
     "reply b ok job_b\n"},
    {"by the echoed envelope id",
     true,
     {ACCEPTED("$(job.submit 2)", "", "job_b"), ACCEPTED("$(job.submit 1)", "", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by the trace id",
     true,
     {ACCEPTED("x", "'trace_id':'%(job.submit)',", "job_b"), ACCEPTED("y", "", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by order",
     true,
     {ACCEPTED("x", "", "job_a"), ACCEPTED("y", "", "job_b")},
     "reply a ok job_a\nreply b ok job_b\n"},
    {"a name that is nobody's is nobody's",
     true,
     {ACCEPTED("x", "'request_id':'somebody_elses',", "job_c"), ACCEPTED("y", "", "job_a")},
     "added job_c\nreply a ok job_a\n"},
    {"no guessing if the runtime names requests",
     false,
     {ACCEPTED("x", "", "job_c"), ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a"),
      ACCEPTED("z", "'request_id':'$(job.submit 2)',", "job_b")},
     "reply a ok job_a\nreply b ok job_b\nadded job_c\n"},
    {"a child is no response, not even by its trace id",
     true,
     {ACCEPTED("x", "'trace_id':'%(job.submit)','parent_job_id':'job_0','delegate_id':'d1',",
               "job_c"),
      ACCEPTED("y", "", "job_a")},
     "added job_c\nreply a ok job_a\n"},
    {"a null parent is no parent",
     true,
     {ACCEPTED("x", "'parent_job_id':null,", "job_a")},
     "reply a ok job_a\n"},
    {"a refusal by request_id spares the other",
     false,
     {REFUSED("x", "'request_id':'$(job.submit 2)',"),
      ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a")},
     "reply b AGENT_NOT_AVAILABLE\nreply a ok job_a\n"},
    {"a refusal by the echoed id",
     true,
     {REFUSED("$(job.submit 2)", ""), ACCEPTED("y", "", "job_a")},
     "reply b AGENT_NOT_AVAILABLE\nreply a ok job_a\n"},
    {"a refusal without any name is the oldest one's",
     true,
     {REFUSED("x", ""), ACCEPTED("y", "", "job_b")},
     "reply a AGENT_NOT_AVAILABLE\nreply b ok job_b\n"},
    {"a refusal by trace",
     true,
     {REFUSED("x", "'trace_id':'%(job.submit)',")},
     "reply b AGENT_NOT_AVAILABLE\n"},
    {"a session.error with request_id",
     false,
     {SESSION_ERROR("x", "'request_id':'$(job.submit 2)',"),
      ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a")},
     "reply b AGENT_NOT_AVAILABLE\nreply a ok job_a\n"},
    {"a session.error without any name is the oldest one's",
     true,
     {SESSION_ERROR("x", ""), ACCEPTED("y", "", "job_b")},
     "reply a AGENT_NOT_AVAILABLE\nreply b ok job_b\n"},
    {"a nack",
     true,
     {"{'arcp':'1.1','id':'x','type':'nack','payload':{'code':'INVALID_REQUEST','message':'no'}}"},
     "reply a INVALID_REQUEST\n"},
    {"a refusal of what was given up is nobody's",
     false,
     {REFUSED("x", "'request_id':'msg_01AAAAAAAAAAAAAAAAAAAAAAAA',")},
     ""},
    {"an unnamed session.error of a runtime that names requests refuses nothing",
     false,
     {SESSION_ERROR("x", "")},
     ""},
    {"an accepted without a job id",
     false,
     {"{'arcp':'1.1','id':'x','type':'job.accepted','payload':{'request_id':'$(job.submit 1)'}}"},
     "notice INVALID_REQUEST\n"},
};

static void every_response_is_matched_to_its_request(void **state)
{
    for (size_t row = 0; row < sizeof bindings / sizeof bindings[0]; row++) {
        story s;
        print_message("  %s\n", bindings[row].name);
        if (bindings[row].plain) {
            story_live_plain(&s, DEFAULTS);
        } else {
            story_live(&s, DEFAULTS);
        }
        story_submit(&s, "a", "echo");
        story_submit(&s, "b", "echo");
        for (size_t i = 0; i < 3 && bindings[row].frames[i] != NULL; i++) {
            story_receive(&s, bindings[row].frames[i]);
        }
        story_check_log(&s, bindings[row].log);
        story_end(&s);
    }
}

static void cancels_and_subscriptions_are_matched_by_job_id(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_cancel(&s, "c1", "job_1");
    story_cancel(&s, "c2", "job_2");
    story_subscribe(&s, "s1", "job_3", false);
    story_subscribe(&s, "s2", "job_4", false);
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.cancelled','session_id':'sess_1',"
                      "'job_id':'job_2','payload':{}}");
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.subscribed','session_id':'sess_1',"
                      "'payload':{'job_id':'job_4','current_status':'running','agent':'echo@1',"
                      "'lease':{},'replayed':3}}");
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.cancelled','session_id':'sess_1',"
                      "'payload':{'job_id':'job_1','reason':'because'}}");
    story_check_log(&s, "reply c2 ok\nreply s2 ok job_4\nreply c1 ok\n");
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'session.error','session_id':'sess_1',"
                      "'job_id':'job_3','payload':{'code':'PERMISSION_DENIED','message':'no'}}");
    story_check_log(&s, "reply s1 PERMISSION_DENIED\n");
    story_end(&s);
}

static void the_end_of_a_cancelled_job_answers_a_cancel_without_its_own_response(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "other", "job_2");
    story_cancel(&s, "c", "job_1");
    story_receive(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                      "'job_id':'job_1','event_seq':1,'payload':{'final_status':'cancelled'}}");
    story_check_log(&s, "reply a ok job_1\nreply c ok\nended job_1 1 cancelled CANCELLED\n");
    story_end(&s);
}

static void a_cancel_waits_for_its_response_if_the_runtime_names_requests(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_receive(&s, "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1',"
                      "'job_id':'job_1','event_seq':1,'payload':{'final_status':'cancelled',"
                      "'code':'CANCELLED','message':'m'}}");
    story_check_log(&s, "reply a ok job_1\nended job_1 1 cancelled CANCELLED\n");
    story_receive(&s, "{'arcp':'1.1','id':'$(job.cancel)','type':'job.error','session_id':'sess_1',"
                      "'event_seq':2,'payload':{'request_id':'$(job.cancel)',"
                      "'code':'JOB_NOT_FOUND','message':'gone'}}");
    story_check_log(&s, "reply c JOB_NOT_FOUND\n");
    story_end(&s);
}

static void another_end_of_the_job_does_not_answer_a_cancel(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_receive(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                      "'job_id':'job_1','event_seq':1,'payload':{'final_status':'success'}}");
    story_check_log(&s, "reply a ok job_1\nended job_1 1 success\n");
    story_end(&s);
}

static void cancel_refusals_arrive_as_errors_with_the_request_id(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_cancel(&s, "c", "job_9");
    story_receive(&s,
                  "{'arcp':'1.1','id':'$(job.cancel)','type':'job.error','session_id':'sess_1',"
                  "'event_seq':1,'payload':{'request_id':'$(job.cancel)','code':'JOB_NOT_FOUND',"
                  "'message':'no job_9','retryable':false,'final_status':'error',"
                  "'details':{'job_id':'job_9'}}}");
    story_check_log(&s, "reply c JOB_NOT_FOUND\n");
    assert_int_equal(s.session->last_seq, 1);
    story_end(&s);
}

static void a_refusal_never_ends_a_job(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_receive(&s, "{'arcp':'1.1','id':'$(job.cancel)','type':'job.error','session_id':'sess_1',"
                      "'job_id':'job_1','event_seq':1,'payload':{'request_id':'$(job.cancel)',"
                      "'code':'PERMISSION_DENIED','message':'not yours','final_status':'error'}}");
    story_receive(&s, "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1',"
                      "'job_id':'job_1','event_seq':2,'payload':{'request_id':'gone',"
                      "'code':'PERMISSION_DENIED','message':'not yours','final_status':'error'}}");
    story_receive(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                      "'job_id':'job_1','event_seq':3,'payload':{'final_status':'success',"
                      "'result':1}}");
    story_check_log(&s, "reply a ok job_1\nreply c PERMISSION_DENIED\nended job_1 3 success\n");
    story_end(&s);
}

/* The runtime of the TypeScript SDK refuses with a job.error that names no request: a submit with a
 * new job id, other requests with the id of their job. */
#define REFUSED_AS(job, seq, code)                                                                 \
    "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1','job_id':'" job               \
    "','event_seq':" #seq ",'payload':{'final_status':'error','code':'" code                       \
    "','message':'no','retryable':false}}"

static void a_refusal_with_a_new_job_id_belongs_to_the_oldest_submit(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "nobody");
    story_submit(&s, "b", "echo");
    story_receive(&s, REFUSED_AS("job_fresh", 1, "AGENT_NOT_AVAILABLE"));
    story_receive(&s, ACCEPTED("y", "'trace_id':'%(job.submit)',", "job_b"));
    story_receive(&s, RESULT_OF("job_b", 2, ""));
    story_check_log(&s, "reply a AGENT_NOT_AVAILABLE\nreply b ok job_b\nended job_b 2 success\n");
    story_end(&s);
}

static void the_end_of_a_job_with_events_is_no_refusal(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "", "job_a"));
    story_submit(&s, "b", "echo");
    story_receive(&s, ERROR_OF("job_a", 1, "'final_status':'error','code':'INTERNAL_ERROR'"));
    story_receive(&s, EVENT_OF("job_b", 2, "status", "{'phase':'running'}"));
    story_receive(&s, ERROR_OF("job_b", 3, "'final_status':'error','code':'INTERNAL_ERROR'"));
    story_receive(&s, ACCEPTED("y", "", "job_b"));
    story_check_log(&s, "reply a ok job_a\nended job_a 1 error INTERNAL_ERROR\nreply b ok job_b\n"
                        "event job_b 2 status {\"phase\":\"running\"}\n"
                        "ended job_b 3 error INTERNAL_ERROR\n");
    story_end(&s);
}

static void refusals_of_cancels_and_subscriptions_are_matched_by_job_id(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_subscribe(&s, "w", "job_8", true);
    story_receive(&s, REFUSED_AS("job_8", 1, "JOB_NOT_FOUND"));
    story_cancel(&s, "c", "job_9");
    story_receive(&s, REFUSED_AS("job_9", 2, "JOB_NOT_FOUND"));
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "", "job_a"));
    story_receive(&s, RESULT_OF("job_a", 3, ""));
    story_check_log(&s, "reply w JOB_NOT_FOUND\nreply c JOB_NOT_FOUND\nreply a ok job_a\n"
                        "ended job_a 3 success\n");
    story_end(&s);
}

static void a_denied_cancel_of_a_subscribed_job_does_not_end_it(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_subscribe(&s, "w", "job_1", false);
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.subscribed','session_id':'sess_1',"
                      "'payload':{'job_id':'job_1','current_status':'running','agent':'echo',"
                      "'lease':{},'replayed':false}}");
    story_cancel(&s, "c", "job_1");
    story_receive(&s, REFUSED_AS("job_1", 1, "PERMISSION_DENIED"));
    story_receive(&s, RESULT_OF("job_1", 2, ""));
    story_check_log(&s, "reply w ok job_1\nreply c PERMISSION_DENIED\nended job_1 2 success\n");
    story_end(&s);
}

static void a_submitted_job_may_end_as_denied_while_a_cancel_waits(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_receive(&s, REFUSED_AS("job_1", 1, "PERMISSION_DENIED"));
    story_check_log(&s, "reply a ok job_1\nended job_1 1 error PERMISSION_DENIED\n");
    story_end(&s);
}

static void a_duplicate_key_refuses_the_submit_and_ends_no_job(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.idempotency_key = ARCP_SPAN_LITERAL("k");
    story_live_plain(&s, DEFAULTS);
    check_ok(story_submit_with(&s, "a", &options, &err), &err);
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_submit(&s, "unkeyed", "echo");
    check_ok(story_submit_with(&s, "b", &options, &err), &err);
    story_receive(&s, REFUSED_AS("job_1", 1, "DUPLICATE_KEY"));
    story_receive(&s, RESULT_OF("job_1", 2, ""));
    story_check_log(&s, "reply a ok job_1\nreply b DUPLICATE_KEY\nended job_1 2 success\n");
    story_receive(&s, REFUSED_AS("job_1", 3, "DUPLICATE_KEY")); /* for the abandoned request */
    story_check_log(&s, "");
    story_end(&s);
}

/* Another process began the session: a frame may be the end of one of its jobs. */
static void in_an_adopted_session_no_response_is_matched_by_guessing(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.resume = (arcp_session_state){.session_id = ARCP_SPAN_LITERAL("sess_1"),
                                          .resume_token = ARCP_SPAN_LITERAL("rt_0"),
                                          .last_event_seq = 4};
    story_hello(&s, options);
    story_submit(&s, "a", "echo");
    story_receive(&s, "{'arcp':'1.1','id':'w1','type':'session.welcome','session_id':'sess_1',"
                      "'payload':{'resume_token':'rt_1','resume_window_sec':600,'capabilities':{"
                      "'features':['list_jobs','subscribe']}}}");
    story_receive(&s, REFUSED_AS("job_old", 5, "INTERNAL_ERROR"));
    story_receive(&s, ACCEPTED("x", "'trace_id':'%(job.submit)',", "job_a"));
    story_check_log(&s, "dial\nresumed\nreply a ok job_a\nadded job_old\n"
                        "ended job_old 5 error INTERNAL_ERROR\n");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_response_is_matched_to_its_request),
        cmocka_unit_test(cancels_and_subscriptions_are_matched_by_job_id),
        cmocka_unit_test(the_end_of_a_cancelled_job_answers_a_cancel_without_its_own_response),
        cmocka_unit_test(a_cancel_waits_for_its_response_if_the_runtime_names_requests),
        cmocka_unit_test(another_end_of_the_job_does_not_answer_a_cancel),
        cmocka_unit_test(cancel_refusals_arrive_as_errors_with_the_request_id),
        cmocka_unit_test(a_refusal_never_ends_a_job),
        cmocka_unit_test(a_refusal_with_a_new_job_id_belongs_to_the_oldest_submit),
        cmocka_unit_test(the_end_of_a_job_with_events_is_no_refusal),
        cmocka_unit_test(refusals_of_cancels_and_subscriptions_are_matched_by_job_id),
        cmocka_unit_test(a_denied_cancel_of_a_subscribed_job_does_not_end_it),
        cmocka_unit_test(a_submitted_job_may_end_as_denied_while_a_cancel_waits),
        cmocka_unit_test(a_duplicate_key_refuses_the_submit_and_ends_no_job),
        cmocka_unit_test(in_an_adopted_session_no_response_is_matched_by_guessing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
