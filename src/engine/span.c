/* Spans (§11), each made when it is over: a job's, the session's part in a submitted job (from
 * the submit to the job's end, the job's span and all others below it). Those of calls to the
 * provisioner are in credential/credential_call.c. A span says who and how it ended, never what an
 * agent or an upstream said, and has a bounded size. One that finds no memory is counted and
 * nothing else. */
#include "engine/parts.h"

#include <stdio.h>

#include "base/timestamp.h"
#include "core/lease_amount.h"
#include "core/otlp.h"

#define CAPABILITIES_MAX 64u
#define CURRENCIES_MAX   16u
#define TEXT_MAX         256u
#define ATTRIBUTES_MAX   12u

/* A span in the making: attributes and where its texts are kept. */
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

static void add_cstr(draft *out, const char *name, const char *text)
{
    add_text(out, name, arcp_span_cstr(text));
}

static void add_list(draft *out, const char *name, const arcp_span *texts, size_t count)
{
    assert(out->span.attribute_count < ATTRIBUTES_MAX);
    out->attributes[out->span.attribute_count++] =
        (arcp__otlp_attribute){.name = name, .texts = texts, .text_count = count};
}

static void emit(arcp__engine *engine, draft *made)
{
    arcp_buf text = ARCP_BUF_INIT;
    made->span.attributes = made->attributes;
    made->span.end_wall_ns = engine->context.now.wall_ns;
    arcp__otlp_span_format(&made->span, &text);
    arcp__effect_push(engine->log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_SPAN}, &text, false);
}

/* ---- attributes ---- */

/* [arcp:11-3] */
static void add_lease(draft *out, const arcp_lease *lease)
{
    size_t count = arcp_lease_capability_count(lease);
    count = count < CAPABILITIES_MAX ? count : CAPABILITIES_MAX;
    for (size_t at = 0; at < count; at++) {
        out->capabilities[at] = arcp_span_first(arcp_lease_capability_name(lease, at), TEXT_MAX);
    }
    add_list(out, "arcp.lease.capabilities", out->capabilities, count);
    if (arcp_lease_has_expiry(lease)) {
        arcp__timestamp_format(arcp_lease_expires_wall_ns(lease), out->expires_at);
        add_text(out, "arcp.lease.expires_at",
                 arcp_span_make(out->expires_at, sizeof(out->expires_at)));
    }
}

/* As a lease writes it: USD:3.75. [arcp:11-3] */
static void add_budget(draft *out, const arcp_budget *budget)
{
    size_t count = budget == NULL ? 0 : arcp_budget_count(budget);
    count = count < CURRENCIES_MAX ? count : CURRENCIES_MAX;
    for (size_t at = 0; at < count; at++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        size_t size = arcp_decimal_format(arcp_budget_remaining(budget, at), amount);
        arcp_span currency =
            arcp_span_first(arcp_budget_currency(budget, at), ARCP__CURRENCY_BYTES_MAX);
        char *text = out->budget_texts[at];
        (void)snprintf(text, sizeof(out->budget_texts[at]), "%.*s:%.*s", (int)currency.size,
                       currency.data, (int)size, amount);
        out->budgets[at] = arcp_span_cstr(text);
    }
    add_list(out, "arcp.budget.remaining", out->budgets, count);
}

/* ---- jobs ---- */

/* What a job's spans say; one that was refused is not a job yet. */
typedef struct subject {
    const arcp__trace *trace;
    const char *trace_id, *tracestate, *session_id, *job_id, *agent, *parent_job_id;
    const arcp_lease *lease;   /* may be NULL */
    const arcp_budget *budget; /* may be NULL */
    const char *status;        /* as the wire calls it */
    arcp_status code;          /* of an error */
    bool is_error;
} subject;

static void describe(const subject *about, draft *out)
{
    out->span.trace_id = arcp_span_make(about->trace_id, ARCP__TRACE_ID_SIZE);
    out->span.tracestate = arcp_span_cstr(about->tracestate);
    out->span.start_wall_ns = about->trace->began_wall_ns;
    if (about->is_error) {
        out->span.status = ARCP__OTLP_ERROR;
        out->span.status_message = arcp_status_wire_code(about->code);
    }
    add_cstr(out, "arcp.session_id", about->session_id);
    add_cstr(out, "arcp.job_id", about->job_id);
    add_cstr(out, "arcp.agent", about->agent);
    add_cstr(out, "arcp.job.status", about->status);
    add_cstr(out, "error.type", about->code == ARCP_OK ? NULL : arcp_status_wire_code(about->code));
}

static void emit_job(arcp__engine *engine, const subject *about)
{
    const arcp__trace *trace = about->trace;
    draft made = {.span = {.name = "arcp.job", .kind = ARCP__OTLP_INTERNAL}};
    bool has_session = trace->session_id[0] != '\0';
    describe(about, &made);
    made.span.span_id = arcp__trace_span_id(trace);
    made.span.parent_id = arcp_span_cstr(has_session ? trace->session_id : trace->parent_id);
    add_cstr(&made, "arcp.parent_job_id", about->parent_job_id);
    if (about->lease != NULL) {
        add_lease(&made, about->lease);
    }
    add_budget(&made, about->budget);
    emit(engine, &made);
    if (has_session) {
        draft session = {.span = {.name = "arcp.session", .kind = ARCP__OTLP_SERVER}};
        describe(about, &session);
        session.span.span_id = arcp_span_cstr(trace->session_id);
        session.span.parent_id = arcp_span_cstr(trace->parent_id);
        session.span.parent_is_remote = trace->parent_id[0] != '\0';
        emit(engine, &session);
    }
}

void arcp__span_job_ended(arcp__engine *engine, const arcp__job *job)
{
    if (!job->live->trace.is_recorded) {
        return;
    }
    emit_job(engine, &(subject){.trace = &job->live->trace,
                                .trace_id = job->trace_id,
                                .tracestate = job->live->tracestate,
                                .session_id = job->session_id,
                                .job_id = job->id,
                                .agent = job->agent_text,
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

void arcp__span_refused(arcp__engine *engine, const arcp__admission *admission, arcp_status code)
{
    if (!admission->trace.is_recorded) {
        return;
    }
    emit_job(engine,
             &(subject){.trace = &admission->trace,
                        .trace_id = admission->trace_id,
                        .tracestate = admission->tracestate,
                        .session_id = admission->submitter->session_id,
                        .job_id = admission->job_id,
                        .agent = admission->agent,
                        .parent_job_id = admission->parent == NULL ? NULL : admission->parent->id,
                        .lease = admission->lease,
                        .status = "refused",
                        .code = code,
                        .is_error = true});
}
