/* Events and ends of jobs (src/client/client_events.c). */
#include "client/story.h"

#include "client/client_job.h"

static void events_keep_their_text(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, EVENT_OF("job_1", 1, "metric", "{ 'name' : 'cost.x', 'value':1.50e0 }"));
    story_receive(&s, EVENT_OF("job_1", 2, "x-vendor.acme.thing", "[1,2]"));
    story_receive(&s, EVENT_OF("job_1", 3, "trace_span", "null"));
    story_check_log(&s, "event job_1 1 metric {\"name\":\"cost.x\",\"value\":1.50e0}\n"
                        "event job_1 2 x-vendor.acme.thing [1,2]\n"
                        "event job_1 3 trace_span null\n");
    story_end(&s);
}

static void an_event_needs_only_its_job_id(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, "{'arcp':'1.1','id':'e','type':'job.event','payload':{'job_id':'job_1'}}");
    story_receive(&s, "{'arcp':'1.1','id':'e','type':'job.event','job_id':'job_1'}");
    story_receive(&s, "{'arcp':'1.1','id':'e','type':'job.event','payload':{'kind':'log'}}");
    story_check_log(&s, "event job_1 0  \nevent job_1 0  \nnotice INVALID_REQUEST\n");
    story_end(&s);
}

static void numbers_run_across_all_jobs_of_the_session(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, EVENT_OF("job_1", 1, "log", "{}"));
    story_receive(&s, EVENT_OF("job_2", 2, "log", "{}"));
    story_receive(&s, EVENT_OF("job_1", 3, "log", "{}"));
    story_check_log(&s, "event job_1 1 log {}\nadded job_2\nevent job_2 2 log {}\n"
                        "event job_1 3 log {}\n");
    story_end(&s);
}

static void with_outcome_only_no_events_are_delivered(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.outcome_only = true;
    story_live(&s, DEFAULTS);
    check_ok(arcp__client_session_request(
                 s.session, s.now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBMIT,
                                                    .submit = &options,
                                                    .on_reply = story_on_reply(),
                                                    .user = (void *)"a"},
                 NULL, &err),
             &err);
    story_drain(&s);
    story_receive(&s, JOB_1_ACCEPTED);
    story_receive(&s, EVENT_OF("job_1", 1, "log", "{}"));
    story_receive(&s, RESULT_OF("job_1", 2, ",'result':1"));
    story_check_log(&s, "reply a ok job_1\nended job_1 2 success\n");
    story_end(&s);
}

/* ---- ends ---- */

#define STOPPED(members)                                                                           \
    "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1','job_id':'job_1',"           \
    "'event_seq':1,'payload':{" members "}}"

static const struct ending {
    const char *name;
    const char *frame;
    const char *log;
    const char *result;
} endings[] = {
    {"an inline result", RESULT_OF("job_1", 1, ",'result':{ 'a' : 1.0 }"),
     "ended job_1 1 success\n", "{\"a\":1.0}"},
    {"a null result", RESULT_OF("job_1", 1, ",'result':null"), "ended job_1 1 success\n", "null"},
    {"no result", RESULT_OF("job_1", 1, ""), "ended job_1 1 success\n", ""},
    {"a result called output", RESULT_OF("job_1", 1, ",'output':[1]"), "ended job_1 1 success\n",
     "[1]"},
    {"a result called value", RESULT_OF("job_1", 1, ",'value':'v'"), "ended job_1 1 success\n",
     "\"v\""},
    {"an error",
     ERROR_OF("job_1", 1, "'final_status':'error','code':'LEASE_EXPIRED','message':'m'"),
     "ended job_1 1 error LEASE_EXPIRED\n", ""},
    {"a cancellation",
     ERROR_OF("job_1", 1, "'final_status':'cancelled','code':'CANCELLED','message':'m'"),
     "ended job_1 1 cancelled CANCELLED\n", ""},
    {"a cancellation without a final status", ERROR_OF("job_1", 1, "'code':'CANCELLED'"),
     "ended job_1 1 cancelled CANCELLED\n", ""},
    {"a timeout without a final status", ERROR_OF("job_1", 1, "'code':'TIMEOUT'"),
     "ended job_1 1 timed_out TIMEOUT\n", ""},
    {"an error whose final status is success",
     ERROR_OF("job_1", 1, "'final_status':'success','code':'TIMEOUT'"),
     "ended job_1 1 timed_out TIMEOUT\n", ""},
    {"a result with final status cancelled", STOPPED("'final_status':'cancelled','result':1"),
     "ended job_1 1 cancelled CANCELLED\n", ""},
    {"a result with final status timed_out", STOPPED("'final_status':'timed_out'"),
     "ended job_1 1 timed_out TIMEOUT\n", ""},
    {"a result with a code", STOPPED("'final_status':'cancelled','code':'X_STOP','message':'m'"),
     "ended job_1 1 cancelled X_STOP\n", ""},
    {"a result with final status error", STOPPED("'final_status':'error','code':'LEASE_EXPIRED'"),
     "ended job_1 1 error LEASE_EXPIRED\n", ""},
    {"a result with an unknown status", STOPPED("'final_status':'paused','result':1"),
     "ended job_1 1 success\n", "1"},
    {"an unknown code", ERROR_OF("job_1", 1, "'code':'X_NEW','message':'m'"),
     "ended job_1 1 error X_NEW\n", ""},
};

static void jobs_end_in_every_way(void **state)
{
    for (size_t row = 0; row < sizeof endings / sizeof endings[0]; row++) {
        story s;
        print_message("  %s\n", endings[row].name);
        story_live_job(&s);
        story_receive(&s, endings[row].frame);
        story_check_log(&s, endings[row].log);
        check_span(s.jobs[0]->outcome.result, endings[row].result);
        story_end(&s);
    }
}

static void nothing_follows_a_jobs_end(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, RESULT_OF("job_1", 1, ",'result':null"));
    story_receive(&s, EVENT_OF("job_1", 2, "log", "{}"));
    story_receive(&s, ERROR_OF("job_1", 3, "'code':'CANCELLED','message':'m'"));
    story_check_log(&s, "ended job_1 1 success\nnotice INVALID_REQUEST\nnotice INVALID_REQUEST\n");
    assert_int_equal(s.session->last_seq, 3);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_keep_their_text),
        cmocka_unit_test(an_event_needs_only_its_job_id),
        cmocka_unit_test(numbers_run_across_all_jobs_of_the_session),
        cmocka_unit_test(with_outcome_only_no_events_are_delivered),
        cmocka_unit_test(jobs_end_in_every_way),
        cmocka_unit_test(nothing_follows_a_jobs_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
