/* The output of a program: lines or bytes of standard output, lines of standard error.
 *
 * One read returns up to 64 KiB, which can be tens of thousands of lines. A program has a share of
 * each turn of the loop. Bytes read beyond it are kept in `left`, and nothing more is read, until
 * the table's next turn. */
#include "process/process_state.h"

#define STDERR_TAIL     2048u
#define STDERR_LINE_MAX 65536u
/* The most that a pipe can hold. After the program's end, more than this must come from another
 * process that has the pipe open, and is not read. */
#define DRAIN_BYTES_MAX 1048576u

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    const arcp__agent_process *process = handle->data;
    *out = uv_buf_init(process->table->read_buffer, ARCP__READ_BYTES);
}

/* Charges a delivered line or block to the program's share of the turn. */
static void charge_turn(arcp__agent_process *process, size_t bytes)
{
    const int64_t now_ns = (int64_t)uv_hrtime();
    if (!arcp__turn_take(&process->table->turn, &process->share, bytes, now_ns, now_ns)) {
        arcp__process_table_rest(process);
    }
}

static void refuse_line(arcp__agent_process *process, arcp_status why)
{
    process->skips_output = true;
    arcp_buf_fini(&process->output.line);
    if (process->callbacks.line_refused != NULL) {
        process->callbacks.line_refused(process->callbacks.user, why);
    }
}

/* Empty lines of standard error are not logged. */
static void deliver_line(const arcp__agent_process *process, const arcp__agent_stream *stream,
                         arcp_span line)
{
    const arcp__agent_process_callbacks *callbacks = &process->callbacks;
    if (process->is_reported) {
        return;
    }
    if (stream == &process->errors && line.size != 0) {
        callbacks->log(callbacks->user, line);
    } else if (stream == &process->output && !process->skips_output && callbacks->line != NULL) {
        callbacks->line(callbacks->user, line);
    }
}

/* Delivers lines while the process has a share of the turn; returns the remaining bytes. A line of
 * standard output that exceeds the limit is refused, one of standard error is truncated. */
static arcp_span take_lines(arcp__agent_process *process, arcp__agent_stream *stream,
                            arcp_span bytes)
{
    const bool is_output = stream == &process->output;
    const size_t most = is_output ? process->line_bytes_max : STDERR_LINE_MAX;
    while (bytes.size != 0 && !process->is_reported && !(is_output && process->skips_output)) {
        if (process->is_resting) {
            return bytes;
        }
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        const bool is_over = size > most - stream->line.size;
        if (is_over && is_output) {
            refuse_line(process, ARCP_E_LIMIT);
            break;
        }
        size = is_over ? most - stream->line.size : size;
        const bool is_complete = end != NULL || is_over;
        arcp_span line = arcp_span_first(bytes, size);
        if (!is_complete || stream->line.size != 0) {
            /* The line began in an earlier read, or ends in a later one. */
            arcp_buf_append(&stream->line, line);
            line = arcp_buf_span(&stream->line);
        }
        if (stream->line.failed && is_output) {
            refuse_line(process, ARCP_E_NO_MEMORY);
            break;
        }
        if (is_complete || stream->line.failed) {
            deliver_line(process, stream, line);
            arcp_buf_clear(&stream->line);
            charge_turn(process, size + 1);
        }
        bytes = arcp_span_from(bytes, end == NULL || is_over ? size : size + 1);
    }
    return arcp_span_make(NULL, 0);
}

void arcp__agent_process_finish(arcp__agent_process *process)
{
    arcp__agent_stream *const streams[] = {&process->output, &process->errors};
    if (process->is_reported || !process->is_reaped || !process->output.ended ||
        !process->errors.ended) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        if (streams[i]->line.size != 0) { /* the end of output ends the line */
            deliver_line(process, streams[i], arcp_buf_span(&streams[i]->line));
            arcp_buf_clear(&streams[i]->line);
        }
    }
    if (process->is_reported) {
        return; /* a callback has freed it */
    }
    arcp_span tail = arcp_buf_span(&process->tail);
    /* If the tail begins inside a UTF-8 character, its remaining bytes, at most three, are skipped.
     */
    for (int skipped = 0; skipped < 3 && process->tail.size == STDERR_TAIL &&
                          ((unsigned char)tail.data[0] & 0xC0u) == 0x80u;
         skipped++) {
        tail = arcp_span_from(tail, 1);
    }
    process->is_reported = true;
    (void)uv_timer_stop(&process->timer);
    process->callbacks.exited(process->callbacks.user, &process->end, tail);
}

static void end_stream(arcp__agent_process *process, arcp__agent_stream *stream)
{
    (void)uv_read_stop((uv_stream_t *)&stream->pipe);
    stream->ended = true;
    arcp__agent_process_finish(process);
}

/* Delivers bytes that were read now or in an earlier turn; the remaining bytes stay in `left`. */
static void deliver(arcp__agent_process *process, arcp__agent_stream *stream, arcp_span bytes)
{
    const bool is_output = stream == &process->output;
    arcp_span rest = {NULL, 0};
    if (!is_output || !process->is_plain) {
        rest = take_lines(process, stream, bytes);
    } else if (!process->is_reported) {
        process->callbacks.output(process->callbacks.user, bytes);
        charge_turn(process, bytes.size);
    }
    if (stream->left.size != 0) {
        arcp_buf_consume(&stream->left, stream->left.size - rest.size);
    } else {
        arcp_buf_append(&stream->left, rest);
    }
    if (stream->left.failed && is_output) {
        refuse_line(process, ARCP_E_NO_MEMORY);
    }
    if (stream->left.size == 0 || stream->left.failed) {
        arcp_buf_fini(&stream->left);
    }
    if (stream->left.size == 0 && stream->drained >= DRAIN_BYTES_MAX && !stream->ended) {
        end_stream(process, stream);
    }
}

static void on_read(uv_stream_t *pipe, ssize_t size, const uv_buf_t *buffer)
{
    arcp__agent_process *process = pipe->data;
    const bool is_output = pipe == (uv_stream_t *)&process->output.pipe;
    arcp__agent_stream *stream = is_output ? &process->output : &process->errors;
    if (size < 0) {
        end_stream(process, stream);
    } else if (size > 0) {
        const arcp_span bytes = arcp_span_make(buffer->base, (size_t)size);
        if (!is_output) {
            const size_t skipped = bytes.size > STDERR_TAIL ? bytes.size - STDERR_TAIL : 0;
            arcp_buf_append(&process->tail, arcp_span_from(bytes, skipped));
            const size_t kept = process->tail.size;
            arcp_buf_consume(&process->tail, kept > STDERR_TAIL ? kept - STDERR_TAIL : 0);
        }
        stream->drained += process->is_reaped ? bytes.size : 0;
        deliver(process, stream, bytes);
        arcp__agent_process_read(process);
    }
}

/* Pausing applies to streams that become events: standard output, and standard error of a plain
 * program. It ends with the program, whose remaining output fits into a pipe. */
static bool is_held_back(const arcp__agent_process *process, const arcp__agent_stream *stream)
{
    const bool becomes_events = stream == &process->output || process->is_plain;
    return process->is_paused && !process->is_reaped && becomes_events;
}

static void read_stream(arcp__agent_process *process, arcp__agent_stream *stream)
{
    if (stream->ended || uv_is_closing((uv_handle_t *)&stream->pipe)) {
        return;
    }
    const bool is_held = is_held_back(process, stream);
    if (stream->left.size != 0 && !is_held) {
        arcp__process_table_rest(process); /* the next turn delivers `left` first */
    }
    if (is_held || process->is_resting) {
        (void)uv_read_stop((uv_stream_t *)&stream->pipe);
    } else if (!uv_is_active((uv_handle_t *)&stream->pipe)) {
        (void)uv_read_start((uv_stream_t *)&stream->pipe, on_allocate, on_read);
    }
}

void arcp__agent_process_read(arcp__agent_process *process)
{
    if (process->process != NULL && !process->is_freed) {
        read_stream(process, &process->output);
        read_stream(process, &process->errors);
    }
}

void arcp__agent_process_continue(arcp__agent_process *process)
{
    arcp__agent_stream *const streams[] = {&process->output, &process->errors};
    for (size_t i = 0; i < 2; i++) {
        if (streams[i]->left.size != 0 && !is_held_back(process, streams[i])) {
            deliver(process, streams[i], arcp_buf_span(&streams[i]->left));
        }
    }
    arcp__agent_process_read(process);
}
