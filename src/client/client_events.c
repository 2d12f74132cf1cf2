/* Jobs: their events, their ends, and when the program hears of them.
 *
 * An event may come before the answer that makes its job known. As long as a
 * submit or a subscription waits for its answer, such events are held; then they follow the
 * answer. When nothing is waited for any more, the job is announced as one that the program
 * did not ask for. */
#include "client/client_job.h"

/* The job's record, announced unless a request may be about to do that. After this, queueing
 * for the job cannot fail. NULL when out of memory. */
static arcp_job *admit(arcp__client_session *session, arcp_span id)
{
    arcp_job *job = arcp__client_session_job(session, id);
    if (job != NULL && !job->announced && !arcp__client_requests_wait_for_jobs(session) &&
        arcp__client_session_announce(session, job, false) != ARCP_OK) {
        return NULL;
    }
    return job;
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

/* ---- events ---- */

/* A credential value is in the body. */
static bool is_rotation(const arcp_json *json, arcp_json_ref body)
{
    arcp_json_ref phase = arcp_json_member(json, body, ARCP_SPAN_LITERAL("phase"));
    return arcp_json_string_equals(json, phase, ARCP_SPAN_LITERAL("credential_rotated"));
}

static arcp_span place_string(arcp__client_session *session, arcp__client_item *item,
                              arcp_json_ref ref)
{
    arcp_buf_clear(&session->scratch);
    return arcp__client_item_place(item, arcp_json_string(&session->json, ref, &session->scratch));
}

static arcp__client_item *event_item(arcp__client_session *session, const arcp__client_frame *frame,
                                     arcp_job *job)
{
    const arcp_json *json = &session->json;
    arcp_json_ref kind = arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("kind"));
    arcp_json_ref ts = arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("ts"));
    arcp_json_ref body = arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("body"));
    arcp_span payload = frame->payload == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("{}")
                                                           : arcp_json_raw(json, frame->payload);
    /* kind and ts are part of the payload: their text is never longer than what is there. */
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_EVENT, job,
                                                    payload.size + arcp_json_raw(json, kind).size +
                                                        arcp_json_raw(json, ts).size);
    if (item == NULL) {
        return NULL;
    }
    arcp_client_event *event = &item->event;
    event->payload = arcp__client_item_place(item, payload);
    event->kind_text = place_string(session, item, kind);
    event->ts = place_string(session, item, ts);
    event->kind = arcp_event_kind_from_wire(event->kind_text);
    event->event_seq = frame->event_seq;
    arcp_span raw = arcp_json_raw(json, body);
    if (raw.size != 0) {
        event->body = arcp_span_make(event->payload.data + (raw.data - payload.data), raw.size);
    }
    if (event->kind == ARCP_EVENT_STATUS) {
        item->is_secret = is_rotation(json, body);
    }
    if (session->scratch.failed) {
        arcp__client_item_free(item);
        return NULL;
    }
    return item;
}

/* What the client itself learns from an event. */
static arcp_status note_event(arcp__client_session *session, arcp_job *job,
                              const arcp__client_item *item, arcp_json_ref payload)
{
    arcp_json_ref body = arcp_json_member(&session->json, payload, ARCP_SPAN_LITERAL("body"));
    if (job->status == ARCP_JOB_PENDING) {
        job->status = ARCP_JOB_RUNNING;
    }
    return item->event.kind == ARCP_EVENT_METRIC
               ? arcp__client_job_note_metric(job, &session->json, body)
               : ARCP_OK;
}

arcp_status arcp__client_on_job_event(arcp__client_session *session,
                                      const arcp__client_frame *frame)
{
    arcp_span id = arcp__client_frame_job(session, frame);
    if (id.size == 0) {
        arcp__client_notice(session, "ignored an event that names no job");
        return ARCP_OK;
    }
    arcp_job *job = admit(session, id);
    if (job == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    job->was_heard = true;
    if (job->ended) {
        arcp__client_notice(session, "ignored an event of job %.*s, which has ended", (int)id.size,
                            id.data);
        return ARCP_OK;
    }
    arcp__client_item *item = event_item(session, frame, job);
    if (item == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_status status = note_event(session, job, item, frame->payload);
    if (status != ARCP_OK) {
        arcp__client_item_free(item);
        return status;
    }
    if (job->outcome_only && item->event.kind != ARCP_EVENT_RESULT_CHUNK) {
        arcp__client_item_free(item);
        return ARCP_OK;
    }
    deliver(session, job, item);
    return ARCP_OK;
}

/* ---- ends ---- */

/* A job.error that answers a request is never a job's end: it refuses the request. */
static arcp_status refuse(arcp__client_session *session, const arcp__client_frame *frame,
                          arcp__client_request *request)
{
    if (request == NULL) {
        return ARCP_OK; /* the answer to something that was given up */
    }
    arcp_failure failure = ARCP_FAILURE_INIT;
    arcp_status status =
        arcp__client_failure_read(&failure, &session->json, frame->payload, &session->scratch);
    if (status == ARCP_OK) {
        status = arcp__client_over_refused(session, request, &failure);
    }
    if (status == ARCP_OK) {
        status = arcp__client_session_announce_held(session);
    }
    arcp_failure_fini(&failure);
    return status;
}

static arcp_status end_job(arcp__client_session *session, const arcp__client_frame *frame,
                           arcp_job *job)
{
    bool is_error = frame->type == ARCP_MESSAGE_JOB_ERROR;
    arcp_span payload = frame->payload == ARCP_JSON_ABSENT
                            ? ARCP_SPAN_LITERAL("{}")
                            : arcp_json_raw(&session->json, frame->payload);
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_ENDED, job, payload.size);
    if (item == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_status status =
        arcp__client_job_end(job, &session->json, frame->payload, is_error, &session->scratch);
    if (status != ARCP_OK) {
        arcp__client_item_free(item);
        return status;
    }
    item->event.payload = arcp__client_item_place(item, payload);
    item->event.event_seq = frame->event_seq;
    arcp__client_request *cancel =
        job->outcome.final_status == ARCP_JOB_CANCELLED
            ? arcp__client_bind_by_job(session, frame, ARCP__CLIENT_ASK_CANCEL)
            : NULL;
    if (cancel != NULL) {
        arcp__client_request_finish(session, cancel, NULL, NULL, NULL);
    }
    deliver(session, job, item);
    return ARCP_OK;
}

arcp_status arcp__client_on_job_end(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp_span id = arcp__client_frame_job(session, frame);
    if (frame->type == ARCP_MESSAGE_JOB_ERROR) {
        arcp__client_binding binding = arcp__client_bind_by_name(session, frame);
        if (binding.names_request) {
            return refuse(session, frame, binding.request);
        }
        if (id.size == 0) {
            return refuse(session, frame, arcp__client_bind_error(session, frame));
        }
        binding = arcp__client_bind_refusal(session, frame);
        if (binding.names_request) {
            return refuse(session, frame, binding.request);
        }
    }
    if (id.size == 0) {
        arcp__client_notice(session, "ignored a result that names no job");
        return ARCP_OK;
    }
    arcp_job *job = admit(session, id);
    if (job == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    if (job->ended) {
        arcp__client_notice(session, "ignored a second end of job %.*s", (int)id.size, id.data);
        return ARCP_OK;
    }
    return end_job(session, frame, job);
}
