/* Submit, follow, and try again (arcp_client_submit_with_retry in src/client/client_calls.c). */
#include "client/blocking_fixture.h"

#include <pthread.h>

/* `retry` NULL: the defaults. *job stays NULL unless a job was accepted. */
static arcp_status run(fixture *f, const char *agent, const arcp_retry_options *retry,
                       arcp_job **job)
{
    arcp_submit_options options = arcp_submit_options_init();
    *job = NULL;
    options.agent = arcp_span_cstr(agent);
    return arcp_client_submit_with_retry(f->client, &options, retry, job, &f->err);
}

/* [arcp:EG-11] */
static void retries_use_the_same_idempotency_key(void **state)
{
    fixture f;
    arcp_retry_options retry = arcp_retry_options_init();
    arcp_job *job = NULL;
    fixture_begin(&f);
    retry.first_ms = 2;
    check_ok(run(&f, "flaky", &retry, &job), &f.err);
    assert_int_equal(arcp_job_outcome(job)->final_status, ARCP_JOB_SUCCESS);
    assert_int_equal(atomic_load(&f.runtime.submits), 2);
    assert_non_null(strstr(f.runtime.last_key, "run_"));
    arcp_job_unref(job);
    fixture_end(&f);
}

static void errors_that_are_not_retryable_are_not_retried(void **state)
{
    fixture f;
    arcp_job *job = NULL;
    fixture_begin(&f);
    assert_int_equal(run(&f, "refuse", NULL, &job), ARCP_E_AGENT_NOT_AVAILABLE);
    assert_int_equal(atomic_load(&f.runtime.submits), 1);
    fixture_end(&f);
}

static void the_number_of_retries_is_limited(void **state)
{
    fixture f;
    arcp_retry_options retry = arcp_retry_options_init();
    arcp_job *job = NULL;
    fixture_begin(&f);
    retry.attempts = 1;
    assert_int_equal(run(&f, "flaky", &retry, &job), ARCP_E_INTERNAL_ERROR);
    assert_null(job);
    fixture_end(&f);
}

static void a_retry_waits_as_long_as_the_runtime_asks(void **state)
{
    fixture f;
    arcp_retry_options retry = arcp_retry_options_init();
    arcp_job *job = NULL;
    fixture_begin(&f);
    retry.first_ms = 0;
    retry.timeout_ms = 1800000; /* less than the runtime asks for: no further attempt */
    assert_int_equal(run(&f, "late", &retry, &job), ARCP_E_INTERNAL_ERROR);
    assert_int_equal(atomic_load(&f.runtime.submits), 1);
    fixture_end(&f);
    fixture_begin(&f);
    check_ok(run(&f, "soon", &retry, &job), &f.err);
    assert_int_equal(atomic_load(&f.runtime.submits), 2);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void invalid_options_are_refused(void **state)
{
    fixture f;
    arcp_submit_options options = arcp_submit_options_init();
    arcp_retry_options retry = arcp_retry_options_init();
    arcp_job *job = NULL;
    fixture_begin(&f);
    options.agent = ARCP_SPAN_LITERAL("flaky");
    options.struct_size--;
    assert_int_equal(arcp_client_submit_with_retry(f.client, &options, NULL, &job, &f.err),
                     ARCP_E_USAGE);
    assert_non_null(strstr(f.err.message, "arcp_submit_options: struct_size is"));
    options.struct_size++;
    retry.struct_size += 8;
    assert_int_equal(arcp_client_submit_with_retry(f.client, &options, &retry, &job, &f.err),
                     ARCP_E_USAGE);
    assert_non_null(strstr(f.err.message, "arcp_retry_options: struct_size is"));
    retry.struct_size = offsetof(arcp_retry_options, first_ms); /* attempts is still there */
    retry.attempts = 0;
    assert_int_equal(arcp_client_submit_with_retry(f.client, &options, &retry, &job, &f.err),
                     ARCP_E_USAGE);
    assert_null(job);
    assert_int_equal(atomic_load(&f.runtime.submits), 0);
    fixture_end(&f);
}

static void an_interrupted_run_is_not_retried(void **state)
{
    fixture f;
    pthread_t thread;
    arcp_job *job = NULL;
    fixture_begin(&f);
    assert_int_equal(pthread_create(&thread, NULL, fixture_interrupt_soon, f.client), 0);
    assert_int_equal(run(&f, "wait", NULL, &job), ARCP_E_INTERRUPTED);
    assert_null(job);
    assert_int_equal(f.err.status, ARCP_E_INTERRUPTED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retries_use_the_same_idempotency_key),
        cmocka_unit_test(errors_that_are_not_retryable_are_not_retried),
        cmocka_unit_test(the_number_of_retries_is_limited),
        cmocka_unit_test(a_retry_waits_as_long_as_the_runtime_asks),
        cmocka_unit_test(invalid_options_are_refused),
        cmocka_unit_test(an_interrupted_run_is_not_retried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
