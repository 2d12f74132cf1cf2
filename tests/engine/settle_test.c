/* What a host reports when a job is about to end: it is recorded before the job's last event,
 * whichever way the job ends, and once. */
#include "engine/credential_rig.h"

static struct {
    unsigned asked;
    unsigned denials; /* that it reports */
    const char *cost; /* that it reports; NULL: none */
} host;

static void settle(void *user, struct arcp__job *job, const arcp__settle_sink *sink)
{
    (void)user;
    host.asked++;
    if (host.cost != NULL) {
        arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
        const arcp__job_port port = {.authority = job->live->authority};
        arcp__job_message message = {
            .kind = ARCP_EVENT_METRIC,
            .kind_text = ARCP_SPAN_LITERAL("metric"),
            .body = ARCP_SPAN_LITERAL("{\"name\":\"cost.inference\",\"value\":1,\"unit\":\"USD\"}"),
            .unit = ARCP_SPAN_LITERAL("USD")};
        arcp_error err = {0};
        check_ok(arcp_decimal_parse(arcp_span_cstr(host.cost), &message.amount, &err), &err);
        arcp__job_port_spend(&port, &message, reports);
        sink->message(sink->user, &message);
    }
    for (unsigned i = 0; i < host.denials; i++) {
        const arcp__denial denial = {.layer = ARCP__DENIAL_GATEWAY,
                                     .code = ARCP_E_PERMISSION_DENIED,
                                     .capability = ARCP_SPAN_LITERAL("model.use"),
                                     .target = ARCP_SPAN_LITERAL("gpt"),
                                     .reason = ARCP_SPAN_LITERAL("NO_MATCH"),
                                     .count = 1};
        sink->denied(sink->user, &denial);
    }
}

static void prepare(void *user, arcp__engine_options *options)
{
    options->hosts = (arcp__agent_hosts){.user = user, .settle = settle};
}

static int set_up(void **state)
{
    const int result = credential_setup(state);
    fixture *f = *state;
    memset(&host, 0, sizeof host);
    f->rig.prepare = prepare;
    return result;
}

#define BUDGET "\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:5\"]}"

static rig_agent *begin(fixture *f, const char *payload)
{
    start_with(f, "\"cost.budget\",\"lease_expires_at\",\"subscribe\"");
    submit(f, "1", payload);
    while (strstr(next(f, "a"), "\"phase\":\"running\"") == NULL) {
        assert_string_not_equal(f->frame, "");
    }
    return rig_agent_last(&f->rig);
}

static void end_by_result(fixture *f, rig_agent *agent)
{
    rig_agent_writes(&f->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
}

static void end_by_exit(fixture *f, rig_agent *agent)
{
    rig_agent_exits(&f->rig, agent, false, 1);
}

static void end_by_max_runtime(fixture *f, rig_agent *agent)
{
    (void)agent;
    rig_clock(&f->rig, 30 * ARCP_NS_PER_SEC);
}

static void end_by_expiry(fixture *f, rig_agent *agent)
{
    (void)agent;
    rig_clock(&f->rig, 60 * ARCP_NS_PER_SEC);
}

static void end_by_stop(fixture *f, rig_agent *agent)
{
    (void)agent;
    arcp__engine_shutdown(f->rig.engine, f->rig.now, false);
    arcp__engine_shutdown(f->rig.engine, f->rig.now, false);
    rig_run(&f->rig);
}

static void reports_come_before_the_last_event_of_each_end(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *payload;
        void (*end)(fixture *f, rig_agent *agent);
        const char *last;
    } rows[] = {
        {"{" BUDGET "}", end_by_result, "\"type\":\"job.result\""},
        {"{" BUDGET "}", end_by_exit, "\"code\":\"INTERNAL_ERROR\""},
        {"{" BUDGET ",\"max_runtime_sec\":30}", end_by_max_runtime, "\"code\":\"TIMEOUT\""},
        {"{" BUDGET ",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:01:00Z\"}}",
         end_by_expiry, "\"code\":\"LEASE_EXPIRED\""},
        {"{" BUDGET "}", end_by_stop, "\"code\":\"INTERNAL_ERROR\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i != 0) {
            credential_teardown(state);
            assert_int_equal(set_up(state), 0);
            f = *state;
        }
        rig_agent *agent = begin(f, rows[i].payload);
        host.cost = "1";
        host.denials = 1;
        rows[i].end(f, agent);
        check_has(next(f, "a"), "cost.inference");
        check_has(next(f, "a"), "cost.budget.remaining");
        check_has(next(f, "a"), "\"layer\":\"gateway\"");
        check_has(next(f, "a"), rows[i].last);
        assert_int_equal(host.asked, 1);
    }
}

static void a_host_is_asked_once_and_not_after_the_end(void **state)
{
    fixture *f = *state;
    rig_agent *agent = begin(f, "{" BUDGET "}");
    end_by_result(f, agent);
    end_by_exit(f, agent);
    assert_int_equal(host.asked, 1);
}

static void a_last_cost_that_uses_up_the_budget_ends_the_job_so(void **state)
{
    fixture *f = *state;
    f->rig.settings.budget_on_exhaustion = ARCP__ON_EXHAUSTION_FAIL;
    rig_agent *agent = begin(f, "{" BUDGET "}");
    host.cost = "6";
    end_by_result(f, agent);
    check_has(next(f, "a"), "cost.inference");
    check_has(next(f, "a"), "cost.budget.remaining");
    check_has(next(f, "a"), "\"code\":\"BUDGET_EXHAUSTED\"");
    assert_int_equal(host.asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_come_before_the_last_event_of_each_end, set_up,
                                        credential_teardown),
        cmocka_unit_test_setup_teardown(a_host_is_asked_once_and_not_after_the_end, set_up,
                                        credential_teardown),
        cmocka_unit_test_setup_teardown(a_last_cost_that_uses_up_the_budget_ends_the_job_so, set_up,
                                        credential_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
