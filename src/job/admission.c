/* Admissions: orders that are not jobs yet.
 *
 * Most orders become a job in the input that brought them. Some cannot: a credential has to be
 * asked for first (§9.8.2: it is issued before job.accepted), or a delegation's job.accepted would
 * come between a submit and its answer (docs/protocol.md, Sessions). Until then there is no job
 * that anybody could see, only a place in its principal's count of running jobs. Everything that
 * can change meanwhile (agents, limits, the parent, the lease's end) is looked at again when the
 * job is made, which is when its submitter says so. */
#include "job/job_state.h"

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

/* NULL when out of memory. */
static arcp__admission *admission_new(arcp__jobs *jobs, const arcp__job_order *order,
                                      arcp_buf *notes)
{
    arcp__admission *admission = arcp__alloc(sizeof(*admission));
    if (admission == NULL) {
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    admission->submitter = order->submitter;
    admission->credential.owner = admission;
    DL_APPEND2(order->submitter->admissions, admission, own_previous, own_next);
    order->submitter->admission_count++;
    admission->principal = order->principal;
    DL_APPEND2(order->principal->admissions, admission, peer_previous, peer_next);
    order->principal->running_jobs++;
    DL_APPEND2(jobs->admissions, admission, previous, next);
    jobs->running++;
    if (order->parent != NULL) {
        admission->parent = order->parent;
        order->parent->admissions++;
        arcp__job_pin(order->parent);
    }
    arcp__context_make_id(jobs->context, "job_", admission->job_id);
    admission->created_wall_ns =
        jobs->context->now.wall_ns - jobs->context->now.wall_ns % ARCP_NS_PER_MS;
    admission->lease = arcp_lease_ref(order->lease);
    admission->features = order->features;
    admission->max_runtime_sec = order->max_runtime_sec;
    memcpy(admission->trace_id, order->trace_id.data, ARCP__TRACE_ID_SIZE);
    admission->trace = *order->trace;
    admission->waits_for_end = order->waits_for_end;
    if (order->key.size != 0) {
        memcpy(admission->print, order->fingerprint, sizeof(admission->print));
    }
    arcp_buf body = ARCP_BUF_INIT;
    if (order->parent != NULL) {
        arcp_json_compact(order->json, order->body, &body);
    }
    arcp_buf_append(&admission->input, order->input);
    admission->body = arcp_buf_take_cstr(&body);
    if (admission->input.failed || admission->body == NULL ||
        !copy_text(&admission->agent, arcp_span_cstr(order->agent->text)) ||
        !copy_text(&admission->agent_name, order->agent_name) ||
        !copy_text(&admission->tracestate, order->tracestate) ||
        !copy_text(&admission->key, order->key) ||
        !copy_text(&admission->delegate_id, order->delegate_id) ||
        !copy_text(&admission->reply_to, order->reply_to)) {
        arcp_buf_fini(&body);
        arcp__context_no_memory(jobs->context);
        arcp__admission_free(jobs, admission);
        return NULL;
    }
    admission->notes = *notes;
    *notes = (arcp_buf)ARCP_BUF_INIT;
    return admission;
}

bool arcp__admission_is_ready(const arcp__admission *admission)
{
    return admission->is_ready;
}

void arcp__admission_order(const arcp__admission *admission, arcp__job_order *out)
{
    out->submitter = admission->submitter;
    out->principal = admission->principal;
    out->features = admission->features;
    out->asked_agent = arcp_span_cstr(admission->agent);
    out->max_runtime_sec = admission->max_runtime_sec;
    out->key = arcp_span_cstr(admission->key);
    out->fingerprint = admission->print;
    out->trace_id = arcp_span_make(admission->trace_id, ARCP__TRACE_ID_SIZE);
    out->trace = &admission->trace;
    out->tracestate = arcp_span_cstr(admission->tracestate);
    out->parent = admission->parent;
    out->delegate_id = arcp_span_cstr(admission->delegate_id);
    out->reply_to = arcp_span_cstr(admission->reply_to);
    out->waits_for_end = admission->waits_for_end;
    out->agent_name = arcp_span_cstr(admission->agent_name);
    out->input = arcp_buf_span(&admission->input);
    out->lease = admission->lease;
    out->admission = admission;
}

static void stop_waiting(arcp__submitter *submitter)
{
    if (submitter->waits_for != NULL) {
        DL_DELETE2(submitter->waits_for->key_waiters, submitter, previous_waiter, next_waiter);
        submitter->waits_for = NULL;
    }
}

void arcp__admission_free(arcp__jobs *jobs, arcp__admission *admission)
{
    arcp__submitter *submitter = admission->submitter;
    DL_DELETE2(jobs->admissions, admission, previous, next);
    DL_DELETE2(submitter->admissions, admission, own_previous, own_next);
    submitter->admission_count--;
    arcp__credential_take_back(jobs->credentials, &admission->credential);
    while (admission->key_waiters != NULL) { /* the key is nobody's now, or a job's */
        arcp__submitter *waiter = admission->key_waiters;
        stop_waiting(waiter);
        waiter->ops->ready(jobs->user, waiter);
    }
    jobs->running--;
    admission->principal->running_jobs--;
    DL_DELETE2(admission->principal->admissions, admission, peer_previous, peer_next);
    arcp__principal_maybe_free(jobs, admission->principal);
    if (admission->parent != NULL) {
        admission->parent->admissions--;
        arcp__job_unpin(admission->parent);
    }
    submitter->ops->ready(jobs->user, submitter);
    arcp_lease_unref(admission->lease);
    arcp_buf_fini(&admission->input);
    arcp_buf_fini(&admission->notes);
    char *const texts[] = {admission->agent, admission->agent_name,  admission->tracestate,
                           admission->key,   admission->delegate_id, admission->reply_to,
                           admission->body};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        arcp__free(texts[i]);
    }
    arcp__free(admission);
}

/* A job that gets a credential has to wait for it: nothing of it is to be seen until then.
 * [arcp:9.8.2-1] */
bool arcp__admission_is_needed(arcp__jobs *jobs, const arcp__job_order *order, bool waits_for_turn,
                               arcp_buf *notes, arcp__admission **out)
{
    arcp_budget *above =
        order->parent == NULL ? NULL : arcp_authority_budget(order->parent->live->authority);
    arcp_budget *budget = NULL;
    if ((jobs->credentials->options->terms == NULL && !waits_for_turn) ||
        arcp_budget_new(order->lease, above, &budget, NULL) != ARCP_OK) {
        return false; /* what is wrong with a budget is said when the job is made */
    }
    arcp__credential_wish wish = {.job_id = "",
                                  .session_id = order->submitter->session_id,
                                  .principal = order->principal->name,
                                  .trace_id = "",
                                  .agent_name = order->agent_name,
                                  .traceparent = arcp_span_cstr(order->trace->traceparent),
                                  .lease = order->lease,
                                  .budget = budget};
    const bool needs_credential =
        arcp__credential_is_wanted(jobs->credentials, &order->submitter->viewer, &wish);
    if (needs_credential || waits_for_turn) {
        arcp__admission *admission = admission_new(jobs, order, notes);
        if (admission != NULL && needs_credential) {
            wish.job_id = admission->job_id;
            wish.trace_id = admission->trace_id;
            arcp__credential_ask(jobs->credentials, &wish, &admission->credential);
        } else if (admission != NULL) {
            arcp__admission_provisioned(jobs, admission, NULL);
        }
        *out = admission;
    }
    arcp_budget_unref(budget);
    return needs_credential || waits_for_turn;
}

void arcp__admission_provisioned(arcp__jobs *jobs, arcp__admission *admission,
                                 const arcp_error *error)
{
    if (error != NULL) {
        admission->error = *error;
    }
    admission->is_ready = true;
    admission->submitter->ops->ready(jobs->user, admission->submitter);
}

/* ---- submitters ---- */

bool arcp__submitter_waits_for_key(arcp__submitter *submitter, const arcp__principal *principal,
                                   arcp_span key)
{
    stop_waiting(submitter);
    arcp__admission *at = key.size == 0 ? NULL : principal->admissions;
    while (at != NULL && !arcp_span_equal_cstr(key, at->key)) {
        at = at->peer_next;
    }
    if (at != NULL) {
        submitter->waits_for = at;
        DL_APPEND2(at->key_waiters, submitter, previous_waiter, next_waiter);
    }
    return at != NULL;
}

arcp__admission *arcp__submitter_ready_child(const arcp__submitter *submitter)
{
    arcp__admission *at = submitter->admissions;
    while (at != NULL && (at->parent == NULL || !at->is_ready)) {
        at = at->own_next;
    }
    return at;
}

void arcp__submitter_leave(arcp__jobs *jobs, arcp__submitter *submitter)
{
    stop_waiting(submitter);
    while (submitter->admissions != NULL) {
        arcp__admission_free(jobs, submitter->admissions);
    }
}

/* ---- ends ---- */

void arcp__admission_drop_children(arcp__jobs *jobs, const arcp__job *parent)
{
    arcp__admission *at = parent->admissions == 0 ? NULL : parent->principal->admissions;
    for (arcp__admission *next = NULL; at != NULL; at = next) {
        next = at->peer_next;
        if (at->parent == parent) {
            arcp__admission_free(jobs, at);
        }
    }
}

void arcp__admissions_refuse(arcp__jobs *jobs, const char *why)
{
    for (arcp__admission *at = jobs->admissions; at != NULL; at = at->next) {
        if (!at->is_ready) {
            (void)arcp_error_set(&at->error, ARCP_E_INTERNAL_ERROR, "%s", why);
            arcp__admission_provisioned(jobs, at, NULL);
        }
    }
}
