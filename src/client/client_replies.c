#include "client/client_job.h"

/* A job that the runtime began for another job, not for a request of ours. */
static bool is_child(arcp__client_session *session, const arcp__client_frame *frame)
{
    return arcp__client_frame_id(session, frame->payload, "parent_job_id").size != 0 ||
           arcp__client_frame_id(session, frame->payload, "delegate_id").size != 0;
}

static arcp_status describe(arcp__client_session *session, const arcp__client_frame *frame,
                            arcp_job **out)
{
    arcp_span id = arcp__client_frame_job(session, frame);
    *out = NULL;
    if (id.size == 0) {
        arcp__client_notice(session, "ignored a %.*s that names no job", (int)frame->type_text.size,
                            frame->type_text.data);
        return ARCP_OK;
    }
    arcp_job *job = arcp__client_session_job(session, id);
    if (job == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_status status =
        arcp__client_job_describe(job, &session->json, frame->payload, &session->scratch);
    if (status == ARCP_OK) {
        *out = job;
    }
    return status;
}

/* Hands the job to the request that asked for it, or else announces it. */
static arcp_status hand_job(arcp__client_session *session, arcp_job *job,
                            arcp__client_request *request)
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
        arcp__client_request_finish(session, request, NULL, job, NULL);
    }
    arcp_status status = arcp__client_session_announce(session, job, by_reply);
    if (status == ARCP_OK) {
        status = arcp__client_session_announce_held(session);
    }
    return status == ARCP_OK && asks_by_key ? arcp__client_over_probe(session, job) : status;
}

/* After a resume a runtime may say again what was accepted, without naming the request, because
 * its answer may be lost. A submit that was sent again gets an answer of its own, which has the
 * job's handle: until then the job waits. Otherwise this is the answer. */
static arcp_status on_repeated(arcp__client_session *session, const arcp__client_frame *frame,
                               arcp_job *job)
{
    arcp__client_request *request = arcp__client_bind_repeated(session, frame);
    if (request == NULL && !job->announced && arcp__client_requests_wait_for_jobs(session)) {
        return ARCP_OK;
    }
    return hand_job(session, job, job->announced ? NULL : request);
}

/* Answers about a job that was seen to end and is forgotten: nothing more will come of it. */
static bool is_about_the_past(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp_span id = arcp__client_frame_job(session, frame);
    if (id.size == 0 || arcp__client_session_find_job(session, id) != NULL ||
        !arcp__client_past_is_gone(session, id)) {
        return false;
    }
    arcp__client_binding binding = arcp__client_bind_by_name(session, frame);
    arcp__client_request *request = binding.request;
    if (!binding.names_request && !is_child(session, frame)) {
        request = arcp__client_bind_keyed(session, frame);
    }
    if (request != NULL && request->kind == ARCP__CLIENT_ASK_SUBMIT) {
        arcp_failure failure = ARCP_FAILURE_INIT;
        (void)arcp__client_failure_set(
            &failure, ARCP_E_CLOSED,
            "the job %.*s of this idempotency_key has ended; its outcome is no longer kept",
            (int)id.size, id.data);
        arcp__client_request_finish(session, request, &failure, NULL, NULL);
    }
    return true;
}

arcp_status arcp__client_on_accepted(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp_job *job = NULL;
    if (is_about_the_past(session, frame)) {
        return arcp__client_session_announce_held(session);
    }
    arcp_status status = describe(session, frame, &job);
    if (status != ARCP_OK || job == NULL) {
        return status;
    }
    job->is_accepted = true;
    arcp__client_binding binding = arcp__client_bind_by_name(session, frame);
    if (binding.request != NULL && binding.request->kind != ARCP__CLIENT_ASK_SUBMIT) {
        binding.request = NULL;
    }
    if (job->status == ARCP_JOB_STATUS_COUNT) {
        job->status = ARCP_JOB_PENDING;
    }
    if (binding.request == NULL && !is_child(session, frame)) {
        binding = arcp__client_bind_reply(session, frame, ARCP__CLIENT_ASK_SUBMIT);
        if (binding.request == NULL && !binding.names_request && session->tells_requests) {
            return on_repeated(session, frame, job);
        }
    }
    return hand_job(session, job, binding.request);
}

/* Which numbering the job's frames have (client_receive.c). A runtime that counts what it has
 * replayed numbers each subscription by itself. A job of the session's own is none of those. */
static void note_numbering(arcp__client_session *session, const arcp__client_frame *frame,
                           arcp_job *job, const arcp__client_request *request)
{
    const arcp_json *json = &session->json;
    arcp_json_ref replayed = arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("replayed"));
    arcp_json_ref from =
        arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("subscribed_from"));
    uint64_t early = request == NULL ? 0 : request->early_seq;
    if (session->tells_requests || (job->announced && !job->numbers_apart)) {
        return;
    }
    if (arcp_json_is(json, replayed, ARCP_JSON_NUMBER)) {
        job->numbers_apart = true;
        job->apart_seq = early;
        (void)arcp_json_u64(json, from, &job->apart_seq);
    } else if (early > session->last_seq) {
        session->last_seq = early;
    }
}

arcp_status arcp__client_on_subscribed(arcp__client_session *session,
                                       const arcp__client_frame *frame)
{
    arcp_job *job = NULL;
    arcp_status status = describe(session, frame, &job);
    if (status != ARCP_OK || job == NULL) {
        return status;
    }
    arcp__client_binding binding =
        arcp__client_bind_reply(session, frame, ARCP__CLIENT_ASK_SUBSCRIBE);
    note_numbering(session, frame, job, binding.request);
    bool is_probe = binding.request != NULL && binding.request->is_own;
    bool with_history = binding.request != NULL && binding.request->with_history;
    status = hand_job(session, job, binding.request);
    if (status == ARCP_OK && (is_probe || with_history)) {
        status = arcp__client_over_fence(session, frame, job);
    }
    return status;
}

arcp_status arcp__client_on_cancelled(arcp__client_session *session,
                                      const arcp__client_frame *frame)
{
    arcp__client_binding binding = arcp__client_bind_reply(session, frame, ARCP__CLIENT_ASK_CANCEL);
    if (binding.request != NULL) {
        arcp__client_request_finish(session, binding.request, NULL, NULL, NULL);
    }
    return ARCP_OK;
}

arcp_status arcp__client_on_jobs(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp__client_binding binding = arcp__client_bind_reply(session, frame, ARCP__CLIENT_ASK_LIST);
    if (binding.request == NULL) {
        return ARCP_OK;
    }
    arcp_job_page *page = NULL;
    arcp_status status = arcp__client_job_page_new(&session->json, frame->payload, &page);
    if (status == ARCP_OK) {
        arcp__client_request_finish(session, binding.request, NULL, NULL, page);
    }
    return status;
}

arcp_status arcp__client_on_pong(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp__client_request *request = NULL;
    const char *const names[] = {"ping_nonce", "nonce"};
    for (size_t at = 0; at < 2; at++) {
        arcp_span nonce = arcp__client_frame_id(session, frame->payload, names[at]);
        if (request == NULL && nonce.size == ARCP__MESSAGE_ID_SIZE) {
            HASH_FIND(hh, session->by_id, nonce.data, ARCP__MESSAGE_ID_SIZE, request);
        }
    }
    if (request == NULL) {
        request = arcp__client_bind_by_name(session, frame).request;
    }
    /* A pong for a heartbeat of ours needs nothing more. */
    if (request == NULL || request->kind != ARCP__CLIENT_ASK_PING) {
        return ARCP_OK;
    }
    arcp_status status = arcp__client_over_answered(session, request);
    if (status == ARCP_OK) {
        arcp__client_request_finish(session, request, NULL, NULL, NULL);
    }
    return status;
}
