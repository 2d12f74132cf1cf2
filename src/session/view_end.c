/* x-vendor.arcpd.end: ends a job of the principal from any of its sessions, or for an operator of
 * any principal. (job.cancel is for the session that submitted the job, §7.4.) */
#include "session/view.h"

#include "base/utf8.h"

/* Bytes of the reason that are kept. */
#define REASON_MAX 200u

static arcp_status read_grace(arcp__sessions *sessions, const arcp__view_job *in, uint64_t *out,
                              arcp_error *err)
{
    const uint64_t max = sessions->context->settings.jobs_cancel_grace_ms;
    *out = max;
    if (!arcp_json_is_missing(&sessions->context->json, in->grace_ms)) {
        (void)arcp_json_u64(&sessions->context->json, in->grace_ms, out);
    }
    return *out <= max ? ARCP_OK
                       : arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                        "payload.grace_ms must be at most %llu "
                                        "(jobs.cancel_grace_ms)",
                                        (unsigned long long)max);
}

static void audit(arcp__sessions *sessions, const arcp__view_call *call, const arcp__job *job,
                  const char *reason)
{
    const bool is_own = job->principal == call->session->principal;
    arcp__audit(sessions->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_CANCEL,
                                    .decision = "allowed",
                                    .who = arcp__session_who(call->session, job),
                                    .rule = is_own ? "own job" : "operator",
                                    .reason = reason,
                                    .more = {{"owner", arcp_span_cstr(job->principal->name)}}});
}

void arcp__view_end_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    uint64_t grace_ms = 0;
    arcp_error error = {0};
    if (read_grace(sessions, &call->in.job, &grace_ms, &error) != ARCP_OK) {
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    arcp__job *job = arcp__view_find(sessions, call, ARCP_ROLE_OPERATOR);
    if (job == NULL) {
        return;
    }
    const bool had_ended = arcp__job_has_ended(job);
    if (!had_ended) {
        /* Made into one line that can be shown, like the message of an error. */
        arcp_error reason = {0};
        const arcp_span text = call->in.job.reason;
        (void)arcp_error_set(&reason, ARCP_E_CANCELLED, "%.*s",
                             (int)arcp__utf8_cut(text, REASON_MAX),
                             text.size == 0 ? "" : text.data);
        audit(sessions, call, job, reason.message);
        arcp__job_end(sessions->jobs, job,
                      &(arcp__job_ending){.by = job->principal == call->session->principal
                                                    ? NULL
                                                    : call->session->principal->name,
                                          .reason = reason.message,
                                          .grace_ms = grace_ms});
    }
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&out);
    arcp__put_cstr(&writer, "job_id", job->id);
    arcp__put_cstr(&writer, "status", arcp_job_status_name(job->status));
    if (had_ended) {
        arcp__put_bool(&writer, "had_ended", true);
    }
    arcp_json_end_object(&writer);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}
