/* Jobs that have been: what is kept of them, and for how long (src/client/client_job.c). */
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

/* The program gives back its only handle. */
static void let_go(story *s)
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
    story_hear(&s, JOB_1_ACCEPTED);
    story_hear(&s, RESULT_OF("job_1", 1, ",'result':7"));
    let_go(&s);
    for (int time = 0; time < 3; time++) {
        arcp_buf_clear(&s.log);
        submit_with_key(&s, "b", "weekly");
        story_hear(&s, JOB_1_ACCEPTED);
        story_check_log(&s, "reply b ok job_1\n");
        assert_true(atomic_load(&s.jobs[0]->over));
        check_span(s.jobs[0]->outcome.result, "7");
        let_go(&s);
    }
    story_end(&s);
}

/* Runs a job of a key to its end with a result of so many bytes, and lets it go. */
static void run_large(story *s, const char *job, size_t size)
{
    arcp_buf frame = arcp_buf_init();
    char text[512];
    submit_with_key(s, "x", job);
    snprintf(text, sizeof(text),
             "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
             "'request_id':'$(job.submit)','job_id':'%s','lease':{}}}",
             job);
    story_hear(s, text);
    arcp_buf_append_format(&frame,
                           "{'arcp':'1.1','id':'r','type':'job.result','job_id':'%s','payload':{"
                           "'final_status':'success','result':'",
                           job);
    for (size_t at = 0; at < size; at++) {
        arcp_buf_append_byte(&frame, 'r');
    }
    arcp_buf_append_cstr(&frame, "'}}");
    arcp_buf_append_byte(&frame, '\0');
    story_hear(s, frame.data);
    arcp_buf_fini(&frame);
    let_go(s);
    arcp_buf_clear(&s->log);
}

static void what_is_kept_of_the_past_is_bounded(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    run_large(&s, "job_1", 5000000);
    assert_true(s.session->past_bytes > 5000000);
    run_large(&s, "job_2", 5000000);
    assert_true(s.session->past_bytes < ARCP__PAST_BYTES_MAX);
    submit_with_key(&s, "again", "job_2");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_2','lease':{}}}");
    story_check_log(&s, "reply again ok job_2\n");
    /* The older one had to go: that is said, not waited for. */
    submit_with_key(&s, "gone", "job_1");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_1','lease':{}}}");
    story_check_log(&s, "reply gone CLOSED\n");
    let_go(&s);
    story_end(&s);
}

static void a_key_whose_job_is_forgotten_is_answered_by_a_runtime_that_names_nothing(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, ACCEPTED("x", "", "job_1"));
    story_hear(&s, RESULT_OF("job_1", 1, ""));
    let_go(&s);
    submit_with_key(&s, "again", "weekly");
    story_hear(&s, ACCEPTED("x", "", "job_1"));
    story_check_log(&s, "reply a ok job_1\nended job_1 1 success\nreply again CLOSED\n");
    story_end(&s);
}

static void a_late_answer_about_a_job_that_has_been_is_no_new_job(void **state)
{
    story s;
    story_live_job(&s);
    story_hear(&s, RESULT_OF("job_1", 1, ""));
    let_go(&s);
    arcp_buf_clear(&s.log);
    story_hear(&s, JOB_1_ACCEPTED);
    story_check_log(&s, "");
    assert_null(s.session->jobs);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_of_a_key_is_kept_with_its_outcome),
        cmocka_unit_test(what_is_kept_of_the_past_is_bounded),
        cmocka_unit_test(a_key_whose_job_is_forgotten_is_answered_by_a_runtime_that_names_nothing),
        cmocka_unit_test(a_late_answer_about_a_job_that_has_been_is_no_new_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
