/* Notes: what calls have led to, queued for the runtime by the gateway's thread. */
#include "gateway/gateway_parts.h"

#include "base/clock.h"

#define TEXT_BYTES_MAX   1024u /* of a decision's texts, as of other agents' */
#define TARGET_BYTES_MAX 4096u

static void put(arcp__gateway_job *job, arcp__gateway_note *note)
{
    arcp__gateway *gateway = job->gateway;
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    (void)pthread_mutex_lock(&gateway->lock);
    if (parts->is_released) {
        (void)pthread_mutex_unlock(&gateway->lock);
        arcp__free(note);
        return;
    }
    DL_APPEND(parts->notes, note);
    if (!parts->is_noticed) {
        gateway->must_wake = gateway->must_wake || gateway->noticed == NULL;
        parts->is_noticed = true;
        DL_APPEND2(gateway->noticed, parts, previous_noticed, next_noticed);
    }
    (void)pthread_mutex_unlock(&gateway->lock);
}

/* A note with copies of the texts. NULL when out of memory. */
static arcp__gateway_note *note_new(size_t head_size, arcp_span *const *texts, size_t count,
                                    void **head)
{
    size_t size = head_size;
    for (size_t i = 0; i < count; i++) {
        size += texts[i]->size;
    }
    arcp__gateway_note *note = arcp__alloc(sizeof *note + size);
    if (note == NULL) {
        return NULL;
    }
    *head = note + 1;
    char *to = (char *)(note + 1) + head_size;
    for (size_t i = 0; i < count; i++) {
        if (texts[i]->size != 0) {
            memcpy(to, texts[i]->data, texts[i]->size);
            texts[i]->data = to;
            to += texts[i]->size;
        }
    }
    return note;
}

bool arcp__gateway_job_message(arcp__gateway_job *job, const arcp__job_message *message)
{
    arcp__job_message copy = *message;
    arcp_decision *decision = &copy.decision;
    void *reports = NULL;
    decision->canonical = decision->currency = arcp_span_make(NULL, 0);
    decision->capability = arcp_span_first(decision->capability, TEXT_BYTES_MAX);
    decision->target = arcp_span_first(decision->target, TEXT_BYTES_MAX);
    arcp__job_call call = copy.call == NULL ? (arcp__job_call){0} : *copy.call;
    arcp_span *const texts[] = {
        &copy.body,       &copy.kind_text,       &copy.unit,        &copy.hold_id,      &copy.held,
        &copy.charged_id, &decision->capability, &decision->target, &decision->pattern, &call.id,
        &call.target,     &call.server,          &call.error,       &call.span_id};
    arcp__gateway_note *note = note_new(copy.report_count * sizeof *copy.reports, texts,
                                        sizeof texts / sizeof texts[0], &reports);
    if (note == NULL) {
        return false;
    }
    if (copy.report_count != 0) {
        memcpy(reports, copy.reports, copy.report_count * sizeof *copy.reports);
    }
    copy.reports = reports;
    note->call = call;
    copy.call = copy.call == NULL ? NULL : &note->call;
    note->message = copy;
    put(job, note);
    return true;
}

void arcp__gateway_job_emit(arcp__gateway_job *job, arcp_event_kind kind, arcp_span body)
{
    const arcp__job_message message = {
        .kind = kind, .kind_text = arcp_span_cstr(arcp_event_kind_name(kind)), .body = body};
    (void)arcp__gateway_job_message(job, &message);
}

void arcp__gateway_job_deny(arcp__gateway_job *job, arcp_status code, arcp_span capability,
                            arcp_span target, arcp_span reason)
{
    arcp__gateway_denial denial = {.code = code,
                                   .capability = arcp_span_first(capability, TEXT_BYTES_MAX),
                                   .target = arcp_span_first(target, TARGET_BYTES_MAX),
                                   .reason = arcp_span_first(reason, TEXT_BYTES_MAX)};
    arcp_span *const texts[] = {&denial.capability, &denial.target, &denial.reason};
    void *head = NULL;
    arcp__gateway_note *note = note_new(0, texts, sizeof texts / sizeof texts[0], &head);
    if (note != NULL) {
        note->is_denial = true;
        note->denial = denial;
        put(job, note);
    }
}

bool arcp__gateway_job_authorize(arcp__gateway_job *job, arcp_span capability, arcp_span target,
                                 arcp_buf *details, arcp_error *err)
{
    arcp_target_scratch scratch;
    arcp__job_message message;
    const bool is_allowed = arcp__job_port_authorize(&job->port, arcp__clock_now(), capability,
                                                     target, &scratch, details, &message, err);
    if (!is_allowed && message.is_decided) {
        arcp__gateway_job_deny(job, message.decision.code, capability, target,
                               arcp_span_cstr(arcp_deny_reason_name(message.decision.reason)));
    } else if (message.is_decided) {
        (void)arcp__gateway_job_message(job, &message);
    }
    return is_allowed;
}
