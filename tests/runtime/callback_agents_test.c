/* Agents that are C callbacks. */
#include "runtime/runtime_rig.h"

#include "support/check.h"
#include "support/failing_alloc.h"

#include <sched.h>

#include <arcp/sys/launcher.h>

static runtime_rig rig;

static int set_up(void **state)
{
    (void)state;
    runtime_rig_start(&rig, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

static void tell_everything(arcp_agent_call *call, void *user)
{
    arcp_buf details = arcp_buf_init();
    arcp_error error = {.details = &details};
    (void)user;
    assert_int_equal(arcp_agent_log(call, "info", "begin", &error), ARCP_OK);
    assert_int_equal(arcp_agent_progress(call, 1, 2, "half", &error), ARCP_OK);
    assert_int_equal(arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"),
                                          ARCP_SPAN_LITERAL("/srv/./a"), NULL, NULL, &error),
                     ARCP_OK);
    assert_int_equal(arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"),
                                          ARCP_SPAN_LITERAL("/etc/passwd"), NULL, NULL, &error),
                     ARCP_E_PERMISSION_DENIED);
    assert_non_null(strstr(arcp_error_details(&error), "\"target\":\"/etc/passwd\""));
    assert_int_equal(arcp_agent_authorize_model(call, ARCP_SPAN_LITERAL("gpt"), &error),
                     ARCP_E_PERMISSION_DENIED);
    assert_int_equal(arcp_agent_event(call, "tool_call",
                                      ARCP_SPAN_LITERAL("{\"tool\":\"rm\",\"call_id\":\"c1\"}"),
                                      &error),
                     ARCP_E_PERMISSION_DENIED);
    assert_non_null(strstr(arcp_error_details(&error), "\"capability\":\"tool.call\""));
    assert_int_equal(
        arcp_agent_event(call, "status", ARCP_SPAN_LITERAL("{\"phase\":\"running\"}"), &error),
        ARCP_E_INVALID_REQUEST);
    /* On this thread a cost is counted before the next check. */
    assert_int_equal(arcp_agent_metric(call, "cost.x", "1", "USD", &error), ARCP_OK);
    assert_int_equal(arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"),
                                          ARCP_SPAN_LITERAL("/srv/a"), NULL, NULL, &error),
                     ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(arcp_agent_chunk(call, ARCP_SPAN_LITERAL("part one, "), true, &error),
                     ARCP_OK);
    assert_int_equal(arcp_agent_chunk(call, ARCP_SPAN_LITERAL("two"), false, &error), ARCP_OK);
    arcp_buf_fini(&details);
}

static void messages_of_a_blocking_agent_keep_their_order(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "teller", ARCP_AGENT_BLOCKING, tell_everything, NULL);
    runtime_rig_submit(&rig, "teller",
                       ",\"lease_request\":{\"fs.read\":[\"/srv/**\"],\"tool.call\":[\"ls\"],"
                       "\"cost.budget\":[\"USD:1\"]}");
    (void)runtime_rig_wait(&rig, "\"phase\":\"running\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"begin\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"half\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"call_id\":\"c1\""), "PERMISSION_DENIED"));
    (void)runtime_rig_wait(&rig, "\"cost.x\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "cost.budget.remaining"), "\"value\":0"));
    (void)runtime_rig_wait(&rig, "part one");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result_size\":13"));
}

static void spend_a_little(arcp_agent_call *call, void *user)
{
    arcp_error error = {0};
    (void)user;
    assert_int_equal(arcp_agent_metric(call, "cost.x", "1.25", "USD", &error), ARCP_OK);
    assert_int_equal(arcp_agent_metric(call, "cost.y", "0.5", "USD", &error), ARCP_OK);
    assert_int_equal(arcp_agent_metric(call, "latency", "7", "ms", &error), ARCP_OK);
}

static void costs_of_callback_agents_are_counted_with_and_without_a_budget(void **state)
{
    static const char *const leases[] = {"", ",\"lease_request\":{\"cost.budget\":[\"USD:1\"]}"};
    static const char *const sums[] = {"{currency=\"USD\"} 1.75\n", "{currency=\"USD\"} 3.5\n"};
    (void)state;
    runtime_rig_add(&rig, "spender", ARCP_AGENT_BLOCKING, spend_a_little, NULL);
    for (size_t i = 0; i < 2; i++) {
        arcp_buf text = arcp_buf_init();
        runtime_rig_submit(&rig, "spender", leases[i]);
        (void)runtime_rig_wait(&rig, "\"job.result\"");
        assert_int_equal(arcp_runtime_write_metrics(rig.runtime, &text), ARCP_OK);
        arcp_buf_append_byte(&text, '\0');
        assert_non_null(strstr(text.data, sums[i]));
        assert_null(strstr(text.data, "currency=\"ms\""));
        arcp_buf_fini(&text);
    }
}

static void answer_input(arcp_agent_call *call, void *user)
{
    (void)user;
    const arcp_span input = arcp_json_raw(arcp_agent_start(call), arcp_agent_input(call));
    arcp_agent_succeed(call, input);
}

static void forge(arcp_agent_call *call, void *user)
{
    static const struct {
        const char *kind;
        const char *body;
        arcp_status answer;
    } rows[] = {
        {"tool_call", "{\"tool\":\"rm\",\"call_id\":\"c1\"}", ARCP_E_PERMISSION_DENIED},
        /* The runtime gave its result. */
        {"tool_result", "{\"call_id\":\"c1\",\"result\":1}", ARCP_E_INVALID_REQUEST},
        {"tool_result", "{\"tool_call_id\":\"c1\",\"output\":1}", ARCP_E_INVALID_REQUEST},
        {"tool_result", "{\"call_id\":\"c2\",\"result\":2}", ARCP_OK},
        {"tool_call", "{\"tool\":\"ls\",\"call_id\":\"c1\"}", ARCP_OK},
        {"tool_result", "{\"call_id\":\"c1\",\"result\":3}", ARCP_OK},
        {"status", "{\"phase\":\"back_pressure\"}", ARCP_E_INVALID_REQUEST},
        {"metric", "{\"name\":\"cost.budget.remaining\",\"value\":9}", ARCP_E_INVALID_REQUEST},
        {"x-vendor.a\",\"x\":\"", "{}", ARCP_E_INVALID_REQUEST},
        {"delegate", "{\"agent\":\"mirror\",\"child_job_id\":\"x\"}", ARCP_E_INVALID_REQUEST},
        {"result_chunk", "{\"chunk_seq\":5,\"data\":\"\",\"encoding\":\"utf8\",\"more\":false}",
         ARCP_E_INVALID_REQUEST},
        {"job.accepted", "{}", ARCP_E_INVALID_REQUEST},
    };
    arcp_buf reply = arcp_buf_init();
    (void)user;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_error error = {0};
        const arcp_status status =
            arcp_agent_event(call, rows[i].kind, arcp_span_cstr(rows[i].body), &error);
        if (status != rows[i].answer) {
            print_error("%s %s: %d %s\n", rows[i].kind, rows[i].body, (int)status, error.message);
        }
        assert_int_equal(status, rows[i].answer);
    }
    /* A delegation is one object: it cannot contain a line of its own, and it gets a response. */
    static const char *const requests[] = {"{\"agent\":\"mirror\"},\"type\":\"job.result\"", "[]",
                                           "", "{\"agent\":\"mirror\"",
                                           "{\"agent\":\"mirror\"}}\n{\"type\":\"job.result\"}"};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        assert_int_equal(arcp_agent_delegate(call, arcp_span_cstr(requests[i]), &reply, NULL),
                         ARCP_E_INVALID_REQUEST);
    }
    assert_int_equal(
        arcp_agent_delegate(call, ARCP_SPAN_LITERAL("{\"agent\":\"mirror\",\"delegate_id\":\"D\"}"),
                            &reply, NULL),
        ARCP_E_PERMISSION_DENIED);
    assert_int_equal(arcp_agent_event(call, "tool_result",
                                      ARCP_SPAN_LITERAL("{\"call_id\":\"D\",\"result\":1}"), NULL),
                     ARCP_E_INVALID_REQUEST);
    arcp_buf_fini(&reply);
}

static void an_agent_cannot_send_events_of_the_runtime(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "mirror", ARCP_AGENT_NON_BLOCKING, answer_input, NULL);
    runtime_rig_add(&rig, "forger", ARCP_AGENT_BLOCKING, forge, NULL);
    runtime_rig_submit(&rig, "forger", ",\"lease_request\":{\"tool.call\":[\"ls\"]}");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"call_id\":\"c1\""), "PERMISSION_DENIED"));
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"tool_result\""), "\"result\":2"));
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"call_id\":\"c1\""), "\"tool_call\""));
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"call_id\":\"c1\""), "\"result\":3"));
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"call_id\":\"D\""), "PERMISSION_DENIED"));
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":null"));
}

static void a_non_blocking_agent_ends_its_job_itself(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "mirror", ARCP_AGENT_NON_BLOCKING, answer_input, NULL);
    runtime_rig_submit(&rig, "mirror", ",\"input\":{\"a\":[1,2.50]}");
    assert_non_null(
        strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":{\"a\":[1,2.50]}"));
}

static unsigned long long commits(void)
{
    static const char name[] = "arcp_commit_seconds_count ";
    arcp_buf text = arcp_buf_init();
    assert_int_equal(arcp_runtime_write_metrics(rig.runtime, &text), ARCP_OK);
    arcp_buf_append_byte(&text, '\0');
    const char *found = strstr(text.data, name);
    assert_non_null(found);
    const unsigned long long count = strtoull(found + strlen(name), NULL, 10);
    arcp_buf_fini(&text);
    return count;
}

static void messages_that_an_agent_puts_at_its_start_are_written_with_it(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "mirror", ARCP_AGENT_NON_BLOCKING, answer_input, NULL);
    runtime_rig_submit(&rig, "mirror", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    const unsigned long long before = commits();
    runtime_rig_submit(&rig, "mirror", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(commits() - before, 1);
}

static void fail_with_details(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_fail(call, ARCP_E_PERMISSION_DENIED, "not for you", ARCP_SPAN_LITERAL("{\"x\":1}"));
}

static void the_error_of_an_agent_keeps_code_message_and_details(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "denier", ARCP_AGENT_BLOCKING, fail_with_details, NULL);
    runtime_rig_submit(&rig, "denier", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"code\":\"PERMISSION_DENIED\",\"message\":\"not for you\","
                                  "\"retryable\":false,\"details\":{\"x\":1}"));
}

static void wait_for_cancel(arcp_agent_call *call, void *user)
{
    (void)user;
    while (!arcp_agent_is_cancelled(call) &&
           arcp_agent_log(call, "debug", "waiting", NULL) == ARCP_OK) {
    }
}

static void a_cancelled_blocking_agent_is_notified_and_its_job_ends(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "waiter", ARCP_AGENT_BLOCKING, wait_for_cancel, NULL);
    runtime_rig_submit(&rig, "waiter", "");
    (void)runtime_rig_wait(&rig, "\"phase\":\"running\"");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"job.cancelled\"");
    assert_non_null(
        strstr(runtime_rig_wait(&rig, "\"job.error\""), "\"final_status\":\"cancelled\""));
}

typedef struct late_answers {
    arcp_status file, model, tool;
    bool allowed;
} late_answers;

/* Continues after its job has ended, and asks the gate. */
static void outstay(arcp_agent_call *call, void *user)
{
    late_answers *late = user;
    arcp_target_scratch scratch;
    arcp_decision decision = {.allowed = true};
    while (!arcp_agent_is_cancelled(call) || arcp_agent_log(call, "debug", "x", NULL) == ARCP_OK) {
        (void)sched_yield();
    }
    late->file = arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"),
                                      ARCP_SPAN_LITERAL("/srv/a"), &scratch, &decision, NULL);
    late->allowed = decision.allowed;
    late->model = arcp_agent_authorize_model(call, ARCP_SPAN_LITERAL("gpt"), NULL);
    late->tool = arcp_agent_event(call, "tool_call",
                                  ARCP_SPAN_LITERAL("{\"tool\":\"ls\",\"call_id\":\"c1\"}"), NULL);
}

static void an_agent_whose_job_has_ended_has_no_authority(void **state)
{
    late_answers late = {ARCP_OK, ARCP_OK, ARCP_OK, true};
    arcp_settings settings;
    (void)state;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 1;
    runtime_rig_start(&rig, &settings);
    runtime_rig_add(&rig, "outstayer", ARCP_AGENT_BLOCKING, outstay, &late);
    runtime_rig_submit(&rig, "outstayer",
                       ",\"lease_request\":{\"fs.read\":[\"/srv/**\"],\"tool.call\":[\"ls\"],"
                       "\"model.use\":[\"gpt\"]}");
    (void)runtime_rig_wait(&rig, "\"phase\":\"running\"");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"final_status\":\"cancelled\"");
    runtime_rig_stop(&rig);
    assert_int_equal(late.file, ARCP_E_CLOSED);
    assert_false(late.allowed);
    assert_int_equal(late.model, ARCP_E_CLOSED);
    assert_int_equal(late.tool, ARCP_E_CLOSED);
}

static void delegate_both(arcp_agent_call *call, void *user)
{
    arcp_buf reply = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_error error = {.details = &details};
    (void)user;
    assert_int_equal(
        arcp_agent_delegate(call,
                            ARCP_SPAN_LITERAL("{\"agent\":\"mirror\",\"input\":1,\"lease_request\":"
                                              "{\"fs.read\":[\"/etc/**\"]}}"),
                            &reply, &error),
        ARCP_E_LEASE_SUBSET_VIOLATION);
    assert_non_null(strstr(arcp_error_details(&error), "\"witness\""));
    assert_int_equal(
        arcp_agent_delegate(call,
                            ARCP_SPAN_LITERAL("{\"agent\":\"mirror\",\"input\":\"deep\",\"wait\":"
                                              "true,\"lease_request\":{\"fs.read\":[\"/srv/a\"]}}"),
                            &reply, &error),
        ARCP_OK);
    arcp_agent_succeed(call, arcp_buf_span(&reply));
    arcp_buf_fini(&reply);
    arcp_buf_fini(&details);
}

static void a_delegating_agent_waits_for_its_child(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "mirror", ARCP_AGENT_NON_BLOCKING, answer_input, NULL);
    runtime_rig_add(&rig, "boss", ARCP_AGENT_BLOCKING, delegate_both, NULL);
    runtime_rig_submit(
        &rig, "boss",
        ",\"lease_request\":{\"fs.read\":[\"/srv/**\"],\"agent.delegate\":[\"mirror\"]}");
    assert_non_null(strstr(runtime_rig_wait(&rig, "LEASE_SUBSET_VIOLATION"), "\"witness\""));
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"kind\":\"delegate\""), "child_job_id"));
    (void)runtime_rig_wait(&rig, "\"result\":\"deep\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""),
                           "\"final_status\":\"success\",\"result\":\"deep\""));
}

static void count_many(arcp_agent_call *call, void *user)
{
    const unsigned *count = user;
    for (unsigned i = 0; i < *count; i++) {
        if (arcp_agent_progress(call, i, *count, NULL, NULL) != ARCP_OK) {
            return;
        }
    }
}

static void ten_thousand_events_of_four_threads_arrive_numbered_without_a_gap(void **state)
{
    (void)state;
    unsigned count = 2500;
    runtime_rig_add(&rig, "counter", ARCP_AGENT_BLOCKING, count_many, &count);
    for (int job = 0; job < 4; job++) {
        runtime_rig_submit(&rig, "counter", "");
    }
    /* Each number once, in order, up to the last: running, 2500 events and the result of
     * each of the four. */
    for (unsigned seq = 1; seq <= 4 * 2502; seq++) {
        char number[48];
        (void)snprintf(number, sizeof number, "\"event_seq\":%u,", seq);
        const char *frame = runtime_rig_wait(&rig, "\"event_seq\":");
        if (strstr(frame, number) == NULL) {
            fail_msg("want %s in %s", number, frame);
        }
    }
}

/* ---- what is recorded of a gate ---- */

#define LONG_TARGET_SIZE 1025u

static char audited[65536];

static void keep_audit(void *user, arcp_log_level level, const char *text, const char *fields)
{
    (void)user;
    if (level == ARCP_LOG_AUDIT && strstr(text, "\"event\":\"gate\"") != NULL) {
        const size_t used = strlen(audited);
        (void)snprintf(audited + used, sizeof audited - used, "%s\n", text);
    }
}

static void ask_for_long_targets(arcp_agent_call *call, void *user)
{
    char target[LONG_TARGET_SIZE + 1] = "/etc/";
    arcp_error error = {0};
    (void)user;
    memset(target + 5, 'x', sizeof target - 6);
    target[LONG_TARGET_SIZE - 1] = 'y';
    target[LONG_TARGET_SIZE] = '\0';
    for (size_t size = LONG_TARGET_SIZE - 1; size <= LONG_TARGET_SIZE; size++) {
        assert_int_equal(arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"),
                                              arcp_span_make(target, size), NULL, NULL, &error),
                         ARCP_E_PERMISSION_DENIED);
    }
}

static void a_denied_target_is_recorded_with_a_thousand_bytes(void **state)
{
    char most[LONG_TARGET_SIZE + 32] = "\"target\":\"/etc/";
    const size_t head = strlen(most);
    (void)state;
    memset(most + head, 'x', LONG_TARGET_SIZE - 1 - 5);
    most[head + LONG_TARGET_SIZE - 1 - 5] = '"';
    most[head + LONG_TARGET_SIZE - 5] = '\0';
    arcp_runtime_options options = arcp_runtime_options_init();
    options.log = keep_audit;
    audited[0] = '\0';
    runtime_rig_begin(&rig);
    runtime_rig_open(&rig, &options);
    runtime_rig_add(&rig, "asker", ARCP_AGENT_BLOCKING, ask_for_long_targets, NULL);
    runtime_rig_submit(&rig, "asker", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    runtime_rig_stop(&rig);
    const char *first = strstr(audited, most);
    assert_non_null(first);
    assert_non_null(strstr(first + 1, most)); /* a longer target is truncated */
}

/* ---- memory ---- */

typedef struct poor_agent {
    size_t nth; /* the allocation that fails while it reports its result */
    failing_alloc_mode mode;
    bool fired;
} poor_agent;

static void fail_in_poverty(arcp_agent_call *call, void *user)
{
    poor_agent *agent = user;
    failing_alloc_arm(agent->nth, agent->mode);
    arcp_agent_fail(call, ARCP_E_PERMISSION_DENIED, "not for you", arcp_span_make(NULL, 0));
    agent->fired = failing_alloc_disarm();
}

/* Also if memory stays unavailable: reporting that the agent has returned needs none. */
static void a_job_does_not_succeed_if_its_failure_cannot_be_reported(void **state)
{
    static const failing_alloc_mode modes[] = {FAILING_ALLOC_ONE, FAILING_ALLOC_ALL_AFTER};
    poor_agent agent = {.fired = true};
    (void)state;
    runtime_rig_add(&rig, "poor", ARCP_AGENT_NON_BLOCKING, fail_in_poverty, &agent);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        agent.mode = modes[i];
        agent.fired = true;
        for (agent.nth = 1; agent.fired; agent.nth++) {
            assert_true(agent.nth < 100);
            runtime_rig_submit(&rig, "poor", "");
            const char *frame = runtime_rig_wait(&rig, "\"final_status\"");
            assert_non_null(strstr(frame, "\"final_status\":\"error\""));
            assert_non_null(strstr(frame, agent.fired ? "\"code\":\"" : "\"PERMISSION_DENIED\""));
        }
        assert_true(agent.nth > 3); /* the line and its message, at least */
    }
}

static void ask_in_poverty(arcp_agent_call *call, void *user)
{
    arcp_status *answer = user;
    failing_alloc_arm(1, FAILING_ALLOC_ALL_AFTER);
    *answer = arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"), ARCP_SPAN_LITERAL("/srv/a"),
                                   NULL, NULL, NULL);
    (void)failing_alloc_disarm();
    arcp_agent_succeed(call, arcp_span_make(NULL, 0));
}

static void an_operation_is_denied_if_its_grant_cannot_be_recorded(void **state)
{
    static const struct {
        bool logs_grants;
        uint32_t on_failure;
        arcp_status want;
    } rows[] = {{true, ARCP__AUDIT_DENY, ARCP_E_INTERNAL_ERROR},
                {true, ARCP__AUDIT_CONTINUE, ARCP_OK},
                {false, ARCP__AUDIT_DENY, ARCP_OK}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_settings settings;
        arcp_status answer = ARCP_E_CLOSED;
        arcp__settings_default(&settings);
        settings.audit_grants = rows[i].logs_grants ? ARCP__CHOICE_TRUE : ARCP__CHOICE_FALSE;
        settings.audit_on_failure = rows[i].on_failure;
        runtime_rig_start(&rig, &settings);
        runtime_rig_add(&rig, "asker", ARCP_AGENT_NON_BLOCKING, ask_in_poverty, &answer);
        runtime_rig_submit(&rig, "asker", ",\"lease_request\":{\"fs.read\":[\"/srv/**\"]}");
        (void)runtime_rig_wait(&rig, "\"job.result\"");
        assert_int_equal(answer, rows[i].want);
        runtime_rig_stop(&rig);
    }
}

static void let_go_of(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    bool *is_closed = user;
    (void)code;
    (void)reason;
    *is_closed = true;
    connection->ops->free(connection);
}

static bool is_true(void *user)
{
    return *(const bool *)user;
}

static void serving_with_invalid_options_closes_the_connection(void **state)
{
    arcp_error error = {0};
    arcp_serve_options options = arcp_serve_options_init();
    arcp_connection *ours = NULL;
    arcp_connection *served = NULL;
    bool is_closed = false;
    arcp_connection_callbacks callbacks = {.closed = let_go_of, .user = &is_closed};
    (void)state;
    check_ok(arcp_memory_pair(&rig.loop, NULL, &ours, &served, &error), &error);
    ours->ops->set_callbacks(ours, &callbacks);
    options.struct_size--;
    assert_int_equal(arcp_runtime_serve(rig.runtime, served, &options, &error), ARCP_E_USAGE);
    runtime_rig_until(&rig, is_true, &is_closed);
}

static void an_agent_without_run_is_refused(void **state)
{
    arcp_error error = {0};
    arcp_agent agent = arcp_agent_init();
    arcp_process_agent process = arcp_process_agent_init();
    (void)state;
    agent.name = process.name = "late";
    assert_int_equal(arcp_runtime_register(rig.runtime, &agent, &error), ARCP_E_USAGE);
    assert_int_equal(arcp_runtime_register_process(rig.runtime, &process, &error), ARCP_E_USAGE);
}

/* No function of it may be called, and the program keeps ownership of the object. */
static void a_vtable_of_another_release_is_refused(void **state)
{
    arcp_error error = {0};
    arcp_store_ops store_ops = {.struct_size = sizeof store_ops - 8};
    arcp_launcher_ops launcher_ops = {.struct_size = sizeof launcher_ops + 8};
    arcp_provisioner_ops provisioner_ops = {.struct_size = 0};
    arcp_token_verifier_ops verifier_ops = {.struct_size = sizeof verifier_ops - 8};
    arcp_connection_ops connection_ops = {.struct_size = sizeof connection_ops + 8};
    arcp_store store = {&store_ops};
    arcp_launcher launcher = {&launcher_ops};
    arcp_provisioner provisioner = {.ops = &provisioner_ops};
    arcp_token_verifier verifier = {&verifier_ops};
    arcp_token_verifier *const verifiers[] = {&verifier};
    arcp_connection connection = {&connection_ops};
    arcp_runtime *runtime = NULL;
    arcp_runtime_options options[] = {arcp_runtime_options_init(), arcp_runtime_options_init(),
                                      arcp_runtime_options_init()};
    const char *const names[] = {
        "arcp_store_ops: ", "arcp_launcher_ops: ", "arcp_provisioner_ops: "};
    (void)state;
    options[0].store = &store;
    options[1].launcher = &launcher;
    options[2].provisioner = &provisioner;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        assert_int_equal(arcp_runtime_new(&rig.loop, &options[i], &runtime, &error), ARCP_E_USAGE);
        assert_ptr_equal(strstr(error.message, names[i]), error.message);
        assert_null(runtime);
    }
    assert_int_equal(arcp_runtime_set_token_verifiers(rig.runtime, verifiers, 1, &error),
                     ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "arcp_token_verifier_ops: struct_size is"));
    assert_int_equal(arcp_runtime_serve(rig.runtime, &connection, NULL, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "arcp_connection_ops: struct_size is"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_of_a_blocking_agent_keep_their_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            costs_of_callback_agents_are_counted_with_and_without_a_budget, set_up, tear_down),
        cmocka_unit_test(an_agent_whose_job_has_ended_has_no_authority),
        cmocka_unit_test_setup_teardown(a_job_does_not_succeed_if_its_failure_cannot_be_reported,
                                        set_up, tear_down),
        cmocka_unit_test(an_operation_is_denied_if_its_grant_cannot_be_recorded),
        cmocka_unit_test(a_denied_target_is_recorded_with_a_thousand_bytes),
        cmocka_unit_test_setup_teardown(serving_with_invalid_options_closes_the_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_agent_without_run_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_vtable_of_another_release_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_agent_cannot_send_events_of_the_runtime, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            messages_that_an_agent_puts_at_its_start_are_written_with_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_non_blocking_agent_ends_its_job_itself, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_error_of_an_agent_keeps_code_message_and_details,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_blocking_agent_is_notified_and_its_job_ends,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_delegating_agent_waits_for_its_child, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            ten_thousand_events_of_four_threads_arrive_numbered_without_a_gap, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
