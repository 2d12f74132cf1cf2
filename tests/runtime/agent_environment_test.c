/* What the environment of an agent says about its job. */
#include "support/check.h"
#include "support/failing_alloc.h"

#include "runtime/agent_environment.h"

static void the_job_is_named_by_its_start_line(void **state)
{
    (void)state;
    arcp__environment environment = {0};
    arcp__agent_environment_job(
        &environment,
        ARCP_SPAN_LITERAL("{\"type\":\"job.start\",\"payload\":{\"job_id\":\"job_1\",\"agent\":"
                          "\"a@1\",\"input\":{\"agent\":\"x\"},\"trace_id\":\"abc\","
                          "\"traceparent\":\"00-abc\\u0000-def\",\"tracestate\":\"v=1\"}}"));
    static const char *const want[] = {"ARCP_JOB_ID=job_1", "ARCP_AGENT=a@1", "ARCP_TRACE_ID=abc",
                                       "TRACEPARENT=00-abc", "TRACESTATE=v=1"};
    assert_false(environment.failed);
    assert_int_equal(environment.count, 5);
    for (size_t at = 0; at < 5; at++) {
        assert_string_equal(environment.pairs[at], want[at]);
    }
    assert_null(environment.pairs[5]);
    arcp__environment_fini(&environment);
}

static arcp_status build(void *user, arcp_error *err)
{
    (void)user;
    arcp__environment made = {0};
    arcp__agent_environment_job(
        &made, ARCP_SPAN_LITERAL("{\"payload\":{\"job_id\":\"job_\\u0031\",\"agent\":\"a\"}}"));
    bool failed = made.failed;
    arcp__environment_fini(&made);
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(build, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_job_is_named_by_its_start_line),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
