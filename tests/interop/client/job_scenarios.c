#include "scenarios.h"

#include <stdlib.h>

static bool submit(world *w)
{
    static const char lease[] = "{\"fs.read\":[\"/srv/**\"]}";
    arcp_submit_options options = world_ask("echo");
    options.lease = arcp_span_cstr(lease);
    arcp_job *job = world_submit(w, world_join(w), &options);
    if (job == NULL) {
        return false;
    }
    /* A runtime may give every agent a version. */
    if (!arcp_span_starts_with(arcp_job_agent(job), ARCP_SPAN_LITERAL("echo")) ||
        !arcp_span_equal_cstr(arcp_job_lease(job), lease)) {
        return world_gap(w, "accepted as %.*s", TEXT(arcp_job_descriptor(job)));
    }
    return world_outcome(w, job) != NULL;
}

static bool events(world *w)
{
    static const char wanted[] = " log thought tool_call tool_result status metric progress"
                                 " artifact_ref x-vendor.acme.note";
    arcp_submit_options options = world_ask("kinds");
    options.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"*\"]}");
    arcp_job *job = world_submit(w, world_join(w), &options);
    if (job == NULL) {
        return false;
    }
    arcp_buf kinds = arcp_buf_init();
    const arcp_client_event *event = NULL;
    bool bodies = true;
    while (arcp_job_next_event(job, DEADLINE_MS, &event, &w->err) == ARCP_OK &&
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
        (void)world_gap(w, "the events were%.*s", TEXT(arcp_buf_span(&kinds)));
    }
    arcp_buf_fini(&kinds);
    return works;
}

static bool result(world *w)
{
    static const char value[] = "{\"text\":\"gr\xc3\xbc\xc3\x9f"
                                "e \xf0\x9f\x98\x80\\n\","
                                "\"nested\":[1,-2.5,null,{\"deep\":[true]}]}";
    return world_results_in(w, world_start(w, world_join(w), "echo", value), value);
}

static bool error(world *w)
{
    arcp_client *client = world_join(w);
    arcp_job *job = world_start(w, client, "fails", "{}");
    return world_fails_with(w, job, ARCP_E_INVALID_REQUEST) && world_is_alive(w, client);
}

static bool refusal(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = world_ask("nobody");
    return world_is_refused(w, client, &options, ARCP_E_AGENT_NOT_AVAILABLE) &&
           world_is_alive(w, client);
}

/* Whether the job ended with `status`, in whichever message. */
static bool ends_as(world *w, arcp_job *job, arcp_job_status status)
{
    const arcp_outcome *outcome = world_outcome(w, job);
    return outcome != NULL && (outcome->final_status == status ||
                               world_gap(w, "the job ended with %.*s", TEXT(outcome->payload)));
}

static bool cancel(world *w)
{
    arcp_client *client = world_join(w);
    arcp_job *job = world_start(w, client, "waits", "{}");
    const arcp_event_body *body = NULL;
    bool works = job != NULL;
    while (works && (body == NULL || !arcp_span_equal_cstr(body->status.phase, "waiting"))) {
        body = world_event(w, job, ARCP_EVENT_STATUS);
        works = body != NULL;
    }
    if (works && arcp_client_cancel(client, arcp_job_id(job), ARCP_SPAN_LITERAL("enough"),
                                    DEADLINE_MS, &w->err) != ARCP_OK) {
        return world_gap(w, "the cancel is not answered: %s", w->err.message);
    }
    return works && ends_as(w, job, ARCP_JOB_CANCELLED) && world_is_alive(w, client);
}

static bool deadline(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = world_ask("waits");
    options.max_runtime_sec = 1;
    return ends_as(w, world_submit(w, client, &options), ARCP_JOB_TIMED_OUT) &&
           world_is_alive(w, client);
}

static bool idempotency(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = world_ask("echo");
    options.input = ARCP_SPAN_LITERAL("{\"n\":1}");
    options.idempotency_key = arcp_span_cstr(w->folder); /* a unique name */
    arcp_job *one = world_submit(w, client, &options);
    if (!world_results_in(w, one, "{\"n\":1}")) {
        return false;
    }
    arcp_job *again = world_submit(w, client, &options);
    if (!world_results_in(w, again, "{\"n\":1}")) {
        return false;
    }
    if (!arcp_span_equal(arcp_job_id(one), arcp_job_id(again))) {
        return world_gap(w, "another job was started");
    }
    options.input = ARCP_SPAN_LITERAL("{\"n\":2}");
    return world_is_refused(w, client, &options, ARCP_E_DUPLICATE_KEY) && world_is_alive(w, client);
}

static bool is_streamed(world *w, const char *agent)
{
    static const char whole[] = "one two \xff three";
    const arcp_outcome *outcome = world_outcome(w, world_start(w, world_join(w), agent, "{}"));
    return outcome != NULL &&
           (arcp_span_equal(outcome->bytes, arcp_span_make(whole, sizeof whole - 1)) ||
            world_gap(w, "%llu bytes came: %.*s", (unsigned long long)outcome->streamed_bytes,
                      TEXT(outcome->payload)));
}

static bool chunks(world *w)
{
    return is_streamed(w, "chunks");
}

static bool mixed(world *w)
{
    return is_streamed(w, "mixed");
}

static bool versions(world *w)
{
    arcp_client *client = world_join(w);
    arcp_job *plain = world_start(w, client, "greet", "{}");
    arcp_job *old = plain == NULL ? NULL : world_start(w, client, "greet@1.0.0", "{}");
    if (old == NULL || !world_results_in(w, plain, "\"hello from 2.0.0\"") ||
        !world_results_in(w, old, "\"hello from 1.0.0\"")) {
        return false;
    }
    if (!arcp_span_equal_cstr(arcp_job_agent(plain), "greet@2.0.0")) {
        return world_gap(w, "greet was accepted as %.*s", TEXT(arcp_job_agent(plain)));
    }
    arcp_submit_options options = world_ask("greet@9.0.0");
    return world_is_refused(w, client, &options, ARCP_E_AGENT_VERSION_NOT_AVAILABLE);
}

static bool trace(world *w)
{
    static const char traceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    arcp_submit_options options = world_ask("echo");
    options.traceparent = arcp_span_cstr(traceparent);
    const arcp_job *job = world_submit(w, world_join(w), &options);
    const arcp_span wanted = arcp_span_first(arcp_span_from(options.traceparent, 3), 32);
    return job != NULL && (arcp_span_equal(arcp_job_trace_id(job), wanted) ||
                           world_gap(w, "the trace became %.*s", TEXT(arcp_job_trace_id(job))));
}

const scenario job_scenarios[] = {
    {"submit", submit},   {"events", events}, {"result", result},     {"error", error},
    {"refusal", refusal}, {"cancel", cancel}, {"deadline", deadline}, {"idempotency", idempotency},
    {"chunks", chunks},   {"mixed", mixed},   {"versions", versions}, {"trace", trace},
    {NULL, NULL},
};
