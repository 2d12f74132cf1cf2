/* Purses: the jobs of a principal that begin on one day share a budget above their own, which
 * survives restarts; a call's hold is stored before the call goes, and counts as spent if a restart
 * comes before its settlement. */
#include "engine/credential_rig.h"

#include "core/amount.h"

#define CALL "call_01ARZ3NDEKTSV4RRFFQ69G5FAV"

/* Every principal may spend 5 USD a day. */
static void open_rig(fixture *f)
{
    f->rig.credentials.terms = NULL;
    start(f);
    rig_policy(&f->rig, "{\"spend\":{\"cost.budget\":[\"USD:5\"]}}");
}

static rig_agent *run(fixture *f, const char *id)
{
    submit(f, id, "{\"agent\":\"echo\"}");
    return rig_agent_last(&f->rig);
}

/* The chain may continue to spend this. */
static void check_available(const rig_agent *agent, const char *amount)
{
    arcp_decimal remaining = ARCP_DECIMAL_ZERO;
    assert_true(arcp_budget_available(arcp_authority_budget(agent->job->live->authority),
                                      ARCP_SPAN_LITERAL("USD"), &remaining));
    check_amount(remaining, amount);
}

static void spends(fixture *f, rig_agent *agent, const char *amount)
{
    char line[200];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
                   "\"cost.work\",\"value\":%s,\"unit\":\"USD\"}}}",
                   amount);
    rig_agent_writes(&f->rig, agent, line);
}

/* What a gateway does: holds, and settles. The runtime's message has the hold's end. */
static bool holds(fixture *f, rig_agent *agent, const char *amount)
{
    char held[80];
    arcp_error err = {0};
    arcp_decimal value;
    (void)snprintf(held, sizeof held, "{\"USD\":\"%s\"}", amount);
    check_ok(arcp_decimal_parse(arcp_span_cstr(amount), &value, &err), &err);
    const bool fits = arcp_budget_reserve(arcp_authority_budget(agent->job->live->authority),
                                          ARCP_SPAN_LITERAL("USD"), value);
    if (fits) {
        arcp__engine_agent_message(
            f->rig.engine, f->rig.now, agent->job,
            &(arcp__job_message){.hold_id = ARCP_SPAN_LITERAL(CALL), .held = arcp_span_cstr(held)});
        rig_run(&f->rig);
    }
    return fits;
}

static void settles(fixture *f, rig_agent *agent, const char *held, const char *cost)
{
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp_decimal amounts[2];
    const char *texts[] = {held, cost};
    for (size_t i = 0; i < 2; i++) {
        arcp_error err = {0};
        check_ok(arcp_decimal_parse(arcp_span_cstr(texts[i]), &amounts[i], &err), &err);
    }
    const size_t count = arcp_budget_settle(arcp_authority_budget(agent->job->live->authority),
                                            ARCP_SPAN_LITERAL("USD"), amounts[0], amounts[1],
                                            reports, ARCP__JOB_PORT_REPORTS_MAX);
    const arcp__job_message message = {
        .kind = ARCP_EVENT_METRIC,
        .kind_text = ARCP_SPAN_LITERAL("metric"),
        .body = ARCP_SPAN_LITERAL("{\"name\":\"cost.inference\",\"value\":1,\"unit\":\"USD\"}"),
        .unit = ARCP_SPAN_LITERAL("USD"),
        .amount = amounts[1],
        .is_spent = true,
        .reports = reports,
        .report_count = count,
        .hold_id = ARCP_SPAN_LITERAL(CALL)};
    arcp__engine_agent_message(f->rig.engine, f->rig.now, agent->job, &message);
    rig_run(&f->rig);
}

/* Whether the agent's side was notified that its hold is durable. */
static bool is_stored(rig_agent *agent)
{
    bool found = false;
    for (char *line = rig_agent_take(agent); line != NULL; line = rig_agent_take(agent)) {
        found = found || strcmp(line, CALL) == 0;
        arcp_free(line);
    }
    return found;
}

/* A new engine on the same store, and a job on it. */
static rig_agent *restart(fixture *f)
{
    rig_restart(&f->rig);
    hello_with(f, "b", "alice", FEATURES_ALL);
    request(f, "b", "2", "job.submit", "{\"agent\":\"echo\"}");
    return rig_agent_last(&f->rig);
}

static void jobs_of_a_principal_share_a_purse(void **state)
{
    fixture *f = *state;
    open_rig(f);
    rig_agent *first = run(f, "1");
    rig_agent *second = run(f, "2");
    spends(f, first, "3");
    check_available(first, "2");
    check_available(second, "2");
    hello_with(f, "z", "bob", FEATURES_ALL);
    request(f, "z", "1", "job.submit", "{\"agent\":\"echo\"}");
    check_available(rig_agent_last(&f->rig), "5");
}

static void a_child_draws_on_the_purse_of_its_tree(void **state)
{
    fixture *f = *state;
    open_rig(f);
    submit(f, "1", "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work@*\"]}}");
    rig_agent *parent = rig_agent_last(&f->rig);
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    rig_agent *child = rig_agent_last(&f->rig);
    assert_ptr_not_equal(parent, child);
    assert_true(child->job->live->stores_holds);
    spends(f, child, "1.25");
    check_available(parent, "3.75");
}

static void a_job_draws_on_the_day_on_which_it_began(void **state)
{
    fixture *f = *state;
    open_rig(f);
    rig_agent *first = run(f, "1");
    spends(f, first, "3");
    rig_clock(&f->rig, 86400 * ARCP_NS_PER_SEC);
    rig_drop(&f->rig, rig_find(&f->rig, "a"));
    hello_with(f, "b", "alice", FEATURES_ALL);
    request(f, "b", "2", "job.submit", "{\"agent\":\"echo\"}");
    rig_agent *second = rig_agent_last(&f->rig);
    check_available(second, "5");
    check_available(first, "2");
}

static void a_purse_that_is_used_up_denies_everything_to_its_jobs(void **state)
{
    fixture *f = *state;
    open_rig(f);
    rig_agent *first = run(f, "1");
    rig_agent *second = run(f, "2");
    spends(f, first, "5");
    arcp_target_scratch scratch;
    arcp_decision decision;
    assert_false(arcp_authorize(second->job->live->authority, f->rig.now,
                                ARCP_SPAN_LITERAL("tool.call"), ARCP_SPAN_LITERAL("x"), &scratch,
                                &decision));
    assert_int_equal(decision.code, ARCP_E_BUDGET_EXHAUSTED);
}

static void a_principal_without_a_row_has_no_purse(void **state)
{
    fixture *f = *state;
    f->rig.credentials.terms = NULL;
    start(f);
    rig_agent *agent = run(f, "1");
    assert_null(agent->job->live->purse);
    assert_false(agent->job->live->stores_holds);
}

static void what_was_spent_survives_a_restart(void **state)
{
    fixture *f = *state;
    open_rig(f);
    spends(f, run(f, "1"), "1.75");
    check_available(restart(f), "3.25");
}

static void a_call_goes_when_its_hold_is_durable(void **state)
{
    fixture *f = *state;
    open_rig(f);
    rig_agent *agent = run(f, "1");
    f->rig.hold_store = true;
    assert_true(holds(f, agent, "2"));
    assert_false(is_stored(agent));
    f->rig.hold_store = false;
    rig_run(&f->rig);
    assert_true(is_stored(agent));
}

static void a_hold_without_a_settlement_is_spent_in_full_after_a_restart(void **state)
{
    fixture *f = *state;
    open_rig(f);
    assert_true(holds(f, run(f, "1"), "2"));
    check_available(restart(f), "3");
    /* It counts once. */
    check_available(restart(f), "3");
}

static void a_settled_hold_costs_what_it_cost(void **state)
{
    fixture *f = *state;
    open_rig(f);
    rig_agent *agent = run(f, "1");
    assert_true(holds(f, agent, "2"));
    settles(f, agent, "2", "0.5");
    check_available(restart(f), "4.5");
}

static void a_hold_that_was_given_back_costs_nothing(void **state)
{
    fixture *f = *state;
    open_rig(f);
    rig_agent *agent = run(f, "1");
    assert_true(holds(f, agent, "2"));
    arcp__engine_agent_message(f->rig.engine, f->rig.now, agent->job,
                               &(arcp__job_message){.hold_id = ARCP_SPAN_LITERAL(CALL)});
    rig_run(&f->rig);
    check_available(restart(f), "5");
}

static void a_queued_job_draws_on_the_purse_also_after_a_restart(void **state)
{
    fixture *f = *state;
    f->rig.max_jobs = 1;
    open_rig(f);
    rig_agent *first = run(f, "1");
    submit(f, "2", "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:4\"]}}");
    spends(f, first, "2");
    rig_restart(&f->rig); /* ends the first job, and starts the second one */
    rig_agent *second = rig_agent_last(&f->rig);
    assert_non_null(second->job->live->purse);
    check_available(second, "3");
    spends(f, second, "1");
    check_available(second, "2");
    check_amount(arcp_budget_remaining(second->job->budget, 0), "3");
}

static void a_store_that_is_not_durable_keeps_no_holds(void **state)
{
    fixture *f = *state;
    f->rig.is_volatile = true;
    open_rig(f);
    rig_agent *agent = run(f, "1");
    assert_false(agent->job->live->stores_holds);
    spends(f, agent, "1");
    check_available(agent, "4");
}

/* Killed before each step of a hold and its settlement. */
static void no_money_is_lost_whenever_the_process_is_killed(void **state)
{
    fixture *f = *state;
    unsigned seen[3] = {0};
    bool is_over = false;
    for (unsigned fuse = 1; !is_over; fuse++) {
        if (fuse != 1) {
            credential_teardown(state);
            assert_int_equal(credential_setup(state), 0);
            f = *state;
        }
        open_rig(f);
        rig_agent *agent = run(f, "1");
        (void)is_stored(agent);
        f->rig.fuse = fuse;
        assert_true(holds(f, agent, "2"));
        const bool was_sent = is_stored(agent);
        const bool was_settled = was_sent && !f->rig.is_dead;
        if (was_settled) {
            settles(f, agent, "2", "0.5");
        }
        is_over = !f->rig.is_dead;
        f->rig.fuse = 0;
        rig_agent *next = restart(f);
        arcp_decimal remaining = ARCP_DECIMAL_ZERO;
        char text[ARCP_DECIMAL_TEXT_MAX];
        assert_true(arcp_budget_available(arcp_authority_budget(next->job->live->authority),
                                          ARCP_SPAN_LITERAL("USD"), &remaining));
        (void)arcp_decimal_format(remaining, text);
        const bool is_free = strcmp(text, "5") == 0;
        const bool is_held = strcmp(text, "3") == 0;
        const bool is_settled = strcmp(text, "4.5") == 0;
        assert_true((is_free && !was_sent) || is_held || (is_settled && was_settled));
        seen[0] += is_free;
        seen[1] += is_held;
        seen[2] += is_settled;
    }
    assert_true(seen[0] != 0 && seen[1] != 0 && seen[2] != 0);
}

#define t(name) cmocka_unit_test_setup_teardown(name, credential_setup, credential_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(jobs_of_a_principal_share_a_purse),
        t(a_child_draws_on_the_purse_of_its_tree),
        t(a_job_draws_on_the_day_on_which_it_began),
        t(a_purse_that_is_used_up_denies_everything_to_its_jobs),
        t(a_principal_without_a_row_has_no_purse),
        t(what_was_spent_survives_a_restart),
        t(a_call_goes_when_its_hold_is_durable),
        t(a_hold_without_a_settlement_is_spent_in_full_after_a_restart),
        t(a_settled_hold_costs_what_it_cost),
        t(a_hold_that_was_given_back_costs_nothing),
        t(a_queued_job_draws_on_the_purse_also_after_a_restart),
        t(a_store_that_is_not_durable_keeps_no_holds),
        t(no_money_is_lost_whenever_the_process_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
