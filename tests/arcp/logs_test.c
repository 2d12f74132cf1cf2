/* `arcp logs` and `arcp wait` with a real arcpd. */
#include "arcp/fixture.h"

#define ID_SIZE 30

#define RUNNING  "status    running\n"
#define LOG      "warning   careful\n"
#define THOUGHT  "thought   hm\n"
#define PROGRESS "progress  1/4 files a.c\n"
#define METRIC   "metric    cost.inference 0.5 USD\n"
#define ARTIFACT "artifact  file:///r.md text/markdown 12 bytes\n"
#define VENDOR   "x-vendor.test.thing {\"a\":1}\n"
#define ENDED    "ended     success\n"

static char spoken[ID_SIZE + 1], failed[ID_SIZE + 1];

static void note_id(const process *p, char id[ID_SIZE + 1])
{
    assert_true(p->out.size > ID_SIZE);
    memcpy(id, p->out.data, ID_SIZE);
    id[ID_SIZE] = '\0';
}

static void submit(const fixture *f, const char *agent, char id[ID_SIZE + 1])
{
    process p;
    fixture_run(f, &p, 0, WORDS("submit", agent, "--detach", "--quiet"));
    note_id(&p, id);
    process_fini(&p);
}

static int begin(void **state)
{
    process p;
    if (fixture_begin_bare(state) != 0) {
        return -1;
    }
    submit(*state, "events", spoken);
    submit(*state, "fail", failed);
    fixture_run(*state, &p, 1, WORDS("wait", spoken, failed));
    process_fini(&p);
    return 0;
}

/* ---- logs ---- */

static const struct {
    const char *name;
    const char *words[6];
    const char *out;
} rows[] = {
    {"all events", {NULL}, RUNNING LOG THOUGHT PROGRESS METRIC ARTIFACT VENDOR ENDED},
    {"following an ended job ends",
     {"-f"},
     RUNNING LOG THOUGHT PROGRESS METRIC ARTIFACT VENDOR ENDED},
    {"the last two", {"--tail", "2"}, VENDOR ENDED},
    {"more than there are",
     {"--tail", "9"},
     RUNNING LOG THOUGHT PROGRESS METRIC ARTIFACT VENDOR ENDED},
    {"none", {"--tail", "0"}, ""},
    {"one kind", {"--kind", "thought"}, THOUGHT},
    {"kinds", {"--kind", "metric", "--kind", "log"}, LOG METRIC},
    {"a kind of a vendor", {"--kind", "x-vendor.test.thing"}, VENDOR},
    {"a kind that it has not", {"--kind", "tool_call"}, ""},
    {"the last one of two kinds", {"--kind", "log", "--kind", "metric", "--tail", "1"}, METRIC},
    {"its level", {"--level", "warn", "--kind", "log"}, LOG},
    {"a higher level", {"--level", "error", "--kind", "log"}, ""},
    {"a level says nothing of other kinds",
     {"--level", "error", "--tail", "3"},
     ARTIFACT VENDOR ENDED},
    {"the last hour", {"--since", "1h", "--kind", "log"}, LOG},
    {"from a time on", {"--since", "2999-01-01T00:00:00Z", "--kind", "log"}, ""},
};

static void events_are_printed_as_asked(void **state)
{
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const char *words[9] = {"logs", spoken};
        process p;
        print_message("  %s\n", rows[row].name);
        for (size_t i = 0; i < 6 && rows[row].words[i] != NULL; i++) {
            words[2 + i] = rows[row].words[i];
        }
        fixture_run(*state, &p, 0, words);
        check_output(&p, rows[row].out);
        check_errors(&p, "");
        process_fini(&p);
    }
}

static void json_is_the_payload_of_each_event(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("logs", spoken, "--json", "--tail", "2"));
    check_output(&p, "{\"kind\":\"x-vendor.test.thing\",\"ts\":\"TIME\",\"body\":{\"a\":1}}\n"
                     "{\"final_status\":\"success\",\"result\":{\"n\":1.50},\"completed_at\":"
                     "\"TIME\",\"job_id\":\"job_...\"}\n");
    process_fini(&p);
}

static void the_end_of_a_failed_job_has_its_error_and_no_failure(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("logs", failed, "--tail", "1"));
    assert_int_equal(strncmp(p.out.data, "ended     error INTERNAL_ERROR: ", 32), 0);
    process_fini(&p);
}

static const struct {
    const char *words[3];
    const char *err;
} refusals[] = {
    {{"--kind", "metrics"}, "--kind: 'metrics' is no kind of event"},
    {{"--level", "loud"}, "--level: 'loud' is not one of debug, info, warn, error"},
    {{"--tail", "some"}, "--tail: 'some' is not a number from 0 to 1000000"},
    {{"--tail", "1000001"}, "--tail: '1000001' is not a number from 0 to 1000000"},
};

static void what_logs_cannot_do_is_refused(void **state)
{
    for (size_t row = 0; row < sizeof refusals / sizeof *refusals; row++) {
        char want[256];
        process p;
        fixture_run(*state, &p, 2,
                    WORDS("logs", spoken, refusals[row].words[0], refusals[row].words[1]));
        (void)snprintf(want, sizeof want, "arcp logs: %s\ntry: arcp logs --help\n",
                       refusals[row].err);
        check_errors(&p, want);
        process_fini(&p);
    }
    process p;
    fixture_run(*state, &p, 1, WORDS("logs", "job_x"));
    check_errors(&p, "error: JOB_NOT_FOUND: there is no job \"job_x\"\n");
    process_fini(&p);
}

/* Waits until the job has said that it waits. */
static void await_agent(const fixture *f, const char *job, process *follower)
{
    fixture_start(f, follower, WORDS("logs", job, "--follow"));
    process_await(follower, false, "log       waiting\n");
}

static void a_running_job_is_followed_only_if_asked(void **state)
{
    char id[ID_SIZE + 1];
    process follower, tail, p;
    submit(*state, "wait", id);
    await_agent(*state, id, &follower);
    fixture_run(*state, &p, 0, WORDS("logs", id)); /* does not wait for the end */
    check_output(&p, RUNNING "log       waiting\n");
    process_fini(&p);
    fixture_start(*state, &tail, WORDS("logs", id, "-f", "--tail", "1"));
    process_await(&tail, false, "log       waiting\n");
    fixture_run(*state, &p, 0, WORDS("cancel", id, "--quiet"));
    process_fini(&p);
    assert_int_equal(process_finish(&follower), 0);
    check_output(&follower, RUNNING "log       waiting\nended     cancelled CANCELLED: the job was "
                                    "cancelled\n");
    assert_int_equal(process_finish(&tail), 0);
    check_output(&tail,
                 "log       waiting\nended     cancelled CANCELLED: the job was cancelled\n");
    process_fini(&follower);
    process_fini(&tail);
}

/* ---- wait ---- */

static void ended_jobs_are_printed_and_the_first_failure_decides(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("wait", spoken));
    check_output(&p, "job_... success\n");
    process_fini(&p);
    fixture_run(*state, &p, 1, WORDS("wait", spoken, failed, spoken));
    assert_non_null(memmem(p.out.data, p.out.size, " success\n", 9));
    assert_non_null(memmem(p.out.data, p.out.size, " error ", 7));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("wait", spoken, spoken, "--json"));
    check_output(&p,
                 "{\"final_status\":\"success\",\"result\":{\"n\":1.50},\"completed_at\":\"TIME\""
                 ",\"job_id\":\"job_...\"}\n");
    process_fini(&p);
}

static void waiting_ends_with_the_jobs_or_in_time(void **state)
{
    char id[ID_SIZE + 1];
    process follower, waiter, p;
    submit(*state, "wait", id);
    await_agent(*state, id, &follower);
    fixture_run(*state, &p, 6, WORDS("wait", id, spoken, "--timeout", "100ms"));
    check_output(&p, "job_... success\n");
    check_errors(&p, "arcp wait: 1 job has not ended in time\n");
    process_fini(&p);
    fixture_start(*state, &waiter, WORDS("wait", spoken, id));
    process_await(&waiter, false, " success\n");
    fixture_run(*state, &p, 0, WORDS("cancel", id, "--quiet"));
    process_fini(&p);
    assert_int_equal(process_finish(&waiter), 5);
    check_output(&waiter, "job_... success\njob_... cancelled the job was cancelled\n");
    assert_int_equal(process_finish(&follower), 0);
    process_fini(&waiter);
    process_fini(&follower);
}

static void a_job_that_is_not_there_cannot_be_waited_for(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("wait", spoken, "job_x"));
    check_output(&p, "");
    check_errors(&p, "error: JOB_NOT_FOUND: there is no job \"job_x\"\n");
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("wait"));
    check_errors(&p, "arcp wait: JOB... is missing\ntry: arcp wait --help\n");
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("wait", spoken, "--timeout", "soon"));
    process_fini(&p);
}

/* ---- standard error ---- */

static void the_standard_error_of_a_running_agent_is_followed(void **state)
{
    char id[ID_SIZE + 1];
    process follower, p;
    submit(*state, "wait", id);
    fixture_start(*state, &follower, WORDS("logs", id, "--stderr", "-f"));
    process_await(&follower, false, "until it is cancelled\n");
    fixture_run(*state, &p, 0, WORDS("cancel", id, "--quiet"));
    process_fini(&p);
    assert_int_equal(process_finish(&follower), 0);
    check_output(&follower, "until it is cancelled\nit was cancelled\n");
    process_fini(&follower);
}

static void the_standard_error_of_an_agent_is_printed(void **state)
{
    char id[ID_SIZE + 1];
    process p;
    submit(*state, "crash", id);
    fixture_run(*state, &p, 1, WORDS("wait", id));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("logs", id, "--stderr"));
    check_output(&p, "reading the configuration\nno such table: \033[1mjobs\n");
    check_errors(&p, "");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("logs", id, "--stderr", "--follow", "--json"));
    check_output(
        &p, "{\"job_id\":\"job_...\",\"line\":1,\"text\":\"reading the configuration\"}\n"
            "{\"job_id\":\"job_...\",\"line\":2,\"text\":\"no such table: \\u001b[1mjobs\"}\n");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("logs", id, "--stderr", "--tail", "1"));
    check_output(&p, "no such table: \033[1mjobs\n");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("logs", id, "--stderr", "--tail", "0"));
    check_output(&p, "");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("logs", spoken, "--stderr"));
    check_output(&p, "");
    check_errors(&p, "arcp logs: no standard error is kept: the agent has written none, or arcpd "
                     "was started again since\n");
    process_fini(&p);
}

static void standard_error_has_no_times_kinds_and_levels(void **state)
{
    static const char *const options[][2] = {
        {"--since", "1h"}, {"--kind", "log"}, {"--level", "warn"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        process p;
        fixture_run(*state, &p, 2, WORDS("logs", "x", "--stderr", options[i][0], options[i][1]));
        check_errors(&p, "arcp logs: --stderr has no times, kinds and levels: --since, --kind and "
                         "--level cannot be given with it\ntry: arcp logs --help\n");
        process_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_printed_as_asked),
        cmocka_unit_test(json_is_the_payload_of_each_event),
        cmocka_unit_test(the_end_of_a_failed_job_has_its_error_and_no_failure),
        cmocka_unit_test(what_logs_cannot_do_is_refused),
        cmocka_unit_test(a_running_job_is_followed_only_if_asked),
        cmocka_unit_test(the_standard_error_of_a_running_agent_is_followed),
        cmocka_unit_test(the_standard_error_of_an_agent_is_printed),
        cmocka_unit_test(standard_error_has_no_times_kinds_and_levels),
        cmocka_unit_test(ended_jobs_are_printed_and_the_first_failure_decides),
        cmocka_unit_test(waiting_ends_with_the_jobs_or_in_time),
        cmocka_unit_test(a_job_that_is_not_there_cannot_be_waited_for),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
