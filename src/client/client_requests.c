/* Requests: from the program's asking to the one reply that each of them gets.
 *
 * A request is made, waits for the session to be live, is sent, and ends by the runtime's
 * answer, by its deadline or with the session. After a drop it is sent again under the same
 * id when that is safe: a submit is, because it carries an idempotency key (the program's or
 * one of ours). One that cannot be repeated stays as sent: a runtime that has it answers after
 * the resume, else its deadline tells. */
#include "base/alloc.h"
#include "client/client_job.h"

arcp__client_request *arcp__client_request_new(arcp__client_session *session,
                                               arcp__client_request_kind kind)
{
    arcp__client_request *request = arcp__alloc(sizeof(*request));
    arcp__client_item *reply_item = arcp__client_item_new(ARCP_CLIENT_NOTICE, NULL, 0);
    if (request == NULL || reply_item == NULL) {
        arcp__free(request);
        arcp__client_item_free(reply_item);
        return NULL;
    }
    *request = (arcp__client_request){
        .kind = kind, .can_repeat = true, .timer = {.owner = request}, .reply_item = reply_item};
    arcp__client_message_id(session, request->id);
    DL_APPEND(session->requests, request);
    if (session->unsent == NULL) {
        session->unsent = request;
    }
    HASH_ADD(hh, session->by_id, id, ARCP__MESSAGE_ID_SIZE, request);
    int64_t due_ns = arcp__client_in_ms(session, session->given.request_timeout_ms);
    if (!ARCP__HASH_ADDED(request) ||
        arcp__timer_arm(&session->timers, &request->timer, due_ns) != ARCP_OK) {
        arcp__client_request_free(session, request);
        return NULL;
    }
    return request;
}

void arcp__client_request_free(arcp__client_session *session, arcp__client_request *request)
{
    arcp__timer_disarm(&session->timers, &request->timer);
    if (ARCP__HASH_ADDED(request)) {
        HASH_DELETE(hh, session->by_id, request);
    }
    if (session->unsent == request) {
        session->unsent = request->next;
    }
    DL_DELETE(session->requests, request);
    arcp__free(request->job_id);
    arcp_buf_fini(&request->payload);
    arcp_buf_fini(&request->extensions);
    arcp__client_item_free(request->reply_item);
    arcp__free(request);
}

const char *arcp__client_request_type(arcp__client_request_kind kind)
{
    switch (kind) {
    case ARCP__CLIENT_ASK_SUBMIT:
        return "job.submit";
    case ARCP__CLIENT_ASK_SUBSCRIBE:
        return "job.subscribe";
    case ARCP__CLIENT_ASK_CANCEL:
        return "job.cancel";
    case ARCP__CLIENT_ASK_LIST:
        return "session.list_jobs";
    case ARCP__CLIENT_ASK_PING:
        return "session.ping";
    }
    return "";
}

/* ---- ending ---- */

static void queue_reply(arcp__client_session *session, arcp__client_request *request,
                        arcp_reply result)
{
    arcp__client_item *item = request->reply_item;
    request->reply_item = NULL;
    item->is_reply = true;
    item->on_reply = request->on_reply;
    item->reply_user = request->user;
    item->reply = result;
    item->reply.round_trip_ns = session->now.mono_ns - request->sent_ns;
    if (result.failure != NULL) {
        item->reply.status = arcp__client_failure_copy(&item->failure, result.failure);
        item->reply.failure = &item->failure;
    }
    if (result.job != NULL) {
        arcp__client_job_hold_handle(result.job);
    }
    arcp__client_item_queue(session, item);
}

void arcp__client_request_finish(arcp__client_session *session, arcp__client_request *request,
                                 arcp_reply result)
{
    if (request->state == ARCP__REQUEST_SENT) {
        session->finished++;
        /* Where answers are bound by their order, one that comes shows that what was asked before
         * it and given up is not answered in its turn any more: it gets no answer that could be
         * another's. */
        for (arcp__client_request *before = session->requests; before != request;
             before = before->next) {
            before->is_passed = before->abandoned && !before->is_own;
        }
    }
    if (request->abandoned) {
        arcp_job_page_free(result.page);
    } else {
        queue_reply(session, request, result);
    }
    arcp__client_request_free(session, request);
}

void arcp__client_request_fail(arcp__client_session *session, arcp__client_request *request,
                               arcp_status status, const char *format, ...)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    va_list arguments;
    va_start(arguments, format);
    (void)arcp__client_failure_set_v(&failure, status, format, arguments);
    va_end(arguments);
    arcp__client_request_finish(session, request, (arcp_reply){.failure = &failure});
}

void arcp__client_requests_blame(arcp__client_session *session, const arcp_error *why)
{
    arcp__client_request *largest = NULL;
    arcp__client_request *request = NULL;
    arcp__client_request *next = NULL;
    DL_FOREACH_SAFE (session->requests, request, next) {
        if (request->state != ARCP__REQUEST_SENT) {
            continue;
        }
        if (why->status != ARCP_E_LIMIT && !request->is_own) {
            arcp__client_request_fail(session, request, why->status, "%s is not sent again: %s",
                                      arcp__client_request_type(request->kind), why->message);
        } else if (largest == NULL || request->payload.size > largest->payload.size) {
            largest = request;
        }
    }
    if (why->status == ARCP_E_LIMIT && largest != NULL) {
        arcp__client_request_fail(
            session, largest, ARCP_E_LIMIT,
            "%s with %zu bytes is too large for the runtime (arcpd: limits.frame_bytes); %s",
            arcp__client_request_type(largest->kind), largest->payload.size, why->message);
    }
}

void arcp__client_requests_fail(arcp__client_session *session, const arcp_failure *failure)
{
    arcp_failure closed = ARCP_FAILURE_INIT;
    if (failure == NULL) {
        (void)arcp__client_failure_set(&closed, ARCP_E_CLOSED, "the client was closed");
        failure = &closed;
    }
    while (session->requests != NULL) {
        arcp__client_request_finish(session, session->requests, (arcp_reply){.failure = failure});
    }
}

/* Where answers are bound by their order, the place of a request that was given up is kept
 * until its turn is over, and for one more timeout at most, so that its late answer is not taken
 * for the next one's, nor the next one's for its. */
void arcp__client_request_abandon(arcp__client_session *session, arcp__client_request *request)
{
    bool keeps_place =
        request->state == ARCP__REQUEST_SENT && !session->tells_requests && !request->abandoned;
    request->abandoned = true;
    int64_t due_ns = arcp__client_in_ms(session, session->given.request_timeout_ms);
    if (!keeps_place || arcp__timer_arm(&session->timers, &request->timer, due_ns) != ARCP_OK) {
        arcp__client_request_free(session, request);
        return;
    }
    if (session->state != ARCP__SESSION_LIVE ||
        !arcp__client_session_has(session, ARCP_FEATURE_HEARTBEAT)) {
        return;
    }
    /* The answer to a ping that is sent now shows that the turn of what was asked before is over.
     * Without memory for it the place is kept for the time that it is kept for without. */
    arcp__client_request *mark = arcp__client_request_new(session, ARCP__CLIENT_ASK_PING);
    if (mark == NULL) {
        return;
    }
    mark->abandoned = true;
    arcp__client_payload_ping(session, mark->id, &mark->payload);
    if (mark->payload.failed) {
        arcp__client_request_free(session, mark);
        return;
    }
    arcp__client_requests_flush(session);
}

void arcp__client_request_expire(arcp__client_session *session, arcp__client_request *request)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    const char *type = arcp__client_request_type(request->kind);
    const char *unknown = request->kind == ARCP__CLIENT_ASK_SUBMIT
                              ? "; whether the job was started is not known"
                              : "";
    long long timeout_ms = session->given.request_timeout_ms;
    if (request->sends == 0) {
        (void)arcp__client_failure_set(&failure, ARCP_E_DEADLINE,
                                       "%s could not be sent within %lld ms: no connection", type,
                                       timeout_ms);
    } else {
        (void)arcp__client_failure_set(&failure, ARCP_E_DEADLINE,
                                       "%s was not answered within %lld ms%s", type, timeout_ms,
                                       unknown);
    }
    if (!request->abandoned) {
        queue_reply(session, request, (arcp_reply){.failure = &failure});
    }
    arcp__client_request_abandon(session, request);
}

bool arcp__client_requests_wait_for_jobs(const arcp__client_session *session)
{
    const arcp__client_request *request = NULL;
    DL_FOREACH (session->requests, request) {
        if (!request->is_own && (request->kind == ARCP__CLIENT_ASK_SUBMIT ||
                                 request->kind == ARCP__CLIENT_ASK_SUBSCRIBE)) {
            return true;
        }
    }
    return false;
}

void arcp__client_session_announce_held(arcp__client_session *session)
{
    arcp_job *job = NULL;
    arcp_job *next = NULL;
    if (arcp__client_requests_wait_for_jobs(session)) {
        return;
    }
    HASH_ITER (hh, session->jobs, job, next) {
        if (!job->announced && !session->failed) {
            arcp__client_session_announce(session, job, false);
        }
    }
}

/* ---- sending ---- */

void arcp__client_requests_flush(arcp__client_session *session)
{
    while (session->state == ARCP__SESSION_LIVE && session->unsent != NULL) {
        arcp__client_request *request = session->unsent;
        const char *type = arcp__client_request_type(request->kind);
        session->unsent = request->next;
        if (request->state != ARCP__REQUEST_UNSENT) {
            continue;
        }
        /* What was not negotiated is refused in the words in which a runtime would. [arcp:6.2-4] */
        arcp_feature_set missing = request->needs & ~session->features;
        if (missing != 0) {
            arcp_feature feature = (arcp_feature)__builtin_ctz(missing);
            arcp__client_request_fail(
                session, request, ARCP_E_INVALID_REQUEST,
                "%s needs the feature %s, which was not negotiated with the runtime", type,
                arcp_feature_name(feature));
        } else if (request->vain == ARCP__REQUEST_VAIN_MAX) {
            arcp__client_request_fail(session, request, ARCP_E_CLOSED,
                                      "the connection dropped %u times in a row on %s",
                                      request->vain, type);
        } else if (!arcp__client_send_request(session, request)) {
            session->unsent = request;
            arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a request");
            return;
        } else {
            request->state = ARCP__REQUEST_SENT;
            request->sends++;
            request->sent_at = arcp__client_progress(session);
            request->sent_ns = session->now.mono_ns;
        }
    }
}

void arcp__client_requests_unsend(arcp__client_session *session)
{
    uint64_t progress = arcp__client_progress(session);
    arcp__client_request *request = NULL;
    arcp__client_request *next = NULL;
    DL_FOREACH_SAFE (session->requests, request, next) {
        if (request->abandoned && !request->is_own) {
            arcp__client_request_free(session, request);
        } else if (request->can_repeat && request->state == ARCP__REQUEST_SENT) {
            request->state = ARCP__REQUEST_UNSENT;
            request->vain = request->sent_at == progress ? request->vain + 1 : 0;
        }
    }
    session->unsent = session->requests;
}
