/* Provisioned credentials: which peers get a value, rotation, children, usage (§9.8, §14). */
#include "engine/credential_rig.h"

/* ---- redaction ---- */

/* [arcp:7.6-8] [arcp:14-11] [arcp:14-12] */
static void other_principals_never_see_a_value(void **state)
{
    fixture *f = *state;
    char payload[256];
    f->rig.settings.authorization_subscribe = ARCP__SUBSCRIBE_ANY;
    f->rig.settings.credentials_rotate_sec = 60;
    const rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    hello_with(f, "b", "bob", FEATURES_ALL);
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\",\"history\":true}", agent->job_id);
    request(f, "b", "1", "job.subscribe", payload);
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    bool rotated = false;
    for (const char *frame = next(f, "b"); frame[0] != '\0'; frame = next(f, "b")) {
        check_has_not(frame, "sk-live");
        rotated = rotated || strstr(frame, "credential_rotated") != NULL;
    }
    assert_true(rotated);
}

/* [arcp:7.6-8] */
static void the_submitter_s_other_sessions_see_the_live_value(void **state)
{
    fixture *f = *state;
    char payload[256];
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    hello_with(f, "b", "alice", FEATURES_ALL);
    (void)next(f, "b");
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\"}", agent->job_id);
    request(f, "b", "1", "job.subscribe", payload);
    check_has(next(f, "b"), "\"value\":\"sk-live-0\"");
    request(f, "b", "2", "session.list_jobs", "{}");
    check_has(next(f, "b"), "\"value\":\"sk-live-0\"");
    request(f, "b", "2", "session.list_jobs", "{}"); /* the same envelope id again */
    check_has(next(f, "b"), "\"value\":\"sk-live-0\"");
    ends(f, agent);
    (void)next(f, "b");
    request(f, "b", "3", "session.list_jobs", "{}");
    check_has_not(next(f, "b"), "sk-live");
    request(f, "b", "1", "job.subscribe", payload); /* its cached response, after the end */
    check_has(next(f, "b"), "job.subscribed");
    check_has_not(f->frame, "sk-live");
}

/* Takes all frames of a client; none has a credential's value or a token. */
static size_t take_clean(fixture *f, const char *name)
{
    size_t answers = 0;
    for (const char *frame = next(f, name); frame[0] != '\0'; frame = next(f, name)) {
        answers += strstr(frame, ".answer\"") != NULL;
        check_has_not(frame, "sk-live");
        check_has_not(frame, "rt_");
        check_has_not(frame, "t-alice");
        check_has_not(frame, "o-olga");
    }
    return answers;
}

static void no_response_of_the_view_has_a_value_or_a_token(void **state)
{
    static const char *const names[] = {"jobs",      "job",   "events", "stderr",
                                        "schedules", "watch", "explain"};
    static const char *const of_roles[] = {"sessions", "figures", "agents", "hooks"};
    static const char *const readers[] = {"b", "o"};
    fixture *f = *state;
    char payload[256];
    f->rig.settings.credentials_rotate_sec = 60;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    hello_with(f, "b", "alice", "\"provisioned_credentials\",\"x-vendor.arcpd.view\"");
    (void)next(f, "b");
    (void)rig_connect(&f->rig, "o");
    request(f, "o", "h", "session.hello",
            "{\"client\":{\"name\":\"test\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"o-olga\"},"
            "\"capabilities\":{\"features\":[\"provisioned_credentials\",\"x-vendor.arcpd.view\","
            "\"x-vendor.arcpd.operate\"]}}");
    check_has(next(f, "o"), "session.welcome");
    for (unsigned round = 0; round < 3; round++) { /* it runs, it was rotated, it has ended */
        for (size_t reader = 0; reader < 2; reader++) {
            for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                char type[64];
                char id[16];
                (void)snprintf(type, sizeof type, "x-vendor.arcpd.%s", names[i]);
                (void)snprintf(id, sizeof id, "%u-%zu", round, i);
                (void)snprintf(
                    payload, sizeof payload,
                    "{\"job_id\":\"%s\",\"what\":[\"jobs\"],\"filter\":{\"agent\":\"echo\"},"
                    "\"agent\":\"echo\"%s}",
                    agent->job_id, reader == 1 && i == 5 ? ",\"principal\":\"*\"" : "");
                request(f, readers[reader], id, type, payload);
            }
        }
        for (size_t i = 0; i < sizeof of_roles / sizeof of_roles[0]; i++) {
            char type[64];
            (void)snprintf(type, sizeof type, "x-vendor.arcpd.%s", of_roles[i]);
            request(f, "o", of_roles[i], type, "{}");
        }
        rig_clock(&f->rig, ARCP_NS_PER_MS); /* what is read from the store comes in the next turn */
        assert_int_equal(take_clean(f, "b"), 7);
        assert_int_equal(take_clean(f, "o"), 11);
        if (round == 0) {
            rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
            assert_int_equal(f->up.issue_calls, 2);
        } else if (round == 1) {
            ends(f, agent);
            rig_clock(&f->rig, ARCP_NS_PER_SEC);
        }
        (void)take_clean(f, "b"); /* what changed */
        (void)take_clean(f, "o");
    }
}

static void the_same_submit_again_shows_the_value_while_it_lives(void **state)
{
    fixture *f = *state;
    start(f);
    submit(f, "1", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    (void)next(f, "a");
    (void)next(f, "a");
    submit(f, "1", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "\"value\":\"sk-live-0\"");
    submit(f, "2", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "\"value\":\"sk-live-0\"");
    ends(f, rig_agent_last(&f->rig));
    (void)next(f, "a");
    submit(f, "3", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}");
    check_has(next(f, "a"), "job.accepted");
    check_has_not(f->frame, "sk-live");
    assert_int_equal(f->up.issue_calls, 1);
}

/* [arcp:14-8] */
static void a_resume_over_an_open_link_shows_no_value(void **state)
{
    fixture *f = *state;
    rig_open(&f->rig);
    hello_with(f, "a", "alice", FEATURES_ALL);
    (void)next(f, "a");
    char token[128] = "";
    const char *found = strstr(f->frame, "rt_");
    assert_non_null(found);
    (void)snprintf(token, sizeof token, "%.*s", (int)strcspn(found, "\""), found);
    submit(f, "1", "{\"agent\":\"echo\"}");
    rig_drop(&f->rig, rig_find(&f->rig, "a"));
    f->rig.link = (arcp__link_options){.is_local = false};
    char resume[512];
    (void)snprintf(resume, sizeof resume,
                   "{\"arcp\":\"1.1\",\"id\":\"r\",\"type\":\"session.hello\",\"payload\":{\"auth\""
                   ":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"resume_token\":\"%s\","
                   "\"last_event_seq\":0}}",
                   token);
    rig_send(&f->rig, rig_connect(&f->rig, "a"), resume);
    check_has(next(f, "a"), "session.welcome");
    check_has(next(f, "a"), "job.accepted");
    check_has_not(f->frame, "sk-live");
}

/* ---- rotation ---- */

/* [arcp:9.8.2-8] [arcp:9.8.2-9] */
static void a_rotation_notifies_submitter_and_agent_and_revokes_the_old_value(void **state)
{
    fixture *f = *state;
    f->rig.settings.credentials_rotate_sec = 60;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    (void)next_line(f, agent);
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    check_has(next(f, "a"), "\"phase\":\"credential_rotated\"");
    check_has(f->frame, "\"details\":{\"generation\":2,\"id\":\"cred_");
    check_has(f->frame, ",\"value\":\"sk-live-1\"},\"value\":\"sk-live-1\"}");
    check_has(next_line(f, agent), "\"type\":\"job.credentials\"");
    check_has(f->frame, "\"value\":\"sk-live-1\"");
    assert_false(f->up.keys[0].is_live);
    assert_true(f->up.keys[1].is_live);
    assert_int_equal(outstanding(f), 1);
    ends(f, agent);
    upstream_check_all_revoked(&f->up, "rotated");
    assert_int_equal(f->up.revoke_calls, 2);
}

static void an_upstream_that_replaces_gets_no_revocation_of_the_old_value(void **state)
{
    fixture *f = *state;
    f->rig.settings.credentials_rotate_sec = 60;
    f->up.replaces = true;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.revoke_calls, 0);
    ends(f, agent);
    upstream_check_all_revoked(&f->up, "replaced");
    assert_int_equal(f->up.revoke_calls, 1);
}

static void a_replay_after_the_revocation_has_no_value(void **state)
{
    fixture *f = *state;
    char payload[256];
    f->rig.settings.credentials_rotate_sec = 60;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    ends(f, agent);
    hello_with(f, "b", "alice", FEATURES_ALL);
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\",\"history\":true}", agent->job_id);
    request(f, "b", "1", "job.subscribe", payload);
    bool rotated = false;
    for (const char *frame = next(f, "b"); frame[0] != '\0'; frame = next(f, "b")) {
        check_has_not(frame, "sk-live");
        rotated = rotated || strstr(frame, "credential_rotated") != NULL;
    }
    assert_true(rotated);
}

/* [arcp:9.8.2-7] */
static void a_value_that_ends_by_itself_is_replaced_in_time(void **state)
{
    fixture *f = *state;
    f->up.lifetime_sec = 100;
    (void)run_one(f, "{\"agent\":\"echo\"}");
    rig_clock(&f->rig, 74 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.issue_calls, 1);
    rig_clock(&f->rig, 2 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.issue_calls, 2);
}

static void a_rotation_that_fails_keeps_the_value_and_is_tried_again(void **state)
{
    fixture *f = *state;
    f->rig.settings.credentials_rotate_sec = 60;
    (void)run_one(f, "{\"agent\":\"echo\"}");
    f->up.issuing = UPSTREAM_REFUSES;
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    assert_true(f->up.keys[0].is_live);
    assert_int_equal(outstanding(f), 1);
    f->up.issuing = UPSTREAM_WELL;
    rig_clock(&f->rig, 5 * ARCP_NS_PER_SEC);
    assert_false(f->up.keys[0].is_live);
    assert_true(f->up.keys[1].is_live);
}

/* Checks that a job's credential in the table is valid upstream, and that every valid one upstream
 * is in the table. */
static void check_books(fixture *f, const char *alias_end)
{
    const char *alias = f->up.aliases[f->up.alias_count - 1];
    check_has(alias, alias_end);
    const upstream_key *key = upstream_find(&f->up, alias);
    assert_non_null(key);
    assert_true(key->is_live);
    assert_int_equal(upstream_live_count(&f->up), 1);
    assert_int_equal(outstanding(f), 1);
}

/* The request in doubt is still being revoked under its alias when the next one is made. */
static void a_rotation_in_doubt_is_tried_again_under_another_alias(void **state)
{
    fixture *f = *state;
    f->rig.settings.credentials_rotate_sec = 60;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    f->up.issuing = UPSTREAM_FAILS;
    rig_clock(&f->rig, 60 * ARCP_NS_PER_SEC + ARCP_NS_PER_SEC / 2);
    assert_int_equal(f->up.key_count, 1);
    f->up.issuing = UPSTREAM_WELL;
    rig_clock(&f->rig, 50 * ARCP_NS_PER_SEC);
    assert_int_equal(f->up.key_count, 2);
    assert_true(f->up.keys[1].is_live);
    check_has(f->up.keys[1].alias, ".3");
    rig_clock(&f->rig, 20 * ARCP_NS_PER_SEC); /* past credentials.settle_sec */
    check_books(f, ".4");
    ends(f, agent);
    upstream_check_all_revoked(&f->up, "in doubt");
    assert_int_equal(outstanding(f), 0);
}

static void a_late_response_to_a_revocation_ends_its_own_credential_only(void **state)
{
    fixture *f = *state;
    f->rig.settings.credentials_rotate_sec = 60;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    f->up.issuing = UPSTREAM_LOSES_ANSWERS;
    f->up.revoking = UPSTREAM_HOLDS_ANSWERS;
    rig_clock(&f->rig, 60 * ARCP_NS_PER_SEC + ARCP_NS_PER_SEC / 2);
    assert_int_equal(f->up.key_count, 2);
    assert_false(f->up.keys[1].is_live);
    f->up.issuing = UPSTREAM_WELL;
    rig_clock(&f->rig, 2 * ARCP_NS_PER_SEC);
    f->up.revoking = UPSTREAM_WELL;
    rig_run(&f->rig);
    check_books(f, ".3");
    ends(f, agent);
    upstream_check_all_revoked(&f->up, "late");
    assert_int_equal(outstanding(f), 0);
}

/* The reply to a request from before credentials.settle_sec had passed proves nothing. */
static void unknown_counts_if_it_was_requested_after_the_settling_time(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_TIMES_OUT;
    f->up.revoking = UPSTREAM_HOLDS_ANSWERS;
    submit(f, "1", "{\"agent\":\"echo\"}");
    f->up.issuing = UPSTREAM_WELL;
    upstream_deliver_orphans(&f->up); /* after the revocation was refused as unknown */
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    f->up.revoking = UPSTREAM_WELL;
    rig_run(&f->rig);
    assert_int_equal(outstanding(f), 1);
    rig_clock(&f->rig, 10 * ARCP_NS_PER_SEC);
    upstream_check_all_revoked(&f->up, "settled");
    assert_int_equal(outstanding(f), 0);
}

/* The store was slow: the request was sent long after it was recorded. */
static void the_settling_time_begins_when_the_value_is_requested(void **state)
{
    fixture *f = *state;
    start(f);
    f->up.issuing = UPSTREAM_TIMES_OUT;
    f->rig.hold_store = true;
    submit(f, "1", "{\"agent\":\"echo\"}");
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    f->rig.hold_store = false;
    rig_run(&f->rig);
    assert_int_equal(f->up.alias_count, 1);
    assert_int_equal(outstanding(f), 1);
    f->up.issuing = UPSTREAM_WELL;
    upstream_deliver_orphans(&f->up);
    assert_int_equal(upstream_live_count(&f->up), 1);
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    upstream_check_all_revoked(&f->up, "late request");
    assert_int_equal(outstanding(f), 0);
}

static void a_job_that_ends_while_its_credential_is_rotated_leaves_none(void **state)
{
    fixture *f = *state;
    f->rig.settings.credentials_rotate_sec = 60;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    f->up.issuing = UPSTREAM_STALLS;
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    ends(f, agent);
    f->up.issuing = UPSTREAM_WELL;
    rig_run(&f->rig);
    assert_int_equal(f->up.key_count, 2);
    upstream_check_all_revoked(&f->up, "ended");
}

/* ---- children ---- */

/* [arcp:9.8.2-10] [arcp:9.8.2-11] [arcp:9.8.2-13] */
static void a_child_gets_its_own_within_its_parent_s_budget(void **state)
{
    fixture *f = *state;
    f->up.terms.currency = "USD";
    f->up.terms.enforces = ARCP_ENFORCES_BUDGET;
    rig_agent *parent =
        run_one(f, "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"],"
                   "\"cost.budget\":[\"USD:5\"]}}");
    rig_agent_writes(&f->rig, parent,
                     "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
                     "\"cost.x\",\"value\":2,\"unit\":\"USD\"}}}");
    (void)next_line(f, parent);
    rig_agent_writes(&f->rig, parent,
                     "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\"}}");
    assert_int_equal(f->up.key_count, 2);
    assert_string_equal(f->up.keys[1].budget, "3");
    check_has(next_line(f, parent), "\"re\":\"d\"");
    check_has(f->frame, "\"job_id\":\"job_");
    rig_agent *child = rig_agent_last(&f->rig);
    assert_ptr_not_equal(child, parent);
    check_has(next_line(f, child), "\"value\":\"sk-live-1\"");
    /* The credential of a parent's child is revoked when the parent ends. */
    ends(f, parent);
    upstream_check_all_revoked(&f->up, "children");
    assert_int_equal(f->up.revoke_calls, 2);
}

static void a_child_without_a_credential_is_a_denial_in_its_parent(void **state)
{
    fixture *f = *state;
    rig_agent *parent =
        run_one(f, "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"]}}");
    (void)next_line(f, parent);
    f->up.issuing = UPSTREAM_REFUSES;
    rig_agent_writes(&f->rig, parent,
                     "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\"}}");
    check_has(next_line(f, parent), "\"code\":\"INTERNAL_ERROR\"");
    check_has(next(f, "a"), "\"kind\":\"tool_result\"");
    assert_int_equal(outstanding(f), 1);
}

/* [arcp:9.8.2-13] */
static void a_child_that_waits_for_its_credential_ends_with_its_parent(void **state)
{
    fixture *f = *state;
    rig_agent *parent =
        run_one(f, "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"]}}");
    f->up.issuing = UPSTREAM_STALLS;
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    ends(f, parent);
    f->up.issuing = UPSTREAM_WELL;
    rig_run(&f->rig);
    assert_int_equal(f->up.key_count, 2);
    upstream_check_all_revoked(&f->up, "child");
    assert_null(rig_agent_last(&f->rig));
}

static void a_child_is_announced_after_the_submits_before_it(void **state)
{
    static const char *const agents[] = {"work"};
    fixture *f = *state;
    f->up.terms.agents = agents;
    f->up.terms.agent_count = 1;
    rig_agent *parent =
        run_one(f, "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"]}}");
    f->up.issuing = UPSTREAM_STALLS;
    submit(f, "2", "{\"agent\":\"work\"}");
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"echo\"}}");
    assert_string_equal(next(f, "a"), "");
    f->up.issuing = UPSTREAM_WELL;
    rig_run(&f->rig);
    check_has(next(f, "a"), "\"id\":\"2\",\"type\":\"job.accepted\"");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    check_has(f->frame, "\"delegate_id\"");
}

/* ---- usage and errors ---- */

/* [arcp:9.6-13] [arcp:14-7] */
static void the_upstream_s_count_is_charged_beyond_what_the_agent_reported(void **state)
{
    fixture *f = *state;
    f->up.terms.currency = "USD";
    f->rig.settings.credentials_usage_sec = 10;
    rig_agent *agent =
        run_one(f, "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:5\"]}}");
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
                     "\"cost.x\",\"value\":1,\"unit\":\"USD\"}}}");
    (void)next(f, "a");
    check_has(next(f, "a"), "\"cost.budget.remaining\",\"value\":4");
    f->up.spent = "1.5";
    rig_clock(&f->rig, 11 * ARCP_NS_PER_SEC);
    check_has(next(f, "a"), "\"cost.budget.remaining\",\"value\":3.5");
    rig_clock(&f->rig, 10 * ARCP_NS_PER_SEC);
    assert_string_equal(next(f, "a"), ""); /* nothing new */
    assert_int_equal(f->up.usage_calls, 2);
    f->up.spent = "6";
    rig_clock(&f->rig, 10 * ARCP_NS_PER_SEC);
    check_has(next(f, "a"), "\"cost.budget.remaining\",\"value\":-1");
}

/* [arcp:9.6-12] */
static void the_upstream_s_budget_error_is_budget_exhausted(void **state)
{
    fixture *f = *state;
    rig_agent *agent = run_one(f, "{\"agent\":\"echo\"}");
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"job.error\",\"payload\":{\"code\":\"openai_error\",\"message\":"
                     "\"400 budget_exceeded\",\"details\":{\"status\":400}}}");
    check_has(next(f, "a"), "\"code\":\"BUDGET_EXHAUSTED\"");
    check_has(f->frame, "\"retryable\":false");
}

#define t(name) cmocka_unit_test_setup_teardown(name, credential_setup, credential_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(other_principals_never_see_a_value),
        t(the_submitter_s_other_sessions_see_the_live_value),
        t(no_response_of_the_view_has_a_value_or_a_token),
        t(the_same_submit_again_shows_the_value_while_it_lives),
        t(a_resume_over_an_open_link_shows_no_value),
        t(a_rotation_notifies_submitter_and_agent_and_revokes_the_old_value),
        t(an_upstream_that_replaces_gets_no_revocation_of_the_old_value),
        t(a_replay_after_the_revocation_has_no_value),
        t(a_value_that_ends_by_itself_is_replaced_in_time),
        t(a_rotation_that_fails_keeps_the_value_and_is_tried_again),
        t(a_rotation_in_doubt_is_tried_again_under_another_alias),
        t(a_late_response_to_a_revocation_ends_its_own_credential_only),
        t(unknown_counts_if_it_was_requested_after_the_settling_time),
        t(the_settling_time_begins_when_the_value_is_requested),
        t(a_job_that_ends_while_its_credential_is_rotated_leaves_none),
        t(a_child_gets_its_own_within_its_parent_s_budget),
        t(a_child_without_a_credential_is_a_denial_in_its_parent),
        t(a_child_that_waits_for_its_credential_ends_with_its_parent),
        t(a_child_is_announced_after_the_submits_before_it),
        t(the_upstream_s_count_is_charged_beyond_what_the_agent_reported),
        t(the_upstream_s_budget_error_is_budget_exhausted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
