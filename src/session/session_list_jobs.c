/* session.list_jobs (§6.6): a page of the jobs that a principal may see.
 *
 * A principal's jobs are in the order of their ids, which is the order of their creation. The
 * cursor is the id of the last job shown, so that pages neither skip nor repeat a job when others
 * are added or removed. */
#include "session/session_state.h"

#include "base/timestamp.h"
#define LIMIT_DEFAULT  100u
#define LIMIT_MAX      1000u
#define PAGE_BYTES_MAX 1048576u

typedef struct list_filter {
    arcp_span agent, cursor;
    uint64_t limit;
    uint32_t statuses; /* a bit per arcp_job_status; 0: all */
    bool has_after, has_before;
    arcp__instant after, before;
} list_filter;

static arcp_status read_instant(const char *name, arcp_span text, bool *has, arcp__instant *out,
                                arcp_error *err)
{
    arcp_error why = {0};
    *has = text.size != 0;
    if (*has && arcp__timestamp_parse(text, out, &why) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "payload.filter.%s: %s", name,
                              why.message);
    }
    return ARCP_OK;
}

/* [arcp:6.6-2] */
static arcp_status read_filter(arcp__sessions *sessions, const arcp__list_jobs *requested,
                               list_filter *out, arcp_error *err)
{
    const arcp_json *json = &sessions->context->json;
    *out = (list_filter){.agent = requested->agent,
                         .limit = requested->limit == 0 ? LIMIT_DEFAULT : requested->limit,
                         .cursor = requested->cursor};
    for (arcp_json_ref item = arcp_json_first(json, requested->statuses); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, requested->statuses, item)) {
        arcp_span word = arcp_json_string(json, item, &sessions->context->scratch);
        const arcp_job_status status = arcp_job_status_from_wire(word);
        if (status == ARCP_JOB_STATUS_COUNT) {
            word = arcp_span_first(word, 32);
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "payload.filter.status has \"%.*s\", must be pending, running, "
                                  "success, error, cancelled or timed_out",
                                  (int)word.size, word.data);
        }
        out->statuses |= (uint32_t)1 << status;
    }
    if (read_instant("created_after", requested->created_after, &out->has_after, &out->after,
                     err) != ARCP_OK ||
        read_instant("created_before", requested->created_before, &out->has_before, &out->before,
                     err) != ARCP_OK) {
        return ARCP_E_INVALID_REQUEST;
    }
    if (out->limit > LIMIT_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "payload.limit must be from 1 to %u",
                              LIMIT_MAX);
    }
    if (out->cursor.size != 0 && (out->cursor.size != 4 + ARCP__ULID_SIZE ||
                                  !arcp_span_starts_with(out->cursor, ARCP_SPAN_LITERAL("job_")) ||
                                  !arcp__ulid_is_valid(arcp_span_from(out->cursor, 4)))) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.cursor is not one that a listing returned");
    }
    return ARCP_OK;
}

static bool matches(const list_filter *filter, const arcp__job *job)
{
    if (filter->statuses != 0 && (filter->statuses & ((uint32_t)1 << job->status)) == 0) {
        return false;
    }
    const arcp__instant created = arcp__instant_at(job->created_wall_ns);
    if (filter->has_after && arcp__instant_compare(created, filter->after) <= 0) {
        return false;
    }
    if (filter->has_before && arcp__instant_compare(created, filter->before) >= 0) {
        return false;
    }
    /* A name without a version matches all versions of the agent. */
    const arcp_span wanted = filter->agent;
    const arcp_span have = arcp_span_cstr(job->agent_text);
    if (wanted.size == 0 || arcp_span_equal(wanted, have)) {
        return true;
    }
    return memchr(wanted.data, '@', wanted.size) == NULL && have.size > wanted.size &&
           have.data[wanted.size] == '@' && arcp_span_starts_with(have, wanted);
}

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

/* The first index in the principal's list after the cursor. */
static size_t place_after(const arcp__principal *principal, arcp_span cursor)
{
    size_t low = principal->job_first;
    size_t high = principal->job_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        size_t probe = middle;
        while (probe > low && principal->jobs[probe] == NULL) {
            probe--;
        }
        const arcp__job *job = principal->jobs[probe];
        if (job == NULL || strncmp(job->id, cursor.data, cursor.size) <= 0) {
            low = middle + 1;
        } else {
            high = probe;
        }
    }
    return low;
}

/* [arcp:6.6-3] [arcp:6.6-4] [arcp:6.6-7] */
void arcp__session_list_jobs(arcp__sessions *sessions, arcp__request *request,
                             const arcp__message *in)
{
    list_filter filter;
    arcp_error error = {0};
    if (read_filter(sessions, &in->list_jobs, &filter, &error) != ARCP_OK) {
        arcp__request_refuse(sessions, request, &error, ARCP__NOTHING, ARCP__NOTHING);
        return;
    }
    const arcp__session *session = request->session;
    const arcp__principal *principal = session->principal;
    const size_t entry_max =
        arcp__frame_payload_max(sessions->context) - 128; /* for the members around it */
    const size_t bytes_max = entry_max < PAGE_BYTES_MAX ? entry_max : PAGE_BYTES_MAX;
    const arcp__job *last = NULL;
    arcp_buf entry = arcp__context_take_buf(sessions->context);
    arcp_buf out = arcp_buf_init();
    bool is_full = false; /* there are more */
    arcp_buf_append_cstr(&out, "{\"jobs\":[");
    size_t i =
        filter.cursor.size == 0 ? principal->job_first : place_after(principal, filter.cursor);
    for (uint64_t shown = 0; i < principal->job_count; i++) {
        const arcp__job *job = principal->jobs[i];
        if (job == NULL || !matches(&filter, job)) {
            continue;
        }
        if (shown == filter.limit) {
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
