/* Requests that are refused: in which form their session's client understands that
 * (docs/protocol.md, Peer profiles). */
#include "engine/parts.h"

#include "json/json_put.h"

/* For so long a refused submit waits for others that its client has sent with it. */
#define LONE_REFUSAL_MS 200

/* Whether this session's client waits for anything but this request: a submit, a job, or what says
 * how one ended. */
static bool waits_for_more(const arcp__request *request)
{
    const arcp__session *session = request->session;
    const arcp__request *first = session->submits_first;
    if (first != NULL && (first != request || request->next_submit != NULL)) {
        return true;
    }
    if (session->submitter.admissions != NULL || session->sent_seq + 1 < session->next_seq) {
        return true;
    }
    for (const arcp__observation *at = session->observations; at != NULL; at = at->next) {
        if (!arcp__job_has_ended(at->observer.job) || !at->observer.is_live) {
            return true;
        }
    }
    return false;
}

static bool refuses_as_session_error(const arcp__request *request)
{
    const bool is_query = request->type == ARCP_MESSAGE_JOB_SUBSCRIBE ||
                          request->type == ARCP_MESSAGE_SESSION_LIST_JOBS;
    switch (request->session->profile->refusals) {
    case ARCP__REFUSE_JOB_ERROR:
        return false;
    case ARCP__REFUSE_SESSION_ERROR:
        return true;
    case ARCP__REFUSE_QUERY_SESSION_ERROR:
        return is_query && !waits_for_more(request);
    case ARCP__REFUSE_LONE_SESSION_ERROR:
        return !waits_for_more(request);
    }
    return false;
}

/* `job_id` may be empty: none is named. */
static void format_payload(const arcp__engine *engine, const arcp__request *request,
                           const arcp_error *error, arcp_span job_id, arcp_span details,
                           arcp_buf *payload)
{
    arcp_json_writer writer = arcp__put_begin(payload);
    arcp__error_payload_local(&writer, error, details);
    arcp__put_cstr(&writer, "final_status", "error");
    if (request->frame.size != 0) { /* it is the end of the job that the frame accepts */
        arcp__write_timestamp(&writer, "completed_at", engine->context.now.wall_ns);
    }
    arcp__put_cstr(&writer, "request_id", request->id);
    arcp__put_cstr(&writer, "reply_to", request->id);
    if (job_id.size != 0) {
        arcp__put_string(&writer, "job_id", job_id);
    }
    arcp_json_end_object(&writer);
}

static arcp_span trace_of(const arcp__request *request)
{
    return arcp_span_make(request->trace_id, request->trace_id[0] == '\0' ? 0 : 32);
}

static void format_session_error(const arcp__request *request, arcp_span payload, arcp_buf *frame)
{
    arcp__envelope_format(&(arcp__envelope_head){.type = "session.error",
                                                 .id = arcp_span_cstr(request->id),
                                                 .session_id = arcp_span_cstr(request->session->id),
                                                 .trace_id = trace_of(request)},
                          payload, frame);
}

static void format_record(arcp__request *request, arcp_span job_id, arcp_span payload)
{
    arcp_buf *record = &request->record;
    arcp_span trace_id = trace_of(request);
    arcp_buf_append_cstr(record, "{\"id\":");
    arcp_json_quote(arcp_span_cstr(request->id), record);
    arcp_buf_append_cstr(record, ",\"type\":\"job.error\"");
    if (trace_id.size != 0) {
        arcp_buf_append_cstr(record, ",\"trace_id\":");
        arcp_json_quote(trace_id, record);
    }
    if (job_id.size != 0) {
        arcp_buf_append_cstr(record, ",\"job_id\":");
        arcp_json_quote(job_id, record);
    }
    arcp_buf_append_cstr(record, ",\"payload\":");
    arcp_buf_append(record, payload);
    arcp_buf_append_byte(record, '}');
}

/* The job.accepted of a job that is none: no authority, and its end comes behind it. */
static void format_accepted(const arcp__engine *engine, arcp__request *request, arcp_span job_id,
                            arcp_span agent)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "request_id", request->id);
    arcp__put_cstr(&writer, "reply_to", request->id);
    arcp__put_string(&writer, "job_id", job_id);
    arcp__put_string(&writer, "agent",
                     agent.size > ARCP__ENVELOPE_ID_MAX ? (arcp_span){NULL, 0} : agent);
    arcp__put_object(&writer, "lease");
    arcp_json_end_object(&writer);
    arcp__write_timestamp(&writer, "accepted_at", engine->context.now.wall_ns);
    arcp_json_end_object(&writer);
    arcp__envelope_format(&(arcp__envelope_head){.type = "job.accepted",
                                                 .id = arcp_span_cstr(request->id),
                                                 .session_id = arcp_span_cstr(request->session->id),
                                                 .trace_id = trace_of(request),
                                                 .job_id = job_id},
                          arcp_buf_span(&payload), &request->frame);
    request->frame.failed = request->frame.failed || payload.failed;
    arcp_buf_fini(&payload);
}

/* Which job the envelope of a refusal names. */
static arcp_span shown_job(const arcp__request *request, arcp_span job_id)
{
    const arcp__peer_profile *profile = request->session->profile;
    bool is_shown =
        request->type == ARCP_MESSAGE_JOB_SUBMIT
            ? !profile->refuses_without_job_id
            : request->type == ARCP_MESSAGE_JOB_SUBSCRIBE && profile->refuses_subscribe_with_job_id;
    return is_shown ? job_id : (arcp_span){NULL, 0};
}

/* Both forms, of which settle takes one. What the client asked together comes one after the other.
 */
static void wait_for_others(arcp__engine *engine, arcp__request *request, arcp_span payload)
{
    arcp__session *session = request->session;
    format_session_error(request, payload, &request->lone_error);
    arcp__context_arm(&engine->context, &session->refusal_timer, ARCP__TIMER_LONE_REFUSAL, session,
                      engine->context.now.mono_ns + LONE_REFUSAL_MS * ARCP_NS_PER_MS);
}

/* How the session's first submit is refused, where that waits to be decided. */
void arcp__session_settle_refusal(arcp__engine *engine, arcp__session *session)
{
    arcp__request *request = session->submits_first;
    if (request == NULL || request->lone_error.size == 0) {
        return;
    }
    arcp__context_disarm(&engine->context, &session->refusal_timer);
    if (!waits_for_more(request)) {
        arcp_buf_fini(&request->frame);
        arcp_buf_fini(&request->record);
        request->frame = request->lone_error;
        request->lone_error = (arcp_buf)ARCP_BUF_INIT;
    }
    arcp__request_finish(engine, request);
}

void arcp__request_refuse(arcp__engine *engine, arcp__request *request, const arcp_error *error,
                          arcp_span subject, arcp_span details)
{
    const arcp__peer_profile *profile = request->session->profile;
    const bool is_submit = request->type == ARCP_MESSAGE_JOB_SUBMIT;
    const bool accepts = is_submit && profile->accepts_refused_submits;
    const bool is_session_error = refuses_as_session_error(request);
    const bool waits = accepts && is_session_error;
    arcp_span job_id = subject;
    arcp_buf payload = ARCP_BUF_INIT;
    char fresh[ARCP__ID_SIZE];
    if (is_submit || (profile->names_refused_job && subject.size == 0)) {
        /* Clients bind a refused submit by a job id that is never registered. */
        arcp__context_make_id(&engine->context, "job_", fresh);
        job_id = arcp_span_cstr(fresh);
    }
    if (accepts) {
        format_accepted(engine, request, job_id, subject);
    }
    bool fits = details.size < arcp__frame_room_of_text(&engine->context);
    format_payload(engine, request, error,
                   profile->names_refused_job ? job_id : (arcp_span){NULL, 0},
                   fits ? details : ARCP__FRAME_LIMIT, &payload);
    if (is_session_error && !accepts) {
        format_session_error(request, arcp_buf_span(&payload), &request->frame);
    } else {
        request->frame_is_record = !accepts;
        format_record(request, shown_job(request, job_id), arcp_buf_span(&payload));
    }
    if (waits) {
        wait_for_others(engine, request, arcp_buf_span(&payload));
    }
    bool failed = payload.failed || request->frame.failed || request->record.failed ||
                  request->lone_error.failed;
    arcp_buf_fini(&payload);
    if (failed) {
        arcp_buf_clear(&request->lone_error);
        arcp__context_no_memory(&engine->context);
        return;
    }
    const int64_t rest_ns = arcp__principal_refused(&engine->jobs, request->session->principal);
    if (rest_ns != 0 && request->session->link != NULL) {
        arcp__link_rest(engine, request->session->link, rest_ns);
    }
    if (!waits) {
        arcp__request_finish(engine, request);
    }
}

/* [arcp:6.6-6] */
void arcp__request_refuse_unknown_job(arcp__engine *engine, arcp__request *request,
                                      arcp_span job_id)
{
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    arcp_span shown = arcp_span_first(job_id, 64);
    job_id = arcp_span_first(job_id, ARCP__ENVELOPE_ID_MAX);
    (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "there is no job \"%.*s\"", (int)shown.size,
                         shown.data);
    arcp_buf_append_cstr(&details, "{\"job_id\":");
    arcp_json_quote(job_id, &details);
    arcp_buf_append_byte(&details, '}');
    arcp__request_refuse(engine, request, &error, job_id, arcp__details(&details));
    arcp_buf_fini(&details);
}
