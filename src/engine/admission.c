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
        DL_APPEND2(admission->principal->admissions, admission, peer_previous, peer_next);
        engine->running_jobs++;
    }
    admission->request = request == NULL ? NULL : arcp__request_ref(request);
    admission->credential.owner = admission;
    admission->created_wall_ns =
        engine->context.now.wall_ns - engine->context.now.wall_ns % ARCP_NS_PER_MS;
    DL_APPEND2(engine->admissions, admission, previous, next);
    DL_APPEND2(session->waiting, admission, own_previous, own_next);
    return admission;
}

void arcp__admissions_look(arcp__engine *engine, arcp__session *session)
{
    if (session->waiting != NULL && !session->has_turns) {
        session->has_turns = true;
        arcp__session_pin(session);
        DL_APPEND2(engine->turns, session, turns_previous, turns_next);
    }
}

/* Its key is nobody's, or that of a job: submits that wait for it go on. */
static void give_key_back(arcp__engine *engine, const arcp__admission *admission)
{
    arcp__session *at = admission->has_key_waiters ? admission->principal->oldest_session : NULL;
    for (; at != NULL; at = at->own_next) {
        if (at->key_owner == admission) {
            at->key_owner = NULL;
            arcp__admissions_look(engine, at);
        }
    }
}

void arcp__admission_free(arcp__engine *engine, arcp__admission *admission)
{
    DL_DELETE2(engine->admissions, admission, previous, next);
    DL_DELETE2(admission->session->waiting, admission, own_previous, own_next);
    arcp__credential_take_back(&engine->credentials, &admission->credential);
    if (!admission->is_held) {
        give_key_back(engine, admission);
        admission->principal->running_jobs--;
        DL_DELETE2(admission->principal->admissions, admission, peer_previous, peer_next);
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
    if (held->session->submits_first == request) {
        arcp__admissions_look(engine, held->session); /* it waits for its key */
    }
}

static arcp__admission *find_key(const arcp__principal *principal, arcp_span key)
{
    arcp__admission *at = key.size == 0 ? NULL : principal->admissions;
    while (at != NULL && (at->key == NULL || !arcp_span_equal_cstr(key, at->key))) {
        at = at->peer_next;
    }
    return at;
}

bool arcp__admission_has_key(const arcp__principal *principal, arcp_span key)
{
    return find_key(principal, key) != NULL;
}

/* The submit again, as if it had just come. */
static void read_again(arcp__engine *engine, arcp__admission *held)
{
    arcp_buf frame = held->frame;
    arcp__request *request = arcp__request_ref(held->request);
    arcp__message in;
    held->frame = (arcp_buf)ARCP_BUF_INIT;
    arcp__admission_free(engine, held);
    if (!arcp__message_read(&engine->context, arcp_buf_span(&frame), &in)) {
        arcp__context_no_memory(&engine->context); /* it was read before: only memory is missing */
    } else {
        arcp__job_submit(engine, request, &in);
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
    arcp__admissions_look(engine, admission->session);
}

/* ---- turns ---- */

/* A first submit that waits for its key is looked at again when that is given back. */
static bool is_key_free(const arcp__admission *held)
{
    arcp__admission *owner = find_key(held->session->principal, arcp_span_cstr(held->key));
    if (owner != NULL) {
        owner->has_key_waiters = true;
    }
    held->session->key_owner = owner;
    return owner == NULL;
}

static bool has_turn(const arcp__admission *admission)
{
    const arcp__session *session = admission->session;
    if (session->ended || (admission->parent != NULL && admission->parent->ended)) {
        return true;
    }
    if (admission->is_held) {
        return session->submits_first == admission->request && is_key_free(admission);
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
    arcp__session *session = admission->session; /* its place among `turns` pins it */
    if (admission->is_held) {
        read_again(engine, admission);
    } else if (admission->parent != NULL) {
        arcp__job_admit_child(engine, admission);
    } else {
        arcp__job_admit(engine, admission);
    }
    if (session->link != NULL) {
        arcp__link_resume(engine, session->link); /* what was held counted against it */
    }
}

static void end_turns(arcp__engine *engine, arcp__session *session)
{
    DL_DELETE2(engine->turns, session, turns_previous, turns_next);
    session->has_turns = false;
    arcp__session_unpin(session);
}

void arcp__admissions_run(arcp__engine *engine)
{
    while (engine->turns != NULL && !engine->context.closing && !engine->context.failed) {
        arcp__session *session = engine->turns;
        arcp__admission *at = session->waiting;
        while (at != NULL && !has_turn(at)) {
            at = at->own_next;
        }
        if (at != NULL) {
            take_turn(engine, at);
        } else {
            end_turns(engine, session);
        }
    }
}

/* ---- ends ---- */

void arcp__admission_drop_children(arcp__engine *engine, const arcp__job *parent)
{
    arcp__admission *at = parent->admissions == 0 ? NULL : parent->principal->admissions;
    for (arcp__admission *next = NULL; at != NULL; at = next) {
        next = at->peer_next;
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
            arcp__admission_provisioned(engine, at, NULL);
        }
    }
}

void arcp__admission_free_all(arcp__engine *engine)
{
    while (engine->admissions != NULL) {
        arcp__admission_free(engine, engine->admissions);
    }
    while (engine->turns != NULL) {
        end_turns(engine, engine->turns);
    }
}
