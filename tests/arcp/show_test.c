/* `arcp show` with a real arcpd. */
#include "arcp/fixture.h"

#include <ctype.h>

/* Compares the output with ids and times replaced, and the seconds that a job ran by N. */
static void check_shown(const process *p, const char *want)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf masked = arcp_buf_init();
    fixture_mask(&p->out, &masked);
    for (size_t i = 0; i < masked.size; i++) {
        size_t end = i;
        while (end < masked.size &&
               (isdigit((unsigned char)masked.data[end]) || (end > i && masked.data[end] == '.'))) {
            end++;
        }
        if (end > i && masked.size - end > 2 && memcmp(masked.data + end, " s", 2) == 0) {
            arcp_buf_append_byte(&text, 'N');
            i = end;
        }
        arcp_buf_append_byte(&text, masked.data[i]);
    }
    check_span(arcp_buf_span(&text), want);
    arcp_buf_fini(&masked);
    arcp_buf_fini(&text);
}

static void a_job_is_shown_with_its_lease_and_costs(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                WORDS("submit", "events", "--quiet", "--budget", "USD:2", "--grant",
                      "fs.read=/srv/**", "--grant", "fs.read=/opt/x", "--expires-at",
                      "2199-01-01T00:00:00Z"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last"));
    check_shown(&p, "job       job_...\n"
                    "agent     events\n"
                    "status    success, N s, USD 0.5\n"
                    "created   TIME\n"
                    "started   TIME\n"
                    "ended     TIME\n"
                    "input     {}\n"
                    "progress  1/4 files\n"
                    "trace     TRACE\n"
                    "expires   2199-01-01T00:00:00Z\n"
                    "spent     USD 0.5\n"
                    "lease     fs.read /srv/**\n"
                    "          fs.read /opt/x\n"
                    "          cost.budget USD:2\n");
    process_fini(&p);
}

static void a_parent_is_shown_with_its_children_and_a_child_with_its_parent(void **state)
{
    process p;
    char parent[31] = "";
    fixture_run(*state, &p, 0,
                WORDS("submit", "parent", "--quiet", "--grant", "agent.delegate=hello"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("jobs", "--agent", "parent", "-o", "name"));
    memcpy(parent, p.out.data, 30);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", parent));
    assert_non_null(memmem(p.out.data, p.out.size, "\nchildren  job_", 15));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last"));
    check_shown(&p, "job       job_...\n"
                    "agent     hello@1.0.0\n"
                    "status    success, N s\n"
                    "created   TIME\n"
                    "started   TIME\n"
                    "ended     TIME\n"
                    "input     {}\n"
                    "parent    job_...\n"
                    "trace     TRACE\n");
    process_fini(&p);
}

static void an_operation_that_was_denied_is_shown(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("submit", "parent", "--quiet"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last"));
    assert_non_null(strstr(p.out.data, "\ndenials   1, the last one agent.delegate hello@1.0.0\n"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last", "--json"));
    assert_non_null(
        strstr(p.out.data, "\"denials\":1,\"last_denial\":\"agent.delegate hello@1.0.0\""));
    assert_non_null(strstr(
        p.out.data, "\"refused\":[{\"capability\":\"agent.delegate\",\"target\":\"hello@1.0.0\""));
    process_fini(&p);
}

static const struct {
    const char *code, *status, *advice;
    int exit_status;
} errors[] = {
    {"TIMEOUT", "timed_out", "give it more time: arcp submit --timeout", 6},
    {"BUDGET_EXHAUSTED", "error", "give it a larger budget: arcp submit --budget", 4},
    {"PERMISSION_DENIED", "error", "grant what it needs: arcp submit --grant", 4},
    {"INTERNAL_ERROR", "error",
     "the runtime says that another attempt may succeed: arcp submit --retry", 1},
};

static void an_error_is_shown_with_what_to_do(void **state)
{
    for (size_t row = 0; row < sizeof errors / sizeof *errors; row++) {
        char input[64];
        char want[512];
        process p;
        (void)snprintf(input, sizeof input, "{\"code\":\"%s\"}", errors[row].code);
        fixture_run(*state, &p, errors[row].exit_status,
                    WORDS("submit", "fail", "--quiet", "--input", input));
        process_fini(&p);
        fixture_run(*state, &p, 0, WORDS("show", "@last"));
        (void)snprintf(want, sizeof want,
                       "job       job_...\nagent     fail\nstatus    %s, N s\ncreated   TIME\n"
                       "started   TIME\nended     TIME\nerror     %s: as asked\nadvice    %s\n"
                       "input     %s\ntrace     TRACE\n",
                       errors[row].status, errors[row].code, errors[row].advice, input);
        check_shown(&p, want);
        process_fini(&p);
    }
}

static void json_and_yaml_have_the_same_members(void **state)
{
    process p;
    fixture_run(*state, &p, 4,
                WORDS("submit", "fail", "--quiet", "--input", "{\"code\":\"PERMISSION_DENIED\"}"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last", "--json"));
    check_output(
        &p,
        "{\"job_id\":\"job_...\",\"agent\":\"fail\",\"principal\":\"local\",\"status\":\"error\","
        "\"created_at\":\"TIME\",\"started_at\":\"TIME\",\"completed_at\":\"TIME\","
        "\"code\":\"PERMISSION_DENIED\",\"message\":\"as asked\",\"retryable\":false,"
        "\"trace_id\":\"TRACE\",\"lease\":{},\"input\":{\"code\":\"PERMISSION_DENIED\"},"
        "\"denials\":0,\"children\":[]}\n");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last", "-o", "yaml"));
    check_output(&p,
                 "job_id: \"job_...\"\nagent: \"fail\"\nprincipal: \"local\"\nstatus: \"error\"\n"
                 "created_at: \"TIME\"\nstarted_at: \"TIME\"\ncompleted_at: \"TIME\"\n"
                 "code: \"PERMISSION_DENIED\"\nmessage: \"as asked\"\nretryable: false\n"
                 "trace_id: \"TRACE\"\nlease: {}\ninput:\n  code: \"PERMISSION_DENIED\"\n"
                 "denials: 0\nchildren: []\n");
    process_fini(&p);
}

static void a_running_job_is_shown_at_once(void **state)
{
    process p, follower;
    char job[31] = "";
    fixture_run(*state, &p, 0, WORDS("submit", "progress", "--detach", "--quiet"));
    memcpy(job, p.out.data, 30);
    process_fini(&p);
    fixture_start(*state, &follower, WORDS("logs", job, "-f"));
    process_await(&follower, false, "progress  ");
    fixture_run(*state, &p, 0, WORDS("show", job));
    assert_non_null(memmem(p.out.data, p.out.size, "\nstatus    running\n", 19));
    assert_non_null(memmem(p.out.data, p.out.size, "\nprogress  ", 11));
    assert_non_null(memmem(p.out.data, p.out.size, "\nprogram   pid ", 15));
    assert_non_null(memmem(p.out.data, p.out.size, ", silent for ", 13));
    assert_null(memmem(p.out.data, p.out.size, "\nended", 6));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", job + 18, "-o", "name"));
    check_span(arcp_span_first(arcp_buf_span(&p.out), 30), job);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("cancel", job, "--quiet"));
    process_fini(&p);
    process_fini(&follower);
}

static void what_cannot_be_shown_is_refused(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("show", "job_x"));
    check_output(&p, "");
    check_errors(&p, "error: JOB_NOT_FOUND: there is no job \"job_x\"\n");
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("show", "@last", "-o", "xml"));
    check_errors(&p, "arcp show: --output: 'xml' is not one of table, json, yaml, name\n"
                     "try: arcp show --help\n");
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("show"));
    check_errors(&p, "arcp show: JOB is missing\ntry: arcp show --help\n");
    process_fini(&p);
}

/* With the sandbox of this host, whatever that can do. */
static void a_confined_job_is_shown_with_verdicts(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("submit", "hello", "--quiet", "--grant", "tool.call=x.*"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last", "--json"));
    const bool is_confined = memmem(p.out.data, p.out.size, "\"enforcement\":{", 15) != NULL;
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("show", "@last"));
    const char *want =
        is_confined ? "lease     tool.call x.* (advisory)\n" : "lease     tool.call x.*\n";
    if (memmem(p.out.data, p.out.size, want, strlen(want)) == NULL) {
        fail_msg("\"%s\" is missing in:\n%.*s", want, (int)p.out.size, p.out.data);
    }
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_shown_with_its_lease_and_costs),
        cmocka_unit_test(a_parent_is_shown_with_its_children_and_a_child_with_its_parent),
        cmocka_unit_test(an_operation_that_was_denied_is_shown),
        cmocka_unit_test(an_error_is_shown_with_what_to_do),
        cmocka_unit_test(json_and_yaml_have_the_same_members),
        cmocka_unit_test(a_running_job_is_shown_at_once),
        cmocka_unit_test(what_cannot_be_shown_is_refused),
    };
    const struct CMUnitTest confined[] = {
        cmocka_unit_test(a_confined_job_is_shown_with_verdicts),
    };
    const int failed = cmocka_run_group_tests(tests, fixture_begin_bare, fixture_end);
    return failed + cmocka_run_group_tests(confined, fixture_begin, fixture_end);
}
