/* Admissions: submits and delegations that are not jobs yet.
 *
 * Most submits become a job in the input that brought them. Some cannot: a credential has to
 * be asked for first (§9.8.2: it is issued before job.accepted), or a submit before it on the
 * same session still waits for one, and job.accepted are sent in the order of their submits
 * (docs/protocol.md, Sessions). Until then there is no job that anybody could see, only a place in
 * its principal's count of running jobs. Everything that can change meanwhile (agents, limits,
 * the parent, the lease's end) is looked at again when the job is made.
 *
 * A submit that only waits for its turn is kept as its frame and read again. A delegation's
 * job.accepted must not come between a submit and its answer, so it waits for the session's
 * submits too. Turns are taken at the end of an input (input.c). */
#include "engine/parts.h"

static arcp__admission *admission_new(arcp__engine *engine, arcp__session *session,
                                      arcp__request *request, bool is_held)
{
    arcp__admission *admission = arcp__alloc(sizeof(*admission));
    if (admission == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    admission->session = session;
    arcp__session_pin(session);
    session->admissions++;
    session->held_submits += is_held ? 1 : 0;
    admission->is_held = is_held;
    if (!is_held) {
        admission->principal = session->principal;
        admission->principal->running_jobs++;
        admission->principal->admissions++;
        engine->running_jobs++;
    }
    admission->request = request == NULL ? NULL : arcp__request_ref(request);
    admission->created_wall_ns =
        engine->context.now.wall_ns - engine->context.now.wall_ns % ARCP_NS_PER_MS;
    DL_APPEND2(engine->admissions, admission, previous, next);
    return admission;
}

void arcp__admission_free(arcp__engine *engine, arcp__admission *admission)
{
    DL_DELETE2(engine->admissions, admission, previous, next);
    engine->admissions_due = engine->admissions != NULL;
    if (admission->credential != NULL) {
        arcp__credential_abandon(engine, admission->credential);
    }
    if (!admission->is_held) {
        admission->principal->running_jobs--;
        admission->principal->admissions--;
        engine->running_jobs--;
        arcp__principal_maybe_free(engine, admission->principal);
    }
    admission->session->admissions--;
    admission->session->held_submits -= admission->is_held ? 1 : 0;
    admission->session->held_bytes -= admission->held_bytes;
    if (!admission->session->ended) {
        arcp__session_job_ended(engine, admission->session);
    }
    arcp__session_unpin(admission->session);
    if (admission->request != NULL) {
        arcp__request_unref(admission->request);
    }
    if (admission->parent != NULL) {
        admission->parent->admissions--;
        arcp__job_unpin(admission->parent);
    }
    arcp_lease_unref(admission->lease);
    arcp_buf_fini(&admission->frame);
    arcp_buf_fini(&admission->input);
    arcp_buf_fini(&admission->notes);
    char *const texts[] = {admission->agent, admission->agent_name,  admission->tracestate,
                           admission->key,   admission->delegate_id, admission->reply_to,
                           admission->body};
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        arcp__free(texts[at]);
    }
    arcp__free(admission);
}

/* ---- waiting for a turn ---- */

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

void arcp__admission_hold(arcp__engine *engine, arcp__request *request, arcp_span key)
{
    arcp__admission *held = admission_new(engine, request->session, request, true);
    if (held == NULL) {
        return;
    }
    arcp_buf_append(&held->frame, arcp_json_raw(&engine->context.json, ARCP_JSON_ROOT));
    if (held->frame.failed || !copy_text(&held->key, key)) {
        arcp__context_no_memory(&engine->context);
        arcp__admission_free(engine, held);
        return;
    }
    held->held_bytes = held->frame.size;
    held->session->held_bytes += held->held_bytes;
}

bool arcp__admission_has_key(const arcp__engine *engine, const arcp__principal *principal,
                             arcp_span key)
{
    if (principal->admissions == 0 || key.size == 0) {
        return false; /* as nearly always: no walk past what waits for others */
    }
    for (const arcp__admission *at = engine->admissions; at != NULL; at = at->next) {
        if (!at->is_held && at->principal == principal && at->key != NULL &&
            arcp_span_equal_cstr(key, at->key)) {
            return true;
        }
    }
    return false;
}

/* The submit again, as if it had just come. */
static void read_again(arcp__engine *engine, arcp__admission *held)
{
    arcp_buf frame = held->frame;
    arcp__request *request = arcp__request_ref(held->request);
    arcp__envelope envelope;
    held->frame = (arcp_buf)ARCP_BUF_INIT;
    arcp__admission_free(engine, held);
    if (!arcp__context_read_frame(&engine->context, arcp_buf_span(&frame), &envelope, NULL)) {
        arcp__context_no_memory(
            &engine->context); /* it was read before: only memory can be missing */
    } else {
        arcp__job_submit(engine, request, envelope.payload, &envelope);
    }
    arcp_buf_fini(&frame);
    arcp__request_unref(request);
}

/* ---- waiting for a credential ---- */

arcp__admission *arcp__admission_new(arcp__engine *engine, const arcp__job_plan *plan,
                                     arcp__request *request, arcp__job *parent)
{
    arcp__admission *admission = admission_new(engine, plan->session, request, false);
    if (admission == NULL) {
        return NULL;
    }
    arcp__context_make_id(&engine->context, "job_", admission->job_id);
    admission->lease = arcp_lease_ref(plan->lease);
    admission->features = plan->features;
    admission->max_runtime_sec = plan->max_runtime_sec;
    memcpy(admission->trace_id, plan->trace_id.data, 32);
    admission->trace = *plan->trace;
    if (parent != NULL) {
        admission->parent = parent;
        parent->admissions++;
        arcp__job_pin(parent);
    }
    arcp_buf_append(&admission->input, plan->input);
    if (admission->input.failed ||
        !copy_text(&admission->agent, arcp_span_cstr(plan->agent->text)) ||
        !copy_text(&admission->agent_name, plan->agent_name) ||
        !copy_text(&admission->delegate_id, plan->delegate_id) ||
        !copy_text(&admission->tracestate, plan->tracestate)) {
        arcp__context_no_memory(&engine->context);
        arcp__admission_free(engine, admission);
        return NULL;
    }
    return admission;
}

void arcp__admission_provisioned(arcp__engine *engine, arcp__admission *admission,
                                 const arcp_error *error)
{
    if (error != NULL) {
        admission->error = *error;
    }
    admission->is_ready = true;
    engine->admissions_due = true;
}

/* ---- turns ---- */

static bool has_turn(const arcp__engine *engine, const arcp__admission *admission)
{
    const arcp__session *session = admission->session;
    if (session->ended || (admission->parent != NULL && admission->parent->ended)) {
        return true;
    }
    if (admission->is_held) {
        return session->submits_first == admission->request &&
               !arcp__admission_has_key(engine, session->principal, arcp_span_cstr(admission->key));
    }
    if (!admission->is_ready) {
        return false;
    }
    if (admission->request != NULL) {
        return session->submits_first == admission->request;
    }
    return session->submits_first == NULL || session->profile->hides_children;
}

static void take_turn(arcp__engine *engine, arcp__admission *admission)
{
    if (admission->session->ended) {
        arcp__admission_free(engine, admission);
        return;
    }
    engine->current_link = admission->session->link;
    if (admission->is_held) {
        read_again(engine, admission);
    } else if (admission->parent != NULL) {
        arcp__job_admit_child(engine, admission);
    } else {
        arcp__job_admit(engine, admission);
    }
    if (engine->current_link != NULL) {
        arcp__link_resume(engine, engine->current_link); /* what was held counted against it */
    }
}

void arcp__admissions_run(arcp__engine *engine)
{
    while (engine->admissions_due && !engine->context.closing) {
        arcp__admission *at = engine->admissions;
        while (at != NULL && !has_turn(engine, at)) {
            at = at->next;
        }
        if (at == NULL) {
            engine->admissions_due = false;
        } else {
            take_turn(engine, at);
        }
    }
}

/* ---- ends ---- */

void arcp__admission_drop_children(arcp__engine *engine, const arcp__job *parent)
{
    for (arcp__admission *at = engine->admissions, *next = NULL; parent->admissions != 0;
         at = next) {
        next = at->next;
        if (at->parent == parent) {
            arcp__admission_free(engine, at);
        }
    }
}

void arcp__admission_drop_all(arcp__engine *engine, const char *why)
{
    for (arcp__admission *at = engine->admissions; at != NULL; at = at->next) {
        if (!at->is_held && !at->is_ready) {
            (void)arcp_error_set(&at->error, ARCP_E_INTERNAL_ERROR, "%s", why);
            at->is_ready = true;
        }
    }
    engine->admissions_due = true;
}

void arcp__admission_free_all(arcp__engine *engine)
{
    while (engine->admissions != NULL) {
        engine->admissions->credential = NULL; /* freed by its own table */
        arcp__admission_free(engine, engine->admissions);
    }
}
