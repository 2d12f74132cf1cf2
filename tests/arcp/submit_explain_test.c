/* `arcp submit --explain` with a real arcpd whose agents run without sandboxes, or in them. */
#include "arcp/fixture.h"

#include <stdlib.h>
#include <unistd.h>

#define EXPLAIN(...) WORDS("submit", "wait", "--explain", __VA_ARGS__)

static void each_line_is_printed_and_no_job_is_made(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                EXPLAIN("--token", "t-one", "--grant", "tool.call=web.*", "--grant",
                        "fs.read=/srv/**", "--budget", "USD:5", "--expires-in", "10m"));
    check_output(&p, "CAPABILITY  PATTERN VERDICT  HOW\n"
                     "tool.call   web.*   advisory the agent runs without a sandbox\n"
                     "fs.read     /srv/** advisory the agent runs without a sandbox\n"
                     "cost.budget USD:5   exact    limits what the job may spend\n"
                     "wait would run without a sandbox: the lease decides only what the agent asks "
                     "about\n");
    check_errors(&p, "");
    process_fini(&p);
    fixture_run(*state, &p, 0, EXPLAIN("--token", "t-one"));
    check_output(&p, "wait would run without a sandbox: the lease decides only what the agent asks "
                     "about\n");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("jobs", "--token", "t-one", "-o", "name"));
    check_output(&p, "");
    process_fini(&p);
}

static void what_a_policy_removes_is_named(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                EXPLAIN("--token", "t-two", "--lease",
                        "{\"fs.read\": [\"/srv/a/**\", \"\\/etc\\/**\"], \"tool.call\": [\"*\"]}"));
    check_output(&p, "CAPABILITY PATTERN   VERDICT  HOW\n"
                     "fs.read    /srv/a/** advisory the agent runs without a sandbox\n"
                     "fs.read    /etc/**   removed  the operator's policy does not grant it\n"
                     "tool.call  *         removed  the operator's policy does not grant it\n"
                     "wait would run without a sandbox: the lease decides only what the agent asks "
                     "about\n");
    process_fini(&p);
}

static void json_is_the_runtimes_answer(void **state)
{
    process p;
    fixture_run(*state, &p, 0, EXPLAIN("--token", "t-two", "--json", "--grant", "fs.read=/**"));
    check_output(&p,
                 "{\"agent\":\"wait\",\"lease\":{\"fs.read\":[\"/srv/a/**\"]},\"runs\":true}\n");
    process_fini(&p);
}

static void what_a_submit_refuses_is_refused_with_the_same_error(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("submit", "nobody", "--explain", "--token", "t-one"));
    assert_non_null(strstr(p.err.data, "AGENT_NOT_AVAILABLE"));
    check_output(&p, "");
    process_fini(&p);
    fixture_run(*state, &p, 2, EXPLAIN("--token", "t-one", "--grant", "fs.read"));
    process_fini(&p);
}

/* An --output is not written, or emptied, when there is no result. */
static void the_options_of_a_submit_may_stay(void **state)
{
    const fixture *f = *state;
    process p;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/result", f->directory);
    fixture_run(f, &p, 0,
                EXPLAIN("--token", "t-one", "--detach", "--output", path, "--timeout", "1s",
                        "--input", "1"));
    assert_int_equal(access(path, F_OK), -1);
    process_fini(&p);
}

static void a_lease_that_cannot_be_enforced_well_enough_is_refused(void **state)
{
    process p;
    fixture_run(*state, &p, 4, EXPLAIN("--token", "t-one", "--grant", "fs.read=/proc/**"));
    assert_non_null(strstr(p.out.data, "\nwait would be refused: "));
    check_errors(&p, "");
    process_fini(&p);
    fixture_run(*state, &p, 4,
                EXPLAIN("--token", "t-one", "--json", "--grant", "fs.read=/proc/**"));
    assert_non_null(strstr(p.out.data, "\"runs\":false,"));
    process_fini(&p);
}

static void begin(void **state, bool is_confined)
{
    static const char agent[] = "wait=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/wait.sh";
    static fixture f;
    char config[512];
    arcpd_run_begin(&f);
    (void)snprintf(config, sizeof config,
                   "enforce: {%s}\n"
                   "tokens: [{token: t-one, principal: one}, {token: t-two, principal: two}]\n"
                   "policy: [{principal: two, max_lease: {fs.read: [/srv/a/**]}}]\n",
                   is_confined ? "min: exact" : "mode: off");
    arcpd_run_configure(&f, config);
    arcpd_run_start(&f, 0, WORDS("--store", "memory:", "--agent", agent));
    assert_int_equal(setenv("ARCP_URL", f.url, 1), 0);
    *state = &f;
}

static int begin_bare(void **state)
{
    begin(state, false);
    return 0;
}

static int begin_confined(void **state)
{
    begin(state, true);
    return 0;
}

int main(void)
{
    const struct CMUnitTest bare[] = {
        cmocka_unit_test(each_line_is_printed_and_no_job_is_made),
        cmocka_unit_test(what_a_policy_removes_is_named),
        cmocka_unit_test(json_is_the_runtimes_answer),
        cmocka_unit_test(what_a_submit_refuses_is_refused_with_the_same_error),
        cmocka_unit_test(the_options_of_a_submit_may_stay),
    };
    const struct CMUnitTest confined[] = {
        cmocka_unit_test(a_lease_that_cannot_be_enforced_well_enough_is_refused),
    };
    return cmocka_run_group_tests(bare, begin_bare, fixture_end) +
           cmocka_run_group_tests(confined, begin_confined, fixture_end);
}
