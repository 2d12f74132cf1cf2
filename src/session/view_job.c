/* x-vendor.arcpd.job: all that is known of a job. The terminal record of a job that has ended, and
 * the details that are not in memory, are read from the store first. */
#include "session/view.h"

#define ANSWER_MAX 1048576u

/* The steps of a request that waits. */
enum { STEP_DETAILS = 1, STEP_END };

/* Parts that are left out of an answer that would be too large, from the last one on. */
enum { PART_NONE, PART_PARENT_LEASE, PART_DETAILS, PARTS };

/* Writes the members of the job's terminal record that are shown. */
static void write_end(arcp_span record, arcp_json_writer *writer)
{
    static const char *const of_result[] = {"summary", "result_id", "result_size"};
    static const char *const of_error[] = {"code", "message", "retryable", "details"};
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    if (record.size != 0 && arcp_json_scan(&json, record, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        const bool is_error =
            arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("code")) != ARCP_JSON_ABSENT;
        if (is_error) {
            arcp__put_object(writer, "error");
        }
        const char *const *names = is_error ? of_error : of_result;
        for (size_t i = 0; i < (is_error ? 4u : 3u); i++) {
            arcp__put_raw(
                writer, names[i],
                arcp_json_raw(&json, arcp_json_member(&json, payload, arcp_span_cstr(names[i]))));
        }
        if (is_error) {
            arcp_json_end_object(writer);
        }
    }
    arcp__json_fini(&json);
}

/* Writes the members of an object. */
static void write_members(arcp_span object, arcp_json_writer *writer)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    if (object.size != 0 && arcp_json_scan(&json, object, &limits, NULL) == ARCP_OK) {
        for (arcp_json_ref name = arcp_json_first(&json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(&json, ARCP_JSON_ROOT, name)) {
            const arcp_span raw = arcp_json_raw(&json, name); /* our own names have no escapes */
            arcp_json_name_span(writer, arcp_span_make(raw.data + 1, raw.size - 2));
            arcp_json_write_raw(writer, arcp_json_raw(&json, name + 1));
        }
    }
    arcp__json_fini(&json);
}

/* Writes the details of a job (job/job_facts.h), given the records that were read of them. */
static void write_details(const arcp__sessions *sessions, const arcp__job *job, arcp_span records,
                          arcp_json_writer *writer)
{
    arcp_span record;
    write_members(arcp_span_cstr(job->facts.start), writer);
    if (!arcp__job_has_ended(job)) {
        arcp__job_write_details_start(job, writer);
        arcp__job_write_details_end(sessions->jobs, job, writer);
    }
    while (arcp__view_next_record(&records, &record)) {
        write_members(record, writer);
    }
}

/* The job's events that its session was not sent yet. */
static void write_unread(const arcp__job *job, arcp_json_writer *writer)
{
    if (job->owner != NULL) {
        const arcp__session *owner = arcp__observation_of(job->owner)->session;
        const uint64_t next = arcp__job_position_after(job, owner->sent_seq);
        arcp__put_u64(writer, "unread", job->stream->next - next);
    }
}

static void write_answer(arcp__sessions *sessions, arcp__job *job, const arcp__view_wait *wait,
                         int omitted, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__view_write_members(sessions, job, &writer);
    arcp__job_write_lease(job, &writer);
    const arcp__job *parent = arcp__job_find(sessions->jobs, arcp_span_cstr(job->parent_id));
    if (parent != NULL && omitted < PART_PARENT_LEASE) {
        arcp__put_raw(&writer, "parent_lease",
                      arcp_span_make(parent->accepted + parent->lease.at, parent->lease.size));
    }
    if (omitted >= PART_DETAILS) {
        arcp__put_bool(&writer, "details_omitted", true);
    } else {
        write_details(sessions, job, wait == NULL ? ARCP__NOTHING : arcp_buf_span(&wait->out),
                      &writer);
    }
    if (wait != NULL && wait->step == STEP_END) {
        arcp_span records = arcp_buf_span(&wait->records);
        arcp_span record = ARCP__NOTHING;
        (void)arcp__view_next_record(&records, &record);
        write_end(record, &writer);
    }
    write_unread(job, &writer);
    arcp_json_end_object(&writer);
}

static void answer(arcp__sessions *sessions, arcp__view_call *call, arcp__job *job)
{
    const size_t frame_max = arcp__frame_payload_max(sessions->context);
    arcp_buf out = arcp_buf_init();
    int omitted = PART_NONE;
    do {
        arcp_buf_clear(&out);
        write_answer(sessions, job, call->wait, omitted, &out);
    } while (out.size > (frame_max < ANSWER_MAX ? frame_max : ANSWER_MAX) && ++omitted < PARTS);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
    arcp__view_wait_free(call->wait);
}

void arcp__view_job_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    char key[ARCP__DETAILS_KEY_SIZE];
    arcp__job *job = arcp__view_find(sessions, call, ARCP_ROLE_VIEWER);
    arcp__view_wait *wait = call->wait;
    if (job == NULL) {
        arcp__view_wait_free(wait);
        return;
    }
    if (wait != NULL && wait->step == STEP_DETAILS) { /* the records of the details were read */
        wait->out = wait->records;
        wait->records = arcp_buf_init();
    }
    if (wait == NULL && arcp__job_has_ended(job) && job->facts.has_details) {
        arcp__job_details_key(job, key);
        wait = arcp__view_read(sessions, call, key, 0, 2, ANSWER_MAX);
        if (wait != NULL) {
            wait->step = STEP_DETAILS;
        }
    } else if (arcp__job_has_ended(job) && job->stream->next != 0 &&
               (wait == NULL || wait->step != STEP_END)) {
        wait =
            arcp__view_read(sessions, call, job->stream->key, job->stream->next - 1, 1, ANSWER_MAX);
        if (wait != NULL) {
            wait->step = STEP_END;
        }
    } else {
        answer(sessions, call, job);
    }
}
