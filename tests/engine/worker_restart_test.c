/* Jobs on a worker go on when the engine starts again (src/job/job_worker.c, job_live.c). */
#include "support/check.h"

#include "engine/worker_job_rig.h"

#define PROGRESS                                                                                   \
    "{\"type\":\"job.event\",\"id\":\"p\",\"payload\":{\"kind\":\"progress\",\"body\":{"           \
    "\"current\":1}}}"
#define METRIC                                                                                     \
    "{\"type\":\"job.event\",\"id\":\"m\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"    \
    "\"cost.x\","                                                                                  \
    "\"value\":1,\"unit\":\"USD\"}}}"
#define CHUNK(text, more)                                                                          \
    "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"" text                                     \
    "\",\"encoding\":\"utf8\",\"more\":" more "}}"
#define DELEGATE(id)                                                                               \
    "{\"type\":\"delegate\",\"id\":\"" id "\",\"payload\":{\"delegate_id\":\"" id                  \
    "\",\"agent\":\"work\",\"wait\":true,\"lease_request\":{}}}"
#define LEASE                                                                                      \
    "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:10\"],\"agent.delegate\":["     \
    "\"work\"]}}"

static void a_job_goes_on_after_a_restart(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, EVENT);
    worker_rig_says(rig_agent_last(&s->rig), 2, EVENT);
    worker_rig_restart();
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    rig_agent *agent = worker_rig_come_back(id, 1);
    const uint64_t records = agent->job->stream->next;
    worker_rig_says(agent, 1, EVENT); /* the worker has not heard that they are stored */
    worker_rig_says(agent, 2, EVENT);
    assert_int_equal(agent->job->stream->next, records);
    worker_rig_says(agent, 3, EVENT);
    assert_int_equal(agent->job->stream->next, records + 1);
    worker_rig_says(agent, 4, RESULT);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_SUCCESS);
}

static void a_job_whose_agent_ends_with_the_runtime_ends_at_the_restart(void **state)
{
    (void)state;
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 0, EVENT);
    worker_rig_restart();
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
}

static void what_was_spent_is_exact_after_a_restart(void **state)
{
    (void)state;
    const char *id = worker_rig_submit(LEASE);
    worker_rig_says(rig_agent_last(&s->rig), 1, METRIC);
    worker_rig_says(rig_agent_last(&s->rig), 2, METRIC);
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 1);
    worker_rig_says(agent, 2, METRIC);
    worker_rig_says(agent, 3, METRIC);
    char amount[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(arcp_budget_spent(agent->job->budget, 0), amount);
    assert_string_equal(amount, "3");
}

static void an_event_that_was_not_durable_has_its_effect_when_it_comes_again(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, EVENT);
    s->disk.is_held = true;
    worker_rig_says(rig_agent_last(&s->rig), 2, EVENT);
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 1);
    const uint64_t records = agent->job->stream->next;
    worker_rig_says(agent, 1, EVENT);
    assert_int_equal(agent->job->stream->next, records);
    worker_rig_says(agent, 2, EVENT);
    assert_int_equal(agent->job->stream->next, records + 1);
}

static void items_that_the_worker_may_have_forgotten_are_behind(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, EVENT);
    worker_rig_says(rig_agent_last(&s->rig), 2, "{\"type\":\"unknown\"}"); /* changes nothing */
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 3);
    const uint64_t records = agent->job->stream->next;
    worker_rig_says(agent, 3, EVENT);
    assert_int_equal(agent->job->stream->next, records + 1);
}

static void a_reply_is_sent_again_unless_the_worker_has_it(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, PROGRESS);
    worker_rig_says(rig_agent_last(&s->rig), 2, PROGRESS);
    worker_rig_restart();
    rig_agent *agent = NULL;
    const arcp__worker_claim row = {.items_first = 3, .errors_first = 1, .at = 1};
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(id, &row, &agent), ARCP__CLAIM_GO_ON);
    worker_rig_ready();
    assert_string_equal(worker_rig_lines_of(agent),
                        "{\"type\":\"reply\",\"re\":\"p\",\"payload\":{}}\n");
    assert_string_equal(worker_rig_lines_of(agent), "");
    arcp__engine_agent_got(s->rig.engine, s->rig.now, agent->job, 2);
    worker_rig_says(agent, 3, PROGRESS); /* trims what the worker has */
    (void)worker_rig_lines_of(agent);
    worker_rig_restart();
    agent = worker_rig_come_back(id, 1);
    assert_string_equal(worker_rig_lines_of(agent),
                        "{\"type\":\"reply\",\"re\":\"p\",\"payload\":{}}\n");
}

/* Else the worker takes it for an answer that it has had. */
static void an_item_is_kept_until_its_answer_is_handed_out(void **state)
{
    (void)state;
    arcp__job_kept kept;
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    arcp__engine_agent_line(
        s->rig.engine, s->rig.now, agent->job, 1,
        ARCP_SPAN_LITERAL("{\"type\":\"authorize\",\"id\":\"a\",\"payload\":{\"capability\":"
                          "\"tool.call\",\"target\":\"t\"}}"));
    arcp__engine_get_kept(s->rig.engine, agent->job, &kept);
    assert_int_equal(kept.items, 0);
    rig_run(&s->rig);
    assert_non_null(strstr(worker_rig_lines_of(agent), "\"re\":\"a\""));
    arcp__engine_get_kept(s->rig.engine, agent->job, &kept);
    assert_int_equal(kept.items, 1);
}

static void a_cancel_is_sent_again_and_its_grace_goes_on(void **state)
{
    (void)state;
    char frame[256];
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    (void)snprintf(frame, sizeof frame,
                   FRAME("c", "job.cancel", "{\"job_id\":\"%s\",\"reason\":\"enough\"}"), id);
    rig_send(&s->rig, s->client, frame);
    worker_rig_restart();
    assert_true(worker_rig_job_of(id)->cancelling);
    rig_agent *agent = worker_rig_come_back(id, 1);
    assert_true(agent->cancelled);
    assert_non_null(strstr(worker_rig_lines_of(agent), "\"job.cancel\""));
    rig_clock(&s->rig, (int64_t)s->rig.settings.jobs_cancel_grace_ms * ARCP_NS_PER_MS);
    assert_true(agent->killed);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_CANCELLED);
}

static void a_deadline_counts_from_the_acceptance(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\",\"max_runtime_sec\":100}");
    rig_clock(&s->rig, 60 * ARCP_NS_PER_SEC);
    worker_rig_restart();
    (void)worker_rig_come_back(id, 1);
    rig_clock(&s->rig, 38 * ARCP_NS_PER_SEC);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    rig_clock(&s->rig, 2 * ARCP_NS_PER_SEC);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_TIMED_OUT);
}

static void chunks_of_a_result_go_on_at_the_next_number(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, CHUNK("abc", "true"));
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 1);
    worker_rig_says(agent, 2, CHUNK("de", "false"));
    worker_rig_says(agent, 3, "{\"type\":\"job.result\",\"payload\":{}}");
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_SUCCESS);
    arcp_span record;
    assert_true(arcp__stream_find_record(worker_rig_job_of(id)->stream,
                                         worker_rig_job_of(id)->stream->next - 1, &record));
    assert_non_null(memmem(record.data, record.size, "\"result_size\":5", 15));
    assert_true(arcp__stream_find_record(worker_rig_job_of(id)->stream,
                                         worker_rig_job_of(id)->stream->next - 2, &record));
    assert_non_null(memmem(record.data, record.size, "\"chunk_seq\":1", 13));
}

static void pieces_of_a_result_without_chunks_are_in_the_store(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, CHUNK("abc", "true"));
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 1);
    worker_rig_says(agent, 2, CHUNK("de", "false"));
    worker_rig_says(agent, 3, "{\"type\":\"job.result\",\"payload\":{}}");
    arcp_span record;
    assert_true(arcp__stream_find_record(worker_rig_job_of(id)->stream,
                                         worker_rig_job_of(id)->stream->next - 1, &record));
    assert_non_null(memmem(record.data, record.size, "\"result\":\"abcde\"", 16));
}

/* ---- plain programs ---- */

static void writes(const rig_agent *agent, uint64_t end, arcp_span bytes)
{
    arcp__engine_agent_output(s->rig.engine, s->rig.now, agent->job, end, bytes);
    rig_run(&s->rig);
}

static void output_that_is_in_no_record_comes_again_after_a_restart(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    writes(rig_agent_last(&s->rig), 3, ARCP_SPAN_LITERAL("abc"));
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 1);
    writes(agent, 5, ARCP_SPAN_LITERAL("abcde"));
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_SUCCESS);
    assert_true(worker_rig_last_record_has(id, "\"result\":\"abcde\""));
}

static void output_goes_on_after_its_last_durable_record(void **state)
{
    static char text[70000];
    static arcp__job_kept kept;
    (void)state;
    memset(text, 'x', sizeof text);
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    writes(agent, sizeof text - 10, arcp_span_make(text, sizeof text - 10));
    arcp__engine_get_kept(s->rig.engine, agent->job, &kept);
    assert_in_range(kept.bytes, 1, sizeof text - 11);
    worker_rig_restart();
    const arcp__worker_claim row = {.items_first = 1, .errors_first = 1, .bytes_first = kept.bytes};
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(id, &row, &agent), ARCP__CLAIM_GO_ON);
    worker_rig_ready();
    writes(agent, sizeof text, arcp_span_make(text, sizeof text - kept.bytes));
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_SUCCESS);
    assert_true(worker_rig_last_record_has(id, "\"result_size\":70000"));
}

static void a_line_of_standard_error_is_taken_once_over_a_restart(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    const rig_agent *agent = rig_agent_last(&s->rig);
    for (uint64_t number = 1; number <= 3; number++) {
        arcp__engine_agent_error_line(s->rig.engine, s->rig.now, agent->job, number,
                                      ARCP_SPAN_LITERAL("a line"), true);
        rig_run(&s->rig);
        if (number == 2) {
            worker_rig_restart();
            agent = worker_rig_come_back(id, 1);
            const uint64_t records = agent->job->stream->next;
            arcp__engine_agent_error_line(s->rig.engine, s->rig.now, agent->job, 2,
                                          ARCP_SPAN_LITERAL("a line"), true);
            rig_run(&s->rig);
            assert_int_equal(agent->job->stream->next, records);
        }
    }
    assert_true(worker_rig_last_record_has(id, "a line"));
}

/* ---- sandboxes ---- */

static void a_used_up_budget_is_revoked_again_after_a_restart(void **state)
{
    (void)state;
    const char *id =
        worker_rig_submit("{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"]}}");
    worker_rig_says(rig_agent_last(&s->rig), 1, METRIC);
    worker_rig_restart();
    rig_agent *agent = worker_rig_come_back(id, 2);
    assert_int_equal(agent->revokes, 0);
    worker_rig_says(agent, 2, METRIC);
    assert_int_equal(agent->revokes, 1);
    worker_rig_restart();
    agent = worker_rig_come_back(id, 3);
    assert_int_equal(agent->revokes, 1);
    assert_int_equal(agent->revoked, ARCP_E_BUDGET_EXHAUSTED);
}

static void a_lease_that_expires_while_its_worker_is_away_is_revoked_when_it_comes(void **state)
{
    (void)state;
    const char *id = worker_rig_submit(
        "{\"agent\":\"echo\",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:01:00Z\"}}");
    worker_rig_restart();
    const rig_agent *agent = worker_rig_come_back(id, 1);
    rig_clock(&s->rig, 58 * ARCP_NS_PER_SEC);
    assert_int_equal(agent->revokes, 0);
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    rig_clock(&s->rig, 2 * ARCP_NS_PER_SEC);
    agent = worker_rig_come_back(id, 1);
    assert_int_equal(agent->revokes, 1);
    assert_int_equal(agent->revoked, ARCP_E_LEASE_EXPIRED);
}

/* ---- delegation ---- */

static void a_parent_waits_on_for_its_child(void **state)
{
    (void)state;
    char parent[64];
    (void)snprintf(parent, sizeof parent, "%s", worker_rig_submit(LEASE));
    rig_agent *parent_agent = rig_agent_last(&s->rig);
    worker_rig_says(parent_agent, 1, DELEGATE("d1"));
    const rig_agent *child_agent = rig_agent_last(&s->rig);
    assert_ptr_not_equal(child_agent, parent_agent);
    char child[64];
    (void)snprintf(child, sizeof child, "%s", child_agent->job_id);
    worker_rig_restart();
    rig_agent *agents[2] = {NULL};
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(parent, NULL, &agents[0]), ARCP__CLAIM_GO_ON);
    assert_int_equal(worker_rig_claim(child, NULL, &agents[1]), ARCP__CLAIM_GO_ON);
    worker_rig_ready();
    worker_rig_says(agents[0], 1, DELEGATE("d1")); /* it was acted upon */
    assert_int_equal(worker_rig_job_of(parent)->live_children, 1);
    worker_rig_says(agents[0], 2, DELEGATE("d1")); /* the name is taken */
    assert_non_null(strstr(worker_rig_lines_of(agents[0]), "names another child"));
    worker_rig_says(agents[1], 1, RESULT);
    assert_non_null(strstr(worker_rig_lines_of(agents[0]), "\"re\":\"d1\""));
    assert_int_equal(worker_rig_job_of(child)->status, ARCP_JOB_SUCCESS);
}

/* The child's agent has no worker, and ends with the runtime. */
static void a_parent_has_the_reply_of_a_child_that_ends_at_the_restart(void **state)
{
    (void)state;
    char parent[64];
    (void)snprintf(parent, sizeof parent, "%s", worker_rig_submit(LEASE));
    rig_agent *agent = rig_agent_last(&s->rig);
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    worker_rig_says(agent, 1, DELEGATE("d1"));
    worker_rig_restart();
    agent = worker_rig_come_back(parent, 2);
    const char *lines = worker_rig_lines_of(agent);
    assert_non_null(strstr(lines, "\"re\":\"d1\""));
    assert_non_null(strstr(lines, "\"code\":\"INTERNAL_ERROR\""));
    assert_int_equal(worker_rig_job_of(parent)->status, ARCP_JOB_RUNNING);
}

static void a_parent_waits_on_for_its_queued_child(void **state)
{
    (void)state;
    char parent[64];
    char first[64];
    s->rig.max_jobs = 1;
    rig_reload(&s->rig);
    (void)snprintf(parent, sizeof parent, "%s", worker_rig_submit(LEASE));
    rig_agent *agents[2] = {rig_agent_last(&s->rig)};
    (void)snprintf(first, sizeof first, "%s", worker_rig_submit("{\"agent\":\"work\"}"));
    worker_rig_says(agents[0], 1, DELEGATE("d1"));
    worker_rig_restart();
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(parent, NULL, &agents[0]), ARCP__CLAIM_GO_ON);
    assert_int_equal(worker_rig_claim(first, NULL, &agents[1]), ARCP__CLAIM_GO_ON);
    worker_rig_ready();
    rig_agent_exits(&s->rig, agents[1], false, 0); /* gives the child its place */
    rig_agent *child = rig_agent_last(&s->rig);
    assert_string_equal(child->agent, "work@1.0.0");
    worker_rig_says(child, 1, RESULT);
    assert_non_null(strstr(worker_rig_lines_of(agents[0]), "\"re\":\"d1\""));
}

/* ---- rows of the release before ---- */

static void what_an_earlier_release_has_stored_as_spent_is_read_and_deleted(void **state)
{
    (void)state;
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    const char *id = worker_rig_submit(LEASE);
    char key[64];
    arcp_error err = {0};
    (void)snprintf(key, sizeof key, "%s/spent", id);
    const arcp_store_op op = {.kind = ARCP_STORE_PUT,
                              .table = ARCP_STORE_JOBS,
                              .key = arcp_span_cstr(key),
                              .value = ARCP_SPAN_LITERAL("{\"spent\":{\"USD\":\"4\"}}")};
    const arcp_store_batch batch = {.id = 1, .ops = &op, .count = 1};
    check_ok(s->disk.inner->ops->submit(s->disk.inner, &batch, &err), &err);
    while (s->disk.inner->ops->poll(s->disk.inner)) {
    }
    worker_rig_restart();
    char amount[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(arcp_budget_spent(worker_rig_job_of(id)->budget, 0), amount);
    assert_string_equal(amount, "4");
    assert_true(disk_find(&s->disk, arcp_span_cstr(key))->is_gone);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, worker_rig_set_up, worker_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_goes_on_after_a_restart),
        TEST(a_job_whose_agent_ends_with_the_runtime_ends_at_the_restart),
        TEST(what_was_spent_is_exact_after_a_restart),
        TEST(an_event_that_was_not_durable_has_its_effect_when_it_comes_again),
        TEST(items_that_the_worker_may_have_forgotten_are_behind),
        TEST(a_reply_is_sent_again_unless_the_worker_has_it),
        TEST(an_item_is_kept_until_its_answer_is_handed_out),
        TEST(a_cancel_is_sent_again_and_its_grace_goes_on),
        TEST(a_deadline_counts_from_the_acceptance),
        TEST(chunks_of_a_result_go_on_at_the_next_number),
        cmocka_unit_test_setup_teardown(pieces_of_a_result_without_chunks_are_in_the_store,
                                        worker_rig_set_up_without_chunks, worker_rig_tear_down),
        TEST(output_that_is_in_no_record_comes_again_after_a_restart),
        TEST(output_goes_on_after_its_last_durable_record),
        TEST(a_line_of_standard_error_is_taken_once_over_a_restart),
        cmocka_unit_test_setup_teardown(a_used_up_budget_is_revoked_again_after_a_restart,
                                        worker_rig_set_up_confined, worker_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_lease_that_expires_while_its_worker_is_away_is_revoked_when_it_comes,
            worker_rig_set_up_confined, worker_rig_tear_down),
        TEST(a_parent_waits_on_for_its_child),
        TEST(a_parent_has_the_reply_of_a_child_that_ends_at_the_restart),
        TEST(a_parent_waits_on_for_its_queued_child),
        TEST(what_an_earlier_release_has_stored_as_spent_is_read_and_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
