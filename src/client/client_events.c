/* Jobs: their events, their ends, and when the program hears of them.
 *
 * An event may come before the answer that makes its job known. As long as a
 * submit or a subscription waits for its answer, such events are held; then they follow the
 * answer. When nothing is waited for any more, the job is announced as one that the program
 * did not ask for. */
#include "client/client_job.h"

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

/* ---- events ---- */

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
