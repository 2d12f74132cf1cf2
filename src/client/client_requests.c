/* Requests: each gets exactly one reply.
 *
 * A request is created, waits until the session is live, is sent, and ends with the runtime's
 * response, at its deadline or with the session. After a connection loss it is sent again with the
 * same id if that is safe: a submit is, because it has an idempotency key (the program's or a
 * generated one). A request that cannot be repeated is not sent again: if the runtime has received
 * it, it responds after the resume; otherwise the deadline ends it. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/options.h"
#include "client/client_job.h"
#include "json/json_put.h"

static const char *const types[] = {
    [ARCP__CLIENT_REQUEST_SUBMIT] = "job.submit",
    [ARCP__CLIENT_REQUEST_SUBSCRIBE] = "job.subscribe",
    [ARCP__CLIENT_REQUEST_CANCEL] = "job.cancel",
    [ARCP__CLIENT_REQUEST_LIST] = "session.list_jobs",
    [ARCP__CLIENT_REQUEST_WATCH] = "x-vendor.arcpd.watch",
    [ARCP__CLIENT_REQUEST_UNWATCH] = "x-vendor.arcpd.unwatch",
    [ARCP__CLIENT_REQUEST_PING] = "session.ping",
};

static const char *type_of(const arcp__client_request *request)
{
    return request->kind == ARCP__CLIENT_REQUEST_VIEW ? request->view_type : types[request->kind];
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- making and freeing ---- */

static void write_list(const arcp_list_options *options, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_object(&writer, "filter");
    if (options->statuses != 0) {
        arcp__put_array(&writer, "status");
        for (int status = 0; status < ARCP_JOB_STATUS_COUNT; status++) {
            if ((options->statuses & (UINT32_C(1) << status)) != 0) {
                arcp_json_write_cstr(&writer, arcp_job_status_name((arcp_job_status)status));
            }
        }
        arcp_json_end_array(&writer);
    }
    arcp__put_text(&writer, "agent", options->agent);
    arcp__put_text(&writer, "created_after", options->created_after);
    arcp__put_text(&writer, "created_before", options->created_before);
    arcp_json_end_object(&writer);
    if (options->limit != 0) {
        arcp__put_u64(&writer, "limit", options->limit);
    }
    arcp__put_text(&writer, "cursor", options->cursor);
    arcp_json_end_object(&writer);
}

/* Checks the options and writes the payload. [arcp:6.6-1] [arcp:7.4-1] [arcp:7.6-1] */
static arcp_status prepare(arcp__client_session *session, arcp__client_request *request,
                           const arcp__client_request_args *args, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    arcp_span job_id = args->job_id;
    arcp_subscribe_options subscribe = arcp_subscribe_options_init();
    arcp_list_options list = arcp_list_options_init();
    arcp_json_writer writer;
    switch (args->kind) {
    case ARCP__CLIENT_REQUEST_SUBMIT:
        status = arcp__client_submit_prepare(session, request, args->submit, err);
        break;
    case ARCP__CLIENT_REQUEST_SUBSCRIBE:
        status = arcp__options_take(&subscribe, args->subscribe, sizeof subscribe,
                                    "arcp_subscribe_options", err);
        if (status != ARCP_OK) {
            return status;
        }
        if (subscribe.job_id.size == 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "the id of the job to subscribe to is empty");
        }
        job_id = subscribe.job_id;
        request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_SUBSCRIBE);
        request->sink = subscribe.result;
        request->with_history = subscribe.history;
        request->job_user = subscribe.user;
        writer = arcp__put_begin(&request->payload); /* [arcp:7.6-2] */
        arcp__put_text(&writer, "job_id", job_id);
        if (subscribe.history) {
            arcp__put_u64(&writer, "from_event_seq",
                          subscribe.has_from_event_seq ? subscribe.from_event_seq : 0);
        }
        arcp__put_bool(&writer, "history", subscribe.history);
        arcp_json_end_object(&writer);
        break;
    case ARCP__CLIENT_REQUEST_CANCEL:
        if (job_id.size == 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "the id of the job to cancel is empty");
        }
        writer = arcp__put_begin(&request->payload);
        arcp__put_text(&writer, "job_id", job_id);
        arcp__put_text(&writer, "reason", args->reason);
        arcp_json_end_object(&writer);
        break;
    case ARCP__CLIENT_REQUEST_LIST:
        status = arcp__options_take(&list, args->list, sizeof list, "arcp_list_options", err);
        if (status == ARCP_OK) {
            request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_LIST_JOBS);
            write_list(&list, &request->payload);
        }
        break;
    case ARCP__CLIENT_REQUEST_VIEW:
        status = arcp__client_view_prepare(request, args, err);
        break;
    case ARCP__CLIENT_REQUEST_WATCH:
        status = arcp__client_watch_prepare(request, args->watch, err);
        break;
    case ARCP__CLIENT_REQUEST_UNWATCH:
        status = arcp__client_watch_prepare(request, NULL, err);
        break;
    case ARCP__CLIENT_REQUEST_PING:
        arcp__client_payload_ping(session, request->id, &request->payload);
        break;
    }
    if (job_id.size != 0) {
        request->job_id = arcp__copy_cstr(job_id.data, job_id.size);
    }
    const bool lacks_memory = request->payload.failed || request->extensions.failed ||
                              (job_id.size != 0 && request->job_id == NULL);
    return status == ARCP_OK && lacks_memory ? no_memory(err) : status;
}

arcp__client_request *arcp__client_request_new(arcp__client_session *session,
                                               const arcp__client_request_args *args,
                                               arcp_error *err)
{
    arcp__client_request *request = arcp__alloc(sizeof *request);
    arcp__client_item *reply_item = arcp__client_item_new(ARCP_CLIENT_NOTICE, NULL, 0);
    if (request == NULL || reply_item == NULL) {
        (void)no_memory(err);
        arcp__free(request);
        arcp__client_item_free(reply_item);
        return NULL;
    }
    *request = (arcp__client_request){.kind = args->kind,
                                      .can_repeat = true,
                                      .timer = {.owner = request},
                                      .on_reply = args->on_reply,
                                      .user = args->user,
                                      .reply_item = reply_item};
    arcp__client_message_id(session, request->id);
    DL_APPEND(session->requests, request);
    if (session->unsent == NULL) {
        session->unsent = request;
    }
    HASH_ADD(hh, session->by_id, id, ARCP__MESSAGE_ID_SIZE, request);
    const int64_t due_ns = arcp__client_in_ms(session, session->given.request_timeout_ms);
    arcp_status status = ARCP_OK;
    if (!ARCP__HASH_ADDED(request) ||
        arcp__timer_arm(&session->timers, &request->timer, due_ns) != ARCP_OK) {
        status = no_memory(err);
    } else {
        status = prepare(session, request, args, err);
    }
    if (status != ARCP_OK) {
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
    arcp__free(request->principals);
    arcp_buf_fini(&request->payload);
    arcp_buf_fini(&request->extensions);
    arcp__client_item_free(request->reply_item);
    arcp__free(request);
}

/* ---- ending ---- */

static void queue_reply(arcp__client_session *session, arcp__client_request *request,
                        arcp_reply result)
{
    arcp__client_item *item = request->reply_item;
    if (request->is_rewatch) {
        arcp__client_watch_is_back(session, result.error);
        return;
    }
    request->reply_item = NULL;
    item->is_reply = true;
    item->on_reply = request->on_reply;
    item->reply_user = request->user;
    item->reply = result;
    item->reply.round_trip_ns = session->now.mono_ns - request->sent_ns;
    if (result.error != NULL) {
        item->reply.status = arcp_error_copy(&item->error, result.error);
        item->reply.error = &item->error;
    }
    if (result.payload.size != 0) { /* it is borrowed from the frame */
        arcp_buf_append(&item->reply_payload, result.payload);
        item->reply.payload = arcp_buf_span(&item->reply_payload);
        if (item->reply_payload.failed) {
            item->reply.status = arcp_error_set(&item->error, ARCP_E_NO_MEMORY, "out of memory");
            item->reply.error = &item->error;
        }
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
        /* If responses are matched by their order, this one shows that abandoned requests before it
         * will not be answered in their turn any more: exclude them from matching. */
        for (arcp__client_request *before = session->requests; before != request;
             before = before->next) {
            before->is_overtaken = before->abandoned && !before->is_internal;
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
    char text[ARCP_ERROR_MESSAGE_MAX];
    arcp_error error = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)arcp_error_set(&error, status, "%s", text);
    arcp__client_request_finish(session, request, (arcp_reply){.error = &error});
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
        if (why->status != ARCP_E_LIMIT && !request->is_internal) {
            arcp__client_request_fail(session, request, why->status, "%s was not sent again: %s",
                                      type_of(request), why->message);
        } else if (largest == NULL || request->payload.size > largest->payload.size) {
            largest = request;
        }
    }
    if (why->status == ARCP_E_LIMIT && largest != NULL) {
        arcp__client_request_fail(
            session, largest, ARCP_E_LIMIT,
            "%s with %zu bytes is too large for the runtime (arcpd: limits.frame_bytes); %s",
            type_of(largest), largest->payload.size, why->message);
    }
}

void arcp__client_requests_fail(arcp__client_session *session, const arcp_error *error)
{
    arcp_error closed = {0};
    if (error == NULL) {
        (void)arcp_error_set(&closed, ARCP_E_CLOSED, "the client was closed");
        error = &closed;
    }
    while (session->requests != NULL) {
        arcp__client_request_finish(session, session->requests, (arcp_reply){.error = error});
    }
}

/* If responses are matched by their order, an abandoned request stays in the list until its turn is
 * over, but for at most one more timeout, so that its late response is not taken for that of the
 * next request, or the other way round. */
void arcp__client_request_abandon(arcp__client_session *session, arcp__client_request *request)
{
    const bool keeps_place =
        request->state == ARCP__REQUEST_SENT && !session->names_requests && !request->abandoned;
    request->abandoned = true;
    const int64_t due_ns = arcp__client_in_ms(session, session->given.request_timeout_ms);
    if (!keeps_place || arcp__timer_arm(&session->timers, &request->timer, due_ns) != ARCP_OK) {
        arcp__client_request_free(session, request);
        return;
    }
    if (session->state != ARCP__SESSION_LIVE ||
        !arcp__client_session_has(session, ARCP_FEATURE_HEARTBEAT)) {
        return;
    }
    /* The response to a ping sent now shows that the turn of earlier requests is over. Without
     * memory for the ping, the timeout decides. */
    const arcp__client_request_args ping = {.kind = ARCP__CLIENT_REQUEST_PING};
    arcp__client_request *mark = arcp__client_request_new(session, &ping, NULL);
    if (mark != NULL) {
        mark->abandoned = true;
        arcp__client_requests_flush(session);
    }
}

void arcp__client_request_expire(arcp__client_session *session, arcp__client_request *request)
{
    arcp_error error = {0};
    const char *type = type_of(request);
    const char *unknown = request->kind == ARCP__CLIENT_REQUEST_SUBMIT
                              ? "; it is not known whether the job was started"
                              : "";
    const long long timeout_ms = session->given.request_timeout_ms;
    if (request->sends == 0) {
        (void)arcp_error_set(&error, ARCP_E_DEADLINE,
                             "%s could not be sent within %lld ms: no connection", type,
                             timeout_ms);
    } else {
        (void)arcp_error_set(&error, ARCP_E_DEADLINE, "%s was not answered within %lld ms%s", type,
                             timeout_ms, unknown);
    }
    if (!request->abandoned) {
        queue_reply(session, request, (arcp_reply){.error = &error});
    }
    arcp__client_request_abandon(session, request);
}

bool arcp__client_requests_wait_for_jobs(const arcp__client_session *session)
{
    const arcp__client_request *request = NULL;
    DL_FOREACH (session->requests, request) {
        if (!request->is_internal && (request->kind == ARCP__CLIENT_REQUEST_SUBMIT ||
                                      request->kind == ARCP__CLIENT_REQUEST_SUBSCRIBE)) {
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

static bool send_request(arcp__client_session *session, arcp__client_request *request)
{
    arcp__client_envelope e = {.type = type_of(request),
                               .id = arcp_span_make(request->id, ARCP__MESSAGE_ID_SIZE),
                               .payload = arcp_buf_span(&request->payload),
                               .extensions = arcp_buf_span(&request->extensions)};
    if (request->kind == ARCP__CLIENT_REQUEST_CANCEL) {
        e.job_id = arcp_span_cstr(request->job_id);
    }
    if (request->kind == ARCP__CLIENT_REQUEST_SUBMIT) {
        e.trace_id = arcp_span_make(request->trace_id, ARCP__TRACE_ID_SIZE);
    }
    if (!arcp__client_send(session, e)) {
        return false;
    }
    request->state = ARCP__REQUEST_SENT;
    request->sends++;
    request->sent_at = session->frames_received;
    request->sent_ns = session->now.mono_ns;
    return true;
}

void arcp__client_requests_flush(arcp__client_session *session)
{
    while (session->state == ARCP__SESSION_LIVE && session->unsent != NULL) {
        arcp__client_request *request = session->unsent;
        const char *type = type_of(request);
        session->unsent = request->next;
        if (request->state != ARCP__REQUEST_UNSENT) {
            continue;
        }
        /* Refuse requests that need a feature that was not negotiated. [arcp:6.2-4] */
        const arcp_feature_set missing = request->needs & ~session->features;
        if (missing != 0) {
            const arcp_feature feature = (arcp_feature)__builtin_ctz(missing);
            arcp__client_request_fail(
                session, request, ARCP_E_INVALID_REQUEST,
                "%s needs the feature %s, which was not negotiated with the runtime", type,
                arcp_feature_name(feature));
        } else if (request->drops == ARCP__REQUEST_DROPS_MAX) {
            arcp__client_request_fail(session, request, ARCP_E_CLOSED,
                                      "the connection was lost %u times in a row after %s",
                                      request->drops, type);
        } else if (!send_request(session, request)) {
            session->unsent = request;
            arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a request");
            return;
        }
    }
}

arcp_status arcp__client_session_request(arcp__client_session *session, arcp_time now,
                                         const arcp__client_request_args *args,
                                         arcp__client_request **out, arcp_error *err)
{
    const arcp_error *failure = &session->failure;
    session->now = now;
    if (session->state == ARCP__SESSION_CLOSED || session->state == ARCP__SESSION_CLOSING) {
        return failure->status != ARCP_OK
                   ? arcp_error_copy(err, failure)
                   : arcp_error_set(err, ARCP_E_CLOSED, "the client is closed");
    }
    arcp_error why = {0};
    arcp__client_request *request = arcp__client_request_new(session, args, &why);
    if (request == NULL) {
        return arcp_error_copy(err, &why);
    }
    if (out != NULL) {
        *out = request;
    }
    arcp__client_requests_flush(session);
    return ARCP_OK;
}

void arcp__client_requests_unsend(arcp__client_session *session)
{
    /* A connection that the client gave up itself says nothing about what was sent on it. */
    const bool is_peers = session->connection_error.status != ARCP_E_HEARTBEAT_LOST;
    arcp__client_request *request = NULL;
    arcp__client_request *next = NULL;
    DL_FOREACH_SAFE (session->requests, request, next) {
        if ((request->abandoned && !request->is_internal) || request->is_rewatch) {
            arcp__client_request_free(session, request);
        } else if (request->can_repeat && request->state == ARCP__REQUEST_SENT) {
            request->state = ARCP__REQUEST_UNSENT;
            const bool was_last = request->sent_at == session->frames_received;
            request->drops = !was_last ? 0 : request->drops + (is_peers ? 1 : 0);
        }
    }
    session->unsent = session->requests;
}
