/* Provisioned credentials: which jobs get one, with which limits, and how it ends (§9.8). */
#include "engine/credential_rig.h"

/* ---- issue ---- */

/* [arcp:7.1-5] [arcp:9.8-1] [arcp:9.8.1-1] [arcp:9.8.1-5] [arcp:9.8.2-1] */
static void the_submitter_and_the_agent_get_the_value(void **state)
{
    fixture *f = *state;
    start(f);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"),
              "\"credentials\":[{\"id\":\"cred_"); /* job.accepted is the first frame */
    check_has(f->frame, "\"type\":\"job.accepted\"");
    check_has(f->frame, "\"scheme\":\"bearer\",\"value\":\"sk-live-0\",\"endpoint\":"
                        "\"https://gateway.example/v1\",\"profile\":\"openai\"");
    check_has_not(f->frame, "\"constraints\"");
    check_has(next_line(f, rig_agent_last(&f->rig)), "\"value\":\"sk-live-0\"");
    assert_int_equal(outstanding(f), 1);
    assert_int_equal(f->up.issue_calls, 1);
}

static void a_session_that_did_not_negotiate_it_gets_none(void **state)
{
    fixture *f = *state;
    start_with(f, "\"subscribe\",\"cost.budget\"");
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has_not(next(f, "a"), "credentials");
    check_has_not(next_line(f, rig_agent_last(&f->rig)), "credentials");
    assert_int_equal(f->up.issue_calls, 0);
}

static void check_is_not_offered(fixture *f)
{
    rig_open(&f->rig);
    hello_with(f, "a", "alice", FEATURES_ALL);
    check_has_not(next(f, "a"), "provisioned_credentials");
    check_has(f->frame, "\"model.use\""); /* which does not depend on a provisioner */
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has_not(next(f, "a"), "credentials");
    check_has_not(next_line(f, rig_agent_last(&f->rig)), "sk-live");
    assert_int_equal(f->up.issue_calls, 0);
}

/* [arcp:14-16] */
static void it_is_not_offered_without_a_durable_store(void **state)
{
    fixture *f = *state;
    f->rig.is_volatile = true;
    check_is_not_offered(f);
}

/* [arcp:14-8] */
static void it_is_not_offered_over_a_link_that_others_can_read(void **state)
{
    fixture *f = *state;
    f->rig.link = (arcp__link_options){.is_local = false, .is_encrypted = false};
    check_is_not_offered(f);
}

/* [arcp:9.8.2-2] [arcp:14-8] */
static void it_is_not_offered_to_anonymous_sessions(void **state)
{
    fixture *f = *state;
    f->rig.is_anonymous = true;
    check_is_not_offered(f);
}

static void it_is_not_offered_without_a_provisioner(void **state)
{
    fixture *f = *state;
    f->rig.credentials.terms = NULL;
    check_is_not_offered(f);
}

/* [arcp:14-8] */
static void it_is_offered_over_an_encrypted_link(void **state)
{
    fixture *f = *state;
    f->rig.link = (arcp__link_options){.is_encrypted = true};
    rig_open(&f->rig);
    hello_with(f, "a", "alice", FEATURES_ALL);
    check_has(next(f, "a"), "provisioned_credentials");
}

/* [arcp:7.1-5] */
static void agents_that_the_operator_did_not_name_get_none(void **state)
{
    static const char *const agents[] = {"work", "oth*"};
    fixture *f = *state;
    f->up.terms.agents = agents;
    f->up.terms.agent_count = 2;
    start(f);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has_not(next(f, "a"), "credentials");
    (void)next(f, "a");
    submit(f, "2", "{\"agent\":\"work\"}");
    check_has(next(f, "a"), "credentials");
}

/* ---- constraints ---- */

static void with_gateway(fixture *f)
{
    static const char *const models[] = {"tier-fast/a", "tier-fast/b", "tier-slow/a"};
    f->up.terms.models = models;
    f->up.terms.model_count = 3;
    f->up.terms.currency = "USD";
    f->up.terms.enforces = ARCP_ENFORCES_BUDGET | ARCP_ENFORCES_MODELS | ARCP_ENFORCES_EXPIRY;
    start(f);
}

/* [arcp:9.7-3] [arcp:9.8.3-1] [arcp:9.8.3-2] [arcp:9.8.3-3] [arcp:9.8.3-4] [arcp:LA-21] */
static void the_lease_becomes_the_upstream_s_limits(void **state)
{
    fixture *f = *state;
    with_gateway(f);
    submit(f, "1",
           "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:5.00\",\"EUR:1\"],"
           "\"model.use\":[\"tier-fast/*\"]},\"lease_constraints\":{\"expires_at\":"
           "\"2026-01-01T01:00:00Z\"}}");
    check_has(next(f, "a"),
              "\"constraints\":{\"cost.budget\":[\"USD:5\"],\"model.use\":[\"tier-fast/a\","
              "\"tier-fast/b\"],\"expires_at\":\"2026-01-01T01:00:00.000Z\"}");
    assert_string_equal(f->up.keys[0].budget, "5");
    assert_int_equal(f->up.keys[0].model_count, 2);
    assert_string_equal(f->up.keys[0].expires_at, "2026-01-01T01:00:00.000Z");
}

/* [arcp:9.8.1-6] [arcp:9.8.3-6] */
static void constraints_list_only_what_the_upstream_enforces(void **state)
{
    fixture *f = *state;
    static const char *const models[] = {"m"};
    f->up.terms.models = models;
    f->up.terms.model_count = 1;
    f->up.terms.currency = "USD";
    f->up.terms.enforces = ARCP_ENFORCES_BUDGET;
    start(f);
    submit(f, "1",
           "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"],"
           "\"model.use\":[\"*\"]}}");
    check_has(next(f, "a"), "\"constraints\":{\"cost.budget\":[\"USD:2\"]}");
}

static void constraints_of_gateways_are_what_the_lease_has(void **state)
{
    fixture *f = *state;
    f->up.terms.enforces = ARCP_ENFORCES_LEASE | ARCP_ENFORCES_EXPIRY;
    start(f);
    submit(f, "1",
           "{\"agent\":\"echo\",\"lease_request\":{\"fs.read\":[\"/x\"],\"tool.call\":[\"web.*\"],"
           "\"cost.budget\":[\"USD:5.00\",\"EUR:1\"],\"model.use\":[\"tier-fast/*\",\"m\"]},"
           "\"lease_constraints\":{\"expires_at\":\"2026-01-01T01:00:00Z\"}}");
    check_has(next(f, "a"), "\"constraints\":{\"cost.budget\":[\"USD:5\",\"EUR:1\"],"
                            "\"tool.call\":[\"web.*\"],\"model.use\":[\"tier-fast/*\",\"m\"],"
                            "\"expires_at\":\"2026-01-01T01:00:00.000Z\"}");
    /* An empty lease has nothing that a key could be limited to: the gate denies each call. */
    (void)next(f, "a");
    submit(f, "2", "{\"agent\":\"echo\"}");
    const char *frame = next(f, "a");
    check_has(frame, "\"value\":\"sk-live-1\"");
    check_has_not(frame, "constraints");
}

/* [arcp:9.8.3-5] */
static void the_gate_enforces_what_the_upstream_does_not(void **state)
{
    fixture *f = *state;
    f->up.terms.currency = "USD";
    f->up.terms.enforces = ARCP_ENFORCES_BUDGET;
    rig_agent *agent =
        run_one(f, "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"],"
                   "\"tool.call\":[\"web.*\"]}}");
    check_has(next_line(f, agent), "\"value\":\"sk-live-0\"");
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"authorize\",\"id\":\"1\",\"payload\":"
                     "{\"capability\":\"tool.call\",\"target\":\"web.search\"}}");
    check_has(next_line(f, agent), "\"allow\":true");
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"authorize\",\"id\":\"2\",\"payload\":"
                     "{\"capability\":\"tool.call\",\"target\":\"shell\"}}");
    check_has(next_line(f, agent), "\"code\":\"PERMISSION_DENIED\"");
}

static void a_lease_without_models_gets_no_credential(void **state)
{
    fixture *f = *state;
    with_gateway(f);
    submit(f, "1", "{\"agent\":\"echo\",\"lease_request\":{\"tool.call\":[\"*\"]}}");
    check_has_not(next(f, "a"), "credentials");
    (void)next(f, "a");
    submit(f, "2", "{\"agent\":\"echo\",\"lease_request\":{\"model.use\":[\"tier-none/*\"]}}");
    check_has_not(next(f, "a"), "credentials");
    assert_int_equal(f->up.issue_calls, 0);
}

static void a_budget_of_nothing_gets_no_credential(void **state)
{
    fixture *f = *state;
    with_gateway(f);
    submit(f, "1",
           "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:0\"],"
           "\"model.use\":[\"*/*\"]}}");
    check_has_not(next(f, "a"), "credentials");
    check_has(f->frame, "job.accepted");
}

/* ---- refusals ---- */

/* [arcp:9.8.2-1] */
static void a_refusal_refuses_the_submit_and_leaves_nothing(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_REFUSES;
    submit(f, "1", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "\"code\":\"INTERNAL_ERROR\"");
    check_has(f->frame, "\"request_id\":\"1\"");
    assert_null(rig_agent_last(&f->rig));
    assert_int_equal(outstanding(f), 0);
    f->up.issuing = UPSTREAM_WELL;
    submit(f, "2", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "job.accepted"); /* the key was released */
}

static void an_upstream_without_budget_is_budget_exhausted(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_IS_EXHAUSTED;
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"code\":\"BUDGET_EXHAUSTED\"");
}

static void a_value_whose_response_was_lost_is_revoked_by_alias(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_LOSES_ANSWERS;
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"code\":\"INTERNAL_ERROR\"");
    upstream_check_all_revoked(&f->up, "lost");
    assert_int_equal(f->up.key_count, 1);
    assert_int_equal(outstanding(f), 0);
}

static void revoking_an_unknown_alias_is_repeated_until_it_has_settled(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_FAILS;
    submit(f, "1", "{\"agent\":\"echo\"}");
    assert_int_equal(outstanding(f), 1); /* the request may still arrive */
    rig_clock(&f->rig, 59 * ARCP_NS_PER_SEC);
    assert_int_equal(outstanding(f), 1);
    rig_clock(&f->rig, 2 * ARCP_NS_PER_SEC);
    assert_int_equal(outstanding(f), 0);
}

static void an_empty_value_is_refused_and_revoked(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_EMPTY_VALUE;
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "no usable value");
    upstream_check_all_revoked(&f->up, "empty");
}

/* [arcp:9.8.2-3] [arcp:14-9] */
static void no_value_serves_two_jobs(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_SAME_VALUE;
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "job.accepted");
    (void)next(f, "a");
    submit(f, "2", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "a value that another job already has");
    assert_true(f->up.keys[0].is_live);
    assert_false(f->up.keys[1].is_live);
}

/* ---- order ---- */

static void a_slow_upstream_keeps_the_order_of_responses_and_blocks_no_ping(void **state)
{
    fixture *f = *state;
    static const char *const agents[] = {"work"};
    f->up.terms.agents = agents;
    f->up.terms.agent_count = 1;
    start(f);
    f->up.issuing = UPSTREAM_STALLS;
    submit(f, "1", "{\"agent\":\"work\"}");
    submit(f, "2", "{\"agent\":\"nobody\"}"); /* which need none */
    submit(f, "3", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    submit(f, "4", "{\"agent\":\"echo\",\"idempotency_key\":\"k\",\"input\":1}");
    submit(f, "5", "{\"agent\":\"work\"}");
    submit(f, "6", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    request(f, "a", "p", "session.ping", "{\"nonce\":\"n\"}");
    check_has(next(f, "a"), "session.pong");
    assert_string_equal(next(f, "a"), "");
    assert_null(rig_agent_last(&f->rig));
    f->up.issuing = UPSTREAM_WELL;
    rig_run(&f->rig);
    char order[64] = "";
    unsigned running = 0;
    for (const char *frame = next(f, "a"); frame[0] != '\0'; frame = next(f, "a")) {
        const char *id = strstr(frame, "\"request_id\":\"");
        running += strstr(frame, "\"phase\":\"running\"") != NULL ? 1 : 0;
        if (id != NULL) {
            (void)snprintf(order + strlen(order), sizeof order - strlen(order), "%c%s ",
                           id[strlen("\"request_id\":\"")],
                           strstr(frame, "job.accepted") == NULL ? "!" : "");
        }
    }
    assert_string_equal(order, "1 2! 3 4! 5 6 ");
    assert_int_equal(running, 3);
}

static void the_same_key_waits_for_the_job_that_is_being_made(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_STALLS;
    hello_with(f, "b", "alice", FEATURES_ALL);
    (void)next(f, "b");
    submit(f, "1", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    request(f, "b", "1", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    f->up.issuing = UPSTREAM_WELL;
    rig_run(&f->rig);
    check_has(next(f, "a"), "\"value\":\"sk-live-0\"");
    check_has(next(f, "b"), "\"value\":\"sk-live-0\"");
    assert_int_equal(f->up.issue_calls, 1);
}

static void a_submit_that_waits_counts_as_running(void **state)
{
    fixture *f = *state;
    f->rig.settings.limits_jobs_per_session = 2;
    start(f);
    f->up.issuing = UPSTREAM_STALLS;
    submit(f, "1", "{\"agent\":\"echo\"}");
    submit(f, "2", "{\"agent\":\"echo\"}");
    submit(f, "3", "{\"agent\":\"echo\"}");
    submit(f, "4", "{\"agent\":\"echo\"}");
    f->up.issuing = UPSTREAM_WELL;
    rig_run(&f->rig);
    unsigned accepted = 0;
    unsigned refused = 0;
    for (const char *frame = next(f, "a"); frame[0] != '\0'; frame = next(f, "a")) {
        accepted += strstr(frame, "job.accepted") != NULL ? 1 : 0;
        refused += strstr(frame, "limits.jobs_per_session") != NULL ? 1 : 0;
    }
    assert_int_equal(accepted, 2);
    assert_int_equal(refused, 2);
}

/* ---- revocation ---- */

static void check_one_end(fixture *f)
{
    assert_int_equal(f->up.key_count, 1);
    upstream_check_all_revoked(&f->up, "end");
    assert_int_equal(f->up.revoke_calls, 1);
    assert_int_equal(outstanding(f), 0);
}

/* [arcp:9.8.2-4] */
static void success_revokes_once(void **state)
{
    fixture *f = *state;
    ends(f, run_one(f, "{\"agent\":\"echo\"}"));
    check_one_end(f);
}

/* [arcp:9.8.2-4] */
static void an_error_revokes_once(void **state)
{
    fixture *f = *state;
    rig_agent_exits(&f->rig, run_one(f, "{\"agent\":\"echo\"}"), false, 3);
    check_one_end(f);
}

/* [arcp:9.8.2-4] */
static void a_cancel_revokes_once(void **state)
{
    fixture *f = *state;
    char payload[128];
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\"}", agent->job_id);
    request(f, "a", "2", "job.cancel", payload);
    request(f, "a", "3", "job.cancel", payload);
    ends(f, agent);
    check_one_end(f);
}

/* [arcp:9.8.2-4] */
static void a_time_out_revokes_once(void **state)
{
    fixture *f = *state;
    (void)run_one(f, "{\"agent\":\"echo\",\"max_runtime_sec\":5}");
    rig_clock(&f->rig, 6 * ARCP_NS_PER_SEC);
    check_one_end(f);
}

/* [arcp:9.8.2-4] */
static void an_expiry_revokes_once(void **state)
{
    fixture *f = *state;
    (void)run_one(f, "{\"agent\":\"echo\",\"lease_constraints\":{\"expires_at\":"
                     "\"2026-01-01T00:00:30Z\"}}");
    rig_clock(&f->rig, 31 * ARCP_NS_PER_SEC);
    check_one_end(f);
}

static void a_shutdown_revokes_once_and_waits_for_it(void **state)
{
    fixture *f = *state;
    (void)run_one(f, "{\"agent\":\"echo\"}");
    f->up.revoking = UPSTREAM_STALLS;
    arcp__engine_shutdown(f->rig.engine, f->rig.now, false);
    arcp__engine_shutdown(f->rig.engine, f->rig.now, false);
    rig_clock(&f->rig, 11 * ARCP_NS_PER_SEC);
    rig_agent_exits(&f->rig, &f->rig.agents[0], true, 9);
    assert_false(arcp__engine_is_finished(f->rig.engine));
    f->up.revoking = UPSTREAM_WELL;
    rig_run(&f->rig);
    check_one_end(f);
    assert_true(arcp__engine_is_finished(f->rig.engine));
}

static void a_client_that_disconnects_keeps_its_job_and_its_credential(void **state)
{
    fixture *f = *state;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    rig_drop(&f->rig, rig_find(&f->rig, "a"));
    assert_int_equal(f->up.revoke_calls, 0);
    ends(f, agent);
    check_one_end(f);
}

/* [arcp:9.8.2-5] [arcp:9.8.2-6] */
static void revoking_is_retried_with_growing_pauses_and_becomes_stuck(void **state)
{
    fixture *f = *state;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    f->up.revoking = UPSTREAM_FAILS;
    ends(f, agent);
    assert_int_equal(f->up.revoke_calls, 1);
    rig_clock(&f->rig, 1 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.revoke_calls, 2);
    rig_clock(&f->rig, 2 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.revoke_calls, 3);
    rig_clock(&f->rig, 4 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.revoke_calls, 4);
    assert_int_equal(stuck(f), 0);
    assert_string_equal(f->up.last_error, "");
    rig_clock(&f->rig, 8 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.revoke_calls, 5);
    assert_int_equal(stuck(f), 1); /* credentials.stuck_after is 5 */
    check_has(f->up.last_error, " cannot be revoked after 5 attempts");
    rig_clock(&f->rig, INT64_C(3600) * ARCP_NS_PER_SEC);
    assert_true(f->up.revoke_calls > 15); /* at the latest every 300 s */
    assert_true(f->up.revoke_calls < 30);
    rig_restart(&f->rig);
    assert_int_equal(stuck(f), 1); /* it is kept in the store */
    f->up.revoking = UPSTREAM_WELL;
    rig_clock(&f->rig, 301 * ARCP_NS_PER_SEC);
    upstream_check_all_revoked(&f->up, "stuck");
    assert_int_equal(stuck(f), 0);
    assert_int_equal(outstanding(f), 0);
}

static void without_its_provisioner_a_credential_is_stuck_and_kept(void **state)
{
    fixture *f = *state;
    (void)run_one(f, "{\"agent\":\"echo\"}");
    const arcp_provisioner_terms *terms = f->rig.credentials.terms;
    f->rig.credentials.terms = NULL;
    rig_restart(&f->rig);
    assert_int_equal(stuck(f), 1);
    assert_int_equal(f->up.revoke_calls, 0);
    f->rig.credentials.terms = terms;
    rig_restart(&f->rig);
    check_one_end(f);
}

#define t(name) cmocka_unit_test_setup_teardown(name, credential_setup, credential_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(the_submitter_and_the_agent_get_the_value),
        t(a_session_that_did_not_negotiate_it_gets_none),
        t(it_is_not_offered_without_a_durable_store),
        t(it_is_not_offered_over_a_link_that_others_can_read),
        t(it_is_not_offered_to_anonymous_sessions),
        t(it_is_not_offered_without_a_provisioner),
        t(it_is_offered_over_an_encrypted_link),
        t(agents_that_the_operator_did_not_name_get_none),
        t(the_lease_becomes_the_upstream_s_limits),
        t(constraints_list_only_what_the_upstream_enforces),
        t(constraints_of_gateways_are_what_the_lease_has),
        t(the_gate_enforces_what_the_upstream_does_not),
        t(a_lease_without_models_gets_no_credential),
        t(a_budget_of_nothing_gets_no_credential),
        t(a_refusal_refuses_the_submit_and_leaves_nothing),
        t(an_upstream_without_budget_is_budget_exhausted),
        t(a_value_whose_response_was_lost_is_revoked_by_alias),
        t(revoking_an_unknown_alias_is_repeated_until_it_has_settled),
        t(an_empty_value_is_refused_and_revoked),
        t(no_value_serves_two_jobs),
        t(a_slow_upstream_keeps_the_order_of_responses_and_blocks_no_ping),
        t(the_same_key_waits_for_the_job_that_is_being_made),
        t(a_submit_that_waits_counts_as_running),
        t(success_revokes_once),
        t(an_error_revokes_once),
        t(a_cancel_revokes_once),
        t(a_time_out_revokes_once),
        t(an_expiry_revokes_once),
        t(a_shutdown_revokes_once_and_waits_for_it),
        t(a_client_that_disconnects_keeps_its_job_and_its_credential),
        t(revoking_is_retried_with_growing_pauses_and_becomes_stuck),
        t(without_its_provisioner_a_credential_is_stuck_and_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
