/* Jobs about which the runtime sends nothing more.
 *
 * For a submit that is repeated with its key, the draft promises the same job.accepted, but nothing
 * after it; and a job that had ended before it was subscribed to may have no history left. Our
 * runtime sends the end in both cases. For a runtime that does not name requests in its responses,
 * the client finds out by requests of its own:
 *
 *  - Probe. The response to a keyed submit names a job that is new to this session, and no frame
 * about it arrives for a while: a job.subscribe reads its status, and delivers its events if it
 * belongs to another session. JOB_NOT_FOUND or a final status: the job is over.
 *  - Fence. A job.subscribed had a final status. The replay is complete when the runtime answers a
 * ping sent after it, or answers nothing within the request timeout.
 *
 * Then the job ends for the program, with what is known about its end. */
#include <arcp/wire.h>

#include "client/client_job.h"
#include "json/json_put.h"

/* How long to wait for a frame of such a job before the probe: a runtime that starts a job sends an
 * event immediately. */
#define PROBE_AFTER_MS 1000

/* NULL when out of memory (sets session->failed). */
static arcp__client_request *own_request(arcp__client_session *session,
                                         arcp__client_request_kind kind, const arcp_job *job)
{
    arcp_subscribe_options options = arcp_subscribe_options_init();
    options.job_id = job->id;
    const arcp__client_request_args args = {.kind = kind, .subscribe = &options, .job_id = job->id};
    arcp__client_request *request = arcp__client_request_new(session, &args, NULL);
    if (request == NULL) {
        session->failed = true;
        return NULL;
    }
    request->is_internal = true;
    request->abandoned = true;
    return request;
}

static void arm(arcp__client_session *session, arcp__client_request *request, int64_t ms)
{
    if (arcp__timer_arm(&session->timers, &request->timer, arcp__client_in_ms(session, ms)) !=
        ARCP_OK) {
        session->failed = true;
    }
}

void arcp__client_silent_probe(arcp__client_session *session, const arcp_job *job)
{
    if (job->has_events || job->ended || session->names_requests ||
        !arcp__client_session_has(session, ARCP_FEATURE_SUBSCRIBE)) {
        return;
    }
    arcp__client_request *probe = own_request(session, ARCP__CLIENT_REQUEST_SUBSCRIBE, job);
    if (probe != NULL) {
        probe->state = ARCP__REQUEST_WAITING;
        arm(session, probe, PROBE_AFTER_MS);
    }
}

void arcp__client_silent_fence(arcp__client_session *session, const arcp_job *job)
{
    /* Our runtime sends the end after the response, unless `replayed` is false. */
    const bool is_promised =
        session->names_requests &&
        !arcp_json_is(&session->json, session->in.description.replayed, ARCP_JSON_FALSE);
    if (job->ended || !arcp_job_status_is_terminal(job->status) || is_promised) {
        return;
    }
    arcp__client_request *fence = own_request(session, ARCP__CLIENT_REQUEST_PING, job);
    if (fence == NULL) {
        return;
    }
    if (!arcp__client_session_has(session, ARCP_FEATURE_HEARTBEAT)) {
        fence->state = ARCP__REQUEST_WAITING; /* only its timeout decides */
    }
    arcp__client_requests_flush(session);
}

/* The job of a probe or fence. */
static arcp_job *job_of(arcp__client_session *session, const arcp__client_request *request)
{
    return arcp__client_session_find_job(session, arcp_span_cstr(request->job_id));
}

/* Ends the job for the program; `status` is ARCP_JOB_STATUS_COUNT if not even its final status is
 * known. */
static void end_silent_job(arcp__client_session *session, arcp_job *job, arcp_job_status status)
{
    if (job == NULL || job->ended) {
        return;
    }
    const bool is_known = status != ARCP_JOB_STATUS_COUNT;
    arcp_outcome outcome = {.final_status = is_known ? status : ARCP_JOB_ERROR,
                            .status = ARCP_E_CLOSED,
                            .result = ARCP_SPAN_LITERAL(""),
                            .result_id = ARCP_SPAN_LITERAL(""),
                            .bytes = ARCP_SPAN_LITERAL(""),
                            .summary = ARCP_SPAN_LITERAL(""),
                            .error = &job->error,
                            .streamed_bytes = UINT64_MAX};
    if (status == ARCP_JOB_CANCELLED) {
        outcome.status = ARCP_E_CANCELLED;
    } else if (status == ARCP_JOB_TIMED_OUT) {
        outcome.status = ARCP_E_TIMEOUT;
    }
    /* Replaces the payload of the job.result or job.error that was not received. */
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_string(&writer, "job_id", job->id);
    if (is_known) {
        (void)arcp_error_set(&job->error, outcome.status,
                             "job %.*s is over (%s); the runtime does not send its result again",
                             (int)job->id.size, job->id.data, arcp_job_status_name(status));
        arcp__put_cstr(&writer, "final_status", arcp_job_status_name(status));
    } else {
        (void)arcp_error_set(&job->error, outcome.status,
                             "job %.*s is over; the runtime does not report how it ended",
                             (int)job->id.size, job->id.data);
    }
    arcp__put_cstr(&writer, "message", job->error.message);
    arcp_json_end_object(&writer);
    outcome.payload = arcp__arena_copy(&job->strings, arcp_buf_span(&text));
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_ENDED, job, text.size);
    const bool lacks_memory = text.failed || outcome.payload.data == NULL || item == NULL;
    arcp_buf_fini(&text);
    if (lacks_memory) {
        arcp__client_item_free(item);
        session->failed = true;
        return;
    }
    item->payload = arcp__client_item_place(item, outcome.payload);
    job->outcome = outcome;
    job->status = outcome.final_status;
    job->ended = true;
    arcp__client_item_queue(session, item);
}

void arcp__client_silent_answered(arcp__client_session *session,
                                  const arcp__client_request *request)
{
    arcp_job *job = request->is_internal ? job_of(session, request) : NULL;
    if (job != NULL && arcp_job_status_is_terminal(job->status)) {
        end_silent_job(session, job, job->status);
    }
}

void arcp__client_silent_refused(arcp__client_session *session, arcp__client_request *request,
                                 const arcp_error *error)
{
    if (!session->failed && request->is_internal && error->status == ARCP_E_JOB_NOT_FOUND) {
        end_silent_job(session, job_of(session, request), ARCP_JOB_STATUS_COUNT);
    }
    if (!session->failed) {
        arcp__client_request_finish(session, request, (arcp_reply){.error = error});
    }
}

void arcp__client_silent_expire(arcp__client_session *session, arcp__client_request *request)
{
    const arcp_job *job = job_of(session, request);
    const bool is_probe = request->kind == ARCP__CLIENT_REQUEST_SUBSCRIBE;
    if (is_probe && request->state == ARCP__REQUEST_WAITING && job != NULL && !job->ended &&
        !job->has_events) { /* no frame about it so far: send the probe */
        request->state = ARCP__REQUEST_UNSENT;
        session->unsent = session->requests;
        arm(session, request, session->given.request_timeout_ms);
        arcp__client_requests_flush(session);
        return;
    }
    if (!is_probe) {
        arcp__client_silent_answered(session, request);
    }
    arcp__client_request_free(session, request);
}

/* [arcp:7.6-13] */
arcp_status arcp__client_session_unsubscribe(arcp__client_session *session, arcp_time now,
                                             arcp_span job_id, arcp_error *err)
{
    session->now = now;
    if (session->state != ARCP__SESSION_LIVE ||
        !arcp__client_session_has(session, ARCP_FEATURE_SUBSCRIBE)) {
        return arcp_error_set(
            err, ARCP_E_CLOSED,
            "there is no connection to the runtime, or it does not support subscriptions");
    }
    arcp__client_request *request = NULL;
    arcp__client_request *next = NULL;
    DL_FOREACH_SAFE (session->requests, request, next) {
        if (request->is_internal && arcp_span_equal_cstr(job_id, request->job_id)) {
            arcp__client_request_free(session, request);
        }
    }
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_text(&writer, "job_id", job_id);
    arcp_json_end_object(&writer);
    const arcp__client_envelope e = {
        .type = "job.unsubscribe", .job_id = job_id, .payload = arcp_buf_span(&payload)};
    const bool is_sent = !payload.failed && arcp__client_send(session, e);
    arcp_buf_fini(&payload);
    return is_sent ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}
