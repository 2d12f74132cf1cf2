/* What is shown of a job's sandbox: the first event, denials and their limits, the audit log, the
 * failed set-up, and the end when the lease has expired or a budget is used up. */
#include <stdio.h>

#include "engine/confiner.h"
#include "engine/credential_rig.h"

#define FEATURES "\"cost.budget\",\"lease_expires_at\",\"subscribe\""

static confiner host;

static int set_up(void **state)
{
    const int result = credential_setup(state);
    fixture *f = *state;
    host = (confiner){0};
    confiner_confines(&host);
    confiner_attach(&host, &f->rig);
    f->rig.keep_audit = true;
    return result;
}

static int tear_down(void **state)
{
    const int result = credential_teardown(state);
    assert_int_equal(host.plans, 0);
    return result;
}

/* Submits, and takes the frames up to `running`. */
static rig_agent *begin(fixture *f, const char *payload)
{
    start_with(f, FEATURES);
    submit(f, "1", payload);
    while (strstr(next(f, "a"), "\"phase\":\"running\"") == NULL) {
        assert_string_not_equal(f->frame, "");
    }
    return rig_agent_last(&f->rig);
}

static void deny(fixture *f, const rig_agent *agent, const char *target, uint64_t count)
{
    const arcp__denial denial = {.layer = ARCP__DENIAL_BROKER,
                                 .code = ARCP_E_PERMISSION_DENIED,
                                 .capability = ARCP_SPAN_LITERAL("fs.read"),
                                 .target = arcp_span_cstr(target),
                                 .reason = ARCP_SPAN_LITERAL("NO_MATCH"),
                                 .program = ARCP_SPAN_LITERAL("python3"),
                                 .pid = 7,
                                 .count = count};
    arcp__engine_agent_denied(f->rig.engine, f->rig.now, agent->job, 0, &denial);
    rig_run(&f->rig);
}

static unsigned audit_lines(const fixture *f, const char *part)
{
    unsigned found = 0;
    for (const rig_text *line = f->rig.audit_records; line != NULL; line = line->next) {
        found += strstr(line->text, part) != NULL;
    }
    return found;
}

/* The text of the metrics has this line. */
static void check_metric(fixture *f, const char *line)
{
    arcp_buf out = arcp_buf_init();
    arcp__engine_write_metrics(f->rig.engine, &out);
    check_has(arcp_buf_cstr(&out), line);
    arcp_buf_fini(&out);
}

/* ---- the first event ---- */

static void the_first_event_says_how_the_job_is_confined(void **state)
{
    fixture *f = *state;
    start_with(f, FEATURES);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    check_has(next(f, "a"), "\"kind\":\"status\"");
    check_has(f->frame, "\"body\":{\"phase\":\"enforcement\",\"message\":\"2 exact, 1 refused\","
                        "\"level\":\"full\",\"lines\":[{\"capability\":\"net.fetch\"");
    check_has(f->frame, "\"base\":[\"/usr\"]}");
    check_has(next(f, "a"), "\"phase\":\"running\"");
    assert_int_equal(audit_lines(f, "\"event\":\"enforcement\",\"decision\":\"confined\""), 1);
    assert_int_equal(audit_lines(f, "\"level\":\"full\",\"plan_sha256\":\"0123456789abcdef\","
                                    "\"lines\":[{\"pattern\":\"https://x/v1/*\""),
                     1);
}

static void a_lease_that_needs_no_word_gets_no_event(void **state)
{
    fixture *f = *state;
    host.is_shown = false;
    start_with(f, FEATURES);
    submit(f, "1", "{\"agent\":\"echo\"}");
    check_has(next(f, "a"), "\"type\":\"job.accepted\"");
    check_has(next(f, "a"), "\"phase\":\"running\"");
    assert_int_equal(audit_lines(f, "\"event\":\"enforcement\""), 1); /* audited all the same */
}

static void an_agent_that_is_not_confined_gets_a_warning(void **state)
{
    fixture *f = *state;
    host = (confiner){.texts = {[ARCP__ADMIT_WARNING] = "nothing confines this agent"}};
    start_with(f, FEATURES);
    submit(f, "1", "{\"agent\":\"echo\"}");
    (void)next(f, "a");
    check_has(next(f, "a"), "\"level\":\"warn\",\"message\":\"nothing confines this agent\"");
    assert_int_equal(audit_lines(f, "\"event\":\"enforcement\""), 0);
}

static void lines_that_do_not_fit_a_frame_are_left_out(void **state)
{
    fixture *f = *state;
    arcp_buf lines = arcp_buf_init();
    arcp_buf_append_byte(&lines, '[');
    for (size_t i = 0; i < f->rig.settings.limits_frame_bytes; i += 8) {
        arcp_buf_append_cstr(&lines, i == 0 ? "\"12345\"" : ",\"12345\"");
    }
    arcp_buf_append_byte(&lines, ']');
    host.texts[ARCP__ADMIT_LINES] = arcp_buf_cstr(&lines);
    start_with(f, FEATURES);
    submit(f, "1", "{\"agent\":\"echo\"}");
    (void)next(f, "a");
    check_has(next(f, "a"), "\"message\":\"2 exact, 1 refused\",\"level\":\"full\"}");
    check_has(next(f, "a"), "\"phase\":\"running\"");
    arcp_buf_fini(&lines);
}

static void the_event_is_there_after_a_restart(void **state)
{
    fixture *f = *state;
    (void)begin(f, "{\"agent\":\"echo\"}");
    char job_id[64];
    (void)snprintf(job_id, sizeof job_id, "%s", host.job_id);
    rig_restart(&f->rig);
    hello_with(f, "b", "alice", FEATURES);
    (void)next(f, "b");
    char payload[128];
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\",\"history\":true}", job_id);
    request(f, "b", "2", "job.subscribe", payload);
    check_has(next(f, "b"), "\"type\":\"job.subscribed\"");
    check_has(next(f, "b"), "\"phase\":\"enforcement\"");
}

/* ---- denials ---- */

static void each_denied_operation_is_one_event(void **state)
{
    fixture *f = *state;
    const rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    deny(f, agent, "/etc/shadow", 1);
    check_has(next(f, "a"), "{\"phase\":\"denied\",\"message\":\"fs.read /etc/shadow\","
                            "\"capability\":\"fs.read\",\"target\":\"/etc/shadow\","
                            "\"code\":\"PERMISSION_DENIED\",\"reason\":\"NO_MATCH\","
                            "\"layer\":\"broker\",\"program\":\"python3\",\"pid\":7,\"count\":1}");
    deny(f, agent, "/etc/shadow", 5);
    assert_string_equal(next(f, "a"), "");
    deny(f, agent, "/etc/gshadow", 2);
    check_has(next(f, "a"), "\"target\":\"/etc/gshadow\"");
    check_has(f->frame, "\"count\":2}");
    check_metric(f, "arcp_enforcement_denials_total{capability=\"fs.read\",layer=\"broker\"} 8\n");
    check_metric(f, "arcp_denials_total{code=\"PERMISSION_DENIED\",capability=\"fs.read\"} 8\n");
}

static void denials_beyond_the_limit_are_summarised(void **state)
{
    fixture *f = *state;
    f->rig.settings.enforce_denials_per_job = 2;
    rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    deny(f, agent, "/a", 1);
    deny(f, agent, "/b", 1);
    check_has(next(f, "a"), "\"target\":\"/a\"");
    check_has(next(f, "a"), "\"target\":\"/b\"");
    deny(f, agent, "/c", 3);
    deny(f, agent, "/a", 4);
    assert_string_equal(next(f, "a"), "");
    rig_agent_writes(&f->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    check_has(next(f, "a"),
              "\"body\":{\"phase\":\"denied\",\"message\":\"7 more denials\",\"count\":7}");
    check_has(next(f, "a"), "\"type\":\"job.result\"");
    /* The audit log has /a, /b and /c; the repetitions are counted when the agent has exited. */
    assert_int_equal(audit_lines(f, "\"layer\":\"broker\""), 3);
    assert_int_equal(audit_lines(f, "\"reason\":\"REPEATED\""), 0);
    rig_agent_exits(&f->rig, agent, false, 0);
    assert_int_equal(audit_lines(f, "\"count\":4,\"reason\":\"REPEATED\""), 1);
}

static void a_limit_of_zero_leaves_only_the_summary(void **state)
{
    fixture *f = *state;
    f->rig.settings.enforce_denials_per_job = 0;
    rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    deny(f, agent, "/a", 1);
    assert_string_equal(next(f, "a"), "");
    rig_agent_writes(&f->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    check_has(next(f, "a"), "\"count\":1}");
}

static void a_flood_of_names_is_only_counted(void **state)
{
    fixture *f = *state;
    rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    for (unsigned i = 0; i < 2 * ARCP__DENIALS_KEPT; i++) {
        char target[32];
        (void)snprintf(target, sizeof target, "/n/%u", i);
        deny(f, agent, target, 1);
    }
    assert_int_equal(audit_lines(f, "\"layer\":\"broker\""), ARCP__DENIALS_KEPT);
    rig_agent_exits(&f->rig, agent, false, 0);
    assert_int_equal(audit_lines(f, "\"count\":1024,\"reason\":\"REPEATED\""), 1);
    check_metric(f,
                 "arcp_enforcement_denials_total{capability=\"fs.read\",layer=\"broker\"} 2048\n");
}

static void names_that_a_program_chose_are_escaped(void **state)
{
    fixture *f = *state;
    const rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    deny(f, agent, "/\x1b[2J\n\xff\xe2\x80\xae\xc3\xa9", 1);
    check_has(next(f, "a"),
              "\"target\":\"/\\\\x1b[2J\\\\x0a\\\\xff\\\\xe2\\\\x80\\\\xae\xc3\xa9\"");
    assert_int_equal(audit_lines(f, "\"target\":\"/\\\\x1b[2J"), 1);
}

static void denials_after_the_end_are_audited_and_no_event(void **state)
{
    fixture *f = *state;
    rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    rig_agent_writes(&f->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    check_has(next(f, "a"), "\"type\":\"job.result\"");
    deny(f, agent, "/late", 1);
    assert_string_equal(next(f, "a"), "");
    assert_int_equal(audit_lines(f, "\"target\":\"/late\""), 1);
}

static void agents_cannot_report_these_phases(void **state)
{
    fixture *f = *state;
    rig_agent *agent = begin(f, "{\"agent\":\"echo\"}");
    (void)next_line(f, agent);
    static const char *const phases[] = {"enforcement", "denied"};
    for (size_t i = 0; i < 2; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"status\","
                       "\"body\":{\"phase\":\"%s\"}}}",
                       phases[i]);
        rig_agent_writes(&f->rig, agent, line);
        check_has(next_line(f, agent), "only the runtime reports this phase");
        assert_string_equal(next(f, "a"), "");
    }
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"status\","
                     "\"body\":{\"phase\":\"denied.by.me\"}}}");
    check_has(next(f, "a"), "denied.by.me"); /* any other name is the agent's */
}

/* ---- the set-up ---- */

static void a_sandbox_that_cannot_be_made_fails_the_job(void **state)
{
    fixture *f = *state;
    f->rig.hold_start = true;
    start_with(f, FEATURES);
    submit(f, "1", "{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&f->rig);
    const arcp__agent_exit exit = {.code = 125,
                                   .failed_step = ARCP_SPAN_LITERAL("mount"),
                                   .failure =
                                       ARCP_SPAN_LITERAL("mount /srv/x: Operation not permitted")};
    arcp__engine_agent_exited(f->rig.engine, f->rig.now, agent->job, &exit);
    rig_run(&f->rig);
    (void)next(f, "a");
    check_has(next(f, "a"), "\"phase\":\"enforcement\"");
    check_has(next(f, "a"), "\"code\":\"INTERNAL_ERROR\""); /* it was never running */
    check_has(f->frame, "\"message\":\"sandbox: mount /srv/x: Operation not permitted\"");
    check_has(f->frame, "\"details\":{\"step\":\"mount\"}");
    assert_true(agent->forgotten);
}

/* ---- expiry ---- */

#define EXPIRING                                                                                   \
    "{\"agent\":\"echo\",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:01:00Z\"}}"

static void an_expired_lease_kills_a_confined_agent_at_once(void **state)
{
    fixture *f = *state;
    const rig_agent *agent = begin(f, EXPIRING);
    rig_clock(&f->rig, 60 * ARCP_NS_PER_SEC);
    check_has(next(f, "a"), "\"code\":\"LEASE_EXPIRED\"");
    assert_int_equal(agent->kills, 1);
    assert_true(agent->killed_at_once);
    assert_int_equal(agent->cancels, 0);
}

static void an_expired_lease_cancels_any_other_agent(void **state)
{
    fixture *f = *state;
    host = (confiner){0};
    const rig_agent *agent = begin(f, EXPIRING);
    rig_clock(&f->rig, 60 * ARCP_NS_PER_SEC);
    check_has(next(f, "a"), "\"code\":\"LEASE_EXPIRED\"");
    assert_int_equal(agent->cancels, 1);
    assert_false(agent->killed_at_once);
}

static void other_ends_leave_a_confined_agent_its_grace(void **state)
{
    fixture *f = *state;
    const rig_agent *agent = begin(f, "{\"agent\":\"echo\",\"max_runtime_sec\":1}");
    rig_clock(&f->rig, ARCP_NS_PER_SEC);
    check_has(next(f, "a"), "\"code\":\"TIMEOUT\"");
    assert_int_equal(agent->cancels, 1);
    assert_false(agent->killed_at_once);
}

static void where_expiry_only_denies_the_sandbox_is_notified(void **state)
{
    fixture *f = *state;
    f->rig.settings.lease_on_expiry = ARCP__ON_EXPIRY_DENY;
    const rig_agent *agent = begin(f, EXPIRING);
    rig_clock(&f->rig, 60 * ARCP_NS_PER_SEC);
    assert_int_equal(agent->revokes, 1);
    assert_int_equal(agent->revoked, ARCP_E_LEASE_EXPIRED);
    assert_int_equal(agent->kills + agent->cancels, 0);
}

/* ---- budgets ---- */

#define SPENDS(amount)                                                                             \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"cost.x\","      \
    "\"value\":" amount ",\"unit\":\"USD\"}}}"

static void a_used_up_budget_is_revoked_once(void **state)
{
    fixture *f = *state;
    rig_agent *agent =
        begin(f, "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"]}}");
    rig_agent_writes(&f->rig, agent, SPENDS("1.5"));
    assert_int_equal(agent->revokes, 0);
    rig_agent_writes(&f->rig, agent, SPENDS("0.5"));
    assert_int_equal(agent->revokes, 1);
    assert_int_equal(agent->revoked, ARCP_E_BUDGET_EXHAUSTED);
    rig_agent_writes(&f->rig, agent, SPENDS("1"));
    assert_int_equal(agent->revokes, 1);
}

static void children_share_the_end_of_their_parents_budget(void **state)
{
    fixture *f = *state;
    rig_agent *parent =
        begin(f, "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"],"
                 "\"agent.delegate\":[\"*\"]}}");
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"echo\"}}");
    rig_agent *child = rig_agent_last(&f->rig);
    assert_ptr_not_equal(child, parent);
    rig_agent_writes(&f->rig, parent, SPENDS("2"));
    assert_int_equal(parent->revokes, 1);
    assert_int_equal(child->revokes, 1);
}

static void a_budget_of_zero_is_revoked_at_the_start(void **state)
{
    fixture *f = *state;
    const rig_agent *agent =
        begin(f, "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:0\"]}}");
    assert_int_equal(agent->revokes, 1);
}

static void where_it_ends_the_job_nothing_is_revoked(void **state)
{
    fixture *f = *state;
    f->rig.settings.budget_on_exhaustion = ARCP__ON_EXHAUSTION_FAIL;
    rig_agent *agent =
        begin(f, "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"]}}");
    rig_agent_writes(&f->rig, agent, SPENDS("3"));
    assert_int_equal(agent->revokes, 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(the_first_event_says_how_the_job_is_confined),
        ROW(a_lease_that_needs_no_word_gets_no_event),
        ROW(an_agent_that_is_not_confined_gets_a_warning),
        ROW(lines_that_do_not_fit_a_frame_are_left_out),
        ROW(the_event_is_there_after_a_restart),
        ROW(each_denied_operation_is_one_event),
        ROW(denials_beyond_the_limit_are_summarised),
        ROW(a_limit_of_zero_leaves_only_the_summary),
        ROW(a_flood_of_names_is_only_counted),
        ROW(names_that_a_program_chose_are_escaped),
        ROW(denials_after_the_end_are_audited_and_no_event),
        ROW(agents_cannot_report_these_phases),
        ROW(a_sandbox_that_cannot_be_made_fails_the_job),
        ROW(an_expired_lease_kills_a_confined_agent_at_once),
        ROW(an_expired_lease_cancels_any_other_agent),
        ROW(other_ends_leave_a_confined_agent_its_grace),
        ROW(where_expiry_only_denies_the_sandbox_is_notified),
        ROW(a_used_up_budget_is_revoked_once),
        ROW(children_share_the_end_of_their_parents_budget),
        ROW(a_budget_of_zero_is_revoked_at_the_start),
        ROW(where_it_ends_the_job_nothing_is_revoked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
