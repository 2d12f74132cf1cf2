/* Events of a job (§8): recorded once in its stream, told to its observers. What an
 * agent wants to say passes here: shape, gate, budget. */
#include "engine/job_log.h"
#include "engine/parts.h"

#include <assert.h>
#include <stdio.h>

#include "base/timestamp.h"
#include "base/utf8.h"
#include "core/event_write.h"
#include "json/json_put.h"

#define PIECES_MAX 6u /* of a record's payload */

/* ---- emitting ---- */

static void tell_observers(arcp__engine *engine, arcp__job *job, uint64_t position, size_t bytes,
                           arcp_feature feature)
{
    for (arcp__observer *at = job->observers; at != NULL; at = at->next) {
        if (at->is_live) {
            at->ops->record(engine, at, position, bytes, feature);
        }
    }
}

/* False when out of memory, or when it is `is_bounded` and the job has said too much: then it ends
 * as that. */
static bool emit(arcp__engine *engine, arcp__job *job, const char *type, arcp_feature feature,
                 const arcp_span *pieces, size_t count, bool is_bounded)
{
    char id[ARCP__ID_SIZE];
    arcp_span all[6 + PIECES_MAX + 1];
    size_t used = 0;
    assert(count <= PIECES_MAX);
    arcp__context_make_id(&engine->context, "msg_", id);
    all[used++] = ARCP_SPAN_LITERAL("{\"id\":\"");
    all[used++] = arcp_span_cstr(id);
    all[used++] = ARCP_SPAN_LITERAL("\",\"type\":\"");
    all[used++] = arcp_span_cstr(type);
    all[used++] = ARCP_SPAN_LITERAL("\"");
    all[used++] = arcp_span_make(job->live->head, job->live->head_size);
    for (size_t at = 0; at < count; at++) {
        all[used++] = pieces[at];
    }
    all[used++] = ARCP_SPAN_LITERAL("}");
    if (is_bounded && !arcp__job_has_room(engine, job, all, used)) {
        return false;
    }
    uint64_t position = 0;
    size_t bytes = 0;
    if (!arcp__stream_append(engine->log, job->stream, all, used, &position, &bytes)) {
        return false;
    }
    job->principal->stored_bytes += bytes;
    engine->event_count++;
    tell_observers(engine, job, position, bytes, feature);
    return true;
}

bool arcp__job_emit_terminal(arcp__engine *engine, arcp__job *job, const char *type,
                             arcp_span payload, bool is_bounded)
{
    return emit(engine, job, type, ARCP_FEATURE_NONE, &payload, 1, is_bounded);
}

static void emit_with_feature(arcp__engine *engine, arcp__job *job, arcp_span kind_text,
                              arcp_feature feature, arcp_span body)
{
    char ts[ARCP__TIMESTAMP_SIZE + 9] = "\",\"ts\":\"";
    arcp__timestamp_format(engine->context.now.wall_ns, ts + 8);
    if (arcp__job_has_ended(job) || job->over_limit != NULL) {
        return; /* nothing follows the terminal record, nor what was too much but that */
    }
    if (body.size > arcp__frame_room(&engine->context)) {
        arcp__job_note_over(engine, job, "limits.frame_bytes");
        return;
    }
    const arcp_span pieces[] = {
        ARCP_SPAN_LITERAL("{\"kind\":\""), kind_text, arcp_span_make(ts, 8 + ARCP__TIMESTAMP_SIZE),
        ARCP_SPAN_LITERAL("\",\"body\":"), body,      ARCP_SPAN_LITERAL("}"),
    };
    (void)emit(engine, job, "job.event", feature, pieces, sizeof(pieces) / sizeof(pieces[0]), true);
}

void arcp__job_emit_event(arcp__engine *engine, arcp__job *job, arcp_event_kind kind,
                          arcp_span kind_text, arcp_span body)
{
    emit_with_feature(engine, job, kind_text, arcp_event_kind_feature(kind), body);
}

/* [arcp:8.1-1] */
static void emit_body(arcp__engine *engine, arcp__job *job, arcp_event_kind kind,
                      arcp_feature feature, arcp_buf *body)
{
    if (body->failed) {
        arcp__context_no_memory(&engine->context);
    } else {
        emit_with_feature(engine, job, arcp_span_cstr(arcp_event_kind_name(kind)), feature,
                          arcp_buf_span(body));
    }
    arcp__context_give_buf(&engine->context, body);
}

void arcp__job_emit_status(arcp__engine *engine, arcp__job *job, const char *phase,
                           arcp_span message)
{
    arcp_buf body = arcp__context_take_buf(&engine->context);
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_cstr(&writer, "phase", phase);
    if (message.size != 0) {
        arcp__put_string(&writer, "message", message);
    }
    arcp_json_end_object(&writer);
    emit_body(engine, job, ARCP_EVENT_STATUS, ARCP_FEATURE_NONE, &body);
}

void arcp__job_emit_log(arcp__engine *engine, arcp__job *job, const char *level, arcp_span text)
{
    arcp_buf body = arcp__context_take_buf(&engine->context);
    arcp__event_write_log(arcp_span_cstr(level), text, &body);
    if (body.size > arcp__frame_room(&engine->context)) {
        text =
            arcp_span_first(text, arcp__utf8_cut(text, arcp__frame_room_of_text(&engine->context)));
        arcp_buf_clear(&body);
        arcp__event_write_log(arcp_span_cstr(level), text, &body);
    }
    emit_body(engine, job, ARCP_EVENT_LOG, ARCP_FEATURE_NONE, &body);
}

void arcp__job_emit_denial(arcp__engine *engine, arcp__job *job, arcp_span call_id,
                           const arcp_error *error, arcp_span details)
{
    arcp_buf body = arcp__context_take_buf(&engine->context);
    arcp__job_port_refuse(&job->live->port, call_id, error, details, &body);
    emit_body(engine, job, ARCP_EVENT_TOOL_RESULT, ARCP_FEATURE_NONE, &body);
}

/* The job of the chain whose counters these are. */
static arcp__job *job_of_budget(arcp__job *job, const arcp_budget *budget)
{
    while (job != NULL && job->budget != budget) {
        job = job->parent;
    }
    return job;
}

/* [arcp:9.6-11] */
static void emit_report(arcp__engine *engine, arcp__job *job, const arcp_budget_report *report)
{
    char amount[ARCP_DECIMAL_TEXT_MAX];
    size_t size = arcp_decimal_format(report->remaining, amount);
    arcp_buf body = arcp__context_take_buf(&engine->context);
    arcp__event_write_metric(ARCP_SPAN_LITERAL("cost.budget.remaining"),
                             arcp_span_make(amount, size), report->currency, &body);
    emit_body(engine, job, ARCP_EVENT_METRIC, ARCP_FEATURE_COST_BUDGET, &body);
}

/* Whether a counter of the job or above it is below zero. */
static bool is_overdrawn(const arcp__job *job)
{
    const arcp_budget *budget = arcp_authority_budget(job->live->authority);
    for (; budget != NULL; budget = arcp_budget_parent(budget)) {
        for (size_t at = 0; at < arcp_budget_count(budget); at++) {
            if (arcp_decimal_compare(arcp_budget_remaining(budget, at),
                                     (arcp_decimal)ARCP_DECIMAL_ZERO) < 0) {
                return true;
            }
        }
    }
    return false;
}

void arcp__job_spent(arcp__engine *engine, arcp__job *job, const arcp_budget_report *reports,
                     size_t count)
{
    for (size_t at = 0; at < count; at++) {
        arcp__job *counted = job_of_budget(job, reports[at].budget);
        if (counted != NULL && !arcp__job_has_ended(counted)) {
            emit_report(engine, counted, &reports[at]);
        }
    }
    for (arcp__job *at = job; at != NULL; at = at->parent) {
        arcp__budget_changed(engine, at);
    }
    /* Reports are debounced, so they cannot be asked. */
    if (engine->context.settings.budget_on_exhaustion == ARCP_ON_EXHAUSTION_FAIL &&
        is_overdrawn(job)) {
        arcp__job_fail_with(engine, job, ARCP_E_BUDGET_EXHAUSTED, "a budget is used up");
    }
}

/* ---- the gate ---- */

void arcp__job_decided(arcp__engine *engine, const arcp__job *job, const arcp_decision *decision)
{
    const bool is_shut = decision->code == ARCP_E_INTERNAL_ERROR; /* though the lease allows it */
    const bool is_denied = decision->code != ARCP_OK;
    if (is_denied) {
        arcp__metrics_denied(engine, decision->code, decision->capability);
    }
    arcp__audit(engine->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_GATE,
                                    .decision = is_denied ? "denied" : "allowed",
                                    .who = arcp__job_who(job),
                                    .code = decision->code,
                                    .rule = is_shut ? "audit.on_failure: deny" : "lease",
                                    .reason = is_denied && !is_shut
                                                  ? arcp_deny_reason_name(decision->reason)
                                                  : NULL,
                                    .capability = decision->capability,
                                    .target = decision->target,
                                    .pattern = decision->pattern});
}

/* What follows once the agent has its answer: an expired lease ends the job, and so does a
 * used-up budget, where the operator wants that. [arcp:9.6-8] [arcp:9.6-9] [arcp:LB-9] */
void arcp__job_after_denial(arcp__engine *engine, arcp__job *job, arcp_status code)
{
    if (code == ARCP_E_LEASE_EXPIRED) {
        arcp__job_expiry_due(engine, job);
    } else if (code == ARCP_E_BUDGET_EXHAUSTED &&
               engine->context.settings.budget_on_exhaustion == ARCP_ON_EXHAUSTION_FAIL) {
        arcp__job_fail_with(engine, job, ARCP_E_BUDGET_EXHAUSTED, "a budget is used up");
    }
}

bool arcp__job_authorize(arcp__engine *engine, arcp__job *job, arcp_span capability,
                         arcp_span target, arcp_buf *details, arcp_error *err)
{
    arcp_target_scratch scratch;
    arcp__job_message message;
    const bool is_allowed =
        arcp__job_port_authorize(&job->live->port, engine->context.now, capability, target,
                                 &scratch, details, &message, err);
    arcp__job_hear(engine, job, &message);
    return is_allowed;
}

/* ---- what an agent says ---- */

arcp_status arcp__job_agent_event(arcp__engine *engine, arcp__job *job, arcp_span kind_text,
                                  const arcp_json *json, arcp_json_ref body, arcp_buf *details,
                                  arcp_error *err)
{
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message;
    arcp_buf_clear(&engine->body);
    const arcp__job_port_event event = {.kind = kind_text,
                                        .json = json,
                                        .body = body,
                                        .scratch = &engine->context.scratch,
                                        .out = &engine->body,
                                        .details = details};
    const arcp_status status =
        arcp__job_port_emit(&job->live->port, engine->context.now, &event, &message, err);
    if (engine->body.failed) {
        arcp__context_no_memory(&engine->context);
        return status;
    }
    arcp__job_port_spend(&job->live->port, &message, reports);
    arcp__job_hear(engine, job, &message);
    return status;
}

void arcp__job_hear(arcp__engine *engine, arcp__job *job, const arcp__job_message *message)
{
    if (message->unit.size != 0) { /* also after the job's end */
        arcp__credential_note_spend(&engine->credentials, &job->live->credential, message->unit,
                                    message->amount);
        arcp__metrics_spent(engine, message->unit, message->amount);
        arcp__job_cost_add(job, message->unit, message->amount);
    }
    const bool is_denial = message->decision.code != ARCP_OK;
    /* A grant was used, whether the job has ended or not; unless it is forgotten already, and
     * was shown to nobody. */
    if (message->is_decided && (is_denial ? !arcp__job_has_ended(job) : job->principal != NULL)) {
        arcp__job_decided(engine, job, &message->decision);
    }
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (message->body.size != 0) {
        arcp__job_emit_event(engine, job, message->kind, message->kind_text, message->body);
    }
    if (message->is_spent) {
        arcp__job_spent(engine, job, message->reports, message->report_count);
    }
}
