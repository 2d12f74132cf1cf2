/* `arcp watch`, `jobs`, `agents` and `ping` with a real arcpd. */
#include "arcp/fixture.h"

#include <stdlib.h>

static void a_finished_job_is_printed_from_its_start_or_only_its_end(void **state)
{
    process p;
    char job[64];
    fixture_run(*state, &p, 0, WORDS("submit", "hello"));
    assert_int_equal(sscanf(p.err.data, "accepted %63s", job), 1);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("watch", job));
    check_output(&p, "hello\n");
    check_errors(&p, "");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("watch", job, "--from-start"));
    check_output(&p, "hello\n");
    check_errors(&p, "status    running\nlog       working\n");
    process_fini(&p);
}

static void agents_and_jobs_are_listed(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("agents"));
    check_output(
        &p,
        "hello@1.0.0\nevents\ncount\nstream\nwait\nfail\ncrash\necho\nprogress\nparent\nstubborn\n"
        "family\nbench\n");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("agents", "--json"));
    static const char first[] =
        "{\"name\":\"hello\",\"versions\":[\"1.0.0\"],\"default\":\"1.0.0\"}\n";
    assert_int_equal(strncmp(p.out.data, first, strlen(first)), 0);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("submit", "hello", "--quiet"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("jobs", "--agent", "hello", "--since", "1h", "--all"));
    assert_int_equal(strncmp(p.out.data, "JOB ", 4), 0);
    assert_non_null(strstr(p.out.data, "hello@1.0.0\n"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("jobs", "--agent", "nobody"));
    check_output(&p, "");
    process_fini(&p);
}

static void ping_names_the_runtime_and_the_time(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("ping"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(strncmp(p.out.data, "arcpd ", 6), 0);
    const char *time = strstr(p.out.data, ": ");
    assert_non_null(time);
    char *rest = NULL;
    assert_true(strtod(time + 2, &rest) >= 0);
    assert_string_equal(rest, " ms\n");
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_job_is_printed_from_its_start_or_only_its_end),
        cmocka_unit_test(agents_and_jobs_are_listed),
        cmocka_unit_test(ping_names_the_runtime_and_the_time),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
