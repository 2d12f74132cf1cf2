/* Traces (§11): a job's place in its trace (what a submit brings, and what agents, children and the
 * provisioner get), and spans.
 *
 * Without spans of its own the runtime passes on the context that it got, unchanged. With spans,
 * each job has one, which is the parent of everything done for the job. A trace that its caller
 * does not record is not recorded here either.
 *
 * A span is made when it ends: one for a job, and one for the session's part in a submitted job
 * (from the submit to the job's end; the parent of the job's span). Spans of calls to the
 * provisioner are in credential/credential_call.c. A span names its subjects and the outcome but
 * contains no text of an agent or an upstream, and its size is bounded. */
#include "job/job_state.h"

#include <stdio.h>

#include "base/hex.h"
#include "base/timestamp.h"
#include "core/otlp.h"

#define TRACESTATE_MAX   512u
#define CAPABILITIES_MAX 64u
#define CURRENCIES_MAX   16u
#define TEXT_MAX         256u
#define ATTRIBUTES_MAX   12u

/* The trace context of a message; both may be empty. */
typedef struct trace_context {
    arcp_span traceparent, tracestate;
} trace_context;

#define CONTEXT(member)     ARCP__MEMBER(trace_context, member, #member, LOOSE)
#define TRACE(member, kind) ARCP__MEMBER(arcp__trace, member, #member, kind)

static const arcp__member context_rows[] = {{CONTEXT(traceparent)}, {CONTEXT(tracestate)}};
static const arcp__members context_members = ARCP__MEMBERS(context_rows);
static const arcp__member extension_rows[] = {
    {ARCP__CHECKED("x-vendor.opentelemetry.tracecontext", OBJECT), .parts = &context_members},
};
static const arcp__members extension_members = ARCP__MEMBERS(extension_rows);

/* Of a running job's row. */
static const arcp__member rows[] = {
    {TRACE(traceparent, ID), .required = true},
    {TRACE(parent_id, ID)},
    {TRACE(session_id, ID)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

/* ---- a job's place in its trace ---- */

/* Makes an id that is not all zero. */
static void make_id(arcp__context *context, uint8_t *out, size_t size)
{
    arcp__context_random(context, out, size);
    out[0] |= 1;
}

static void put_own(arcp__jobs *jobs, const char trace_id[ARCP__TRACE_ID_SIZE],
                    char out[ARCP__TRACEPARENT_SIZE + 1])
{
    uint8_t bytes[8];
    make_id(jobs->context, bytes, sizeof bytes);
    arcp__traceparent_format(trace_id, bytes, out);
    out[ARCP__TRACEPARENT_SIZE] = '\0';
}

/* The span id of a traceparent. */
static arcp_span span_id_of(const char *traceparent)
{
    return arcp_span_make(traceparent + 36, ARCP__SPAN_ID_SIZE);
}

/* `parent` is a valid traceparent, or empty. */
static void begin(arcp__jobs *jobs, const char trace_id[ARCP__TRACE_ID_SIZE], arcp_span parent,
                  arcp__trace *out)
{
    uint8_t bytes[8];
    *out = (arcp__trace){.began_wall_ns = jobs->context->now.wall_ns};
    out->is_recorded =
        jobs->makes_spans && (parent.size == 0 || arcp__traceparent_is_sampled(parent));
    if (out->is_recorded) {
        if (parent.size != 0) {
            memcpy(out->parent_id, span_id_of(parent.data).data, ARCP__SPAN_ID_SIZE);
        }
        make_id(jobs->context, bytes, sizeof bytes);
        arcp__hex_format(bytes, sizeof bytes, out->session_id);
        put_own(jobs, trace_id, out->traceparent);
    } else if (parent.size != 0) {
        assert(parent.size < sizeof out->traceparent);
        memcpy(out->traceparent, parent.data, parent.size);
    } else {
        /* Neither the caller nor the runtime has a span: use an id that is the same for the whole
         * trace, in every process. */
        static const uint64_t key[2] = {0, 0};
        const uint64_t hash = arcp__siphash(key, trace_id, ARCP__TRACE_ID_SIZE) | 1;
        memcpy(bytes, &hash, sizeof bytes);
        arcp__traceparent_format(trace_id, bytes, out->traceparent);
    }
}

/* Reads the trace that an envelope names and its context, whose traceparent is valid or empty.
 * False: it names no trace. */
static bool read_ids(arcp__context *context, const arcp__envelope *envelope,
                     char trace_id[ARCP__TRACE_ID_SIZE], trace_context *out)
{
    char of_parent[ARCP__TRACE_ID_SIZE];
    *out = (trace_context){0};
    if (!arcp__decode_row(&context->json, &context->scratch, envelope->extensions,
                          &extension_members, out) ||
        !arcp__traceparent_is_valid(out->traceparent)) {
        out->traceparent = envelope->trace_id;
    }
    const bool is_named = arcp__trace_id_parse(envelope->trace_id, trace_id);
    /* A context of another trace than the envelope's is ignored. */
    if (!arcp__traceparent_is_valid(out->traceparent) ||
        !arcp__trace_id_parse(out->traceparent, of_parent) ||
        (is_named && memcmp(of_parent, trace_id, sizeof of_parent) != 0)) {
        *out = (trace_context){0};
        return is_named;
    }
    memcpy(trace_id, of_parent, sizeof of_parent);
    return true;
}

void arcp__trace_requested(arcp__context *context, const arcp__envelope *envelope,
                           char trace_id[ARCP__TRACE_ID_SIZE])
{
    trace_context requested;
    if (!read_ids(context, envelope, trace_id, &requested)) {
        trace_id[0] = '\0';
    }
}

/* [arcp:11-1] */
void arcp__trace_read(arcp__jobs *jobs, const arcp__envelope *envelope,
                      char trace_id[ARCP__TRACE_ID_SIZE], arcp__trace *out, arcp_span *tracestate)
{
    trace_context requested;
    if (!read_ids(jobs->context, envelope, trace_id, &requested)) {
        uint8_t bytes[ARCP__TRACE_ID_SIZE / 2];
        make_id(jobs->context, bytes, sizeof bytes);
        arcp__hex_format(bytes, sizeof bytes, trace_id);
    }
    *tracestate = arcp_span_first(requested.tracestate, TRACESTATE_MAX);
    begin(jobs, trace_id, requested.traceparent, out);
}

/* [arcp:11-2] */
void arcp__trace_of_child(arcp__jobs *jobs, const arcp__job *parent, arcp__trace *out)
{
    const arcp__trace *above = &parent->live->trace;
    *out = (arcp__trace){.is_recorded = above->is_recorded,
                         .began_wall_ns = jobs->context->now.wall_ns};
    if (above->is_recorded) {
        memcpy(out->parent_id, span_id_of(above->traceparent).data, ARCP__SPAN_ID_SIZE);
        put_own(jobs, parent->trace_id, out->traceparent);
    } else {
        memcpy(out->traceparent, above->traceparent, sizeof out->traceparent);
    }
}

/* ---- restart ---- */

void arcp__trace_write_row(const arcp__trace *trace, arcp_json_writer *writer)
{
    if (trace->is_recorded) {
        arcp__put_object(writer, "trace");
        arcp__encode_row(writer, &members, trace);
        arcp_json_end_object(writer);
    }
}

/* Whether the text is a span id, or empty. */
static bool is_id(const char *text)
{
    return text[0] == '\0' || strlen(text) == ARCP__SPAN_ID_SIZE;
}

void arcp__trace_restore(arcp__jobs *jobs, const arcp_json *row, arcp_json_ref stored,
                         arcp__job *job)
{
    arcp__trace trace = {.began_wall_ns = job->created_wall_ns};
    job->live->trace = trace;
    if (jobs->makes_spans &&
        arcp__decode_row(row, &jobs->context->scratch, stored, &members, &trace) &&
        arcp__traceparent_is_valid(arcp_span_cstr(trace.traceparent))) {
        trace.is_recorded = is_id(trace.parent_id) && is_id(trace.session_id);
        job->live->trace = trace;
    }
}

/* ---- spans ---- */

/* A span that is being made, with its attributes and their texts. */
typedef struct draft {
    arcp__otlp_span span;
    arcp__otlp_attribute attributes[ATTRIBUTES_MAX];
    arcp_span capabilities[CAPABILITIES_MAX];
    arcp_span budgets[CURRENCIES_MAX];
    char budget_texts[CURRENCIES_MAX][ARCP__CURRENCY_BYTES_MAX + 1 + ARCP_DECIMAL_TEXT_MAX];
    char expires_at[ARCP__TIMESTAMP_SIZE];
} draft;

static void add_text(draft *out, const char *name, arcp_span text)
{
    assert(out->span.attribute_count < ATTRIBUTES_MAX);
    out->attributes[out->span.attribute_count++] =
        (arcp__otlp_attribute){.name = name, .text = arcp_span_first(text, TEXT_MAX)};
}

static void add_list(draft *out, const char *name, const arcp_span *texts, size_t count)
{
    assert(out->span.attribute_count < ATTRIBUTES_MAX);
    out->attributes[out->span.attribute_count++] =
        (arcp__otlp_attribute){.name = name, .texts = texts, .text_count = count};
}

/* [arcp:11-3] */
static void add_lease(draft *out, const arcp_lease *lease)
{
    if (lease == NULL) {
        return;
    }
    size_t count = arcp_lease_capability_count(lease);
    count = count < CAPABILITIES_MAX ? count : CAPABILITIES_MAX;
    for (size_t i = 0; i < count; i++) {
        out->capabilities[i] = arcp_span_first(arcp_lease_capability_name(lease, i), TEXT_MAX);
    }
    add_list(out, "arcp.lease.capabilities", out->capabilities, count);
    if (arcp_lease_has_expiry(lease)) {
        arcp__timestamp_format(arcp_lease_expires_wall_ns(lease), out->expires_at);
        add_text(out, "arcp.lease.expires_at",
                 arcp_span_make(out->expires_at, sizeof out->expires_at));
    }
}

/* Adds what remains of the budget, written as in a lease: USD:3.75. [arcp:11-3] */
static void add_budget(draft *out, const arcp_budget *budget)
{
    size_t count = budget == NULL ? 0 : arcp_budget_count(budget);
    count = count < CURRENCIES_MAX ? count : CURRENCIES_MAX;
    for (size_t i = 0; i < count; i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        const size_t size = arcp_decimal_format(arcp_budget_remaining(budget, i), amount);
        const arcp_span currency =
            arcp_span_first(arcp_budget_currency(budget, i), ARCP__CURRENCY_BYTES_MAX);
        char *text = out->budget_texts[i];
        (void)snprintf(text, sizeof out->budget_texts[i], "%.*s:%.*s", (int)currency.size,
                       currency.data, (int)size, amount);
        out->budgets[i] = arcp_span_cstr(text);
    }
    add_list(out, "arcp.budget.remaining", out->budgets, count);
}

/* ---- jobs ---- */

/* What the spans of a job, or of a refused admission, say. */
typedef struct subject {
    const arcp__trace *trace;
    const char *trace_id, *session_id, *job_id, *parent_job_id;
    arcp_span tracestate, agent;
    const arcp_lease *lease;   /* may be NULL */
    const arcp_budget *budget; /* may be NULL */
    const char *status;        /* its name on the wire */
    arcp_status code;          /* of an error */
    bool is_error;
} subject;

/* Makes a span of a job; the job's own span has all attributes, others only the common ones. */
static void emit(arcp__jobs *jobs, const subject *about, const arcp__otlp_span *span, bool is_own)
{
    draft out = {.span = *span};
    arcp_buf text = arcp_buf_init();
    out.span.trace_id = arcp_span_make(about->trace_id, ARCP__TRACE_ID_SIZE);
    out.span.tracestate = about->tracestate;
    out.span.start_wall_ns = about->trace->began_wall_ns;
    out.span.end_wall_ns = jobs->context->now.wall_ns;
    if (about->is_error) {
        out.span.status = ARCP__OTLP_ERROR;
        out.span.status_message = arcp_status_wire_code(about->code);
    }
    add_text(&out, "arcp.session_id", arcp_span_cstr(about->session_id));
    add_text(&out, "arcp.job_id", arcp_span_cstr(about->job_id));
    add_text(&out, "arcp.agent", about->agent);
    add_text(&out, "arcp.job.status", arcp_span_cstr(about->status));
    add_text(&out, "error.type",
             arcp_span_cstr(about->code == ARCP_OK ? NULL : arcp_status_wire_code(about->code)));
    if (is_own) {
        add_text(&out, "arcp.parent_job_id", arcp_span_cstr(about->parent_job_id));
        add_lease(&out, about->lease);
        add_budget(&out, about->budget);
    }
    out.span.attributes = out.attributes;
    arcp__otlp_span_format(&out.span, &text);
    arcp__effect_push(jobs->log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_SPAN}, &text, false);
}

static void emit_job(arcp__jobs *jobs, const subject *about)
{
    const arcp__trace *trace = about->trace;
    const bool has_session = trace->session_id[0] != '\0';
    emit(jobs, about,
         &(arcp__otlp_span){.name = "arcp.job",
                            .kind = ARCP__OTLP_INTERNAL,
                            .span_id = span_id_of(trace->traceparent),
                            .parent_id =
                                arcp_span_cstr(has_session ? trace->session_id : trace->parent_id)},
         true);
    if (has_session) {
        emit(jobs, about,
             &(arcp__otlp_span){.name = "arcp.session",
                                .kind = ARCP__OTLP_SERVER,
                                .span_id = arcp_span_cstr(trace->session_id),
                                .parent_id = arcp_span_cstr(trace->parent_id),
                                .parent_is_remote = trace->parent_id[0] != '\0'},
             false);
    }
}

void arcp__span_job_ended(arcp__jobs *jobs, const arcp__job *job)
{
    if (!job->live->trace.is_recorded) {
        return;
    }
    emit_job(jobs, &(subject){.trace = &job->live->trace,
                              .trace_id = job->trace_id,
                              .tracestate = arcp_span_cstr(job->live->tracestate),
                              .session_id = job->session_id,
                              .job_id = job->id,
                              .agent = arcp_span_cstr(job->agent_text),
                              .parent_job_id = job->parent_id,
                              .lease = job->live->lease,
                              .budget = job->live->authority == NULL
                                            ? NULL
                                            : arcp_authority_budget(job->live->authority),
                              .status = arcp_job_status_name(job->status),
                              .code = job->end_code,
                              .is_error = job->status == ARCP_JOB_ERROR ||
                                          job->status == ARCP_JOB_TIMED_OUT});
}

void arcp__span_call(arcp__jobs *jobs, const arcp__job *job, const arcp__job_call *call)
{
    const arcp__trace *trace = &job->live->trace;
    draft out = {.span = {.trace_id = arcp_span_make(job->trace_id, ARCP__TRACE_ID_SIZE),
                          .tracestate = arcp_span_cstr(job->live->tracestate),
                          .span_id = call->span_id,
                          .parent_id = span_id_of(trace->traceparent),
                          .name = call->name,
                          .kind = ARCP__OTLP_CLIENT,
                          .start_wall_ns = call->start_wall_ns,
                          .end_wall_ns = call->end_wall_ns}};
    arcp_buf text = arcp_buf_init();
    if (!trace->is_recorded || call->span_id.size != ARCP__SPAN_ID_SIZE) {
        return;
    }
    if (call->error.size != 0) {
        out.span.status = ARCP__OTLP_ERROR;
    }
    add_text(&out, "arcp.job_id", arcp_span_cstr(job->id));
    add_text(&out, "arcp.call_id", call->id);
    add_text(&out, "arcp.call.target", call->target);
    add_text(&out, "arcp.call.server", call->server);
    add_text(&out, "error.type", call->error);
    out.span.attributes = out.attributes;
    arcp__otlp_span_format(&out.span, &text);
    arcp__effect_push(jobs->log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_SPAN}, &text, false);
}

void arcp__span_refused(arcp__jobs *jobs, const arcp__admission *admission, arcp_status code)
{
    const arcp__job_order *order = &admission->order;
    if (!order->trace->is_recorded) {
        return;
    }
    emit_job(jobs, &(subject){.trace = order->trace,
                              .trace_id = admission->trace_id,
                              .tracestate = order->tracestate,
                              .session_id = order->submitter->session_id,
                              .job_id = admission->job_id,
                              .agent = order->requested_agent,
                              .parent_job_id = order->parent == NULL ? NULL : order->parent->id,
                              .lease = order->lease,
                              .status = "refused",
                              .code = code,
                              .is_error = true});
}
