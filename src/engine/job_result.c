/* How a job ends (§7.3, §8.4): with job.result or job.error, exactly once.
 *
 * Everything that can end a job (the agent's own word, its exit, a cancel, a deadline, an
 * expiry, the parent, the runtime's stop) comes through finish(), which asks the table of
 * transitions (job_lifecycle.c): the first one wins. */
#include "engine/job_log.h"
#include "engine/parts.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "json/json_put.h"

#define PLAIN_INLINE_MAX 65536u
#define PLAIN_CHUNK_MAX  524288u

static bool has_chunks(const arcp__job *job)
{
    return job->result_id[0] != '\0';
}

/* ---- the end ---- */

static void finish(arcp__engine *engine, arcp__job *job, arcp_job_status status, const char *type,
                   arcp_buf *payload)
{
    if (!arcp__job_status_may_become(job->status, status)) {
        return;
    }
    const bool is_over = job->over_limit != NULL;
    if (is_over && status == ARCP_JOB_SUCCESS) {
        return; /* not all that it said is there */
    }
    if (payload->size > arcp__frame_room(&engine->context)) {
        arcp__job_fail(engine, job, ARCP_E_INTERNAL_ERROR, ARCP_SPAN_LITERAL("INTERNAL_ERROR"),
                       ARCP_SPAN_LITERAL("the result is too large for one frame "
                                         "(limits.frame_bytes): it can be sent in chunks"),
                       true, ARCP__FRAME_LIMIT);
        return;
    }
    /* What the runtime says of an end always has room. */
    const bool is_bounded = !is_over && (job->said_end || status == ARCP_JOB_SUCCESS);
    arcp__context_check_text(&engine->context, payload);
    if (!arcp__job_emit_terminal(engine, job, type, arcp_buf_span(payload), is_bounded)) {
        return; /* there is no room for what it said: it ends with that (job_bytes.c) */
    }
    arcp__job_enter(job, status);
    job->cancelling = false;
    job->ended_wall_ns = engine->context.now.wall_ns;
    arcp__metrics_job_ended(engine, job);
    arcp__span_job_ended(engine, job);
    arcp__job_log_end(engine, job);
    job->principal->running_jobs--;
    engine->running_jobs--;
    arcp__context_disarm(&engine->context, &job->live->runtime_timer);
    arcp__context_disarm(&engine->context, &job->live->expiry_timer);
    arcp_buf_fini(&job->live->inline_result);
    arcp_buf_fini(&job->live->plain_output);
    if (job->submitter != NULL) {
        job->submitter->live_jobs--;
    }
    arcp__credential_take_back(&engine->credentials, &job->live->credential);
    arcp__job_store_with_batch(engine, job); /* when its end has its number */
    arcp__budget_delete_row(engine, job);
    for (arcp__observer *at = job->observers; at != NULL; at = at->next) {
        at->ops->ended(engine, at);
    }
    if (job->parent != NULL) {
        arcp__job_child_ended(engine, job->parent, job, arcp_buf_span(payload));
    }
    arcp__job_end_children(engine, job);
    arcp__admission_drop_children(engine, job);
    arcp__job_update_pressure(engine, job);
    arcp__job_keep(
        engine, job,
        arcp__context_after_sec(&engine->context, engine->context.settings.jobs_keep_terminal_sec));
    if (job->agent_state == ARCP__AGENT_NONE) {
        arcp__agent_enter(job, ARCP__AGENT_RELEASED);
    }
    if (!arcp__job_has_agent(job)) {
        arcp__job_agent_over(engine, job);
    }
}

static void open_payload(arcp_json_writer *writer, arcp_buf *payload, const char *final_status)
{
    arcp_json_writer_init(writer, payload);
    arcp_json_begin_object(writer);
    arcp__put_cstr(writer, "final_status", final_status);
}

/* [arcp:8.4-8] */
static void close_payload(const arcp__engine *engine, const arcp__job *job,
                          arcp_json_writer *writer)
{
    arcp__write_timestamp(writer, "completed_at", engine->context.now.wall_ns);
    arcp__put_cstr(writer, "job_id", job->id);
    arcp_json_end_object(writer);
}

/* [arcp:7.3-2] [arcp:7.4-3] */
static arcp_job_status final_status(arcp_status code)
{
    if (code == ARCP_E_CANCELLED) {
        return ARCP_JOB_CANCELLED;
    }
    return code == ARCP_E_TIMEOUT ? ARCP_JOB_TIMED_OUT : ARCP_JOB_ERROR;
}

static arcp__cancel_reason stop_reason(const arcp__job *job, arcp_status code)
{
    if (job->parent != NULL && arcp__job_has_ended(job->parent)) {
        return ARCP__CANCEL_PARENT;
    }
    if (code == ARCP_E_TIMEOUT) {
        return ARCP__CANCEL_TIMEOUT;
    }
    if (code == ARCP_E_LEASE_EXPIRED) {
        return ARCP__CANCEL_LEASE_EXPIRED;
    }
    return code == ARCP_E_CANCELLED ? ARCP__CANCEL_CLIENT : ARCP__CANCEL_SHUTDOWN;
}

static void close_stream(arcp__engine *engine, arcp__job *job);

static arcp_span cut(arcp_span text)
{
    return arcp_span_first(text, arcp__utf8_cut(text, ARCP__REPEATED_MAX));
}

static void write_error(const arcp__engine *engine, const arcp__job *job, arcp_buf *payload,
                        arcp_status code, arcp_span code_text, arcp_span message, bool retryable,
                        arcp_span details)
{
    arcp_json_writer writer;
    open_payload(&writer, payload, arcp_job_status_name(final_status(code)));
    arcp__error_payload_members(&writer, code, code_text, message, retryable, details);
    close_payload(engine, job, &writer);
}

void arcp__job_fail(arcp__engine *engine, arcp__job *job, arcp_status code, arcp_span code_text,
                    arcp_span message, bool retryable, arcp_span details)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    arcp_error cancelled = {0};
    if (job->cancelling) {
        /* It was asked to stop, and that was acknowledged: whatever ends it now. */
        const char *said = job->live->cancel_message;
        code = arcp_error_set(&cancelled, ARCP_E_CANCELLED, "the job was cancelled%s%s",
                              said == NULL ? "" : ": ", said == NULL ? "" : said);
        code_text = ARCP_SPAN_LITERAL("CANCELLED");
        message = arcp_span_cstr(cancelled.message);
        retryable = false;
        details = arcp_span_make(NULL, 0);
    }
    arcp_job_status status = final_status(code);
    arcp_buf payload = ARCP_BUF_INIT;
    write_error(engine, job, &payload, code, code_text, message, retryable, details);
    if (payload.size > arcp__frame_room(&engine->context)) {
        arcp_buf_clear(&payload);
        write_error(engine, job, &payload, code, cut(code_text), cut(message), retryable,
                    ARCP__FRAME_LIMIT);
    }
    job->end_code = code;
    finish(engine, job, status, "job.error", &payload);
    arcp_buf_fini(&payload);
    if (!job->said_end) {
        arcp__job_stop_agent(engine, job, stop_reason(job, code), 0);
    }
}

void arcp__job_fail_with(arcp__engine *engine, arcp__job *job, arcp_status code,
                         const char *message)
{
    arcp__job_fail(engine, job, code, arcp_span_cstr(arcp_status_wire_code(code)),
                   arcp_span_cstr(message), arcp_status_is_retryable_by_default(code),
                   arcp_span_make(NULL, 0));
}

/* The result of a job that streamed for a session that cannot get chunks. */
static bool write_inline(arcp__engine *engine, const arcp__job *job, arcp_json_writer *writer)
{
    arcp_span bytes = arcp_buf_span(&job->live->inline_result);
    if (bytes.size > engine->context.settings.limits_frame_bytes - 1024) {
        return false;
    }
    arcp_json_name(writer, "result");
    if (arcp__utf8_is_valid(bytes)) {
        arcp_json_write_string(writer, bytes);
    } else {
        arcp_buf text = ARCP_BUF_INIT;
        arcp__base64_encode(bytes, ARCP__BASE64_STANDARD, &text);
        arcp_json_write_string(writer, arcp_buf_span(&text));
        writer->out->failed = writer->out->failed || text.failed;
        arcp_buf_fini(&text);
    }
    return true;
}

static bool streams_to_owner(const arcp__job *job)
{
    return (job->features & ARCP_FEATURE_BIT(ARCP_FEATURE_RESULT_CHUNK)) != 0;
}

/* [arcp:8.4-11] */
void arcp__job_succeed(arcp__engine *engine, arcp__job *job, arcp_span result_json,
                       arcp_span summary_json)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (job->cancelling) {
        arcp__job_fail_with(engine, job, ARCP_E_CANCELLED, "the job was cancelled");
        return;
    }
    bool chunked = has_chunks(job);
    if (chunked && result_json.size != 0) {
        arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR,
                            "the agent sent an inline result after result chunks");
        return;
    }
    if (chunked) {
        close_stream(engine, job);
    }
    arcp_buf payload = arcp__context_take_buf(&engine->context);
    arcp_json_writer writer;
    open_payload(&writer, &payload, "success");
    bool fits = true;
    if (chunked && streams_to_owner(job)) {
        arcp__put_cstr(&writer, "result_id", job->result_id);
        arcp__put_u64(&writer, "result_size", job->live->result_size);
    } else if (chunked) {
        fits = write_inline(engine, job, &writer);
    } else {
        arcp__put_raw(&writer, "result",
                      result_json.size == 0 ? ARCP_SPAN_LITERAL("null") : result_json);
    }
    if (summary_json.size != 0) {
        arcp__put_raw(&writer, "summary", summary_json);
    }
    close_payload(engine, job, &writer);
    if (fits) {
        finish(engine, job, ARCP_JOB_SUCCESS, "job.result", &payload);
    } else {
        arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR,
                            "the result is too large for one frame, and the session did not "
                            "negotiate result_chunk");
    }
    arcp__context_give_buf(&engine->context, &payload);
}

/* ---- result chunks ---- */

/* [arcp:8.4-2] [arcp:8.4-3] */
static void emit_chunk(arcp__engine *engine, arcp__job *job, arcp_span data_json, bool is_base64,
                       bool more)
{
    if (!streams_to_owner(job)) {
        job->live->chunk_next++;
        return;
    }
    arcp_buf body = arcp__context_take_buf(&engine->context);
    arcp_buf_append_format(&body,
                           "{\"result_id\":\"%s\",\"chunk_seq\":%llu,\"data\":", job->result_id,
                           (unsigned long long)job->live->chunk_next);
    arcp_buf_append(&body, data_json);
    arcp_buf_append_format(&body, ",\"encoding\":\"%s\",\"more\":%s}",
                           is_base64 ? "base64" : "utf8", more ? "true" : "false");
    job->live->chunk_next++;
    arcp__job_emit_event(engine, job, ARCP_EVENT_RESULT_CHUNK, ARCP_SPAN_LITERAL("result_chunk"),
                         arcp_buf_span(&body));
    arcp__context_give_buf(&engine->context, &body);
}

/* An agent that ended without `more: false`: the runtime closes the stream. [arcp:8.4-7] */
static void close_stream(arcp__engine *engine, arcp__job *job)
{
    if (!job->chunks_ended) {
        job->chunks_ended = true;
        emit_chunk(engine, job, ARCP_SPAN_LITERAL("\"\""), false, false);
    }
}

/* [arcp:8.4-10] [arcp:14-18] */
static arcp_status violation(arcp__engine *engine, arcp__job *job, const char *message,
                             arcp_error *err)
{
    arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR, message);
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "%s", message);
}

/* [arcp:8.4-1] [arcp:8.4-5] [arcp:14-17] */
arcp_status arcp__job_chunk(arcp__engine *engine, arcp__job *job, arcp_span data,
                            arcp_span data_json, bool is_base64, bool more, arcp_error *err)
{
    size_t size = data.size;
    if (job->chunks_ended) {
        return violation(engine, job, "the agent sent a result chunk after the last one", err);
    }
    if (is_base64) {
        arcp_status status = arcp__base64_decoded_size(data, ARCP__BASE64_STANDARD, &size, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    if (size > engine->context.settings.limits_chunk_bytes) {
        return violation(engine, job, "a result chunk is larger than limits.chunk_bytes", err);
    }
    if (job->live->result_size + size > engine->context.settings.limits_result_bytes) {
        return violation(engine, job, "the result is larger than limits.result_bytes", err);
    }
    if (!has_chunks(job)) {
        arcp__context_make_id(&engine->context, "res_", job->result_id);
    }
    job->live->result_size += size;
    if (!streams_to_owner(job)) {
        if (is_base64) {
            /* It was checked: only memory can be missing, which is looked at below. */
            (void)(arcp__base64_decode(data, ARCP__BASE64_STANDARD, &job->live->inline_result,
                                       err) == ARCP_OK);
        } else {
            arcp_buf_append(&job->live->inline_result, data);
        }
        if (job->live->inline_result.failed) { /* its agent chose its size */
            return violation(engine, job, "there is no memory for a result of this size", err);
        }
        if (job->live->inline_result.size > engine->context.settings.limits_frame_bytes) {
            return violation(engine, job,
                             "the result is too large for one frame, and the session did not "
                             "negotiate result_chunk",
                             err);
        }
    }
    job->chunks_ended = !more;
    emit_chunk(engine, job, data_json, is_base64, more);
    return ARCP_OK;
}

/* ---- output of plain agents ---- */

/* Sends the first `size` bytes as one chunk: text when it is text, else base64. */
static void plain_chunk(arcp__engine *engine, arcp__job *job, size_t size, bool more)
{
    arcp_span bytes = arcp_span_first(arcp_buf_span(&job->live->plain_output), size);
    arcp_buf data = ARCP_BUF_INIT;
    arcp_buf json = ARCP_BUF_INIT;
    arcp_error error = {0};
    bool is_text = arcp__utf8_is_valid(bytes);
    if (is_text) {
        arcp_buf_append(&data, bytes);
    } else {
        arcp__base64_encode(bytes, ARCP__BASE64_STANDARD, &data);
    }
    arcp_json_quote(arcp_buf_span(&data), &json);
    arcp__context_check_text(&engine->context, &data);
    arcp__context_check_text(&engine->context, &json);
    (void)arcp__job_chunk(engine, job, arcp_buf_span(&data), arcp_buf_span(&json), !is_text, more,
                          &error);
    arcp_buf_fini(&data);
    arcp_buf_fini(&json);
    arcp_buf_consume(&job->live->plain_output, size);
}

/* However it has to be escaped. */
static size_t plain_chunk_max(const arcp__engine *engine)
{
    size_t most = arcp__frame_room_of_text(&engine->context);
    most = most < PLAIN_CHUNK_MAX ? most : PLAIN_CHUNK_MAX;
    return engine->context.settings.limits_chunk_bytes < most
               ? (size_t)engine->context.settings.limits_chunk_bytes
               : most;
}

static size_t plain_inline_max(const arcp__engine *engine)
{
    size_t most = arcp__frame_room_of_text(&engine->context);
    return most < PLAIN_INLINE_MAX ? most : PLAIN_INLINE_MAX;
}

/* As much as fits a chunk without cutting a character. */
static size_t plain_piece(const arcp__engine *engine, const arcp__job *job)
{
    size_t most = plain_chunk_max(engine);
    arcp_span bytes = arcp_buf_span(&job->live->plain_output);
    size_t cut = arcp__utf8_cut(bytes, most);
    return cut + 4 > most && cut != 0 ? cut : (bytes.size < most ? bytes.size : most);
}

static void take_output(arcp__engine *engine, arcp__job *job, arcp_span bytes)
{
    job->is_plain_output = true;
    arcp_buf_append(&job->live->plain_output, bytes);
    if (job->live->plain_output.failed) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    /* Keep a little back, so that a character is not cut between two chunks. */
    while (!arcp__job_has_ended(job) &&
           (has_chunks(job) ? job->live->plain_output.size > 4
                            : job->live->plain_output.size > plain_inline_max(engine))) {
        size_t left = job->live->plain_output.size;
        size_t keep = left - arcp__utf8_cut(arcp_buf_span(&job->live->plain_output), left - 4);
        size_t size = plain_piece(engine, job);
        if (size > left - keep) {
            size = left - keep;
        }
        if (size == 0) {
            break;
        }
        plain_chunk(engine, job, size, true);
    }
}

void arcp__job_plain_output(arcp__engine *engine, arcp__job *job, arcp_span bytes)
{
    if (!arcp__job_has_ended(job)) {
        take_output(engine, job, bytes);
    }
}

/* The program succeeded: what it wrote is the result. */
static void end_plain(arcp__engine *engine, arcp__job *job)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (has_chunks(job)) {
        while (!arcp__job_has_ended(job) &&
               job->live->plain_output.size > plain_chunk_max(engine)) {
            plain_chunk(engine, job, plain_piece(engine, job), true);
        }
        if (!arcp__job_has_ended(job)) {
            plain_chunk(engine, job, job->live->plain_output.size, false);
        }
        arcp__job_succeed(engine, job, arcp_span_make(NULL, 0), arcp_span_make(NULL, 0));
        return;
    }
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = arcp__context_json_limits(&engine->context, SIZE_MAX);
    arcp_buf result = ARCP_BUF_INIT;
    arcp_span output = arcp_buf_span(&job->live->plain_output);
    if (arcp_json_scan(&json, output, &limits, NULL) == ARCP_OK) {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &result);
    } else {
        arcp_json_quote(output, &result);
    }
    arcp__context_check_text(&engine->context, &result);
    arcp__job_succeed(engine, job, arcp_buf_span(&result), arcp_span_make(NULL, 0));
    arcp_buf_fini(&result);
    arcp_json_fini(&json);
}

/* ---- the agent's exit ---- */

/* [arcp:EG-6] */
static void fail_exit(arcp__engine *engine, arcp__job *job, const arcp__agent_exit *exit)
{
    arcp_buf details = ARCP_BUF_INIT;
    char message[96];
    arcp_json_writer writer = arcp__put_begin(&details);
    arcp__put_i64(&writer, exit->by_signal ? "signal" : "exit_status", exit->code);
    if (exit->stderr_tail.size != 0) {
        arcp__put_string(&writer, "stderr", exit->stderr_tail);
    }
    arcp_json_end_object(&writer);
    if (!exit->by_signal && exit->code == 0) {
        (void)snprintf(message, sizeof(message),
                       "the agent ended without a result after a line that is no JSON");
    } else {
        (void)snprintf(message, sizeof(message), "the agent ended with %s %d",
                       exit->by_signal ? "signal" : "exit status", exit->code);
    }
    if (!job->cancelling) { /* who was asked to stop may end as it likes */
        arcp__job_log(engine, ARCP__LOG_WARN, job, message);
    }
    arcp__job_fail(engine, job, ARCP_E_INTERNAL_ERROR, ARCP_SPAN_LITERAL("INTERNAL_ERROR"),
                   arcp_span_cstr(message), true, arcp__details(&details));
    arcp_buf_fini(&details);
}

void arcp__job_agent_exited(arcp__engine *engine, arcp__job *job, const arcp__agent_exit *exit)
{
    if (!arcp__job_has_agent(job)) {
        return; /* it could not be started */
    }
    arcp__agent_enter(job, ARCP__AGENT_GONE);
    if (!arcp__job_has_ended(job)) {
        bool clean = !exit->by_signal && exit->code == 0;
        if (!clean || job->bad_line) {
            fail_exit(engine, job, exit);
        } else if (job->is_plain_output) {
            end_plain(engine, job);
        } else {
            arcp__job_succeed(engine, job, arcp_span_make(NULL, 0), arcp_span_make(NULL, 0));
        }
    }
    arcp__job_forget_agent(engine, job);
}
