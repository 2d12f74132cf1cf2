/* x-vendor.arcpd.stderr: the end of the standard error of a job's agent, which is kept in memory
 * only: by the agent's host while it runs, then by the engine (job/job_stderr.c). */
#include "session/view.h"

#define LINES_DEFAULT 100u
#define LINES_MAX     1000u

void arcp__view_stderr_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__agent_hosts *hosts = sessions->jobs->hosts;
    const uint64_t lines = call->in.job.lines == 0 ? LINES_DEFAULT : call->in.job.lines;
    if (lines > LINES_MAX) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "payload.lines must be from 1 to %u",
                             LINES_MAX);
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    arcp__job *job = arcp__view_find(sessions, call, ARCP_ROLE_VIEWER);
    if (job == NULL) {
        return;
    }
    arcp_buf text = arcp_buf_init();
    bool is_shown = true;
    const arcp__stderr_tail *tail = job->facts.stderr_tail;
    if (tail != NULL) {
        arcp_buf_append(&text, arcp_span_make(tail->text, tail->size));
        is_shown = tail->is_shown;
    } else if (job->live != NULL && arcp__job_has_started(job) && hosts->stderr_tail != NULL) {
        is_shown = hosts->stderr_tail(hosts->user, job, &text) || text.size == 0;
    }
    if (!is_shown && call->session->role == ARCP_ROLE_NONE) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED,
                             "only a viewer or operator may read the agent's standard error "
                             "(agents: stderr_in_errors)");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        arcp_buf_fini(&text);
        return;
    }
    const arcp_span kept = arcp_buf_span(&text);
    size_t at = kept.size;
    for (uint64_t count = 0; at != 0; at--) { /* a line feed at the end begins no line */
        if (kept.data[at - 1] == '\n' && at != kept.size && ++count == lines) {
            break;
        }
    }
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&out);
    arcp__put_cstr(&writer, "job_id", job->id);
    arcp__put_string(&writer, "text", arcp_span_from(kept, at));
    arcp_json_end_object(&writer);
    out.failed = out.failed || text.failed;
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
    arcp_buf_fini(&text);
}
