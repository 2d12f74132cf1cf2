#include "core/job_port.h"

#include "base/hash.h"
#include "core/event_body.h"

void arcp__job_port_fini(arcp__job_port *port)
{
    arcp__free(port->denied.hashes);
    port->denied = (arcp__denied_calls){0};
    arcp__free(port->charged.hashes);
    port->charged = (arcp__denied_calls){0};
}

void arcp__job_port_end(arcp__job_port *port)
{
    atomic_store(&port->is_over, true);
}

arcp_status arcp__job_gates_check(const arcp__job_gates *gates, arcp_error *err)
{
    if (!atomic_load(&gates->are_closed)) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                          "the audit log cannot be written right now; try again later");
}

void arcp__decision_error(const arcp_authority *authority, const arcp_decision *decision,
                          arcp_buf *details, arcp_error *err)
{
    arcp_buf message = arcp_buf_init();
    arcp_decision_format_message(decision, &message);
    (void)arcp_error_set(err, decision->code, "%.*s", (int)message.size,
                         message.size == 0 ? "" : message.data);
    arcp_buf_fini(&message);
    if (details != NULL) {
        arcp_decision_format_details(authority, decision, details);
    }
}

/* [arcp:9.1-2] [arcp:9.3-1] */
bool arcp__job_port_authorize(const arcp__job_port *port, arcp_time now, arcp_span capability,
                              arcp_span target, arcp_target_scratch *scratch, arcp_buf *details,
                              arcp__job_message *out, arcp_error *err)
{
    arcp_decision *decision = &out->decision;
    *out = (arcp__job_message){.is_decided = false};
    /* The agent's thread may still run, but it has no authority any more. */
    if (atomic_load(&port->is_over)) {
        *decision = (arcp_decision){.code = ARCP_E_CLOSED,
                                    .reason = ARCP_DENY_NO_MATCH,
                                    .capability = capability,
                                    .target = target};
        (void)arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
        return false;
    }
    out->is_decided = true;
    if (!arcp_authorize(port->authority, now, capability, target, scratch, decision)) {
        arcp__decision_error(port->authority, decision, details, err);
    } else if (arcp__job_gates_check(port->gates, err) != ARCP_OK) {
        decision->allowed = false;
        decision->code = ARCP_E_INTERNAL_ERROR;
    } else {
        out->is_decided = atomic_load(&port->gates->grants_are_logged);
    }
    return decision->allowed;
}

/* Its key is the same in each process, because the hashes are stored. Calls with one hash are
 * refused together, which harms only the job that chose their ids. */
static uint64_t hash_call(arcp_span call_id)
{
    static const uint64_t key[2] = {0};
    return arcp__siphash(key, call_id.data, call_id.size);
}

/* The index of a call; calls->count when it is not there. */
static size_t find_denied(const arcp__denied_calls *calls, arcp_span call_id)
{
    size_t i = 0;
    if (calls->count != 0) {
        const uint64_t hash = hash_call(call_id);
        while (i < calls->count && calls->hashes[i] != hash) {
            i++;
        }
    }
    return i;
}

bool arcp__denied_calls_add(arcp__denied_calls *calls, arcp_span call_id)
{
    return call_id.size == 0 || find_denied(calls, call_id) < calls->count ||
           arcp__denied_calls_add_hash(calls, hash_call(call_id));
}

bool arcp__denied_calls_add_hash(arcp__denied_calls *calls, uint64_t hash)
{
    if (calls->hashes == NULL) {
        calls->hashes = arcp__alloc_array(ARCP__DENIED_CALLS_MAX, sizeof *calls->hashes);
        if (calls->hashes == NULL) {
            return false;
        }
    }
    if (calls->count < ARCP__DENIED_CALLS_MAX) {
        calls->next = calls->count++;
    }
    calls->hashes[calls->next] = hash;
    calls->next = (calls->next + 1) % ARCP__DENIED_CALLS_MAX;
    return true;
}

/* [arcp:9.5-6] [arcp:LA-14] [arcp:EG-10] */
void arcp__job_port_refuse(arcp__job_port *port, arcp_span call_id, const arcp_error *error,
                           arcp_span details, arcp_buf *out)
{
    arcp__event_write_refusal(call_id, error, details, out);
    out->failed = !arcp__denied_calls_add(&port->denied, call_id) || out->failed;
}

/* [arcp:8.2.1-4] [arcp:9.3-3] [arcp:LA-12] [arcp:EG-9] */
arcp_status arcp__job_port_emit(arcp__job_port *port, arcp_time now,
                                const arcp__job_port_event *event, arcp__job_message *out,
                                arcp_error *err)
{
    arcp__event_body read;
    arcp_target_scratch scratch;
    *out = (arcp__job_message){.is_decided = false};
    const arcp_status status = arcp__event_check(event->json, event->kind, event->body,
                                                 event->scratch, event->out, &read, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__denied_calls *denied = &port->denied;
    if (read.kind == ARCP_EVENT_TOOL_RESULT && find_denied(denied, read.call_id) < denied->count) {
        const arcp_span shown = arcp_span_first(read.call_id, 64);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "call \"%.*s\" was refused, and the runtime has given its result",
                              (int)shown.size, shown.data);
    }
    if (read.kind == ARCP_EVENT_TOOL_CALL &&
        !arcp__job_port_authorize(port, now, ARCP_SPAN_LITERAL("tool.call"), read.tool, &scratch,
                                  event->details, out, err)) {
        if (out->is_decided) { /* else the job has ended */
            arcp_buf_clear(event->out);
            arcp__job_port_refuse(port, read.call_id, err,
                                  event->details->failed ? arcp_span_make(NULL, 0)
                                                         : arcp_buf_span(event->details),
                                  event->out);
            out->kind = ARCP_EVENT_TOOL_RESULT;
            out->kind_text = ARCP_SPAN_LITERAL("tool_result");
            out->body = arcp_buf_span(event->out);
        }
        out->decision.canonical = out->decision.currency = arcp_span_make(NULL, 0);
        return out->decision.code;
    }
    if (read.kind == ARCP_EVENT_TOOL_CALL) {
        /* The id now names a call that was allowed. */
        const size_t index = find_denied(denied, read.call_id);
        if (index < denied->count) {
            denied->hashes[index] = denied->hashes[--denied->count];
            denied->next = denied->count % ARCP__DENIED_CALLS_MAX;
        }
        out->decision.canonical = arcp_span_make(NULL, 0); /* it may be in `scratch` */
    }
    out->kind = read.kind;
    out->kind_text = event->kind;
    out->body = arcp_buf_span(event->out);
    if (read.is_spend && find_denied(&port->charged, read.call_id) == port->charged.count) {
        out->unit = read.unit;
        out->amount = read.amount;
    }
    return ARCP_OK;
}

/* [arcp:9.6-3] [arcp:9.6-5] */
void arcp__job_port_spend(const arcp__job_port *port, arcp__job_message *message,
                          arcp_budget_report *reports)
{
    arcp_budget *budget = arcp_authority_budget(port->authority);
    if (message->unit.size == 0 || budget == NULL) {
        return;
    }
    const size_t count = arcp_budget_spend(budget, message->unit, message->amount, reports,
                                           ARCP__JOB_PORT_REPORTS_MAX);
    message->is_spent = true;
    message->reports = reports;
    message->report_count = count < ARCP__JOB_PORT_REPORTS_MAX ? count : ARCP__JOB_PORT_REPORTS_MAX;
}
