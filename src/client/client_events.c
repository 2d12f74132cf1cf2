/* Jobs: the answers about them, their events, their ends, and when the program hears of them.
 *
 * An event may come before the answer that makes its job known. As long as a
 * submit or a subscription waits for its answer, such events are held; then they follow the
 * answer. When nothing is waited for any more, the job is announced as one that the program
 * did not ask for. */
#include "client/client_job.h"

/* ---- answers ---- */

/* A job that the runtime began for another job, not for a request of ours. */
static bool is_child(const arcp__client_session *session)
{
    const arcp__client_description *told = &session->in.description;
    return told->parent_job_id.size != 0 || told->delegate_id.size != 0;
}

/* The record of the job that the answer describes; NULL when it names none, or out of memory. */
static arcp_job *describe(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (in->job_id.size == 0) {
        arcp__client_notice(session, "ignored a %.*s that names no job", (int)in->type_text.size,
                            in->type_text.data);
        return NULL;
    }
    arcp_job *job = arcp__client_session_job(session, in->job_id);
    if (job == NULL || !arcp__client_job_describe(session, job)) {
        session->failed = true;
        return NULL;
    }
    return job;
}

/* Hands the job to the request that asked for it, or else announces it. */
static void hand_job(arcp__client_session *session, arcp_job *job, arcp__client_request *request)
{
    bool is_fresh = !job->announced;
    bool by_reply = request != NULL && !request->abandoned;
    bool asks_by_key = is_fresh && by_reply && request->is_keyed;
    if (request != NULL && is_fresh) { /* else the job is followed already */
        job->stream.sink = request->sink;
        job->outcome_only = request->outcome_only;
        job->user = request->job_user != NULL ? request->job_user : job->user;
    }
    if (request != NULL) {
        job->is_keyed = job->is_keyed || request->is_keyed;
        arcp__client_past_take_back(session, job);
        arcp__client_request_finish(session, request, (arcp_reply){.job = job});
    }
    arcp__client_session_announce(session, job, by_reply);
    arcp__client_session_announce_held(session);
    if (asks_by_key && !session->failed) {
        arcp__client_over_probe(session, job);
    }
}

void arcp__client_on_accepted(arcp__client_session *session)
{
    const arcp_span id = session->in.job_id;
    arcp__client_binding binding = arcp__client_bind_by_name(session);
    if (binding.request != NULL && binding.request->kind != ARCP__CLIENT_ASK_SUBMIT) {
        binding.request = NULL;
    }
    /* About a job that was seen to end and is forgotten: nothing more will come of it. */
    if (id.size != 0 && arcp__client_session_find_job(session, id) == NULL &&
        arcp__gone_jobs_has(session->gone, id)) {
        if (!binding.names_request && !is_child(session)) {
            binding.request = arcp__client_bind_keyed(session);
        }
        if (binding.request != NULL) {
            arcp__client_request_fail(
                session, binding.request, ARCP_E_CLOSED,
                "the job %.*s of this idempotency_key has ended; its outcome is no longer kept",
                (int)id.size, id.data);
        }
        arcp__client_session_announce_held(session);
        return;
    }
    arcp_job *job = describe(session);
    if (job == NULL) {
        return;
    }
    job->is_accepted = true;
    if (binding.request == NULL && !is_child(session)) {
        binding = arcp__client_bind_reply(session, ARCP__CLIENT_ASK_SUBMIT);
        if (binding.request == NULL && !binding.names_request && session->tells_requests) {
            /* After a resume a runtime may say again what was accepted, without naming the request,
             * because its answer may be lost. A submit that was sent again gets an answer of its
             * own, which has the job's handle: until then the job waits. Otherwise this is the
             * answer. */
            binding.request = arcp__client_bind_repeated(session);
            if (binding.request == NULL && !job->announced &&
                arcp__client_requests_wait_for_jobs(session)) {
                return;
            }
            binding.request = job->announced ? NULL : binding.request;
        }
    }
    hand_job(session, job, binding.request);
}

void arcp__client_on_subscribed(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp__client_description *told = &session->in.description;
    arcp_job *job = describe(session);
    if (job == NULL) {
        return;
    }
    arcp__client_request *request =
        arcp__client_bind_reply(session, ARCP__CLIENT_ASK_SUBSCRIBE).request;
    /* Which numbering the job's frames have (client_receive.c). A runtime that counts what it has
     * replayed numbers each subscription by itself. A job of the session's own is none of those. */
    uint64_t early = request == NULL ? 0 : request->early_seq;
    if (!session->tells_requests && (!job->announced || job->numbers_apart)) {
        if (arcp_json_is(json, told->replayed, ARCP_JSON_NUMBER)) {
            job->numbers_apart = true;
            job->apart_seq = early;
            (void)arcp_json_u64(json, told->subscribed_from, &job->apart_seq);
        } else if (early > session->last_seq) {
            session->last_seq = early;
        }
    }
    bool needs_end = request != NULL && (request->is_own || request->with_history);
    hand_job(session, job, request);
    if (needs_end && !session->failed) {
        arcp__client_over_fence(session, job);
    }
}

void arcp__client_on_cancelled(arcp__client_session *session)
{
    arcp__client_binding binding = arcp__client_bind_reply(session, ARCP__CLIENT_ASK_CANCEL);
    if (binding.request != NULL) {
        arcp__client_request_finish(session, binding.request, (arcp_reply){0});
    }
}

void arcp__client_on_jobs(arcp__client_session *session)
{
    arcp__client_binding binding = arcp__client_bind_reply(session, ARCP__CLIENT_ASK_LIST);
    if (binding.request == NULL) {
        return;
    }
    arcp_job_page *page = arcp__client_job_page_new(session);
    if (page == NULL) {
        session->failed = true;
        return;
    }
    arcp__client_request_finish(session, binding.request, (arcp_reply){.page = page});
}

void arcp__client_on_pong(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    arcp__client_request *request = arcp__client_find_request(session, in->nonce.text);
    if (request == NULL) {
        request = arcp__client_find_request(session, in->nonce.older);
    }
    if (request == NULL) {
        request = arcp__client_bind_by_name(session).request;
    }
    /* A pong for a heartbeat of ours needs nothing more. */
    if (request == NULL || request->kind != ARCP__CLIENT_ASK_PING) {
        return;
    }
    arcp__client_over_answered(session, request);
    if (!session->failed) {
        arcp__client_request_finish(session, request, (arcp_reply){0});
    }
}

/* ---- events ---- */

/* The job's record, announced unless a request may be about to do that. After this, queueing
 * for the job cannot fail. NULL when out of memory. */
static arcp_job *admit(arcp__client_session *session)
{
    arcp_job *job = arcp__client_session_job(session, session->in.job_id);
    if (job != NULL && !job->announced && !arcp__client_requests_wait_for_jobs(session)) {
        arcp__client_session_announce(session, job, false);
    }
    session->failed = session->failed || job == NULL;
    return session->failed ? NULL : job;
}

/* Queues the item, or holds it until the job is known. */
static void deliver(arcp__client_session *session, arcp_job *job, arcp__client_item *item)
{
    if (job->announced) {
        arcp__client_item_queue(session, item);
    } else {
        DL_APPEND(job->held, item);
    }
}

void arcp__client_on_job_event(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp__client_message *in = &session->in;
    if (in->job_id.size == 0) {
        arcp__client_notice(session, "ignored an event that names no job");
        return;
    }
    arcp_job *job = admit(session);
    if (job == NULL) {
        return;
    }
    job->was_heard = true;
    if (job->ended) {
        arcp__client_notice(session, "ignored an event of job %.*s, which has ended",
                            (int)in->job_id.size, in->job_id.data);
        return;
    }
    arcp__client_item *item = arcp__client_item_new(
        ARCP_CLIENT_JOB_EVENT, job, in->text.size + in->event.kind.size + in->event.ts.size);
    if (item == NULL) {
        session->failed = true;
        return;
    }
    arcp_client_event *event = &item->event;
    event->payload = arcp__client_item_place(item, in->text);
    event->kind_text = arcp__client_item_place(item, in->event.kind);
    event->ts = arcp__client_item_place(item, in->event.ts);
    event->kind = arcp_event_kind_from_wire(event->kind_text);
    event->event_seq = in->event_seq;
    arcp_span body = arcp_json_raw(json, in->event.body);
    if (body.size != 0) {
        event->body = arcp_span_make(event->payload.data + (body.data - in->text.data), body.size);
    }
    if (event->kind == ARCP_EVENT_STATUS) { /* of this phase the body has a credential's value */
        arcp_json_ref phase = arcp_json_member(json, in->event.body, ARCP_SPAN_LITERAL("phase"));
        item->is_secret =
            arcp_json_string_equals(json, phase, ARCP_SPAN_LITERAL("credential_rotated"));
    }
    if (event->kind == ARCP_EVENT_METRIC) {
        arcp__client_job_note_metric(session, job);
    }
    if (job->status == ARCP_JOB_PENDING) {
        job->status = ARCP_JOB_RUNNING;
    }
    if (session->failed || (job->outcome_only && event->kind != ARCP_EVENT_RESULT_CHUNK)) {
        arcp__client_item_free(item);
        return;
    }
    deliver(session, job, item);
}

/* ---- ends ---- */

void arcp__client_on_job_end(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (in->type == ARCP_MESSAGE_JOB_ERROR) {
        arcp__client_binding binding = arcp__client_bind_by_name(session);
        if (!binding.names_request && in->job_id.size == 0) {
            binding = (arcp__client_binding){arcp__client_bind_error(session), true};
        } else if (!binding.names_request) {
            binding = arcp__client_bind_refusal(session);
        }
        /* What answers a request is never a job's end: it refuses the request. Without one it
         * answers something that was given up. */
        if (binding.names_request && binding.request != NULL) {
            arcp_failure failure = ARCP_FAILURE_INIT;
            arcp__client_failure_read(session, &failure);
            arcp__client_over_refused(session, binding.request, &failure);
            arcp__client_session_announce_held(session);
            arcp_failure_fini(&failure);
        }
        if (binding.names_request) {
            return;
        }
    }
    if (in->job_id.size == 0) {
        arcp__client_notice(session, "ignored a result that names no job");
        return;
    }
    arcp_job *job = admit(session);
    if (job == NULL) {
        return;
    }
    if (job->ended) {
        arcp__client_notice(session, "ignored a second end of job %.*s", (int)in->job_id.size,
                            in->job_id.data);
        return;
    }
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_ENDED, job, in->text.size);
    if (item == NULL || !arcp__client_job_end(session, job)) {
        session->failed = true;
        arcp__client_item_free(item);
        return;
    }
    item->event.payload = arcp__client_item_place(item, in->text);
    item->event.event_seq = in->event_seq;
    arcp__client_request *cancel = arcp__client_bind_by_job(session, ARCP__CLIENT_ASK_CANCEL);
    if (cancel != NULL && job->outcome.final_status == ARCP_JOB_CANCELLED) {
        arcp__client_request_finish(session, cancel, (arcp_reply){0});
    }
    deliver(session, job, item);
}
