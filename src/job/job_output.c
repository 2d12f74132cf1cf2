/* Input from an agent other than its lines: its start, chunks of a result, the output of a plain
 * program, and its exit. */
#include "job/job_state.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/utf8.h"

#define PLAIN_INLINE_MAX 65536u
#define PLAIN_CHUNK_MAX  524288u

/* A restart must not start it again on its worker. */
static void note_start(arcp__jobs *jobs, arcp__job *job)
{
    if (arcp__job_is_on_worker(job)) {
        arcp__queue_delete_rows(jobs, job);
        arcp__free(job->live->input);
        job->live->input = NULL;
        arcp__job_live_changed(jobs, job);
    }
}

void arcp__job_agent_started(arcp__jobs *jobs, arcp__job *job, arcp_status status,
                             arcp_span message)
{
    if (job->agent_state != ARCP__AGENT_STARTING) {
        return; /* its start is known already */
    }
    if (status != ARCP_OK) {
        arcp__agent_forget(jobs, job);
        arcp__job_fail(jobs, job, ARCP_E_INTERNAL_ERROR, message, true, arcp_span_make(NULL, 0));
        return;
    }
    arcp__agent_enter(job, ARCP__AGENT_RUNNING);
    if (!arcp__job_has_ended(job)) {
        arcp__job_enter(job, ARCP_JOB_RUNNING);
        job->facts.started_wall_ns = jobs->context->now.wall_ns;
        note_start(jobs, job);
        arcp__job_changed(jobs, job);
        arcp__job_emit_status(jobs, job, "running", arcp_span_make(NULL, 0));
        arcp__job_log(jobs, ARCP__LOG_INFO, job, "job started");
        arcp__agent_revoke_if_without_budget(jobs, job);
    }
    arcp__job_update_pressure(jobs, job);
    if (arcp__log_is_failing(jobs->log)) {
        arcp__jobs_release_stops(jobs);
    }
}

/* ---- result chunks ---- */

/* [arcp:8.4-10] [arcp:14-18] */
static arcp_status violation(arcp__jobs *jobs, arcp__job *job, const char *message, arcp_error *err)
{
    arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR, message);
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "%s", message);
}

/* [arcp:8.4-1] [arcp:8.4-5] [arcp:14-17] */
arcp_status arcp__job_chunk(arcp__jobs *jobs, arcp__job *job, arcp_span data, arcp_span data_json,
                            bool is_base64, bool more, arcp_error *err)
{
    size_t size = data.size;
    if (job->chunks == ARCP__CHUNKS_ENDED) {
        return violation(jobs, job, "the agent sent a result chunk after the last one", err);
    }
    if (is_base64) {
        const arcp_status status =
            arcp__base64_decoded_size(data, ARCP__BASE64_STANDARD, &size, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    if (size > jobs->context->settings.limits_chunk_bytes) {
        return violation(jobs, job, "a result chunk is larger than limits.chunk_bytes", err);
    }
    if (job->live->result_size + size > jobs->context->settings.limits_result_bytes) {
        return violation(jobs, job, "the result is larger than limits.result_bytes", err);
    }
    if (job->chunks == ARCP__CHUNKS_NONE) {
        arcp__context_make_id(jobs->context, "res_", job->result_id);
        job->chunks = ARCP__CHUNKS_OPEN;
    }
    job->live->result_size += size;
    if (!arcp__job_streams(job)) {
        const size_t before = job->live->inline_result.size;
        if (is_base64) {
            /* The data was checked: only memory can be missing, which is checked below. */
            (void)(arcp__base64_decode(data, ARCP__BASE64_STANDARD, &job->live->inline_result,
                                       err) == ARCP_OK);
        } else {
            arcp_buf_append(&job->live->inline_result, data);
        }
        const arcp_span piece = arcp_buf_span(&job->live->inline_result);
        arcp__worker_store_piece(jobs, job, arcp_span_from(piece, before));
        if (job->live->inline_result.failed) { /* the agent chose the size */
            return violation(jobs, job, "there is no memory for a result of this size", err);
        }
        if (job->live->inline_result.size > jobs->context->settings.limits_frame_bytes) {
            return violation(jobs, job,
                             "the result is too large for one frame, and the session did not "
                             "negotiate result_chunk",
                             err);
        }
    }
    job->chunks = more ? ARCP__CHUNKS_OPEN : ARCP__CHUNKS_ENDED;
    arcp__job_emit_chunk(jobs, job, data_json, is_base64, more);
    return ARCP_OK;
}

/* ---- output of plain agents ---- */

/* Sends the first `size` bytes as one chunk: text when it is text, else base64. */
static void plain_chunk(arcp__jobs *jobs, arcp__job *job, size_t size, bool more)
{
    const arcp_span bytes = arcp_span_first(arcp_buf_span(&job->live->plain_output), size);
    arcp_buf data = arcp_buf_init();
    arcp_buf json = arcp_buf_init();
    arcp_error error = {0};
    const bool is_text = arcp__utf8_is_valid(bytes);
    if (is_text) {
        arcp_buf_append(&data, bytes);
    } else {
        arcp__base64_encode(bytes, ARCP__BASE64_STANDARD, &data);
    }
    arcp_json_quote(arcp_buf_span(&data), &json);
    arcp__context_check_text(jobs->context, &data);
    arcp__context_check_text(jobs->context, &json);
    (void)arcp__job_chunk(jobs, job, arcp_buf_span(&data), arcp_buf_span(&json), !is_text, more,
                          &error);
    arcp_buf_fini(&data);
    arcp_buf_fini(&json);
    arcp_buf_consume(&job->live->plain_output, size);
}

/* At most so much text, and no more than fits a frame when escaped. */
static size_t text_max(const arcp__jobs *jobs, size_t most)
{
    const size_t fits = arcp__frame_text_max(jobs->context);
    return fits < most ? fits : most;
}

static size_t plain_chunk_max(const arcp__jobs *jobs)
{
    const uint64_t limit = jobs->context->settings.limits_chunk_bytes;
    return text_max(jobs, limit < PLAIN_CHUNK_MAX ? (size_t)limit : PLAIN_CHUNK_MAX);
}

/* The number of bytes that fit a chunk without cutting a character. */
static size_t plain_piece(const arcp__jobs *jobs, const arcp__job *job)
{
    const size_t most = plain_chunk_max(jobs);
    const arcp_span bytes = arcp_buf_span(&job->live->plain_output);
    const size_t cut = arcp__utf8_cut(bytes, most);
    return cut + 4 > most && cut != 0 ? cut : (bytes.size < most ? bytes.size : most);
}

static void add_output(arcp__jobs *jobs, arcp__job *job, arcp_span bytes)
{
    arcp_buf *output = &job->live->plain_output;
    job->output = job->output == ARCP__OUTPUT_LINES ? ARCP__OUTPUT_PLAIN : job->output;
    arcp_buf_append(output, bytes);
    arcp__context_check_text(jobs->context, output);
    /* The last bytes stay in the buffer, so that a character is not cut between two chunks. */
    while (!arcp__job_has_ended(job) && !output->failed &&
           output->size >
               (job->chunks != ARCP__CHUNKS_NONE ? 4 : text_max(jobs, PLAIN_INLINE_MAX))) {
        const size_t most = arcp__utf8_cut(arcp_buf_span(output), output->size - 4);
        size_t size = plain_piece(jobs, job);
        size = size > most ? most : size;
        if (size == 0) {
            break;
        }
        plain_chunk(jobs, job, size, true);
    }
}

void arcp__job_plain_output(arcp__jobs *jobs, arcp__job *job, uint64_t end, arcp_span bytes)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (end == 0) {
        add_output(jobs, job, bytes);
        return;
    }
    bytes = arcp__output_unseen(jobs, job, end, bytes);
    if (bytes.size != 0) {
        add_output(jobs, job, bytes);
        arcp__output_taken(jobs, job);
    }
}

void arcp__job_plain_error(arcp__jobs *jobs, arcp__job *job, uint64_t line, arcp_span text,
                           bool is_shown)
{
    if (line == 0 || arcp__error_line_is_next(jobs, job, line)) {
        arcp__job_stderr_add(jobs, job, text, is_shown);
        arcp__job_emit_log(jobs, job, "info", text);
        arcp__item_end(jobs, job, line);
    }
}

/* The program succeeded: what it wrote is the result. */
static void end_plain(arcp__jobs *jobs, arcp__job *job)
{
    const arcp_span none = {NULL, 0};
    const arcp_buf *output = &job->live->plain_output;
    if (job->chunks != ARCP__CHUNKS_NONE) {
        while (!arcp__job_has_ended(job) && output->size > plain_chunk_max(jobs)) {
            plain_chunk(jobs, job, plain_piece(jobs, job), true);
        }
        if (!arcp__job_has_ended(job)) {
            plain_chunk(jobs, job, output->size, false);
        }
        arcp__job_succeed(jobs, job, none, none);
        return;
    }
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = arcp__context_json_limits(jobs->context, SIZE_MAX);
    arcp_buf result = arcp_buf_init();
    if (arcp_json_scan(&json, arcp_buf_span(output), &limits, NULL) == ARCP_OK) {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &result);
    } else {
        arcp_json_quote(arcp_buf_span(output), &result);
    }
    arcp__context_check_text(jobs->context, &result);
    arcp__job_succeed(jobs, job, arcp_buf_span(&result), none);
    arcp_buf_fini(&result);
    arcp__json_fini(&json);
}

/* ---- the agent's exit ---- */

/* [arcp:EG-6] */
static void fail_exit(arcp__jobs *jobs, arcp__job *job, const arcp__agent_exit *exit)
{
    arcp_buf details = arcp_buf_init();
    char message[128];
    arcp_json_writer writer = arcp__put_begin(&details);
    arcp__put_i64(&writer, exit->by_signal ? "signal" : "exit_status", exit->code);
    if (exit->stderr_tail.size != 0) {
        arcp__put_string(&writer, "stderr", exit->stderr_tail);
    }
    if (exit->has_run_out) {
        arcp__put_cstr(&writer, "limit", "memory");
    }
    arcp_json_end_object(&writer);
    if (exit->is_shared) {
        (void)snprintf(message, sizeof message,
                       "the agent's process ended with %s %d before the job had a result",
                       exit->by_signal ? "signal" : "exit status", exit->code);
    } else if (!exit->by_signal && exit->code == 0) {
        (void)snprintf(message, sizeof message,
                       "the agent ended without a result after a line that is not valid JSON");
    } else {
        (void)snprintf(message, sizeof message, "the agent ended with %s %d%s",
                       exit->by_signal ? "signal" : "exit status", exit->code,
                       exit->has_run_out ? ", after it had reached its limit of memory" : "");
    }
    if (!job->cancelling) { /* a cancelled agent may exit with any status */
        arcp__job_log(jobs, ARCP__LOG_WARN, job, message);
    }
    arcp__job_fail(jobs, job, ARCP_E_INTERNAL_ERROR, arcp_span_cstr(message), true,
                   arcp__details(&details));
    arcp_buf_fini(&details);
}

/* The program never ran, because its sandbox could not be made. */
static void fail_set_up(arcp__jobs *jobs, arcp__job *job, const arcp__agent_exit *exit)
{
    arcp_error error = {0};
    arcp_buf details = arcp_buf_init();
    (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR, "sandbox: %.*s", (int)exit->failure.size,
                         exit->failure.size == 0 ? "" : exit->failure.data);
    arcp_json_writer writer = arcp__put_begin(&details);
    arcp__put_string(&writer, "step", exit->failed_step);
    arcp_json_end_object(&writer);
    arcp__job_log(jobs, ARCP__LOG_WARN, job, error.message);
    arcp__job_fail(jobs, job, ARCP_E_INTERNAL_ERROR, arcp_span_cstr(error.message), true,
                   arcp__details(&details));
    arcp_buf_fini(&details);
}

void arcp__job_agent_exited(arcp__jobs *jobs, arcp__job *job, const arcp__agent_exit *exit)
{
    if (!arcp__job_has_agent(job)) {
        return; /* it could not be started */
    }
    arcp__agent_forget(jobs, job);
    arcp__job_stderr_exited(jobs, job);
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (exit->failed_step.size != 0) {
        fail_set_up(jobs, job, exit);
    } else if (exit->ended_by != ARCP__AGENT_ENDED_BY_ITSELF) {
        arcp__worker_ended_agent(jobs, job, exit->ended_by);
    } else if (exit->by_signal || exit->code != 0 || exit->is_shared ||
               job->output == ARCP__OUTPUT_BROKEN) {
        fail_exit(jobs, job, exit);
    } else if (job->output == ARCP__OUTPUT_PLAIN) {
        end_plain(jobs, job);
    } else {
        arcp__job_succeed(jobs, job, arcp_span_make(NULL, 0), arcp_span_make(NULL, 0));
    }
}
