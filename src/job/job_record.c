/* Records of a job (§8): appended once to its stream and reported to its observers.
 *
 * A job's output is bounded: limits.job_bytes for its stored records, limits.principal_bytes for
 * those of all jobs of its principal, and limits.frame_bytes for each event. A record beyond a
 * limit is not stored, nothing follows it, and the job ends as INTERNAL_ERROR with details.limit
 * (arcp__jobs_end_over_limit). The job ends only after the current input, because the code that
 * emits a record continues to use the job. That terminal record is stored whatever its size: the
 * runtime's own records are short. Before a job ends because of its principal's limit, the
 * principal's ended jobs are evicted. */
#include "job/job_state.h"

#include "base/utf8.h"
#include "core/event_body.h"

#define PIECES_MAX 6u /* of a record's payload */

/* Marks the job to be ended after this input because its output exceeds the limit; to be called
 * once. */
static void mark_over_limit(arcp__jobs *jobs, arcp__job *job, const char *limit)
{
    job->over_limit = limit;
    LL_PREPEND2(jobs->over_limit, job, next_over_limit);
    arcp__job_pin(job);
}

/* Whether a record of so many bytes is within the limits. Ended jobs are evicted after the
 * input. */
static bool has_room(arcp__jobs *jobs, arcp__job *job, uint64_t bytes)
{
    const arcp_settings *settings = &jobs->context->settings;
    const uint64_t limit = settings->limits_principal_bytes;
    if (job->stream->bytes + bytes > settings->limits_job_bytes) {
        mark_over_limit(jobs, job, "limits.job_bytes");
        return false;
    }
    if (limit == 0 || job->principal->stored_bytes + bytes <= limit) {
        return true;
    }
    jobs->over_share = job->principal;
    if (arcp__kept_at_least(jobs, job->principal) + bytes <= limit) {
        return true;
    }
    mark_over_limit(jobs, job, "limits.principal_bytes");
    return false;
}

/* False when out of memory or, if `is_bounded`, when the record exceeds a limit, which ends the
 * job. */
static bool emit(arcp__jobs *jobs, arcp__job *job, const char *type, arcp_feature feature,
                 const arcp_span *pieces, size_t count, bool is_bounded)
{
    char id[ARCP__ID_SIZE];
    arcp_span all[6 + PIECES_MAX + 1];
    size_t used = 0;
    uint64_t size = 0;
    assert(count <= PIECES_MAX);
    arcp__context_make_id(jobs->context, "msg_", id);
    all[used++] = ARCP_SPAN_LITERAL("{\"id\":\"");
    all[used++] = arcp_span_cstr(id);
    all[used++] = ARCP_SPAN_LITERAL("\",\"type\":\"");
    all[used++] = arcp_span_cstr(type);
    all[used++] = ARCP_SPAN_LITERAL("\"");
    all[used++] = arcp_span_make(job->live->head, job->live->head_size);
    for (size_t i = 0; i < count; i++) {
        all[used++] = pieces[i];
    }
    all[used++] = ARCP_SPAN_LITERAL("}");
    for (size_t i = 0; i < used; i++) {
        size += all[i].size;
    }
    uint64_t position = 0;
    size_t bytes = 0;
    if ((is_bounded && !has_room(jobs, job, size)) ||
        !arcp__stream_append(jobs->log, job->stream, all, used, &position, &bytes)) {
        return false;
    }
    job->principal->stored_bytes += bytes;
    arcp__job_recorded(jobs, job, bytes);
    jobs->metrics.event_count++;
    for (arcp__observer *observer = job->observers; observer != NULL; observer = observer->next) {
        if (observer->is_live) {
            observer->ops->record(jobs->user, observer, position, bytes, feature);
        }
    }
    return true;
}

bool arcp__job_emit_terminal(arcp__jobs *jobs, arcp__job *job, const char *type, arcp_span payload,
                             bool is_bounded)
{
    return emit(jobs, job, type, ARCP_FEATURE_NONE, &payload, 1, is_bounded);
}

void arcp__job_emit_event(arcp__jobs *jobs, arcp__job *job, arcp_feature feature,
                          arcp_span kind_text, arcp_span body)
{
    char ts[ARCP__TIMESTAMP_SIZE + 9] = "\",\"ts\":\"";
    arcp__context_format_now(jobs->context, ts + 8);
    if (arcp__job_has_ended(job) || job->over_limit != NULL) {
        return; /* nothing follows the terminal record; after an exceeded limit only that follows */
    }
    if (body.size > arcp__frame_payload_max(jobs->context)) {
        mark_over_limit(jobs, job, "limits.frame_bytes");
        return;
    }
    const arcp_span pieces[] = {
        ARCP_SPAN_LITERAL("{\"kind\":\""), kind_text, arcp_span_make(ts, 8 + ARCP__TIMESTAMP_SIZE),
        ARCP_SPAN_LITERAL("\",\"body\":"), body,      ARCP_SPAN_LITERAL("}"),
    };
    (void)emit(jobs, job, "job.event", feature, pieces, sizeof pieces / sizeof pieces[0], true);
}

/* [arcp:8.1-1] */
static void emit_body(arcp__jobs *jobs, arcp__job *job, arcp_event_kind kind, arcp_feature feature,
                      arcp_buf *body)
{
    if (body->failed) {
        arcp__context_no_memory(jobs->context);
    } else {
        arcp__job_emit_event(jobs, job, feature, arcp_span_cstr(arcp_event_kind_name(kind)),
                             arcp_buf_span(body));
    }
    arcp__context_give_buf(jobs->context, body);
}

void arcp__job_emit_status(arcp__jobs *jobs, arcp__job *job, const char *phase, arcp_span message)
{
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_cstr(&writer, "phase", phase);
    if (message.size != 0) {
        arcp__put_string(&writer, "message", message);
    }
    arcp_json_end_object(&writer);
    emit_body(jobs, job, ARCP_EVENT_STATUS, ARCP_FEATURE_NONE, &body);
}

void arcp__job_emit_log(arcp__jobs *jobs, arcp__job *job, const char *level, arcp_span text)
{
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp__event_write_log(arcp_span_cstr(level), text, &body);
    if (body.size > arcp__frame_payload_max(jobs->context)) {
        text = arcp_span_first(text, arcp__utf8_cut(text, arcp__frame_text_max(jobs->context)));
        arcp_buf_clear(&body);
        arcp__event_write_log(arcp_span_cstr(level), text, &body);
    }
    emit_body(jobs, job, ARCP_EVENT_LOG, ARCP_FEATURE_NONE, &body);
}

void arcp__job_emit_denial(arcp__jobs *jobs, arcp__job *job, arcp_span call_id,
                           const arcp_error *error, arcp_span details)
{
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp__job_port_refuse(&job->live->port, call_id, error, details, &body);
    emit_body(jobs, job, ARCP_EVENT_TOOL_RESULT, ARCP_FEATURE_NONE, &body);
}

/* [arcp:9.6-11] */
void arcp__job_emit_remaining(arcp__jobs *jobs, arcp__job *job, const arcp_budget_report *report)
{
    char amount[ARCP_DECIMAL_TEXT_MAX];
    const size_t size = arcp_decimal_format(report->remaining, amount);
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp__event_write_metric(ARCP_SPAN_LITERAL("cost.budget.remaining"),
                             arcp_span_make(amount, size), report->currency, &body);
    emit_body(jobs, job, ARCP_EVENT_METRIC, ARCP_FEATURE_COST_BUDGET, &body);
}

/* [arcp:8.4-2] [arcp:8.4-3] */
void arcp__job_emit_chunk(arcp__jobs *jobs, arcp__job *job, arcp_span data_json, bool is_base64,
                          bool more)
{
    if (!arcp__job_streams(job)) {
        job->live->chunk_next++;
        return;
    }
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp_buf_append_format(&body,
                           "{\"result_id\":\"%s\",\"chunk_seq\":%llu,\"data\":", job->result_id,
                           (unsigned long long)job->live->chunk_next);
    arcp_buf_append(&body, data_json);
    arcp_buf_append_format(&body, ",\"encoding\":\"%s\",\"more\":%s}",
                           is_base64 ? "base64" : "utf8", more ? "true" : "false");
    job->live->chunk_next++;
    emit_body(jobs, job, ARCP_EVENT_RESULT_CHUNK, ARCP_FEATURE_RESULT_CHUNK, &body);
}
