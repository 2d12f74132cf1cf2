/* session.list_jobs (§6.6): a page of the jobs that a principal may see.
 *
 * A principal's jobs are in the order of their ids, which is the order of their creation. The
 * cursor is the id of the last job shown, so that pages neither skip nor repeat a job when others
 * are added or removed. */
#include "session/session_state.h"

#include "session/job_filter.h"

#define LIMIT_DEFAULT  100u
#define LIMIT_MAX      1000u
#define PAGE_BYTES_MAX 1048576u

/* [arcp:6.6-3] [arcp:7.5-8] */
static void write_job(arcp__sessions *sessions, const arcp__job *job, const arcp__session *session,
                      bool with_lease, arcp_buf *out)
{
    /* Numbers are those of the owning session. */
    const arcp__owner_run *last =
        job->owner_run_count == 0 ? NULL : &job->owner_runs[job->owner_run_count - 1];
    arcp_buf_clear(out);
    arcp_json_writer object = arcp__put_begin(out);
    arcp_json_writer *writer = &object;
    arcp__put_cstr(writer, "job_id", job->id);
    arcp__put_cstr(writer, "agent", job->agent_text);
    arcp__put_cstr(writer, "status", arcp_job_status_name(job->status));
    if (arcp__job_queue_place(job) != 0) {
        arcp__put_u64(writer, "x-vendor.arcpd.queue_place", arcp__job_queue_place(job));
    }
    if (with_lease) {
        arcp__job_write_lease(job, writer);
    }
    arcp__job_write_budget(job, true, session->profile->budget_as_text, writer);
    arcp_json_name(writer, "parent_job_id");
    if (job->parent_id[0] != '\0') {
        arcp_json_write_cstr(writer, job->parent_id);
    } else {
        arcp_json_write_null(writer);
    }
    arcp__write_timestamp(writer, "created_at", job->created_wall_ns);
    arcp__write_timestamp(writer, "submitted_at", job->created_wall_ns);
    arcp__put_cstr(writer, "trace_id", job->trace_id);
    arcp__put_u64(writer, "last_event_seq", last == NULL ? 0 : last->first_seq + last->count - 1);
    arcp__credentials_write(sessions->credentials, &session->submitter.viewer,
                            job->live == NULL ? NULL : &job->live->credential, writer);
    arcp_json_end_object(writer);
}

/* [arcp:6.6-3] [arcp:6.6-4] [arcp:6.6-7] */
void arcp__session_list_jobs(arcp__sessions *sessions, arcp__request *request,
                             const arcp__message *in)
{
    arcp__job_filter filter;
    arcp_error error = {0};
    const arcp_span cursor = in->list_jobs.cursor;
    const uint64_t limit = in->list_jobs.limit == 0 ? LIMIT_DEFAULT : in->list_jobs.limit;
    arcp_status status =
        arcp__job_filter_read(sessions->context, &in->list_jobs.filter, &filter, &error);
    if (status == ARCP_OK && limit > LIMIT_MAX) {
        status = arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                                "payload.limit must be from 1 to %u", LIMIT_MAX);
    }
    if (status == ARCP_OK) {
        status = arcp__job_cursor_check(cursor, &error);
    }
    if (status != ARCP_OK) {
        arcp__request_refuse(sessions, request, &error, ARCP__NOTHING, ARCP__NOTHING);
        return;
    }
    const arcp__session *session = request->session;
    const arcp__job_list *list = &session->principal->jobs;
    const size_t entry_max =
        arcp__frame_payload_max(sessions->context) - 128; /* for the members around it */
    const size_t bytes_max = entry_max < PAGE_BYTES_MAX ? entry_max : PAGE_BYTES_MAX;
    const arcp__job *last = NULL;
    arcp_buf entry = arcp__context_take_buf(sessions->context);
    arcp_buf out = arcp_buf_init();
    bool is_full = false; /* there are more */
    arcp_buf_append_cstr(&out, "{\"jobs\":[");
    size_t i = cursor.size == 0 ? list->first : arcp__job_list_after(list, cursor);
    for (uint64_t shown = 0; i < list->count; i++) {
        const arcp__job *job = list->jobs[i];
        if (job == NULL || !arcp__job_filter_matches(&filter, job)) {
            continue;
        }
        if (shown == limit) {
            is_full = true;
            break;
        }
        write_job(sessions, job, session, true, &entry);
        if (entry.size > entry_max) { /* it was made when limits.frame_bytes was larger */
            write_job(sessions, job, session, false, &entry);
        }
        if (shown != 0 && out.size + 1 + entry.size > bytes_max) {
            is_full = true;
            break;
        }
        out.secret = out.secret || entry.secret;
        arcp_buf_append(&out, shown == 0 ? ARCP__NOTHING : ARCP_SPAN_LITERAL(","));
        arcp_buf_append(&out, arcp_buf_span(&entry));
        last = job;
        shown++;
    }
    out.failed = out.failed || entry.failed;
    arcp__context_give_buf(sessions->context, &entry);
    arcp_buf_append_cstr(&out, "],\"next_cursor\":");
    if (is_full && last != NULL) {
        arcp_json_quote(arcp_span_cstr(last->id), &out);
    } else {
        arcp_buf_append_cstr(&out, "null");
    }
    arcp_buf_append_byte(&out, '}');
    request->is_secret = out.secret;
    arcp__context_check_text(sessions->context, &out);
    arcp__request_answer(sessions, request, "session.jobs", ARCP__NOTHING, ARCP__NOTHING,
                         arcp_buf_span(&out));
    arcp_buf_fini(&out);
}
