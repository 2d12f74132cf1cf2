/* Admissions: orders that wait to become jobs.
 *
 * Most orders become a job within the input that brought them. Some cannot: a credential must be
 * requested first (§9.8.2: it is issued before job.accepted), or a delegation's job.accepted would
 * come between a submit and its response (docs/protocol.md, Sessions). Until then no job is
 * visible; the admission only counts as a running job of its principal. Everything that can change
 * meanwhile (agents, limits, the parent, the lease's expiry) is checked again when the job is made,
 * which the submitter starts. */
#include "job/job_state.h"

/* NULL when out of memory. */
static arcp__admission *admission_new(arcp__jobs *jobs, const arcp__job_order *order,
                                      arcp_buf *notes)
{
    arcp__admission *admission = arcp__alloc(sizeof *admission);
    if (admission == NULL) {
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    arcp__job_order *own = &admission->order;
    const int64_t now_ns = jobs->context->now.wall_ns;
    *own = *order;
    own->admission = admission;
    own->lease = arcp_lease_ref(order->lease);
    own->requested_agent = arcp_span_cstr(order->agent->text);
    own->trace = &admission->trace;
    own->trace_id = arcp_span_make(admission->trace_id, ARCP__TRACE_ID_SIZE);
    admission->trace = *order->trace;
    memcpy(admission->trace_id, order->trace_id.data, ARCP__TRACE_ID_SIZE);
    admission->credential.owner = admission;
    arcp__context_make_id(jobs->context, "job_", admission->job_id);
    admission->created_wall_ns = now_ns - now_ns % ARCP_NS_PER_MS;
    DL_APPEND2(own->submitter->admissions, admission, own_previous, own_next);
    own->submitter->admission_count++;
    DL_APPEND2(own->principal->admissions, admission, peer_previous, peer_next);
    own->principal->running_jobs++;
    DL_APPEND2(jobs->admissions, admission, previous, next);
    jobs->running++;
    arcp_buf body = arcp_buf_init();
    if (own->parent != NULL) {
        admission->item = arcp__item_of(own->parent);
        arcp__item_leave_open(jobs, own->parent);
        own->parent->admissions++;
        arcp__job_pin(own->parent);
        arcp_json_compact(order->json, order->body, &body);
    }
    admission->body = arcp_buf_span(&body);
    arcp_span print = {(const char *)order->fingerprint, order->key.size == 0 ? 0 : 32};
    arcp_span *const texts[] = {
        &own->requested_agent, &own->agent_name, &own->tracestate, &own->key,       &print,
        &own->delegate_id,     &own->reply_to,   &own->input,      &admission->body};
    bool is_copied = !body.failed;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = arcp__arena_copy(&admission->texts, *texts[i]);
        is_copied = is_copied && texts[i]->data != NULL;
    }
    own->fingerprint = (const uint8_t *)print.data;
    arcp_buf_fini(&body);
    if (!is_copied) {
        arcp__context_no_memory(jobs->context);
        arcp__admission_free(jobs, admission);
        return NULL;
    }
    admission->notes = *notes;
    *notes = arcp_buf_init();
    return admission;
}

bool arcp__admission_is_ready(const arcp__admission *admission)
{
    return admission->is_ready;
}

const arcp__job_order *arcp__admission_order(const arcp__admission *admission)
{
    return &admission->order;
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
    const arcp__job_order *order = &admission->order;
    arcp__submitter *submitter = order->submitter;
    DL_DELETE2(jobs->admissions, admission, previous, next);
    DL_DELETE2(submitter->admissions, admission, own_previous, own_next);
    submitter->admission_count--;
    arcp__credential_release(jobs->credentials, &admission->credential);
    while (admission->key_waiters != NULL) { /* the key is free now, or a job has it */
        arcp__submitter *waiter = admission->key_waiters;
        stop_waiting(waiter);
        waiter->ops->ready(jobs->user, waiter);
    }
    jobs->running--;
    order->principal->running_jobs--;
    DL_DELETE2(order->principal->admissions, admission, peer_previous, peer_next);
    arcp__principal_maybe_free(jobs, order->principal);
    if (order->parent != NULL) {
        order->parent->admissions--;
        arcp__job_unpin(order->parent);
    }
    submitter->ops->ready(jobs->user, submitter);
    arcp_lease_unref(order->lease);
    arcp_buf_fini(&admission->notes);
    arcp_buf_fini(&admission->details);
    arcp__arena_fini(&admission->texts);
    arcp__free(admission);
}

/* Whether its host admits the job as far as is known: the host is asked again when the job is made.
 * If not, the admission is refused when it is its turn. */
static bool host_admits(arcp__jobs *jobs, arcp__admission *admission)
{
    arcp__job_site site = {.cwd = NULL};
    const arcp_status status =
        arcp__job_find_site(jobs, &admission->order, admission->job_id,
                            arcp__credential_endpoint(&admission->credential), &site,
                            &admission->details, &admission->error);
    arcp__job_site_fini(&site);
    return status == ARCP_OK;
}

/* A job that gets a credential must wait for it and must not be visible until then.
 * [arcp:9.8.2-1] */
bool arcp__admission_is_needed(arcp__jobs *jobs, const arcp__job_order *order, bool waits_for_turn,
                               arcp_buf *notes, arcp__admission **out)
{
    arcp_budget *above =
        order->parent == NULL ? NULL : arcp_authority_budget(order->parent->live->authority);
    arcp_budget *budget = NULL;
    if ((jobs->credentials->options->terms == NULL && !waits_for_turn) ||
        arcp_budget_new(order->lease, above, &budget, NULL) != ARCP_OK) {
        return false; /* a bad budget is reported when the job is made */
    }
    arcp__credential_spec spec = {.job_id = "",
                                  .session_id = order->submitter->session_id,
                                  .principal = order->principal->name,
                                  .trace_id = "",
                                  .agent_name = order->agent_name,
                                  .traceparent = arcp_span_cstr(order->trace->traceparent),
                                  .lease = order->lease,
                                  .budget = budget};
    const bool needs_credential =
        arcp__credential_is_wanted(jobs->credentials, &order->submitter->viewer, &spec);
    if (needs_credential || waits_for_turn) {
        arcp__admission *admission = admission_new(jobs, order, notes);
        if (admission != NULL && needs_credential && host_admits(jobs, admission)) {
            spec.job_id = admission->job_id;
            spec.trace_id = admission->trace_id;
            arcp__credential_ask(jobs->credentials, &spec, &admission->credential);
        } else if (admission != NULL) {
            arcp__admission_provisioned(jobs, admission, NULL); /* or it is refused already */
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
        (void)arcp_error_copy(&admission->error, error);
    }
    arcp__submitter *submitter = admission->order.submitter;
    admission->is_ready = true;
    submitter->ops->ready(jobs->user, submitter);
}

/* ---- submitters ---- */

bool arcp__submitter_waits_for_key(arcp__submitter *submitter, const arcp__principal *principal,
                                   arcp_span key)
{
    stop_waiting(submitter);
    arcp__admission *admission = key.size == 0 ? NULL : principal->admissions;
    while (admission != NULL && !arcp_span_equal(key, admission->order.key)) {
        admission = admission->peer_next;
    }
    if (admission != NULL) {
        submitter->waits_for = admission;
        DL_APPEND2(admission->key_waiters, submitter, previous_waiter, next_waiter);
    }
    return admission != NULL;
}

arcp__admission *arcp__submitter_ready_child(const arcp__submitter *submitter)
{
    arcp__admission *admission = submitter->admissions;
    while (admission != NULL && (admission->order.parent == NULL || !admission->is_ready)) {
        admission = admission->own_next;
    }
    return admission;
}

void arcp__submitter_fini(arcp__jobs *jobs, arcp__submitter *submitter)
{
    stop_waiting(submitter);
    while (submitter->admissions != NULL) {
        arcp__admission_free(jobs, submitter->admissions);
    }
}

/* ---- ends ---- */

void arcp__admission_drop_children(arcp__jobs *jobs, const arcp__job *parent)
{
    arcp__admission *admission = parent->admissions == 0 ? NULL : parent->principal->admissions;
    for (arcp__admission *next = NULL; admission != NULL; admission = next) {
        next = admission->peer_next;
        if (admission->order.parent == parent) {
            arcp__admission_free(jobs, admission);
        }
    }
}

void arcp__admissions_refuse(arcp__jobs *jobs, const char *why)
{
    for (arcp__admission *admission = jobs->admissions; admission != NULL;
         admission = admission->next) {
        if (!admission->is_ready) {
            (void)arcp_error_set(&admission->error, ARCP_E_INTERNAL_ERROR, "%s", why);
            arcp__admission_provisioned(jobs, admission, NULL);
        }
    }
}
