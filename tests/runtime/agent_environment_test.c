/* The environment of agents, and resource limits as configurations have them. */
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/check.h"
#include "support/failing_alloc.h"

#include "runtime/agent_environment.h"
#include "runtime/launcher_plan.h"

static arcp__agent_environment environment;

static int set_up(void **state)
{
    (void)state;
    environment = (arcp__agent_environment){0};
    assert_int_equal(setenv("PATH", "/bin:/usr/bin", 1), 0);
    assert_int_equal(setenv("HOME", "/home/us", 1), 0);
    assert_int_equal(setenv("OURS", "secret", 1), 0);
    assert_int_equal(unsetenv("LANG"), 0);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arcp__agent_environment_fini(&environment);
    return 0;
}

static void check_pairs(const char *const *want)
{
    size_t count = 0;
    assert_false(environment.failed);
    for (; want[count] != NULL; count++) {
        assert_true(count < environment.count);
        assert_string_equal(environment.pairs[count], want[count]);
    }
    assert_int_equal(environment.count, count);
    assert_null(count == 0 ? NULL : environment.pairs[count]);
}

static void it_begins_clean(void **state)
{
    (void)state;
    arcp__agent_environment_base(&environment, NULL);
    check_pairs((const char *const[]){"PATH=/bin:/usr/bin", "TZ=UTC", "HOME=/home/us", NULL});
}

static void there_is_always_a_path(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("PATH"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(unsetenv("TZ"), 0);
    arcp__agent_environment_base(&environment, NULL);
    check_pairs((const char *const[]){"PATH=/usr/local/bin:/usr/bin:/bin", NULL});
}

static void another_user_has_another_home(void **state)
{
    (void)state;
    char want[256];
    const struct passwd *root = getpwnam("root");
    assert_non_null(root);
    (void)snprintf(want, sizeof(want), "HOME=%s", root->pw_dir);
    arcp__agent_environment_base(&environment, "root");
    check_pairs((const char *const[]){"PATH=/bin:/usr/bin", "TZ=UTC", want, NULL});
}

static void what_is_passed_replaces_and_adds(void **state)
{
    (void)state;
    arcp__agent_environment_base(&environment, NULL);
    arcp__agent_environment_pass(&environment,
                                 (const char *const[]){"PATH=/opt/bin", "OURS", "NOT_SET",
                                                       "EMPTY=", "A=b=c", "PATHS=x", NULL});
    check_pairs((const char *const[]){"PATH=/opt/bin", "TZ=UTC", "HOME=/home/us", "OURS=secret",
                                      "EMPTY=", "A=b=c", "PATHS=x", NULL});
    arcp__agent_environment_pass(&environment, NULL);
    assert_int_equal(environment.count, 7);
}

static void the_job_is_named_by_its_start_line(void **state)
{
    (void)state;
    arcp__agent_environment_job(
        &environment,
        ARCP_SPAN_LITERAL("{\"type\":\"job.start\",\"payload\":{\"job_id\":\"job_1\",\"agent\":"
                          "\"a@1\",\"input\":{\"agent\":\"x\"},\"trace_id\":\"abc\","
                          "\"traceparent\":\"00-abc\\u0000-def\",\"tracestate\":\"v=1\"}}"));
    check_pairs((const char *const[]){"ARCP_JOB_ID=job_1", "ARCP_AGENT=a@1", "ARCP_TRACE_ID=abc",
                                      "TRACEPARENT=00-abc", "TRACESTATE=v=1", NULL});
}

static arcp_status build(void *user, arcp_error *err)
{
    (void)user;
    arcp__agent_environment made = {0};
    arcp__agent_environment_base(&made, NULL);
    arcp__agent_environment_job(
        &made, ARCP_SPAN_LITERAL("{\"payload\":{\"job_id\":\"job_\\u0031\",\"agent\":\"a\"}}"));
    arcp__agent_environment_pass(&made, (const char *const[]){"PATH=/x", "B=2", "OURS", NULL});
    bool failed = made.failed;
    arcp__agent_environment_fini(&made);
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(build, NULL) > 10);
}

/* ---- limits ---- */

static void a_limit_is_a_name_and_one_number_or_two(void **state)
{
    (void)state;
    const uint64_t none = ARCP_LAUNCH_NO_LIMIT;
    const struct {
        const char *name;
        const char *value;
        arcp_status status;
        int resource;
        uint64_t soft;
        uint64_t hard;
    } rows[] = {
        {"nofile", "64", ARCP_OK, RLIMIT_NOFILE, 64, 64},
        {"nofile", "64:128", ARCP_OK, RLIMIT_NOFILE, 64, 128},
        {"as", "unlimited", ARCP_OK, RLIMIT_AS, none, none},
        {"core", "0:unlimited", ARCP_OK, RLIMIT_CORE, 0, none},
        {"cpu", "18446744073709551614", ARCP_OK, RLIMIT_CPU, none - 1, none - 1},
        {"cpu", "18446744073709551615", ARCP_E_USAGE, 0, 0, 0},
        {"cpu", "18446744073709551616", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "128:64", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "unlimited:64", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", ":", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "64:", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "64:64:64", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "-1", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "1k", ARCP_E_USAGE, 0, 0, 0},
        {"NOFILE", "64", ARCP_E_USAGE, 0, 0, 0},
        {"", "64", ARCP_E_USAGE, 0, 0, 0},
    };
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        arcp_launch_limit limit = {0};
        arcp_error error = {0};
        arcp_status status =
            arcp__launch_limit_parse(rows[at].name, rows[at].value, &limit, &error);
        if (status != rows[at].status || limit.resource != rows[at].resource ||
            limit.soft != rows[at].soft || limit.hard != rows[at].hard) {
            fail_msg("%s: %s: %s", rows[at].name, rows[at].value, error.message);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_begins_clean),
        TEST(there_is_always_a_path),
        TEST(another_user_has_another_home),
        TEST(what_is_passed_replaces_and_adds),
        TEST(the_job_is_named_by_its_start_line),
        TEST(every_allocation_may_fail),
        TEST(a_limit_is_a_name_and_one_number_or_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
