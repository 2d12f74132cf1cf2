/* The submit policy, with which the embedding program decides about every job. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include <arcp/lease_subset.h>

static runtime_rig rig;

typedef struct ruler {
    arcp_status status; /* of the next answer */
    const char *lease;  /* to answer with; NULL: none */
    const char *constraints;
    const char *message;
    const char *details;
    bool within_upstream; /* asserts what is asked to be within an upstream lease */
    unsigned asked;
    char agent[64], principal[64], input[64], parent[64], was_asked[512];
} ruler;

static ruler rules;

static void copy(char *to, size_t size, arcp_span from)
{
    (void)snprintf(to, size, "%.*s", (int)from.size, from.size == 0 ? "" : from.data);
}

static arcp_status answer_with(const char *lease, const char *constraints, const arcp_lease **out,
                               arcp_error *err)
{
    arcp_lease *parsed = NULL;
    const arcp_status status =
        arcp_lease_parse(arcp_span_cstr(lease), arcp_span_cstr(constraints), NULL, &parsed, err);
    *out = parsed;
    return status;
}

static arcp_status rule(void *user, const arcp_submit_request *request, const arcp_lease **narrowed,
                        arcp_error *err)
{
    ruler *r = user;
    arcp_buf lease = arcp_buf_init();
    r->asked++;
    assert_int_equal(request->struct_size, sizeof *request);
    assert_int_equal(request->trace_id.size, 32);
    copy(r->agent, sizeof r->agent, request->agent);
    copy(r->principal, sizeof r->principal, request->principal);
    copy(r->input, sizeof r->input, request->input);
    copy(r->parent, sizeof r->parent, request->parent_job_id);
    arcp_lease_format(request->lease, &lease);
    copy(r->was_asked, sizeof r->was_asked, arcp_buf_span(&lease));
    arcp_buf_fini(&lease);
    if (r->within_upstream) {
        const arcp_lease *upstream = NULL;
        arcp_status status = answer_with("{\"fs.read\":[\"/srv/**\"]}", "", &upstream, err);
        if (status == ARCP_OK) {
            status = arcp_lease_assert_subset(request->lease, upstream, err);
        }
        arcp_lease_unref(upstream);
        return status;
    }
    if (r->lease != NULL) {
        return answer_with(r->lease, r->constraints == NULL ? "" : r->constraints, narrowed, err);
    }
    if (r->status != ARCP_OK && r->message != NULL) {
        (void)arcp_error_set(err, r->status, "%s", r->message);
    }
    if (r->details != NULL) {
        arcp_error_set_details(err, arcp_span_cstr(r->details));
    }
    return r->status;
}

static void mirror(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, arcp_json_raw(arcp_agent_start(call), arcp_agent_input(call)));
}

static void delegate_once(arcp_agent_call *call, void *user)
{
    arcp_buf reply = arcp_buf_init();
    (void)user;
    const arcp_status status = arcp_agent_delegate(
        call,
        ARCP_SPAN_LITERAL("{\"agent\":\"mirror\",\"input\":\"deep\",\"delegate_id\":\"D\",\"wait\":"
                          "true,\"lease_request\":{\"fs.read\":[\"/srv/**\"]}}"),
        &reply, NULL);
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
    assert_true(status == ARCP_OK || status == ARCP_E_PERMISSION_DENIED);
    arcp_buf_fini(&reply);
}

static void add(const char *name, arcp_agent_kind kind, void (*run)(arcp_agent_call *, void *))
{
    arcp_agent agent = arcp_agent_init();
    arcp_error error = {0};
    agent.name = name;
    agent.version = "1.0.0";
    agent.kind = kind;
    agent.run = run;
    check_ok(arcp_runtime_register(rig.runtime, &agent, &error), &error);
}

static int set_up(void **state)
{
    (void)state;
    runtime_rig_start(&rig, NULL);
    add("mirror", ARCP_AGENT_NON_BLOCKING, mirror);
    add("boss", ARCP_AGENT_BLOCKING, delegate_once);
    rules = (ruler){0};
    arcp_runtime_set_submit_policy(rig.runtime, rule, &rules);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

#define SRV_AND_BUDGET                                                                             \
    ",\"input\":{\"a\": 1},\"lease_request\":{\"fs.read\":[\"/srv/**\"],\"cost.budget\":["         \
    "\"USD:5\"]},\"lease_constraints\":{\"expires_at\":\"2190-01-01T00:00:00Z\"}"

static void an_allowed_job_is_not_changed(void **state)
{
    (void)state;
    runtime_rig_submit(&rig, "mirror", SRV_AND_BUDGET);
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.accepted\""),
                           "\"lease\":{\"fs.read\":[\"/srv/**\"],\"cost.budget\":[\"USD:5\"]}"));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(rules.asked, 1);
    assert_string_equal(rules.agent, "mirror@1.0.0");
    assert_string_equal(rules.input, "{\"a\":1}");
    assert_string_equal(rules.parent, "");
    assert_true(rules.principal[0] != '\0');
}

static void a_job_gets_the_narrowed_lease(void **state)
{
    (void)state;
    rules.lease = "{\"fs.read\":[\"/srv/a\"],\"cost.budget\":[\"USD:2\"]}";
    rules.constraints = "{\"expires_at\":\"2189-01-01T00:00:00Z\"}";
    runtime_rig_submit(&rig, "mirror", SRV_AND_BUDGET);
    const char *frame = runtime_rig_wait(&rig, "\"job.accepted\"");
    assert_non_null(
        strstr(frame, "\"lease\":{\"fs.read\":[\"/srv/a\"],\"cost.budget\":[\"USD:2\"]}"));
    assert_non_null(strstr(frame, "2189-01-01T00:00:00Z"));
}

static void limits_that_a_response_omits_are_kept(void **state)
{
    (void)state;
    rules.lease = "{\"fs.read\":[\"/srv/a\"]}";
    runtime_rig_submit(&rig, "mirror", SRV_AND_BUDGET);
    const char *frame = runtime_rig_wait(&rig, "\"job.accepted\"");
    assert_non_null(
        strstr(frame, "\"lease\":{\"fs.read\":[\"/srv/a\"],\"cost.budget\":[\"USD:5\"]}"));
    assert_non_null(strstr(frame, "2190-01-01T00:00:00Z"));
}

static void a_wider_answer_is_refused(void **state)
{
    static const char *const wider[] = {
        "{\"fs.read\":[\"/**\"]}",
        "{\"fs.read\":[\"/srv/a\"],\"fs.write\":[\"/srv/a\"]}",
        "{\"fs.read\":[\"/srv/a\"],\"cost.budget\":[\"USD:5.01\"]}",
        "{\"fs.read\":[\"/srv/a\"],\"cost.budget\":[\"EUR:1\"]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wider / sizeof wider[0]; i++) {
        rules.lease = wider[i];
        runtime_rig_submit(&rig, "mirror", SRV_AND_BUDGET);
        const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
        assert_non_null(strstr(frame, "\"code\":\"INTERNAL_ERROR\""));
    }
    rules.lease = "{\"fs.read\":[\"/srv/a\"]}";
    rules.constraints = "{\"expires_at\":\"2190-01-01T00:00:00.001Z\"}";
    runtime_rig_submit(&rig, "mirror", SRV_AND_BUDGET);
    (void)runtime_rig_wait(&rig, "\"job.error\"");
    assert_false(runtime_rig_has(&rig, "\"job.accepted\""));
}

static void a_refusal_keeps_code_message_and_details(void **state)
{
    (void)state;
    rules.status = ARCP_E_PERMISSION_DENIED;
    rules.message = "not today";
    rules.details = "{\"why\":\"monday\"}";
    runtime_rig_submit(&rig, "mirror", ",\"idempotency_key\":\"K\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.error\""),
                           "\"code\":\"PERMISSION_DENIED\",\"message\":\"not today\","
                           "\"retryable\":false,\"details\":{\"why\":\"monday\"}"));
    /* The key is free; and the policy is not asked again about an accepted job. */
    rules = (ruler){0};
    runtime_rig_submit(&rig, "mirror", ",\"idempotency_key\":\"K\"");
    (void)runtime_rig_wait(&rig, "\"job.accepted\"");
    runtime_rig_submit(&rig, "mirror", ",\"idempotency_key\":\"K\"");
    (void)runtime_rig_wait(&rig, "\"job.accepted\"");
    assert_int_equal(rules.asked, 1);
}

static void a_status_without_a_code_travels_as_internal_error(void **state)
{
    (void)state;
    rules.status = ARCP_E_NO_MEMORY;
    runtime_rig_submit(&rig, "mirror", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"code\":\"INTERNAL_ERROR\""));
    assert_non_null(strstr(frame, "\"retryable\":true"));
    assert_non_null(strstr(frame, "refused by the runtime's submit policy"));
}

static void a_lease_from_upstream_bounds_requests(void **state)
{
    (void)state;
    rules.within_upstream = true;
    runtime_rig_submit(&rig, "mirror", ",\"lease_request\":{\"fs.read\":[\"/srv/a\",\"/etc/*\"]}");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"code\":\"LEASE_SUBSET_VIOLATION\""));
    assert_non_null(strstr(frame, "\"child_pattern\":\"/etc/*\",\"witness\":\"/etc/"));
    runtime_rig_submit(&rig, "mirror", ",\"lease_request\":{\"fs.read\":[\"/srv/a\"]}");
    (void)runtime_rig_wait(&rig, "\"job.accepted\"");
}

static void the_submit_policy_follows_the_operators_policy(void **state)
{
    (void)state;
    arcp_error error = {0};
    arcp_lease *ceiling = NULL;
    check_ok(arcp_lease_parse(ARCP_SPAN_LITERAL("{\"fs.read\":[\"/srv/b/**\"]}"),
                              arcp_span_make(NULL, 0), NULL, &ceiling, &error),
             &error);
    arcp_policy policy = arcp_policy_init();
    policy.agent_glob = "mirror";
    policy.ceiling = ceiling;
    check_ok(arcp_runtime_add_policy(rig.runtime, &policy, &error), &error);
    arcp_lease_unref(ceiling);
    runtime_rig_submit(&rig, "mirror", ",\"lease_request\":{\"fs.read\":[\"/srv/**\"]}");
    (void)runtime_rig_wait(&rig, "\"job.accepted\"");
    assert_string_equal(rules.was_asked, "{\"fs.read\":[\"/srv/b/**\"]}");
}

static void the_submit_policy_decides_delegations_too(void **state)
{
    (void)state;
    runtime_rig_submit(
        &rig, "boss", ",\"lease_request\":{\"fs.read\":[\"/srv/**\"],\"agent.delegate\":[\"**\"]}");
    (void)runtime_rig_wait(&rig, "\"kind\":\"delegate\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(rules.asked, 2);
    assert_string_equal(rules.agent, "mirror@1.0.0");
    assert_string_equal(rules.input, "\"deep\"");
    assert_true(strncmp(rules.parent, "job_", 4) == 0);
}

static arcp_status refuse_children(void *user, const arcp_submit_request *request,
                                   const arcp_lease **narrowed, arcp_error *err)
{
    (void)user;
    (void)narrowed;
    return request->parent_job_id.size == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_PERMISSION_DENIED, "no children here");
}

static void a_refused_delegation_is_a_tool_result_on_the_parent(void **state)
{
    (void)state;
    arcp_runtime_set_submit_policy(rig.runtime, refuse_children, NULL);
    runtime_rig_submit(
        &rig, "boss", ",\"lease_request\":{\"fs.read\":[\"/srv/**\"],\"agent.delegate\":[\"**\"]}");
    const char *frame = runtime_rig_wait(&rig, "\"kind\":\"tool_result\"");
    assert_non_null(strstr(frame, "\"call_id\":\"D\""));
    assert_non_null(
        strstr(frame, "\"code\":\"PERMISSION_DENIED\",\"message\":\"no children here\""));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_false(runtime_rig_has(&rig, "parent_job_id"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_allowed_job_is_not_changed),
        TEST(a_job_gets_the_narrowed_lease),
        TEST(limits_that_a_response_omits_are_kept),
        TEST(a_wider_answer_is_refused),
        TEST(a_refusal_keeps_code_message_and_details),
        TEST(a_status_without_a_code_travels_as_internal_error),
        TEST(a_lease_from_upstream_bounds_requests),
        TEST(the_submit_policy_follows_the_operators_policy),
        TEST(the_submit_policy_decides_delegations_too),
        TEST(a_refused_delegation_is_a_tool_result_on_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
