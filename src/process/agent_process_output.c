/* What a program writes: lines or bytes of standard output, lines of standard error.
 *
 * One read brings up to 64 KiB, which can be tens of thousands of lines. A program has a share of
 * each turn of the loop; what was read beyond it is kept, and nothing more is read, until the
 * table's next turn. */
#include <errno.h>

#include "process/process_state.h"

#define STDERR_TAIL     2048u
#define STDERR_LINE_MAX 65536u
/* What a pipe can hold when its reader stops: more after the end is somebody else's. */
#define DRAIN_BYTES_MAX 1048576u

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    const arcp__agent_process *process = handle->data;
    *out = uv_buf_init(process->table->read_buffer, ARCP__READ_BYTES);
}

/* A line or a piece of so many bytes was delivered. */
static void count(arcp__agent_process *process, size_t bytes)
{
    int64_t now_ns = (int64_t)uv_hrtime();
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

/* An empty line of standard error is not worth one of the log. */
static void say_line(const arcp__agent_process *process, const arcp__agent_stream *stream,
                     arcp_span line)
{
    const arcp__agent_process_callbacks *callbacks = &process->callbacks;
    if (process->is_told) {
        return;
    }
    if (stream == &process->errors && line.size != 0) {
        callbacks->log(callbacks->user, line);
    } else if (stream == &process->output && !process->skips_output && callbacks->line != NULL) {
        callbacks->line(callbacks->user, line);
    }
}

/* Takes lines while the process has a share of the turn; returns what is left. A line of standard
 * output over the limit is refused, one of standard error cut. */
static arcp_span take_lines(arcp__agent_process *process, arcp__agent_stream *stream,
                            arcp_span bytes)
{
    const bool is_output = stream == &process->output;
    const size_t most = is_output ? process->line_bytes_max : STDERR_LINE_MAX;
    while (bytes.size != 0 && !process->is_told && !(is_output && process->skips_output)) {
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
            /* It began in an earlier read, or ends in a later one. */
            arcp_buf_append(&stream->line, line);
            line = arcp_buf_span(&stream->line);
        }
        if (stream->line.failed && is_output) {
            refuse_line(process, ARCP_E_NO_MEMORY);
            break;
        }
        if (is_complete || stream->line.failed) {
            say_line(process, stream, line);
            arcp_buf_clear(&stream->line);
            count(process, size + 1);
        }
        bytes = arcp_span_from(bytes, end == NULL || is_over ? size : size + 1);
    }
    return arcp_span_make(NULL, 0);
}

void arcp__agent_process_finish(arcp__agent_process *process)
{
    arcp__agent_stream *const streams[] = {&process->output, &process->errors};
    if (process->is_told || !process->is_taken || !process->output.ended ||
        !process->errors.ended) {
        return;
    }
    for (size_t at = 0; at < 2; at++) {
        if (streams[at]->line.size != 0) { /* it ends with the output */
            say_line(process, streams[at], arcp_buf_span(&streams[at]->line));
            arcp_buf_clear(&streams[at]->line);
        }
    }
    if (process->is_told) {
        return; /* it was freed */
    }
    arcp_span tail = arcp_buf_span(&process->tail);
    /* It may begin inside a character: at most three bytes of one are left out. */
    for (int skipped = 0; skipped < 3 && process->tail.size == STDERR_TAIL &&
                          ((unsigned char)tail.data[0] & 0xC0u) == 0x80u;
         skipped++) {
        tail = arcp_span_from(tail, 1);
    }
    process->is_told = true;
    (void)uv_timer_stop(&process->timer);
    process->callbacks.exited(process->callbacks.user, &process->end, tail);
}

static void end_stream(arcp__agent_process *process, arcp__agent_stream *stream)
{
    (void)uv_read_stop((uv_stream_t *)&stream->pipe);
    stream->ended = true;
    arcp__agent_process_finish(process);
}

/* Takes what was read, now or in an earlier turn; the rest stays in `left`. */
static void take(arcp__agent_process *process, arcp__agent_stream *stream, arcp_span bytes)
{
    const bool is_output = stream == &process->output;
    arcp_span rest = {NULL, 0};
    if (!is_output || !process->is_plain) {
        rest = take_lines(process, stream, bytes);
    } else if (!process->is_told) {
        process->callbacks.output(process->callbacks.user, bytes);
        count(process, bytes.size);
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
    bool is_output = pipe == (uv_stream_t *)&process->output.pipe;
    arcp__agent_stream *stream = is_output ? &process->output : &process->errors;
    if (size < 0) {
        end_stream(process, stream);
    } else if (size > 0) {
        arcp_span bytes = arcp_span_make(buffer->base, (size_t)size);
        if (!is_output) {
            const size_t skipped = bytes.size > STDERR_TAIL ? bytes.size - STDERR_TAIL : 0;
            arcp_buf_append(&process->tail, arcp_span_from(bytes, skipped));
            const size_t kept = process->tail.size;
            arcp_buf_consume(&process->tail, kept > STDERR_TAIL ? kept - STDERR_TAIL : 0);
        }
        stream->drained += process->is_taken ? bytes.size : 0;
        take(process, stream, bytes);
        arcp__agent_process_read(process);
    }
}

/* After the end nobody is to be held back, and what is left fits a pipe. A plain program's standard
 * error is events too. */
static bool is_held_back(const arcp__agent_process *process, const arcp__agent_stream *stream)
{
    bool is_said = stream == &process->output || process->is_plain;
    return process->is_paused && !process->is_taken && is_said;
}

static void read_stream(arcp__agent_process *process, arcp__agent_stream *stream)
{
    if (stream->ended || uv_is_closing((uv_handle_t *)&stream->pipe)) {
        return;
    }
    bool is_held = is_held_back(process, stream);
    if (stream->left.size != 0 && !is_held) {
        arcp__process_table_rest(process); /* which delivers it first */
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

void arcp__agent_process_go_on(arcp__agent_process *process)
{
    arcp__agent_stream *const streams[] = {&process->output, &process->errors};
    for (size_t at = 0; at < 2; at++) {
        if (streams[at]->left.size != 0 && !is_held_back(process, streams[at])) {
            take(process, streams[at], arcp_buf_span(&streams[at]->left));
        }
    }
    arcp__agent_process_read(process);
}
