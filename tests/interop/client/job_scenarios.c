#include "scenarios.h"

#include <stdlib.h>

static bool submit(fixture *f)
{
    static const char lease[] = "{\"fs.read\":[\"/srv/**\"]}";
    arcp_submit_options options = fixture_submit_options("echo");
    options.lease = arcp_span_cstr(lease);
    arcp_job *job = fixture_submit(f, fixture_join(f), &options);
    if (job == NULL) {
        return false;
    }
    /* A runtime may give every agent a version. */
    if (!arcp_span_starts_with(arcp_job_agent(job), ARCP_SPAN_LITERAL("echo")) ||
        !arcp_span_equal_cstr(arcp_job_lease(job), lease)) {
        return fixture_gap(f, "accepted as %.*s", TEXT(arcp_job_descriptor(job)));
    }
    return fixture_outcome(f, job) != NULL;
}

static bool events(fixture *f)
{
    static const char wanted[] = " log thought tool_call tool_result status metric progress"
                                 " artifact_ref x-vendor.acme.note";
    arcp_submit_options options = fixture_submit_options("kinds");
    options.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"*\"]}");
    arcp_job *job = fixture_submit(f, fixture_join(f), &options);
    if (job == NULL) {
        return false;
    }
    arcp_buf kinds = arcp_buf_init();
    const arcp_client_event *event = NULL;
    bool bodies = true;
    while (arcp_job_next_event(job, DEADLINE_MS, &event, &f->err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        const arcp_event_body *body = arcp_client_event_body(event);
        bodies = bodies && (body->kind == event->kind || event->kind == ARCP_EVENT_VENDOR);
        if (body->kind == ARCP_EVENT_STATUS &&
            arcp_span_equal_cstr(body->status.phase, "running")) {
            continue;
        }
        arcp_buf_append_byte(&kinds, ' ');
        arcp_buf_append(&kinds, event->kind_text);
        if (event->kind == ARCP_EVENT_TOOL_CALL) {
            bodies = bodies && arcp_span_equal_cstr(body->tool_call.tool, "search");
        } else if (event->kind == ARCP_EVENT_METRIC) {
            bodies = bodies && strtod(body->metric.value.data, NULL) == 12.0;
        }
    }
    const bool works = bodies && arcp_span_equal_cstr(arcp_buf_span(&kinds), wanted);
    if (!works) {
        (void)fixture_gap(f, "the events were%.*s", TEXT(arcp_buf_span(&kinds)));
    }
    arcp_buf_fini(&kinds);
    return works;
}

static bool result(fixture *f)
{
    static const char value[] = "{\"text\":\"gr\xc3\xbc\xc3\x9f"
                                "e \xf0\x9f\x98\x80\\n\","
                                "\"nested\":[1,-2.5,null,{\"deep\":[true]}]}";
    return fixture_results_in(f, fixture_start(f, fixture_join(f), "echo", value), value);
}

static bool error(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_job *job = fixture_start(f, client, "fails", "{}");
    return fixture_fails_with(f, job, ARCP_E_INVALID_REQUEST) && fixture_is_alive(f, client);
}

static bool refusal(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_submit_options options = fixture_submit_options("nobody");
    return fixture_is_refused(f, client, &options, ARCP_E_AGENT_NOT_AVAILABLE) &&
           fixture_is_alive(f, client);
}

/* Whether the job ended with `status`, in whichever message. */
static bool ends_as(fixture *f, arcp_job *job, arcp_job_status status)
{
    const arcp_outcome *outcome = fixture_outcome(f, job);
    return outcome != NULL && (outcome->final_status == status ||
                               fixture_gap(f, "the job ended with %.*s", TEXT(outcome->payload)));
}

static bool cancel(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_job *job = fixture_start(f, client, "waits", "{}");
    const arcp_event_body *body = NULL;
    bool works = job != NULL;
    while (works && (body == NULL || !arcp_span_equal_cstr(body->status.phase, "waiting"))) {
        body = fixture_event(f, job, ARCP_EVENT_STATUS);
        works = body != NULL;
    }
    if (works && arcp_client_cancel(client, arcp_job_id(job), ARCP_SPAN_LITERAL("enough"),
                                    DEADLINE_MS, &f->err) != ARCP_OK) {
        return fixture_gap(f, "the cancel is not answered: %s", f->err.message);
    }
    return works && ends_as(f, job, ARCP_JOB_CANCELLED) && fixture_is_alive(f, client);
}

static bool deadline(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_submit_options options = fixture_submit_options("waits");
    options.max_runtime_sec = 1;
    return ends_as(f, fixture_submit(f, client, &options), ARCP_JOB_TIMED_OUT) &&
           fixture_is_alive(f, client);
}

static bool idempotency(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_submit_options options = fixture_submit_options("echo");
    options.input = ARCP_SPAN_LITERAL("{\"n\":1}");
    options.idempotency_key = arcp_span_cstr(f->folder); /* a unique name */
    arcp_job *one = fixture_submit(f, client, &options);
    if (!fixture_results_in(f, one, "{\"n\":1}")) {
        return false;
    }
    arcp_job *again = fixture_submit(f, client, &options);
    if (!fixture_results_in(f, again, "{\"n\":1}")) {
        return false;
    }
    if (!arcp_span_equal(arcp_job_id(one), arcp_job_id(again))) {
        return fixture_gap(f, "another job was started");
    }
    options.input = ARCP_SPAN_LITERAL("{\"n\":2}");
    return fixture_is_refused(f, client, &options, ARCP_E_DUPLICATE_KEY) &&
           fixture_is_alive(f, client);
}

static bool is_streamed(fixture *f, const char *agent)
{
    static const char whole[] = "one two \xff three";
    const arcp_outcome *outcome =
        fixture_outcome(f, fixture_start(f, fixture_join(f), agent, "{}"));
    return outcome != NULL &&
           (arcp_span_equal(outcome->bytes, arcp_span_make(whole, sizeof whole - 1)) ||
            fixture_gap(f, "%llu bytes came: %.*s", (unsigned long long)outcome->streamed_bytes,
                        TEXT(outcome->payload)));
}

static bool chunks(fixture *f)
{
    return is_streamed(f, "chunks");
}

static bool mixed(fixture *f)
{
    return is_streamed(f, "mixed");
}

static bool versions(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_job *plain = fixture_start(f, client, "greet", "{}");
    arcp_job *old = plain == NULL ? NULL : fixture_start(f, client, "greet@1.0.0", "{}");
    if (old == NULL || !fixture_results_in(f, plain, "\"hello from 2.0.0\"") ||
        !fixture_results_in(f, old, "\"hello from 1.0.0\"")) {
        return false;
    }
    if (!arcp_span_equal_cstr(arcp_job_agent(plain), "greet@2.0.0")) {
        return fixture_gap(f, "greet was accepted as %.*s", TEXT(arcp_job_agent(plain)));
    }
    arcp_submit_options options = fixture_submit_options("greet@9.0.0");
    return fixture_is_refused(f, client, &options, ARCP_E_AGENT_VERSION_NOT_AVAILABLE);
}

static bool trace(fixture *f)
{
    static const char traceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    arcp_submit_options options = fixture_submit_options("echo");
    options.traceparent = arcp_span_cstr(traceparent);
    const arcp_job *job = fixture_submit(f, fixture_join(f), &options);
    const arcp_span wanted = arcp_span_first(arcp_span_from(options.traceparent, 3), 32);
    return job != NULL && (arcp_span_equal(arcp_job_trace_id(job), wanted) ||
                           fixture_gap(f, "the trace became %.*s", TEXT(arcp_job_trace_id(job))));
}

const scenario job_scenarios[] = {
    {"submit", submit},   {"events", events}, {"result", result},     {"error", error},
    {"refusal", refusal}, {"cancel", cancel}, {"deadline", deadline}, {"idempotency", idempotency},
    {"chunks", chunks},   {"mixed", mixed},   {"versions", versions}, {"trace", trace},
    {NULL, NULL},
};
