/* Jobs that are over and released: what is kept of them, and for how long
 * (src/client/client_job.c). */
#include "client/story.h"

#include "client/client_job.h"
#include "client/client_session.h"

static void submit_with_key(story *s, const char *name, const char *key)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.idempotency_key = arcp_span_cstr(key);
    check_ok(story_submit_with(s, name, &options, &err), &err);
}

/* Releases the only handle of the program. */
static void release(story *s)
{
    arcp_job *job = s->jobs[--s->job_count];
    arcp__client_job_hold(job);
    arcp__client_job_drop_handle(job);
    arcp__client_session_reap(job);
    arcp__client_job_drop(job);
}

static void a_job_of_a_key_is_kept_with_its_outcome(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    submit_with_key(&s, "a", "weekly");
    story_receive(&s, JOB_1_ACCEPTED);
    story_receive(&s, RESULT_OF("job_1", 1, ",'result':7"));
    release(&s);
    for (int time = 0; time < 3; time++) {
        arcp_buf_clear(&s.log);
        submit_with_key(&s, "b", "weekly");
        story_receive(&s, JOB_1_ACCEPTED);
        story_check_log(&s, "reply b ok job_1\n");
        assert_true(atomic_load(&s.jobs[0]->over));
        check_span(s.jobs[0]->outcome.result, "7");
        release(&s);
    }
    story_end(&s);
}

/* Runs a job of a key to its end, with a result of `size` bytes, and releases it. */
static void run_large(story *s, const char *job, size_t size)
{
    arcp_buf frame = arcp_buf_init();
    char text[512];
    submit_with_key(s, "x", job);
    snprintf(text, sizeof text,
             "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
             "'request_id':'$(job.submit)','job_id':'%s','lease':{}}}",
             job);
    story_receive(s, text);
    arcp_buf_append_format(&frame,
                           "{'arcp':'1.1','id':'r','type':'job.result','job_id':'%s','payload':{"
                           "'final_status':'success','result':'",
                           job);
    for (size_t i = 0; i < size; i++) {
        arcp_buf_append_byte(&frame, 'r');
    }
    arcp_buf_append_cstr(&frame, "'}}");
    arcp_buf_append_byte(&frame, '\0');
    story_receive(s, frame.data);
    arcp_buf_fini(&frame);
    release(s);
    arcp_buf_clear(&s->log);
}

static void the_size_of_kept_outcomes_is_limited(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    run_large(&s, "job_1", 5000000);
    assert_true(s.session->kept_bytes > 5000000);
    run_large(&s, "job_2", 5000000);
    assert_true(s.session->kept_bytes < ARCP__KEPT_BYTES_MAX);
    submit_with_key(&s, "again", "job_2");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                  "'request_id':'$(job.submit)','job_id':'job_2','lease':{}}}");
    story_check_log(&s, "reply again ok job_2\n");
    /* The older one was removed: its end is reported as unknown, and not waited for. */
    submit_with_key(&s, "gone", "job_1");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                  "'request_id':'$(job.submit)','job_id':'job_1','lease':{}}}");
    story_check_log(&s, "reply gone CLOSED\n");
    release(&s);
    story_end(&s);
}

static void a_key_of_a_removed_job_gets_a_reply_even_without_named_requests(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_receive(&s, RESULT_OF("job_1", 1, ""));
    release(&s);
    submit_with_key(&s, "again", "weekly");
    story_receive(&s, ACCEPTED("x", "", "job_1"));
    story_check_log(&s, "reply a ok job_1\nended job_1 1 success\nreply again CLOSED\n");
    story_end(&s);
}

static void a_late_response_about_a_removed_job_creates_no_job(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, RESULT_OF("job_1", 1, ""));
    release(&s);
    arcp_buf_clear(&s.log);
    story_receive(&s, JOB_1_ACCEPTED);
    story_check_log(&s, "");
    assert_null(s.session->jobs);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_of_a_key_is_kept_with_its_outcome),
        cmocka_unit_test(the_size_of_kept_outcomes_is_limited),
        cmocka_unit_test(a_key_of_a_removed_job_gets_a_reply_even_without_named_requests),
        cmocka_unit_test(a_late_response_about_a_removed_job_creates_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
