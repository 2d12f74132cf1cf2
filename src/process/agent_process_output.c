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

/* ---- standard output ---- */

static void say_line(const arcp__agent_process *process, arcp_span line)
{
    if (!process->is_told && !process->skips_output && process->callbacks.line != NULL) {
        process->callbacks.line(process->callbacks.user, line);
    }
}

static void refuse_line(arcp__agent_process *process, arcp_status why)
{
    process->skips_output = true;
    arcp_buf_fini(&process->line);
    if (process->callbacks.line_refused != NULL) {
        process->callbacks.line_refused(process->callbacks.user, why);
    }
}

/* Takes lines while the process has a share of the turn; returns what is left. */
static arcp_span take_lines(arcp__agent_process *process, arcp_span bytes)
{
    while (bytes.size != 0 && !process->is_told && !process->skips_output) {
        if (process->is_resting) {
            return bytes;
        }
        const char *end = memchr(bytes.data, '\n', bytes.size);
        const size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        /* One that began in an earlier read, or ends in a later one, is put together. */
        const bool is_whole = end != NULL && process->line.size == 0;
        arcp_span line = arcp_span_first(bytes, size);
        if (process->line.size + size > process->line_bytes_max) {
            refuse_line(process, ARCP_E_LIMIT);
            return arcp_span_make(NULL, 0);
        }
        if (!is_whole) {
            arcp_buf_append(&process->line, line);
            line = arcp_buf_span(&process->line);
        }
        if (process->line.failed) {
            refuse_line(process, ARCP_E_NO_MEMORY);
            return arcp_span_make(NULL, 0);
        }
        if (end != NULL) {
            say_line(process, line);
            arcp_buf_clear(&process->line);
            count(process, size + 1);
        }
        bytes = arcp_span_from(bytes, end == NULL ? size : size + 1);
    }
    return arcp_span_make(NULL, 0);
}

static arcp_span take_output(arcp__agent_process *process, arcp_span bytes)
{
    if (!process->is_plain) {
        return take_lines(process, bytes);
    }
    if (!process->is_told) {
        process->callbacks.output(process->callbacks.user, bytes);
        count(process, bytes.size);
    }
    return arcp_span_make(NULL, 0);
}

/* ---- standard error ---- */

arcp_span arcp__agent_process_tail(const arcp__agent_process *process)
{
    arcp_span tail = arcp_buf_span(&process->tail);
    if (tail.size < STDERR_TAIL) {
        return tail;
    }
    /* It may begin inside a character: at most three bytes of one are left out. */
    size_t skipped = 0;
    while (skipped < 3 && ((unsigned char)tail.data[skipped] & 0xC0u) == 0x80u) {
        skipped++;
    }
    return arcp_span_from(tail, skipped);
}

static void say_error_line(arcp__agent_process *process)
{
    if (!process->is_told && process->error_line.size != 0) {
        process->callbacks.log(process->callbacks.user, arcp_buf_span(&process->error_line));
    }
    arcp_buf_clear(&process->error_line);
}

static arcp_span take_error_lines(arcp__agent_process *process, arcp_span bytes)
{
    while (bytes.size != 0 && !process->is_told) {
        if (process->is_resting) {
            return bytes;
        }
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        size_t room = STDERR_LINE_MAX - process->error_line.size;
        bool is_cut = size > room;
        size = is_cut ? room : size;
        arcp_buf_append(&process->error_line, arcp_span_first(bytes, size));
        if (end != NULL || is_cut || process->error_line.failed) {
            say_error_line(process);
            count(process, size + 1);
        }
        bytes = arcp_span_from(bytes, end == NULL || is_cut ? size : size + 1);
    }
    return arcp_span_make(NULL, 0);
}

/* ---- both ---- */

static void end_stream(arcp__agent_process *process, arcp__agent_stream *stream)
{
    (void)uv_read_stop((uv_stream_t *)&stream->pipe);
    stream->ended = true;
    arcp__agent_process_finish(process);
}

/* Takes what was read, now or in an earlier turn; the rest stays in `left`. */
static void take(arcp__agent_process *process, arcp__agent_stream *stream, arcp_span bytes)
{
    bool is_output = stream == &process->output;
    arcp_span rest = is_output ? take_output(process, bytes) : take_error_lines(process, bytes);
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
    if (process->has_callbacks && !process->is_freed) {
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

void arcp__agent_process_flush(arcp__agent_process *process)
{
    if (process->line.size != 0) {
        say_line(process, arcp_buf_span(&process->line));
        arcp_buf_clear(&process->line);
    }
    say_error_line(process);
}
