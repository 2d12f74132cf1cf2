/* `arcp bench` against a real arcpd: what it counts, and how it ends. */
#include "arcp/fixture.h"

#include <stdlib.h>
#include <unistd.h>

/* The number after "name": in one line of JSON. */
static double number_of(const process *p, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = memmem(p->out.data, p->out.size, key, strlen(key));
    if (found == NULL) {
        fail_msg("there is no %s in %.*s", name, (int)p->out.size, p->out.data);
    }
    return strtod(found + strlen(key), NULL);
}

static void bench_counts_jobs_events_and_sessions(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                WORDS("bench", "--json", "--sessions", "3", "--in-flight", "7", "--idle", "40",
                      "--jobs", "50", "--warmup", "0", "--input",
                      "{\"events\":20,\"result_bytes\":1000}"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(number_of(&p, "jobs"), 50);
    assert_int_equal(number_of(&p, "failed"), 0);
    assert_int_equal(number_of(&p, "idle_lost"), 0);
    assert_int_equal(number_of(&p, "idle_sessions"), 40);
    assert_int_equal(number_of(&p, "samples"), number_of(&p, "jobs"));
    /* Each job has a status event, 20 log events, a chunk and its end; a few more jobs may be in
     * flight. */
    const double events = number_of(&p, "events");
    assert_true(events >= 50 * 23 && events <= 57 * 23);
    assert_true(number_of(&p, "result_bytes") >= 50000);
    assert_true(number_of(&p, "jobs_per_sec") > 0);
    process_fini(&p);
}

static void bench_holds_idle_sessions_without_a_job(void **state)
{
    static const char *const durations[] = {"1ms",
                                            "50ms"}; /* the first one is the shortest possible */
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        process p;
        fixture_run(*state, &p, 0,
                    WORDS("bench", "--json", "--sessions", "0", "--idle", "5", "--duration",
                          durations[i], "--warmup", "0"));
        arcp_buf_append_byte(&p.out, '\0');
        assert_int_equal(number_of(&p, "sessions"), 0);
        assert_int_equal(number_of(&p, "idle_sessions"), 5);
        assert_int_equal(number_of(&p, "idle_lost"), 0);
        assert_int_equal(number_of(&p, "jobs"), 0);
        assert_true(number_of(&p, "seconds") > 0);
        process_fini(&p);
    }
}

static void a_busy_polling_bench_counts_and_ends_like_others(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                WORDS("bench", "--json", "--busy-poll", "--in-flight", "1", "--jobs", "20",
                      "--warmup", "0", "--input", "{\"events\":1}"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.out.data, "\"busy_poll\":true"));
    assert_int_equal(number_of(&p, "jobs"), 20);
    assert_int_equal(number_of(&p, "failed"), 0);
    process_fini(&p);
}

static void a_failing_bench_prints_the_reason(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("bench", "--agent", "nobody", "--jobs", "5"));
    check_errors(&p, "error: AGENT_NOT_AVAILABLE: there is no agent \"nobody\"\n");
    process_fini(&p);
    fixture_run(*state, &p, 1,
                WORDS("bench", "--jobs", "5", "--warmup", "0", "--input", "{\"exit\":3}"));
    arcp_buf_append_byte(&p.err, '\0');
    assert_non_null(strstr(p.err.data, "INTERNAL_ERROR"));
    process_fini(&p);
    fixture_run(*state, &p, 3, WORDS("bench", "--url", "ws://127.0.0.1:1/arcp"));
    process_fini(&p);
}

static void ctrl_c_ends_a_bench_with_the_results_so_far(void **state)
{
    process p;
    fixture_start_on_terminal(*state, &p, WORDS("bench", "--duration", "1h", "--warmup", "0"),
                              (const char *const[]){"TERM=xterm", "LC_ALL=C", NULL}, 100);
    process_await(&p, false, "measuring: ");
    assert_int_equal(write(p.output, "\003", 1), 1);
    assert_int_equal(process_finish(&p), 0);
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.out.data, "(interrupted)"));
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bench_counts_jobs_events_and_sessions),
        cmocka_unit_test(bench_holds_idle_sessions_without_a_job),
        cmocka_unit_test(a_busy_polling_bench_counts_and_ends_like_others),
        cmocka_unit_test(a_failing_bench_prints_the_reason),
        cmocka_unit_test(ctrl_c_ends_a_bench_with_the_results_so_far),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
