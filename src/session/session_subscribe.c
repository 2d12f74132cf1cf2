/* job.subscribe and job.unsubscribe (§7.6), and job.cancel (§7.4): only the session that submitted
 * a job may cancel it. A job that the session may not see is reported like one that does not exist;
 * the audit log tells them apart. */
#include "session/session_state.h"

#include "base/utf8.h"

/* Bytes of the canceller's text that are kept. */
#define MESSAGE_MAX 200

/* The authority descriptor (§7.6). [arcp:7.6-6] */
static void write_descriptor(const arcp__session *session, const arcp__job *job, uint64_t start,
                             arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "job_id", job->id);
    arcp__put_cstr(&writer, "current_status", arcp_job_status_name(job->status));
    if (arcp__job_queue_place(job) != 0) {
        arcp__put_u64(&writer, "x-vendor.arcpd.queue_place", arcp__job_queue_place(job));
    }
    arcp__put_cstr(&writer, "agent", job->agent_text);
    arcp__job_write_lease(job, &writer);
    arcp__job_write_budget(job, true, session->profile->budget_as_text, &writer);
    arcp_json_name(&writer, "parent_job_id");
    if (job->parent_id[0] != '\0') {
        arcp_json_write_cstr(&writer, job->parent_id);
    } else {
        arcp_json_write_null(&writer);
    }
    arcp__put_cstr(&writer, "trace_id", job->trace_id);
    arcp__put_u64(&writer, "subscribed_from", arcp__job_owner_seq(job, start));
    arcp__put_bool(&writer, "replayed", start < job->stream->next);
    arcp_json_end_object(&writer);
}

/* [arcp:7.6-1] [arcp:7.6-2] [arcp:7.6-3] [arcp:7.6-4] [arcp:7.6-12] [arcp:14-21] */
void arcp__session_subscribe(arcp__sessions *sessions, arcp__request *request,
                             const arcp__message *in)
{
    const arcp_settings *settings = &sessions->context->settings;
    arcp__session *session = request->session;
    arcp__job *job = arcp__job_find(sessions->jobs, in->job.job_id);
    if (job == NULL) {
        arcp__request_refuse_unknown_job(sessions, request, in->job.job_id);
        return;
    }
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    const bool is_visible = arcp__job_is_visible_to(sessions->jobs, job, session->principal);
    const char *rule = settings->authorization_subscribe == ARCP__SUBSCRIBE_ANY
                           ? "authorization.subscribe: any"
                           : "authorization.subscribe: same_principal";
    if (!is_visible && session->role != ARCP_ROLE_NONE) {
        rule = arcp__role_name(session->role); /* as any other observer, without credentials */
    } else if (!is_visible) {
        if (settings->authorization_hide_existence == ARCP__CHOICE_TRUE) {
            (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "there is no job \"%s\"", job->id);
        } else {
            (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED,
                                 "the job belongs to another principal");
        }
        arcp_buf_append_format(&text, "{\"job_id\":\"%s\"}", job->id);
    } else if (arcp__audit_check(sessions->log, &error) == ARCP_OK &&
               !arcp__frame_fits_job(sessions->context, strlen(job->accepted))) {
        /* It was made when limits.frame_bytes was larger. */
        arcp_buf_append(&text, ARCP__FRAME_LIMIT);
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "the job's lease is too large for one frame (limits.frame_bytes)");
    }
    arcp__audit(sessions->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_SUBSCRIBE,
                                    .decision = error.status == ARCP_OK ? "allowed" : "denied",
                                    .who = arcp__session_who(session, job),
                                    .code = error.status,
                                    .rule = rule,
                                    .more = {{"owner", arcp_span_cstr(job->principal->name)}}});
    if (error.status != ARCP_OK) {
        arcp__request_refuse(sessions, request, &error, arcp_span_cstr(job->id),
                             arcp__details(&text));
        arcp_buf_fini(&text);
        return;
    }
    const uint64_t end = job->stream->next;
    uint64_t start = end;
    arcp__observation *added = NULL;
    arcp__observation *existing = arcp__observation_find(session, job);
    if (existing != NULL) { /* it gets each event already */
        /* Nothing changes, but the response waits for the commit, as the audit line requires. */
        arcp__observation_store(sessions, existing);
    } else {
        start = in->job.history ? arcp__job_position_after(job, in->job.from_event_seq) : end;
        added = arcp__observation_add(sessions, session, job);
        if (added == NULL) {
            return;
        }
        added->next_position = start;
        added->kept_position = start;
        arcp__observation_store(sessions, added);
    }
    write_descriptor(session, job, start, &text);
    arcp__context_check_text(sessions->context, &text);
    memcpy(request->revealed_job, job->id, sizeof job->id);
    arcp__request_answer(sessions, request, "job.subscribed", arcp_span_cstr(job->id),
                         arcp_span_cstr(job->trace_id), arcp_buf_span(&text));
    arcp_buf_fini(&text);
    if (added != NULL) {
        arcp__observation_catch_up(sessions, added);
    }
}

/* The draft has no response to job.unsubscribe: silence is success. [arcp:7.6-13] */
void arcp__session_unsubscribe(arcp__sessions *sessions, arcp__request *request,
                               const arcp__message *in)
{
    const arcp__job *job = arcp__job_find(sessions->jobs, in->job.job_id);
    arcp__observation *observation =
        job == NULL ? NULL : arcp__observation_find(request->session, job);
    if (observation == NULL) {
        arcp__request_refuse_unknown_job(sessions, request, in->job.job_id);
        return;
    }
    if (!observation->may_cancel) {
        arcp__observation_remove(sessions, observation);
    }
    request->answered = true;
}

/* ---- cancel ---- */

/* `message`: the canceller's text, or NULL. */
static void audit(arcp__sessions *sessions, const arcp__request *request, const arcp__job *job,
                  arcp_span job_id, arcp_status status, const char *message)
{
    arcp__audit_line line = {.event = ARCP__AUDIT_CANCEL,
                             .decision = status == ARCP_OK ? "allowed" : "denied",
                             .who = arcp__session_who(request->session, job),
                             .code = status,
                             .rule = "submitting session",
                             .reason = message};
    if (job == NULL) {
        line.target = job_id;
    } else {
        line.more[0].name = "owner";
        line.more[0].value = arcp_span_cstr(job->principal->name);
    }
    arcp__audit(sessions->log, &line);
}

/* [arcp:7.4-1] [arcp:7.4-2] [arcp:7.6-14] [arcp:14-3] */
void arcp__session_cancel(arcp__sessions *sessions, arcp__request *request, const arcp__message *in)
{
    const arcp_span of_frame = in->envelope.job_id;
    const arcp_span job_id = in->job.job_id.size != 0 ? in->job.job_id : of_frame;
    const arcp_span reason = in->job.reason;
    arcp_error error = {0};
    if (job_id.size == 0) {
        arcp__request_refuse_with(sessions, request, ARCP_E_INVALID_REQUEST,
                                  "payload.job_id is missing");
        return;
    }
    if (of_frame.size != 0 && !arcp_span_equal(job_id, of_frame)) {
        arcp__request_refuse_with(sessions, request, ARCP_E_INVALID_REQUEST,
                                  "payload.job_id and the envelope's job_id differ");
        return;
    }
    arcp__job *job = arcp__job_find(sessions->jobs, job_id);
    if (job == NULL || !arcp__job_is_visible_to(sessions->jobs, job, request->session->principal)) {
        audit(sessions, request, job, job_id, ARCP_E_JOB_NOT_FOUND, NULL);
        arcp__request_refuse_unknown_job(sessions, request, job_id);
        return;
    }
    const arcp__observation *observation = arcp__observation_find(request->session, job);
    if (arcp__job_has_ended(job)) {
        (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "the job has ended already");
    } else if (observation == NULL || !observation->may_cancel) {
        (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED,
                             "only the session that submitted the job may cancel it");
    }
    arcp_buf text = arcp_buf_init();
    if (error.status != ARCP_OK) {
        audit(sessions, request, job, job_id, error.status, NULL);
        arcp_buf_append_format(&text, "{\"job_id\":\"%s\"}", job->id);
        arcp__request_refuse(sessions, request, &error, job_id, arcp__details(&text));
        arcp_buf_fini(&text);
        return;
    }
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_cstr(&writer, "job_id", job->id);
    if (reason.size != 0) {
        arcp__put_string(&writer, "reason",
                         arcp_span_first(reason, arcp__utf8_cut(reason, ARCP__REPEATED_MAX)));
    }
    arcp_json_end_object(&writer);
    arcp__request_answer(sessions, request, "job.cancelled", job_id, arcp_span_cstr(job->trace_id),
                         arcp_buf_span(&text));
    arcp_buf_fini(&text);
    /* Made into one line that can be shown, like the message of an error. */
    arcp_error reason_text = {0};
    const size_t size = arcp__utf8_cut(reason, MESSAGE_MAX);
    (void)arcp_error_set(&reason_text, ARCP_E_CANCELLED, "%.*s", (int)size,
                         size == 0 ? "" : reason.data);
    audit(sessions, request, job, job_id, ARCP_OK, reason_text.message);
    arcp__job_cancel(sessions->jobs, job, reason_text.message);
}
