/* Connecting; and every event is delivered exactly once however often the connection is cut. */
#include "client/blocking_fixture.h"

#include <unistd.h>

static void connecting_fails_with_the_reason(void **state)
{
    fake_runtime runtime;
    arcp_error err = {0};
    arcp_client *client = NULL;
    fake_runtime_init(&runtime);
    arcp_client_options options = fake_runtime_options(&runtime);
    runtime.refuse_dials = 1;
    assert_int_equal(arcp_client_connect(&options, &client, &err), ARCP_E_IO);
    assert_string_equal(err.message, "connection refused");
    runtime.refuse_dials = 0;

    runtime.refuses_hello = true;
    assert_int_equal(arcp_client_connect(&options, &client, &err), ARCP_E_UNAUTHENTICATED);
    assert_string_equal(err.code, "UNAUTHENTICATED");
    runtime.refuses_hello = false;

    runtime.mute = true;
    options.connect_timeout_ms = 20;
    assert_int_equal(arcp_client_connect(&options, &client, &err), ARCP_E_DEADLINE);
    assert_null(client);
    fake_runtime_fini(&runtime);
}

static void connecting_can_be_retried(void **state)
{
    fixture f;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.refuse_dials = 3;
    options.connect_retry_ms = 60000;
    fixture_begin_with(&f, &options);
    assert_int_equal(atomic_load(&f.runtime.dials), 4);
    fixture_end(&f);
}

/* ---- every event exactly once ---- */

enum { CUT_JOBS = 40, CUT_EVENTS = 100 };

static void cut_connections_lose_and_repeat_no_event(void **state)
{
    fixture f;
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = arcp_json_limits_init();
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 60;
    fixture_begin_with(&f, &options);
    arcp_job *jobs[CUT_JOBS];
    for (int i = 0; i < CUT_JOBS; i++) {
        jobs[i] = fixture_submit(&f, "count", "{\"n\": 100}");
    }
    for (int i = 0; i < CUT_JOBS; i++) {
        const arcp_client_event *event = NULL;
        for (uint64_t n = 0; n < CUT_EVENTS; n++) {
            uint64_t number = 0;
            check_ok(arcp_job_next_event(jobs[i], ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
            assert_int_equal(event->type, ARCP_CLIENT_JOB_EVENT);
            check_ok(arcp_json_scan(&json, event->body, &limits, &f.err), &f.err);
            assert_true(arcp_json_u64(
                &json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("n")), &number));
            assert_int_equal(number, n);
        }
        check_ok(arcp_job_next_event(jobs[i], ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
        assert_int_equal(event->type, ARCP_CLIENT_JOB_ENDED);
        check_span(arcp_job_outcome(jobs[i])->result, "100");
        arcp_job_unref(jobs[i]);
    }
    assert_true(atomic_load(&f.runtime.cuts) > 20);
    assert_true(atomic_load(&f.runtime.resumes) > 20);
    arcp__json_fini(&json);
    fixture_end(&f);
}

static void a_stream_to_a_file_survives_cuts(void **state)
{
    fixture f;
    char path[] = "/tmp/arcp-client-test-XXXXXX";
    const int fd = mkstemp(path);
    arcp_submit_options options = arcp_submit_options_init();
    arcp_job *job = NULL;
    const arcp_outcome *outcome = NULL;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    fake_runtime_init(&f.runtime);
    arcp_client_options client = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 50;
    fixture_begin_with(&f, &client);
    options.agent = ARCP_SPAN_LITERAL("stream");
    options.input = ARCP_SPAN_LITERAL("{\"n\": 500}");
    options.result.mode = ARCP_RESULT_FD;
    options.result.fd = fd;
    check_ok(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &job, &f.err), &f.err);
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    assert_int_equal(outcome->status, ARCP_OK);
    assert_int_equal(outcome->streamed_bytes, 500000);
    assert_int_equal(lseek(fd, 0, SEEK_END), 500000);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    for (int chunk = 0; chunk < 500; chunk++) {
        char bytes[1000];
        assert_int_equal(read(fd, bytes, sizeof bytes), 1000);
        assert_int_equal(bytes[0], 'a' + chunk % 26);
        assert_int_equal(bytes[999], 'a' + chunk % 26);
    }
    close(fd);
    arcp_job_unref(job);
    fixture_end(&f);
}

/* ---- sessions continued by another process ---- */

static void a_session_can_be_continued_by_another_process(void **state)
{
    fixture f;
    arcp_buf storage = arcp_buf_init();
    arcp_error err = {0};
    arcp_session_state saved;
    const arcp_outcome *outcome = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "echo", "1");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    check_ok(arcp_client_session_state(f.client, &storage, &saved, &err), &err);
    check_span(saved.session_id, "sess_1");
    check_span(saved.resume_token, "rt_1");
    assert_int_equal(saved.last_event_seq, 2);
    arcp_job_unref(job);
    arcp_client_free(f.client);

    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.resume = saved;
    fixture_begin_with(&f, &options);
    assert_int_equal(atomic_load(&f.runtime.resumes), 1);
    arcp_buf_fini(&storage);
    fixture_end(&f);
}

typedef struct hook_log {
    unsigned asked;
    unsigned welcomes;
    char last_token[32];
} hook_log;

static bool before_resume(void *user, arcp_buf *token)
{
    hook_log *log = user;
    return log->asked++ != 0; /* the first time, another process uses the session */
}

static void welcomed(void *user, const arcp_session_state *state)
{
    hook_log *log = user;
    log->welcomes++;
    snprintf(log->last_token, sizeof log->last_token, "%.*s", (int)state->resume_token.size,
             state->resume_token.data);
}

static void hooks_get_every_token_and_may_postpone_a_resume(void **state)
{
    fixture f;
    hook_log log = {0};
    const arcp_outcome *outcome = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.hooks = (arcp_client_hooks){before_resume, welcomed, &log};
    f.runtime.cut_every = 30;
    f.runtime.cuts_max = 1;
    fixture_begin_with(&f, &options);
    arcp_job *job = fixture_submit(&f, "count", "{\"n\": 100}");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    check_span(outcome->result, "100");
    arcp_job_unref(job);
    fixture_end(&f);
    assert_int_equal(log.asked, 2);
    assert_int_equal(log.welcomes, 2);
    assert_string_equal(log.last_token, "rt_2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connecting_fails_with_the_reason),
        cmocka_unit_test(connecting_can_be_retried),
        cmocka_unit_test(cut_connections_lose_and_repeat_no_event),
        cmocka_unit_test(a_stream_to_a_file_survives_cuts),
        cmocka_unit_test(a_session_can_be_continued_by_another_process),
        cmocka_unit_test(hooks_get_every_token_and_may_postpone_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
