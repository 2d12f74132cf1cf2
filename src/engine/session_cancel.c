/* job.cancel (§7.4): only the session that submitted a job may cancel it. A job that the session
 * may not see is as one that does not exist; the audit log knows which. */
#include "engine/parts.h"

#include "base/utf8.h"
#include "json/json_put.h"

/* What the canceller wrote is cut here. */
#define MESSAGE_MAX 200

/* `message`: what the canceller wrote, or NULL. */
static void audit(arcp__engine *engine, const arcp__request *request, const arcp__job *job,
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
    arcp__audit(engine->log, &line);
}

/* [arcp:7.4-1] [arcp:7.4-2] [arcp:7.6-14] [arcp:14-3] */
void arcp__session_cancel(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    const arcp_span none = {NULL, 0};
    const arcp_span of_frame = in->envelope.job_id;
    const arcp_span job_id = in->job.job_id.size != 0 ? in->job.job_id : of_frame;
    const arcp_span reason = in->job.reason;
    arcp_error error = {0};
    if (job_id.size == 0) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "payload.job_id is missing");
    } else if (of_frame.size != 0 && !arcp_span_equal(job_id, of_frame)) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "payload.job_id and the envelope's job_id differ");
    }
    if (error.status != ARCP_OK) {
        arcp__request_refuse(engine, request, &error, none, none);
        return;
    }
    arcp__job *job = arcp__job_find(&engine->jobs, job_id);
    if (job == NULL || !arcp__job_is_visible_to(&engine->jobs, job, request->session->principal)) {
        audit(engine, request, job, job_id, ARCP_E_JOB_NOT_FOUND, NULL);
        arcp__request_refuse_unknown_job(engine, request, job_id);
        return;
    }
    const arcp__observation *observation = arcp__observation_find(request->session, job);
    if (arcp__job_has_ended(job)) {
        (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "the job has ended already");
    } else if (observation == NULL || !observation->may_cancel) {
        (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED,
                             "only the session that submitted the job may cancel it");
    }
    arcp_buf text = ARCP_BUF_INIT;
    if (error.status != ARCP_OK) {
        audit(engine, request, job, job_id, error.status, NULL);
        arcp_buf_append_format(&text, "{\"job_id\":\"%s\"}", job->id);
        arcp__request_refuse(engine, request, &error, job_id, arcp__details(&text));
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
    arcp__request_answer(engine, request, "job.cancelled", job_id, arcp_span_cstr(job->trace_id),
                         arcp_buf_span(&text));
    arcp_buf_fini(&text);
    /* As one line that can be shown, like the message of an error. */
    arcp_error said = {0};
    const size_t size = arcp__utf8_cut(reason, MESSAGE_MAX);
    (void)arcp_error_set(&said, ARCP_E_CANCELLED, "%.*s", (int)size, size == 0 ? "" : reason.data);
    audit(engine, request, job, job_id, ARCP_OK, said.message);
    arcp__job_cancel(&engine->jobs, job, said.message);
}
