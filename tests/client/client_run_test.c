/* One job as one call (src/client/client_run.c). */
#include "client/blocking_fixture.h"

/* Runs `agent` on the fixture's runtime. */
static arcp_status run(fixture *f, const char *agent, const char *input, int64_t timeout_ms,
                       arcp_buf *result)
{
    fake_runtime_init(&f->runtime);
    const arcp_client_options options = fake_runtime_options(&f->runtime);
    arcp_submit_options submit = arcp_submit_options_init();
    f->details = arcp_buf_init();
    f->err = (arcp_error){.details = &f->details};
    f->client = NULL;
    submit.agent = arcp_span_cstr(agent);
    submit.input = arcp_span_cstr(input);
    return arcp_client_run_with(&options, &submit, timeout_ms, result, &f->err);
}

static void a_run_returns_the_result(void **state)
{
    (void)state;
    fixture f;
    arcp_buf result = arcp_buf_init();
    arcp_buf_append_cstr(&result, "result: ");
    check_ok(run(&f, "echo", "{\"a\":1}", ARCP_WAIT_FOREVER, &result), &f.err);
    assert_string_equal(result.data, "result: {\"a\":1}");
    assert_int_equal(result.size, strlen(result.data));
    arcp_buf_fini(&result);
    fixture_end(&f);
}

static void a_streamed_result_is_returned_as_bytes(void **state)
{
    (void)state;
    fixture f;
    arcp_buf result = arcp_buf_init();
    check_ok(run(&f, "stream", "{\"n\":2}", ARCP_WAIT_FOREVER, &result), &f.err);
    assert_int_equal(result.size, 2000);
    assert_int_equal(result.data[2000], '\0');
    arcp_buf_fini(&result);
    fixture_end(&f);
}

static void the_result_buffer_is_optional(void **state)
{
    (void)state;
    fixture f;
    check_ok(run(&f, "echo", "1", ARCP_WAIT_FOREVER, NULL), &f.err);
    fixture_end(&f);
}

static void the_error_of_a_refused_submit_is_returned(void **state)
{
    (void)state;
    fixture f;
    arcp_buf result = arcp_buf_init();
    assert_int_equal(run(&f, "refuse", "", ARCP_WAIT_FOREVER, &result), ARCP_E_AGENT_NOT_AVAILABLE);
    assert_string_equal(f.err.code, "AGENT_NOT_AVAILABLE");
    assert_string_equal(arcp_error_details(&f.err), "{\"agent\":\"refuse\"}");
    assert_null(result.data);
    fixture_end(&f);
}

static void the_error_of_a_failed_job_is_returned(void **state)
{
    (void)state;
    fixture f;
    assert_int_equal(run(&f, "fail", "", ARCP_WAIT_FOREVER, NULL), ARCP_E_TIMEOUT);
    assert_string_equal(f.err.code, "TIMEOUT");
    fixture_end(&f);
}

static void a_job_that_takes_too_long_is_cancelled(void **state)
{
    (void)state;
    fixture f;
    assert_int_equal(run(&f, "wait", "", 20, NULL), ARCP_E_DEADLINE);
    assert_non_null(strstr(f.err.message, "did not end within 20 ms and was cancelled"));
    assert_int_equal(atomic_load(&f.runtime.cancels), 1);
    fixture_end(&f);
}

static void without_a_runtime_there_is_an_error(void **state)
{
    (void)state;
    arcp_error err = {0};
    assert_int_equal(arcp_client_run("stdio:/nonexistent/arcpd", NULL, "a", NULL, NULL, &err),
                     ARCP_E_IO);
    assert_non_null(strstr(err.message, "/nonexistent/arcpd"));
    assert_int_equal(arcp_client_run(NULL, NULL, "a", NULL, NULL, &err), ARCP_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_returns_the_result),
        cmocka_unit_test(a_streamed_result_is_returned_as_bytes),
        cmocka_unit_test(the_result_buffer_is_optional),
        cmocka_unit_test(the_error_of_a_refused_submit_is_returned),
        cmocka_unit_test(the_error_of_a_failed_job_is_returned),
        cmocka_unit_test(a_job_that_takes_too_long_is_cancelled),
        cmocka_unit_test(without_a_runtime_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
