/* What a job's port decides on the calling thread, and which message it makes for the engine. */
#include "core/gate_rig.h"

#include <stdio.h>

#include "support/check.h"

#include "core/job_port.h"

typedef struct fixture {
    arcp_authority *authority;
    arcp__job_gates gates;
    arcp__job_port port;
    arcp_json json;
    arcp_buf scratch, out, details;
    arcp_error error;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.out = arcp_buf_init()};
    f.authority = authority_of("{\"tool.call\":[\"web.*\"],\"cost.budget\":[\"USD:1.00\"]}", "");
    f.port.authority = f.authority;
    f.port.gates = &f.gates;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    arcp__job_port_fini(&f->port);
    arcp_authority_unref(f->authority);
    arcp__json_fini(&f->json);
    arcp_buf_fini(&f->scratch);
    arcp_buf_fini(&f->out);
    arcp_buf_fini(&f->details);
    return 0;
}

static bool authorizes(fixture *f, const char *tool, arcp__job_message *out)
{
    return arcp__job_port_authorize(&f->port, at_zero, SPAN("tool.call"), arcp_span_cstr(tool),
                                    &scratch, NULL, out, &f->error);
}

static arcp_status emit(fixture *f, const char *kind, const char *body, arcp__job_message *out)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_buf_clear(&f->scratch);
    arcp_buf_clear(&f->out);
    arcp_buf_clear(&f->details);
    check_ok(arcp_json_scan(&f->json, arcp_span_cstr(body), &limits, &f->error), &f->error);
    assert_true(arcp_buf_reserve(&f->scratch, 256));
    const arcp__job_port_event event = {.kind = arcp_span_cstr(kind),
                                        .json = &f->json,
                                        .body = ARCP_JSON_ROOT,
                                        .scratch = &f->scratch,
                                        .out = &f->out,
                                        .details = &f->details};
    return arcp__job_port_emit(&f->port, at_zero, &event, out, &f->error);
}

static void a_grant_is_reported_only_if_the_operator_logs_it(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    assert_true(authorizes(f, "web.get", &message));
    assert_false(message.is_decided);
    atomic_store(&f->gates.grants_are_logged, true);
    assert_true(authorizes(f, "web.get", &message));
    assert_true(message.is_decided);
    check_span(message.decision.pattern, "web.*");
    assert_int_equal(message.body.size, 0);
}

static void a_denial_is_reported(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    assert_false(authorizes(f, "shell", &message));
    assert_true(message.is_decided);
    assert_int_equal(message.decision.code, ARCP_E_PERMISSION_DENIED);
    assert_int_equal(f->error.status, ARCP_E_PERMISSION_DENIED);
}

static void nothing_is_granted_while_decisions_must_be_recorded_and_cannot_be(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    atomic_store(&f->gates.are_closed, true);
    assert_false(authorizes(f, "web.get", &message));
    assert_true(message.is_decided);
    assert_int_equal(message.decision.code, ARCP_E_INTERNAL_ERROR);
    assert_false(authorizes(f, "shell", &message));
    assert_int_equal(message.decision.code, ARCP_E_PERMISSION_DENIED);
}

static void a_cost_of_a_call_that_a_gateway_charged_is_shown_and_not_charged_again(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    static const char *const bodies[] = {
        "{\"name\":\"cost.inference\",\"value\":1,\"unit\":\"USD\",\"dimensions\":{\"call_id\":"
        "\"call_1\"}}",
        "{\"name\":\"cost.inference\",\"value\":1,\"unit\":\"USD\",\"dimensions\":{\"call_id\":"
        "\"call_2\"}}",
        "{\"name\":\"cost.inference\",\"value\":1,\"unit\":\"USD\",\"dimensions\":{\"call_id\":1}"
        "}"};
    assert_true(arcp__denied_calls_add(&f->port.charged, SPAN("call_1")));
    for (size_t i = 0; i < 3; i++) {
        check_ok(emit(f, "metric", bodies[i], &message), &f->error);
        assert_true(message.body.size != 0);
        assert_int_equal(message.unit.size, i == 0 ? 0 : 3);
    }
}

static void a_port_that_has_ended_allows_nothing(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    arcp__job_port_end(&f->port);
    assert_false(authorizes(f, "web.get", &message));
    assert_false(message.is_decided);
    assert_int_equal(message.decision.code, ARCP_E_CLOSED);
    assert_int_equal(
        emit(f, "tool_call", "{\"tool\":\"web.get\",\"args\":{},\"call_id\":\"c\"}", &message),
        ARCP_E_CLOSED);
    assert_int_equal(message.body.size, 0);
}

static void a_refused_call_becomes_a_result_that_the_agent_may_not_give_itself(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    assert_int_equal(
        emit(f, "tool_call", "{\"tool\":\"shell\",\"args\":{},\"call_id\":\"c1\"}", &message),
        ARCP_E_PERMISSION_DENIED);
    assert_true(message.is_decided);
    check_span(message.kind_text, "tool_result");
    arcp_buf_append_byte(&f->out, '\0');
    assert_non_null(strstr(f->out.data, "\"call_id\":\"c1\""));
    assert_non_null(strstr(f->out.data, "\"PERMISSION_DENIED\""));
    assert_null(strstr(f->out.data, "\"tool\":"));

    static const char result[] = "{\"call_id\":\"c1\",\"result\":1}";
    assert_int_equal(emit(f, "tool_result", result, &message), ARCP_E_INVALID_REQUEST);
    assert_int_equal(message.body.size, 0);
    /* A call that is allowed frees the id again. */
    check_ok(
        emit(f, "tool_call", "{\"tool\":\"web.get\",\"args\":{},\"call_id\":\"c1\"}", &message),
        &f->error);
    check_span(message.kind_text, "tool_call");
    check_ok(emit(f, "tool_result", result, &message), &f->error);
    check_span(message.body, result);
}

static void a_cost_is_subtracted_only_when_its_event_is_certain(void **state)
{
    fixture *f = *state;
    arcp__job_message message;
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    check_ok(emit(f, "metric", "{\"name\":\"cost.llm\",\"value\":0.75,\"unit\":\"USD\"}", &message),
             &f->error);
    check_span(message.unit, "USD");
    assert_false(message.is_spent);
    assert_true(authorizes(f, "web.get", &message));

    for (unsigned i = 0; i < 2; i++) {
        check_ok(
            emit(f, "metric", "{\"name\":\"cost.llm\",\"value\":0.75,\"unit\":\"USD\"}", &message),
            &f->error);
        arcp__job_port_spend(&f->port, &message, reports);
        assert_true(message.is_spent);
    }
    assert_false(authorizes(f, "web.get", &message));
    assert_int_equal(message.decision.code, ARCP_E_BUDGET_EXHAUSTED);
}

/* ---- calls that the runtime has answered with a denial ---- */

static arcp_span number(unsigned index)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "c%u", index);
    return arcp_span_cstr(text);
}

static void deny(fixture *f, arcp_span id)
{
    assert_true(arcp__denied_calls_add(&f->port.denied, id));
}

/* The agent gives the call's result itself. */
static arcp_status answer(fixture *f, arcp_span id)
{
    char body[64];
    arcp__job_message message;
    (void)snprintf(body, sizeof body, "{\"call_id\":\"%.*s\",\"result\":1}", (int)id.size, id.data);
    return emit(f, "tool_result", body, &message);
}

/* An allowed call has the id. */
static void pass(fixture *f, arcp_span id)
{
    char body[64];
    arcp__job_message message;
    (void)snprintf(body, sizeof body, "{\"tool\":\"web.get\",\"args\":{},\"call_id\":\"%.*s\"}",
                   (int)id.size, id.data);
    assert_int_equal(emit(f, "tool_call", body, &message), ARCP_OK);
}

static void a_denied_call_is_known_and_named(void **state)
{
    fixture *f = *state;
    assert_int_equal(answer(f, SPAN("c1")), ARCP_OK);
    deny(f, SPAN("c1"));
    assert_int_equal(answer(f, SPAN("c1")), ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(f->error.message, "\"c1\""));
    assert_int_equal(answer(f, SPAN("c2")), ARCP_OK);
    assert_int_equal(answer(f, SPAN("c")), ARCP_OK);
}

static void an_id_that_passes_is_free_again(void **state)
{
    fixture *f = *state;
    for (unsigned i = 0; i < 3; i++) {
        deny(f, number(i));
        deny(f, number(i)); /* once is enough */
    }
    pass(f, number(0));
    pass(f, number(0));
    pass(f, number(9));
    assert_int_equal(answer(f, number(0)), ARCP_OK);
    assert_int_equal(answer(f, number(1)), ARCP_E_INVALID_REQUEST);
    assert_int_equal(answer(f, number(2)), ARCP_E_INVALID_REQUEST);
}

static void an_empty_id_counts_as_none(void **state)
{
    fixture *f = *state;
    deny(f, arcp_span_make(NULL, 0));
    assert_int_equal(f->port.denied.count, 0);
}

static void the_last_256_denials_are_remembered(void **state)
{
    fixture *f = *state;
    for (unsigned i = 0; i < ARCP__DENIED_CALLS_MAX; i++) {
        deny(f, number(i));
    }
    assert_int_equal(answer(f, number(0)), ARCP_E_INVALID_REQUEST);
    for (unsigned i = 0; i < 10; i++) {
        deny(f, number(1000 + i));
        assert_int_equal(answer(f, number(i)), ARCP_OK);
        assert_int_equal(answer(f, number(1000 + i)), ARCP_E_INVALID_REQUEST);
    }
    assert_int_equal(answer(f, number(10)), ARCP_E_INVALID_REQUEST);
    assert_int_equal(answer(f, number(ARCP__DENIED_CALLS_MAX - 1)), ARCP_E_INVALID_REQUEST);
    /* A free place is used before another call is dropped. */
    pass(f, number(20));
    deny(f, number(2000));
    assert_int_equal(answer(f, number(10)), ARCP_E_INVALID_REQUEST);
    assert_int_equal(answer(f, number(2000)), ARCP_E_INVALID_REQUEST);
}

#define FIXTURE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(a_grant_is_reported_only_if_the_operator_logs_it),
        FIXTURE_TEST(a_denial_is_reported),
        FIXTURE_TEST(nothing_is_granted_while_decisions_must_be_recorded_and_cannot_be),
        FIXTURE_TEST(a_cost_of_a_call_that_a_gateway_charged_is_shown_and_not_charged_again),
        FIXTURE_TEST(a_port_that_has_ended_allows_nothing),
        FIXTURE_TEST(a_refused_call_becomes_a_result_that_the_agent_may_not_give_itself),
        FIXTURE_TEST(a_cost_is_subtracted_only_when_its_event_is_certain),
        FIXTURE_TEST(a_denied_call_is_known_and_named),
        FIXTURE_TEST(an_id_that_passes_is_free_again),
        FIXTURE_TEST(an_empty_id_counts_as_none),
        FIXTURE_TEST(the_last_256_denials_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
