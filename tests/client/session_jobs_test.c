/* Jobs (src/client/client_job.c): when they are announced to the program, what it can read of them,
 * and when they are removed. */
#include "client/story.h"

#include "client/client_job.h"

/* ---- announcing ---- */

static void events_received_before_the_response_are_delivered_after_it(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, EVENT_OF("job_1", 1, "log", "{'level':'info','message':'hi'}"));
    story_receive(&s, RESULT_OF("job_1", 2, ",'result':7"));
    story_check_log(&s, "");
    story_receive(&s, JOB_1_ACCEPTED);
    story_check_log(&s, "reply a ok job_1\n"
                        "event job_1 1 log {\"level\":\"info\",\"message\":\"hi\"}\n"
                        "ended job_1 2 success\n");
    story_end(&s);
}

static void held_events_are_delivered_when_the_submit_is_refused(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, EVENT_OF("job_7", 1, "log", "{}"));
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.error','event_seq':2,'payload':{"
                      "'request_id':'$(job.submit)','code':'AGENT_NOT_AVAILABLE','message':'no'}}");
    story_check_log(&s, "reply a AGENT_NOT_AVAILABLE\nadded job_7\nevent job_7 1 log {}\n");
    story_end(&s);
}

static void held_events_are_delivered_when_the_submit_times_out(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, EVENT_OF("job_7", 1, "log", "{}"));
    story_wait(&s, 29000);
    story_receive(&s, "{'arcp':'1.1','id':'p','type':'session.ping','payload':{'nonce':'x'}}");
    story_wait(&s, 1000);
    story_check_log(&s, "reply a DEADLINE\nadded job_7\nevent job_7 1 log {}\n");
    story_end(&s);
}

static void held_events_are_freed_with_the_session(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, EVENT_OF("job_7", 1, "log", "{}"));
    story_check_log(&s, "");
    story_end(&s); /* the leak checker finds what was not freed */
}

static void delegated_children_are_announced(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                  "'job_id':'job_2','agent':'child@1','lease':{},'parent_job_id':'job_1',"
                  "'delegate_id':'del_1'}}");
    story_receive(&s, EVENT_OF("job_2", 1, "log", "{}"));
    story_check_log(&s, "added job_2\nevent job_2 1 log {}\n");
    story_end(&s);
}

static void an_idempotent_submit_gets_the_same_job_again(void **state)
{
    story s;
    story_live_job(&s);
    story_submit(&s, "b", "echo");
    story_receive(&s, JOB_1_ACCEPTED);
    story_check_log(&s, "reply b ok job_1\n");
    assert_ptr_equal(s.jobs[0], s.jobs[1]);
    story_end(&s);
}

/* ---- handles ---- */

static void a_job_is_removed_when_it_is_over_and_released(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, RESULT_OF("job_1", 1, ""));
    assert_non_null(s.jobs[0]->session);
    arcp_job *job = s.jobs[0];
    arcp__client_job_hold(job);
    arcp__client_job_drop_handle(job);
    s.job_count = 0;
    arcp__client_session_reap(job);
    assert_null(job->session);
    arcp__client_job_drop(job);
    story_end(&s);
}

static void handles_stay_readable_after_the_session(void **state)
{
    story s;
    story_live_job(&s);
    arcp_job *job = s.jobs[0];
    s.job_count = 0;
    story_end(&s);
    check_span(job->id, "job_1");
    check_span(job->agent, "echo@1.0.0");
    arcp__client_job_drop_handle(job);
}

/* ---- descriptor ---- */

/* [arcp:9.8.2-15] [arcp:14-10] */
static void the_descriptor_is_kept_without_credentials(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(
        &s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
            "'request_id':'$(job.submit)','job_id':'job_1','agent':'echo@2.0.0','lease':"
            "{'fs.read':['/a']},'lease_constraints':{'expires_at':'2030-01-01T00:00:00Z'},"
            "'parent_job_id':null,'credentials':[{'id':'c1','scheme':'bearer','value':'sk-9'}],"
            "'trace_id':'4bf92f3577b34da6a3ce929d0e0e4736'}}");
    const arcp_job *job = s.jobs[0];
    check_span(job->agent, "echo@2.0.0");
    check_span(job->lease, "{\"fs.read\":[\"/a\"]}");
    check_span(job->constraints, "{\"expires_at\":\"2030-01-01T00:00:00Z\"}");
    check_span(job->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    check_span(job->parent_id, "");
    assert_null(memmem(job->descriptor.data, job->descriptor.size, "sk-9", 4));
    assert_null(memmem(job->descriptor.data, job->descriptor.size, "credentials", 11));
    story_end(&s);
}

static void descriptors_with_members_of_other_types_are_accepted(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                  "'request_id':'$(job.submit)','job_id':'job_1','agent':7,'lease':[],"
                  "'lease_constraints':null,'budget':'lots','credentials':{},'trace_id':null}}");
    story_check_log(&s, "reply a ok job_1\n");
    check_span(s.jobs[0]->agent, "");
    check_span(s.jobs[0]->lease, "");
    assert_int_equal(s.jobs[0]->budget_count, 0);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_received_before_the_response_are_delivered_after_it),
        cmocka_unit_test(held_events_are_delivered_when_the_submit_is_refused),
        cmocka_unit_test(held_events_are_delivered_when_the_submit_times_out),
        cmocka_unit_test(held_events_are_freed_with_the_session),
        cmocka_unit_test(delegated_children_are_announced),
        cmocka_unit_test(an_idempotent_submit_gets_the_same_job_again),
        cmocka_unit_test(a_job_is_removed_when_it_is_over_and_released),
        cmocka_unit_test(handles_stay_readable_after_the_session),
        cmocka_unit_test(the_descriptor_is_kept_without_credentials),
        cmocka_unit_test(descriptors_with_members_of_other_types_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
