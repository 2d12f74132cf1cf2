/* The host of an agent is asked before a job is made: what it admits and refuses, and who releases
 * the plan. */
#include "engine/confiner.h"
#include "engine/credential_rig.h"

#define PLAIN_FEATURES "\"cost.budget\",\"lease_expires_at\""

static confiner host;

static int set_up(void **state)
{
    const int result = credential_setup(state);
    fixture *f = *state;
    host = (confiner){0};
    confiner_attach(&host, &f->rig);
    return result;
}

/* Every plan was released, and once. */
static int tear_down(void **state)
{
    const int result = credential_teardown(state);
    assert_int_equal(host.plans, 0);
    return result;
}

static void open_plain(fixture *f)
{
    start_with(f, PLAIN_FEATURES);
}

/* ---- admission ---- */

static void the_host_is_asked_with_what_the_job_will_have(void **state)
{
    fixture *f = *state;
    open_plain(f);
    rig_policy(&f->rig, "{\"principal\":\"*\",\"agent\":\"*\","
                        "\"max_lease\":{\"fs.read\":[\"/srv/**\"]}}");
    submit(f, "1",
           "{\"agent\":\"echo\",\"lease_request\":{\"fs.read\":[\"/srv/a/**\",\"/etc/**\"]}}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    check_has(f->frame, host.job_id);
    check_has(f->frame, host.lease);
    assert_string_equal(host.lease, "{\"fs.read\":[\"/srv/a/**\"]}");
    assert_string_equal(host.agent, "echo");
    assert_true(host.cwd_is_fresh);
    check_has(host.cwd, "/job_");
    assert_string_equal(host.endpoint, "");
    assert_int_equal(host.asked, 1);
}

static void the_agent_sees_its_directory_where_the_sandbox_has_it(void **state)
{
    fixture *f = *state;
    open_plain(f);
    host.texts[ARCP__ADMIT_CWD] = "/inside";
    submit(f, "1", "{\"agent\":\"echo\",\"lease_request\":{\"fs.read\":[\"/inside/a\"]}}");
    rig_agent *agent = rig_agent_last(&f->rig);
    check_has(next_line(f, agent), "\"cwd\":\"/inside\"");
    assert_string_equal(agent->job->live->cwd, host.cwd); /* where it is on the host */
}

static void a_refused_submit_leaves_nothing(void **state)
{
    fixture *f = *state;
    open_plain(f);
    confiner_refuses(&host);
    submit(f, "1", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "\"code\":\"PERMISSION_DENIED\"");
    check_has(f->frame, "\"message\":\"fs.read /proc/** is refused, enforce.min is exact\"");
    check_has(f->frame, "\"verdict\":\"refused\"");
    check_has(f->frame, "\"retryable\":false");
    assert_null(rig_agent_last(&f->rig));
    /* Not even the key is used. */
    host = (confiner){0};
    submit(f, "2", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
}

static void a_machine_without_sandboxes_is_not_available(void **state)
{
    fixture *f = *state;
    open_plain(f);
    confiner_is_unavailable(&host);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"code\":\"AGENT_NOT_AVAILABLE\"");
    check_has(f->frame, "\"details\":{\"level\":\"none\",\"missing\":[\"userns\"]}");
}

static void any_other_status_is_an_internal_error(void **state)
{
    fixture *f = *state;
    open_plain(f);
    host.status = ARCP_E_NO_MEMORY;
    host.texts[ARCP__ADMIT_MESSAGE] = "out of memory";
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"code\":\"INTERNAL_ERROR\"");
    check_has(f->frame, "\"message\":\"out of memory\"");
    check_has(f->frame, "\"retryable\":true");
}

static void a_duplicate_key_is_not_asked_about(void **state)
{
    fixture *f = *state;
    open_plain(f);
    submit(f, "1", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    confiner_refuses(&host); /* it would not be admitted any more */
    submit(f, "2", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    (void)next(f, "a"); /* running */
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    assert_int_equal(host.asked, 1);
}

/* ---- credentials ---- */

static void a_job_that_is_refused_costs_no_credential(void **state)
{
    fixture *f = *state;
    start(f);
    confiner_refuses(&host);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"code\":\"PERMISSION_DENIED\"");
    check_has(f->frame, "\"verdict\":\"refused\"");
    assert_int_equal(f->up.issue_calls, 0);
    assert_int_equal(host.asked, 1);
}

static void the_host_is_asked_again_when_the_credential_is_there(void **state)
{
    fixture *f = *state;
    start(f);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    check_has(f->frame, host.job_id);
    assert_int_equal(host.asked, 2);
    assert_int_equal(host.released, 1); /* the plan of the first answer */
    assert_int_equal(host.plans, 1);
    assert_string_equal(host.endpoint, "https://gateway.example/v1");
}

/* ---- the inventory ---- */

static void agents_without_a_sandbox_are_shown(void **state)
{
    fixture *f = *state;
    arcp_error error = {0};
    rig_open(&f->rig);
    arcp__agent_registration agent = {.name = ARCP_SPAN_LITERAL("free"), .is_unconfined = true};
    check_ok(arcp__engine_register_agent(f->rig.engine, &agent, &error), &error);
    hello_with(f, "a", "alice", "\"agent_versions\"");
    check_has(next(f, "a"), "{\"name\":\"echo\",\"versions\":[]}");
    check_has(f->frame, "{\"name\":\"free\",\"versions\":[],\"x-vendor.arcpd.unconfined\":true}");
    agent.is_unconfined = false; /* a reload */
    check_ok(arcp__engine_register_agent(f->rig.engine, &agent, &error), &error);
    hello_with(f, "b", "alice", "\"agent_versions\"");
    check_has(next(f, "b"), "{\"name\":\"free\",\"versions\":[]}");
    hello_with(f, "c", "alice", "");
    check_has(next(f, "c"), "\"work\",\"free\"]");
}

/* ---- plans ---- */

static void a_plan_lives_until_its_agent_is_forgotten(void **state)
{
    fixture *f = *state;
    open_plain(f);
    submit(f, "1", "{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&f->rig);
    assert_non_null(agent);
    assert_ptr_equal(agent->job->live->enforcement->plan, host.last_plan);
    rig_agent_writes(&f->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    assert_int_equal(host.plans, 1); /* the job has ended, its agent has not */
    rig_agent_exits(&f->rig, agent, false, 0);
    assert_true(agent->forgotten);
    assert_int_equal(host.plans, 0);
    assert_int_equal(host.released, 1);
}

static void plans_are_released_with_the_engine(void **state)
{
    fixture *f = *state;
    open_plain(f);
    submit(f, "1", "{\"agent\":\"echo\"}");
    submit(f, "2", "{\"agent\":\"echo\"}");
    assert_int_equal(host.plans, 2);
    rig_restart(&f->rig);
    assert_int_equal(host.plans, 0);
    assert_int_equal(host.released, 2);
}

static void a_host_may_have_no_plan(void **state)
{
    fixture *f = *state;
    host.has_no_plan = true;
    open_plain(f);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    assert_int_equal(host.plans, 0);
}

/* ---- delegation ---- */

static void a_refused_delegation_tells_the_agent_why(void **state)
{
    fixture *f = *state;
    open_plain(f);
    submit(f, "1", "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"]}}");
    rig_agent *agent = rig_agent_last(&f->rig);
    confiner_refuses(&host);
    while (next_line(f, agent)[0] != '\0') {
    }
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"delegate\",\"id\":\"7\",\"payload\":{\"agent\":\"echo\"}}");
    check_has(next_line(f, agent), "\"re\":\"7\"");
    check_has(f->frame, "\"code\":\"PERMISSION_DENIED\"");
    check_has(f->frame, "\"pattern\":\"/proc/**\"");
    assert_int_equal(host.asked, 2);
    assert_ptr_equal(rig_agent_last(&f->rig), agent); /* no other was started */
}

static void a_delegation_is_admitted_with_its_own_lease(void **state)
{
    fixture *f = *state;
    open_plain(f);
    submit(f, "1",
           "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"],"
           "\"fs.read\":[\"/srv/**\"]}}");
    rig_agent *agent = rig_agent_last(&f->rig);
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"delegate\",\"id\":\"7\",\"payload\":{\"agent\":\"work@2.0.0\","
                     "\"lease_request\":{\"fs.read\":[\"/srv/a\"]}}}");
    assert_string_equal(host.agent, "work@2.0.0");
    assert_string_equal(host.lease, "{\"fs.read\":[\"/srv/a\"]}");
    assert_int_equal(host.plans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_host_is_asked_with_what_the_job_will_have, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_agent_sees_its_directory_where_the_sandbox_has_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_submit_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_machine_without_sandboxes_is_not_available, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(any_other_status_is_an_internal_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_duplicate_key_is_not_asked_about, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_is_refused_costs_no_credential, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_host_is_asked_again_when_the_credential_is_there,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(agents_without_a_sandbox_are_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_lives_until_its_agent_is_forgotten, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(plans_are_released_with_the_engine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_may_have_no_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_delegation_tells_the_agent_why, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_delegation_is_admitted_with_its_own_lease, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
