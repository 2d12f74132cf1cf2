/* What a program writes: lines or bytes of standard output, lines of standard error. */
#include <errno.h>

#include "runtime/agent_process_state.h"
#include "runtime/process_table_state.h"

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

/* ---- standard output ---- */

static void say_line(const arcp__agent_process *process, arcp_span line)
{
    if (!process->is_told && !process->skips_output) {
        process->callbacks.line(process->callbacks.user, line);
    }
}

static void refuse_line(arcp__agent_process *process, arcp_status why)
{
    process->skips_output = true;
    arcp_buf_fini(&process->line);
    process->callbacks.line_refused(process->callbacks.user, why);
}

/* The end of a line that may have begun in an earlier read. */
static void complete_line(arcp__agent_process *process, arcp_span rest)
{
    if (process->line.size == 0) {
        say_line(process, rest);
        return;
    }
    arcp_buf_append(&process->line, rest);
    if (process->line.failed) {
        refuse_line(process, ARCP_E_NO_MEMORY);
        return;
    }
    say_line(process, arcp_buf_span(&process->line));
    arcp_buf_clear(&process->line);
}

static void take_lines(arcp__agent_process *process, arcp_span bytes)
{
    while (bytes.size != 0 && !process->is_told && !process->skips_output) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        if (process->line.size + size > process->line_bytes_max) {
            refuse_line(process, ARCP_E_LIMIT);
        } else if (end != NULL) {
            complete_line(process, arcp_span_first(bytes, size));
        } else {
            arcp_buf_append(&process->line, bytes);
            if (process->line.failed) {
                refuse_line(process, ARCP_E_NO_MEMORY);
            }
        }
        bytes = arcp_span_from(bytes, end == NULL ? size : size + 1);
    }
}

static void end_output(arcp__agent_process *process)
{
    (void)uv_read_stop((uv_stream_t *)&process->output);
    process->output_ended = true;
    arcp__agent_process_finish(process);
}

static void on_output(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    arcp__agent_process *process = stream->data;
    if (size == 0) {
        return;
    }
    if (size < 0) {
        end_output(process);
        return;
    }
    arcp_span bytes = arcp_span_make(buffer->base, (size_t)size);
    if (!process->is_plain) {
        take_lines(process, bytes);
    } else if (!process->is_told) {
        process->callbacks.output(process->callbacks.user, bytes);
    }
    if (process->is_taken && !process->output_ended) {
        process->drained += bytes.size;
        if (process->drained >= DRAIN_BYTES_MAX) {
            end_output(process);
        }
    }
}

/* ---- standard error ---- */

static void keep_tail(arcp__agent_process *process, arcp_span bytes)
{
    if (bytes.size > STDERR_TAIL) {
        bytes = arcp_span_from(bytes, bytes.size - STDERR_TAIL);
    }
    if (process->tail.size + bytes.size > STDERR_TAIL) {
        arcp_buf_consume(&process->tail, process->tail.size + bytes.size - STDERR_TAIL);
    }
    arcp_buf_append(&process->tail, bytes);
}

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

static void take_error_lines(arcp__agent_process *process, arcp_span bytes)
{
    while (bytes.size != 0 && !process->is_told) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        size_t room = STDERR_LINE_MAX - process->error_line.size;
        bool is_cut = size > room;
        size = is_cut ? room : size;
        arcp_buf_append(&process->error_line, arcp_span_first(bytes, size));
        if (end != NULL || is_cut || process->error_line.failed) {
            say_error_line(process);
        }
        bytes = arcp_span_from(bytes, end == NULL || is_cut ? size : size + 1);
    }
}

static void on_errors(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    arcp__agent_process *process = stream->data;
    if (size > 0) {
        arcp_span bytes = arcp_span_make(buffer->base, (size_t)size);
        keep_tail(process, bytes);
        take_error_lines(process, bytes);
    } else if (size < 0) {
        (void)uv_read_stop(stream);
        process->errors_ended = true;
        arcp__agent_process_finish(process);
    }
}

/* ---- both ---- */

void arcp__agent_process_flush(arcp__agent_process *process)
{
    if (process->line.size != 0) {
        say_line(process, arcp_buf_span(&process->line));
        arcp_buf_clear(&process->line);
    }
    say_error_line(process);
}

static void read_stream(uv_pipe_t *pipe, bool ended, bool paused, uv_read_cb on_read)
{
    if (ended || uv_is_closing((uv_handle_t *)pipe)) {
        return;
    }
    if (paused) {
        (void)uv_read_stop((uv_stream_t *)pipe);
    } else if (!uv_is_active((uv_handle_t *)pipe)) {
        (void)uv_read_start((uv_stream_t *)pipe, on_allocate, on_read);
    }
}

void arcp__agent_process_read(arcp__agent_process *process)
{
    /* After the end nobody is to be held back, and what is left fits a pipe. */
    bool paused = process->is_paused && !process->is_taken;
    if (!process->has_callbacks || process->is_freed) {
        return;
    }
    read_stream(&process->output, process->output_ended, paused, on_output);
    /* A plain program's standard error is events too. */
    read_stream(&process->errors, process->errors_ended, paused && process->is_plain, on_errors);
}
