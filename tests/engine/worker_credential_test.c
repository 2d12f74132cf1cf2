/* Credentials of jobs on workers over a kill -9 of the runtime: the value of a job that goes on
 * stays valid and is shown, its rotation goes on, and everything else is revoked. */
#include "support/check.h"

#include "credential/credential_state.h"
#include "engine/worker_job_rig.h"

#define METRIC                                                                                     \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"cost.x\","      \
    "\"value\":1,\"unit\":\"USD\"}}}"

static int set_up(void **state)
{
    const int result = worker_rig_set_up_with_credentials(state);
    issuer.lifetime_sec = 400; /* so that it is replaced after 300 */
    return result;
}

/* The machine is off for this time. */
static void restart_after(int64_t seconds)
{
    disk_crash(&s->disk);
    upstream_orphan_calls(&issuer);
    s->rig.now.wall_ns += seconds * ARCP_NS_PER_SEC;
    s->rig.now.mono_ns += seconds * ARCP_NS_PER_SEC;
    rig_restart(&s->rig);
}

/* The value that the agent of the job gets now, and that the job has. */
static void shows_value(const char *id, const char *value)
{
    arcp_buf text = arcp_buf_secret_init();
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &text);
    arcp_json_begin_object(&writer);
    arcp__credentials_write(&s->rig.engine->credentials, NULL,
                            &worker_rig_job_of(id)->live->credential, &writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, value));
    assert_non_null(strstr(text.data, "\"endpoint\":\"https://gateway.example/v1\""));
    assert_non_null(strstr(text.data, "\"scheme\":\"bearer\""));
    assert_non_null(strstr(text.data, "\"profile\":\"openai\""));
    arcp_buf_fini(&text);
}

/* The job goes on, to its end; then no value is valid. */
static void goes_on_to_its_end(const char *id)
{
    rig_agent *agent = worker_rig_come_back(id, 1);
    worker_rig_says(agent, 1, RESULT);
    rig_agent_exits(&s->rig, agent, false, 0);
    rig_run(&s->rig);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_SUCCESS);
    rig_clock(&s->rig, 200 * ARCP_NS_PER_SEC); /* aliases that were never issued are settled, too */
    assert_int_equal(upstream_live_count(&issuer), 0);
    assert_int_equal(arcp__credentials_count(&s->rig.engine->credentials), 0);
    assert_false(issuer.leaked);
}

static void a_job_has_its_value_after_a_restart(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    assert_int_equal(issuer.key_count, 1);
    restart_after(1);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    assert_int_equal(upstream_live_count(&issuer), 1);
    assert_int_equal(issuer.revoke_calls, 0);
    shows_value(id, issuer.keys[0].value);
    goes_on_to_its_end(id);
    assert_int_equal(issuer.key_count, 1);
}

static void a_rotation_that_is_not_due_waits_for_its_time(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    restart_after(200);
    assert_int_equal(issuer.key_count, 1);
    rig_clock(&s->rig, 90 * ARCP_NS_PER_SEC);
    assert_int_equal(issuer.key_count, 1);
    rig_clock(&s->rig, 20 * ARCP_NS_PER_SEC);
    assert_int_equal(issuer.key_count, 2);
    shows_value(id, issuer.keys[1].value);
    goes_on_to_its_end(id);
}

static void an_overdue_rotation_goes_on_at_once(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    restart_after(301);
    rig_clock(&s->rig, 0);
    assert_int_equal(issuer.key_count, 2);
    assert_int_equal(upstream_live_count(&issuer), 1);
    assert_string_equal(issuer.keys[1].alias + strlen(issuer.keys[0].alias), ".2");
    shows_value(id, issuer.keys[1].value);
    rig_agent *agent = worker_rig_come_back(id, 1);
    assert_non_null(strstr(worker_rig_lines_of(agent), issuer.keys[1].value));
    goes_on_to_its_end(id);
}

static void a_value_that_was_rotated_before_the_crash_is_the_new_one(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    rig_clock(&s->rig, 301 * ARCP_NS_PER_SEC);
    assert_int_equal(issuer.key_count, 2);
    restart_after(1);
    assert_int_equal(upstream_live_count(&issuer), 1);
    shows_value(id, issuer.keys[1].value);
    goes_on_to_its_end(id);
    assert_int_equal(issuer.key_count, 2);
}

/* The crash comes when the request for the new value is on its way; `arrives`: it gets there. */
static void crash_over_a_rotation(bool arrives)
{
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    issuer.issuing = UPSTREAM_STALLS;
    rig_clock(&s->rig, 301 * ARCP_NS_PER_SEC);
    assert_int_equal(issuer.call_count, 1);
    issuer.issuing = UPSTREAM_WELL;
    disk_crash(&s->disk);
    upstream_orphan_calls(&issuer);
    if (arrives) {
        upstream_deliver_orphans(&issuer);
    } else {
        upstream_drop_orphans(&issuer);
    }
    rig_restart(&s->rig);
    rig_clock(&s->rig, 0);
    const upstream_key *fresh = &issuer.keys[issuer.key_count - 1];
    assert_string_equal(fresh->alias + strlen(issuer.keys[0].alias), ".3");
    assert_int_equal(upstream_live_count(&issuer), 1);
    shows_value(id, fresh->value);
    goes_on_to_its_end(id);
}

static void a_rotation_under_way_is_begun_again_under_another_alias(void **state)
{
    (void)state;
    crash_over_a_rotation(false);
}

static void a_value_that_a_killed_runtime_was_given_is_revoked(void **state)
{
    (void)state;
    crash_over_a_rotation(true);
}

static void a_value_that_cannot_be_read_is_replaced_at_once(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    arcp__credential *credential = worker_rig_job_of(id)->live->credential.live;
    memset(credential->fingerprint, 0, sizeof credential->fingerprint); /* as an older release */
    arcp__credential_store(&s->rig.engine->credentials, credential);
    worker_rig_says(rig_agent_last(&s->rig), 1, EVENT);
    restart_after(1);
    rig_clock(&s->rig, 0);
    assert_int_equal(issuer.key_count, 2);
    assert_false(issuer.keys[0].is_live);
    shows_value(id, issuer.keys[1].value);
}

static void a_job_whose_provisioner_is_gone_reports_that(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    s->rig.credentials.provisioner = "another";
    restart_after(1);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    assert_null(worker_rig_job_of(id)->live->credential.live);
    assert_true(worker_rig_last_record_has(id, "\"phase\":\"credential_revoked\""));
    assert_int_equal(s->rig.engine->credentials.stuck_count, 1);
    restart_after(1); /* it is reported once */
    assert_int_equal(worker_rig_job_of(id)->stream->next, 2);
}

static void costs_that_the_agent_reported_are_not_charged_again(void **state)
{
    (void)state;
    issuer.terms.currency = "USD";
    issuer.spent = "1.50";
    worker_rig_begin_session("\"provisioned_credentials\",\"cost.budget\"");
    const char *id =
        worker_rig_submit("{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:9\"]}}");
    worker_rig_says(rig_agent_last(&s->rig), 1, METRIC);
    restart_after(1);
    rig_clock(&s->rig, USAGE_SEC * ARCP_NS_PER_SEC);
    assert_int_not_equal(issuer.usage_calls, 0);
    char text[ARCP_DECIMAL_TEXT_MAX];
    const arcp_budget *budget = worker_rig_job_of(id)->budget;
    text[arcp_decimal_format(arcp_budget_spent(budget, 0), text)] = '\0';
    assert_string_equal(text, "1.5");
    restart_after(1);
    rig_clock(&s->rig, USAGE_SEC * ARCP_NS_PER_SEC);
    budget = worker_rig_job_of(id)->budget;
    text[arcp_decimal_format(arcp_budget_spent(budget, 0), text)] = '\0';
    assert_string_equal(text, "1.5");
}

/* ---- a provisioner that gets the values that outlive a restart ---- */

static void such_a_provisioner_keeps_the_value(void **state)
{
    (void)state;
    s->rig.credentials.can_keep = true;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    restart_after(1);
    assert_int_equal(issuer.keep_calls, 1);
    shows_value(id, issuer.keys[0].value);
    goes_on_to_its_end(id);
    assert_int_equal(issuer.key_count, 1);
}

static void a_value_that_it_does_not_know_is_replaced(void **state)
{
    (void)state;
    s->rig.credentials.can_keep = true;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    issuer.keys[0].is_live = false;
    restart_after(1);
    rig_clock(&s->rig, 0);
    assert_int_equal(issuer.keep_calls, 1);
    assert_int_equal(issuer.key_count, 2);
    shows_value(id, issuer.keys[1].value);
}

static void a_job_that_ends_while_it_is_asked_has_its_value_revoked(void **state)
{
    (void)state;
    s->rig.credentials.can_keep = true;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    issuer.issuing = UPSTREAM_STALLS;
    restart_after(1);
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, worker_rig_life_of("i1"));
    rig_run(&s->rig);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
    issuer.issuing = UPSTREAM_WELL;
    rig_clock(&s->rig, 0);
    assert_int_equal(upstream_live_count(&issuer), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, worker_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_has_its_value_after_a_restart),
        TEST(a_rotation_that_is_not_due_waits_for_its_time),
        TEST(an_overdue_rotation_goes_on_at_once),
        TEST(a_value_that_was_rotated_before_the_crash_is_the_new_one),
        TEST(a_rotation_under_way_is_begun_again_under_another_alias),
        TEST(a_value_that_a_killed_runtime_was_given_is_revoked),
        TEST(a_value_that_cannot_be_read_is_replaced_at_once),
        TEST(a_job_whose_provisioner_is_gone_reports_that),
        TEST(costs_that_the_agent_reported_are_not_charged_again),
        TEST(such_a_provisioner_keeps_the_value),
        TEST(a_value_that_it_does_not_know_is_replaced),
        TEST(a_job_that_ends_while_it_is_asked_has_its_value_revoked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
