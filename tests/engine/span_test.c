/* Trace context and spans (§11): the parents of spans, their attributes, and when there are
 * none. */
#include "engine/credential_rig.h"

#include "engine/state.h"
#include "json/json.h"

#define TRACE   "4bf92f3577b34da6a3ce929d0e0e4736"
#define CALLER  "00f067aa0ba902b7"
#define CONTEXT "00-" TRACE "-" CALLER "-01"

typedef struct ids {
    char trace[40], id[20], parent[20];
    const char *text;
} ids;

static void copy_member(const arcp_json *json, const char *name, char *out, size_t size)
{
    arcp_buf scratch = arcp_buf_init();
    const arcp_span text = arcp_json_string(
        json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)), &scratch);
    (void)snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
    arcp_buf_fini(&scratch);
}

/* The `index`th span of that name, oldest first. */
static bool look_for(fixture *f, const char *name, unsigned index, ids *out)
{
    static char texts[4][4096];
    static unsigned turn;
    const arcp_json_limits limits = arcp_json_limits_init();
    for (const rig_text *span = f->rig.spans; span != NULL; span = span->next) {
        arcp_json json = ARCP__JSON_INIT;
        arcp_error error = {0};
        char named[64];
        check_ok(arcp_json_scan(&json, arcp_span_make(span->text, span->size), &limits, &error),
                 &error);
        copy_member(&json, "name", named, sizeof named);
        const bool found = strcmp(named, name) == 0 && index-- == 0;
        if (found) {
            turn = (turn + 1) % 4;
            (void)snprintf(texts[turn], sizeof texts[turn], "%.*s", (int)span->size, span->text);
            out->text = texts[turn];
            copy_member(&json, "traceId", out->trace, sizeof out->trace);
            copy_member(&json, "spanId", out->id, sizeof out->id);
            copy_member(&json, "parentSpanId", out->parent, sizeof out->parent);
        }
        arcp__json_fini(&json);
        if (found) {
            return true;
        }
    }
    return false;
}

static ids find(fixture *f, const char *name, unsigned index)
{
    ids found = {.text = NULL};
    if (!look_for(f, name, index, &found)) {
        fail_msg("there is no span %s number %u", name, index);
    }
    return found;
}

/* It is of the same trace as `parent`. */
static void check_below(const ids *span, const ids *parent)
{
    assert_string_equal(span->trace, parent->trace);
    assert_string_equal(span->parent, parent->id);
}

static void check_below_the_caller(const ids *span)
{
    assert_string_equal(span->trace, TRACE);
    assert_string_equal(span->parent, CALLER);
}

static unsigned count(const fixture *f)
{
    unsigned all = 0;
    for (const rig_text *span = f->rig.spans; span != NULL; span = span->next) {
        all++;
    }
    return all;
}

static void submit_in(fixture *f, const char *id, const char *context, const char *payload)
{
    char frame[4096];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"extensions\":"
                   "{\"x-vendor.opentelemetry.tracecontext\":{\"traceparent\":\"%s\","
                   "\"tracestate\":\"v=1\"}},\"payload\":%s}",
                   id, context, payload);
    rig_send(&f->rig, rig_find(&f->rig, "a"), frame);
}

/* A session with spans; the engine has no provisioner unless `has_upstream`. */
static void open_rig(fixture *f, bool has_upstream)
{
    f->rig.makes_spans = true;
    if (!has_upstream) {
        f->rig.credentials.terms = NULL;
    }
    start(f);
}

static void a_submit_s_trace_has_session_job_and_child_below_the_caller(void **state)
{
    fixture *f = *state;
    char line[256];
    open_rig(f, false);
    submit_in(f, "1", CONTEXT,
              "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work@*\"]}}");
    rig_agent *parent = rig_agent_last(&f->rig);
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    rig_agent *child = rig_agent_last(&f->rig);
    assert_ptr_not_equal(parent, child);
    char *start_of_child = rig_agent_take(child);
    ends(f, child);
    assert_int_equal(count(f), 1); /* the others go on */
    ends(f, parent);
    assert_int_equal(count(f), 3);
    ids session = find(f, "arcp.session", 0);
    ids below = find(f, "arcp.job", 0);
    ids job = find(f, "arcp.job", 1);
    check_below_the_caller(&session);
    check_below(&job, &session);
    check_below(&below, &job);
    assert_string_not_equal(below.id, job.id);
    check_has(session.text, "\"traceState\":\"v=1\"");
    check_has(session.text, "\"flags\":769");
    check_has(job.text, "\"flags\":257");
    check_has(below.text, parent->job_id); /* arcp.parent_job_id */
    (void)snprintf(line, sizeof line, "\"traceparent\":\"00-" TRACE "-%s-01\"", below.id);
    check_has(start_of_child, line);
    check_has(start_of_child, "\"tracestate\":\"v=1\"");
    arcp_free(start_of_child);
    check_has(next_line(f, parent), job.id); /* its own job.start */
}

/* [arcp:11-3] */
static void a_job_span_has_its_lease_and_its_remaining_budget(void **state)
{
    fixture *f = *state;
    open_rig(f, false);
    submit_in(f, "1", CONTEXT,
              "{\"agent\":\"work\",\"lease_request\":{\"fs.read\":[\"/private/**\"],"
              "\"cost.budget\":[\"USD:5.00\"]},\"lease_constraints\":{\"expires_at\":"
              "\"2026-01-01T01:00:00Z\"}}");
    rig_agent *agent = rig_agent_last(&f->rig);
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
                     "\"cost.x\",\"value\":1.25,\"unit\":\"USD\"}}}");
    rig_clock(&f->rig, 3 * ARCP_NS_PER_SEC);
    rig_agent_writes(&f->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":\"hush\"}}");
    const ids job = find(f, "arcp.job", 0);
    check_has(job.text, "{\"key\":\"arcp.session_id\",\"value\":{\"stringValue\":\"sess_");
    check_has(job.text, "{\"key\":\"arcp.job_id\",\"value\":{\"stringValue\":\"job_");
    check_has(job.text, "{\"key\":\"arcp.agent\",\"value\":{\"stringValue\":\"work@1.0.0\"}}");
    check_has(job.text, "{\"key\":\"arcp.lease.capabilities\",\"value\":{\"arrayValue\":{\"values\""
                        ":[{\"stringValue\":\"fs.read\"},{\"stringValue\":\"cost.budget\"}]}}}");
    check_has(job.text, "{\"key\":\"arcp.lease.expires_at\",\"value\":{\"stringValue\":"
                        "\"2026-01-01T01:00:00.000Z\"}}");
    check_has(job.text, "{\"key\":\"arcp.budget.remaining\",\"value\":{\"arrayValue\":{\"values\":"
                        "[{\"stringValue\":\"USD:3.75\"}]}}}");
    check_has(job.text, "\"arcp.job.status\",\"value\":{\"stringValue\":\"success\"}");
    check_has(job.text, "\"startTimeUnixNano\":\"1767225600000000000\"");
    check_has(job.text, "\"endTimeUnixNano\":\"1767225603000000000\"");
    check_has(job.text, "\"status\":{}");
    check_has_not(job.text, "private");
    check_has_not(job.text, "hush");
}

static void an_error_is_marked_without_the_agents_text(void **state)
{
    fixture *f = *state;
    open_rig(f, false);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    rig_agent_writes(&f->rig, rig_agent_last(&f->rig),
                     "{\"type\":\"job.error\",\"payload\":{\"code\":\"PERMISSION_DENIED\","
                     "\"message\":\"the key was hush-hush\"}}");
    for (unsigned i = 0; i < 2; i++) {
        const ids span = find(f, i == 0 ? "arcp.job" : "arcp.session", 0);
        check_has(span.text, "\"status\":{\"code\":2,\"message\":\"PERMISSION_DENIED\"}");
        check_has(span.text, "\"error.type\",\"value\":{\"stringValue\":\"PERMISSION_DENIED\"}");
        check_has_not(span.text, "hush");
    }
}

static void a_cancelled_job_is_no_error(void **state)
{
    fixture *f = *state;
    char payload[128];
    open_rig(f, false);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&f->rig);
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\"}", agent->job_id);
    request(f, "a", "2", "job.cancel", payload);
    ends(f, agent);
    const ids job = find(f, "arcp.job", 0);
    check_has(job.text, "\"arcp.job.status\",\"value\":{\"stringValue\":\"cancelled\"}");
    check_has(job.text, "\"status\":{}");
}

static void a_trace_that_the_caller_does_not_sample_is_not_recorded(void **state)
{
    static const char unsampled[] = "00-" TRACE "-" CALLER "-00";
    fixture *f = *state;
    open_rig(f, true);
    submit_in(f, "1", unsampled,
              "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work@*\"]}}");
    assert_string_equal(f->up.traceparent, unsampled);
    rig_agent *parent = rig_agent_last(&f->rig);
    check_has(next_line(f, parent), unsampled);
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    check_has(next_line(f, rig_agent_last(&f->rig)), unsampled);
    ends(f, parent);
    assert_int_equal(count(f), 0);
}

static void a_submit_without_a_context_begins_a_trace(void **state)
{
    fixture *f = *state;
    open_rig(f, false);
    submit(f, "1", "{\"agent\":\"echo\"}");
    ends(f, rig_agent_last(&f->rig));
    ids session = find(f, "arcp.session", 0);
    ids job = find(f, "arcp.job", 0);
    assert_string_equal(session.parent, "");
    check_below(&job, &session);
    check_has(session.text, "\"flags\":257"); /* no parent, and so no remote one */
    check_has(next(f, "a"), session.trace);   /* job.accepted */
}

static void without_spans_all_peers_get_the_callers_context(void **state)
{
    fixture *f = *state;
    start(f);
    submit_in(f, "1", CONTEXT,
              "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work@*\"]}}");
    assert_string_equal(f->up.traceparent, CONTEXT);
    rig_agent *parent = rig_agent_last(&f->rig);
    check_has(next_line(f, parent), "\"traceparent\":\"" CONTEXT "\",\"tracestate\":\"v=1\"");
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    check_has(next_line(f, rig_agent_last(&f->rig)), "\"traceparent\":\"" CONTEXT "\"");
    ends(f, parent);
    assert_int_equal(count(f), 0);
}

static void without_a_context_all_of_a_trace_have_one_anchor(void **state)
{
    fixture *f = *state;
    char part[80] = "";
    start(f);
    submit(f, "1", "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work@*\"]}}");
    rig_agent *parent = rig_agent_last(&f->rig);
    const char *found = strstr(next_line(f, parent), "\"traceparent\":\"00-");
    assert_non_null(found);
    (void)snprintf(part, sizeof part, "%.71s", found);
    assert_string_equal(part + 67, "-01\"");
    rig_agent_writes(&f->rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    check_has(next_line(f, rig_agent_last(&f->rig)), part);
    part[70] = '\0';
    assert_string_equal(f->up.traceparent, part + 15);
}

/* After a restart, too, and in a trace that is played back. */
static void the_anchor_of_a_trace_is_the_same_in_every_process(void **state)
{
    fixture *f = *state;
    start(f);
    rig_send(&f->rig, rig_find(&f->rig, "a"),
             "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"job.submit\",\"trace_id\":\"" TRACE
             "\",\"payload\":{\"agent\":\"echo\"}}");
    check_has(next_line(f, rig_agent_last(&f->rig)),
              "\"traceparent\":\"00-" TRACE "-f1bb5f47c03de8b6-01\"");
}

/* ---- the provisioner ---- */

static void calls_to_the_provisioner_are_children_of_the_job(void **state)
{
    fixture *f = *state;
    char asked[64];
    open_rig(f, true);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    ids issue = find(f, "arcp.provision.issue", 0);
    (void)snprintf(asked, sizeof asked, "00-" TRACE "-%s-01", issue.id);
    assert_string_equal(f->up.traceparent, asked);
    ends(f, rig_agent_last(&f->rig));
    ids revoke = find(f, "arcp.provision.revoke", 0);
    ids job = find(f, "arcp.job", 0);
    assert_string_equal(issue.trace, TRACE);
    check_below(&issue, &job);
    check_below(&revoke, &job);
    assert_string_not_equal(revoke.id, issue.id);
    check_has(issue.text, "\"kind\":3");
    check_has(issue.text, "\"arcp.provision.outcome\",\"value\":{\"stringValue\":\"done\"}");
    check_has(issue.text, "{\"key\":\"arcp.session_id\",\"value\":{\"stringValue\":\"sess_");
    for (const rig_text *span = f->rig.spans; span != NULL; span = span->next) {
        char text[4096];
        (void)snprintf(text, sizeof text, "%.*s", (int)span->size, span->text);
        check_has_not(text, "sk-live");
    }
}

static void a_call_through_a_gateway_is_a_child_of_the_job(void **state)
{
    fixture *f = *state;
    open_rig(f, false);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&f->rig);
    const arcp__job_call call = {.name = "arcp.model",
                                 .id = ARCP_SPAN_LITERAL("call_1"),
                                 .target = ARCP_SPAN_LITERAL("gpt"),
                                 .server = ARCP_SPAN_LITERAL("openai"),
                                 .error = ARCP_SPAN_LITERAL("500"),
                                 .span_id = ARCP_SPAN_LITERAL("00000000000000ab"),
                                 .start_wall_ns = 1,
                                 .end_wall_ns = 2};
    arcp__engine_agent_message(f->rig.engine, f->rig.now, agent->job,
                               &(arcp__job_message){.call = &call});
    rig_run(&f->rig);
    ends(f, agent);
    ids span = find(f, "arcp.model", 0);
    ids job = find(f, "arcp.job", 0);
    check_below(&span, &job);
    assert_string_equal(span.id, "00000000000000ab");
    check_has(span.text, "\"arcp.call_id\",\"value\":{\"stringValue\":\"call_1\"}");
    check_has(span.text, "\"arcp.call.target\",\"value\":{\"stringValue\":\"gpt\"}");
    check_has(span.text, "\"error.type\",\"value\":{\"stringValue\":\"500\"}");
}

static void a_credential_that_is_refused_leaves_a_failed_job_span(void **state)
{
    fixture *f = *state;
    f->up.issuing = UPSTREAM_REFUSES;
    open_rig(f, true);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    ids issue = find(f, "arcp.provision.issue", 0);
    ids job = find(f, "arcp.job", 0);
    ids session = find(f, "arcp.session", 0);
    check_below_the_caller(&session);
    check_below(&job, &session);
    check_below(&issue, &job);
    check_has(issue.text, "\"status\":{\"code\":2,\"message\":\"refused\"}");
    check_has(job.text, "\"status\":{\"code\":2,\"message\":\"INTERNAL_ERROR\"}");
    check_has(job.text, "\"arcp.job.status\",\"value\":{\"stringValue\":\"refused\"}");
    assert_int_equal(count(f), 3);
}

/* ---- restart ---- */

static void a_restart_ends_the_spans_of_running_jobs(void **state)
{
    fixture *f = *state;
    open_rig(f, true);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    ids issue = find(f, "arcp.provision.issue", 0);
    rig_restart(&f->rig);
    ids job = find(f, "arcp.job", 0);
    ids session = find(f, "arcp.session", 0);
    ids revoke = find(f, "arcp.provision.revoke", 0);
    check_below_the_caller(&session);
    check_below(&job, &session);
    check_below(&issue, &job);
    check_below(&revoke, &job);
    check_has(job.text, "\"status\":{\"code\":2,\"message\":\"INTERNAL_ERROR\"}");
}

static void a_restart_without_spans_makes_none(void **state)
{
    fixture *f = *state;
    open_rig(f, false);
    submit_in(f, "1", CONTEXT, "{\"agent\":\"echo\"}");
    f->rig.makes_spans = false;
    rig_restart(&f->rig);
    assert_int_equal(count(f), 0);
}

#define t(name) cmocka_unit_test_setup_teardown(name, credential_setup, credential_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(a_submit_s_trace_has_session_job_and_child_below_the_caller),
        t(a_job_span_has_its_lease_and_its_remaining_budget),
        t(an_error_is_marked_without_the_agents_text),
        t(a_cancelled_job_is_no_error),
        t(a_trace_that_the_caller_does_not_sample_is_not_recorded),
        t(a_submit_without_a_context_begins_a_trace),
        t(without_spans_all_peers_get_the_callers_context),
        t(without_a_context_all_of_a_trace_have_one_anchor),
        t(the_anchor_of_a_trace_is_the_same_in_every_process),
        t(calls_to_the_provisioner_are_children_of_the_job),
        t(a_call_through_a_gateway_is_a_child_of_the_job),
        t(a_credential_that_is_refused_leaves_a_failed_job_span),
        t(a_restart_ends_the_spans_of_running_jobs),
        t(a_restart_without_spans_makes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
