/* What a program is told: lines to its standard input, queued while the pipe is full. */
#include "base/alloc.h"
#include "process/process_state.h"

#define INPUT_BYTES_MAX 16777216u

typedef struct write_request {
    uv_write_t request;
    arcp__agent_process *process;
    bool is_last;
    arcp_buf bytes; /* what was not written at once; secret: credentials */
} write_request;

static void close_input(arcp__agent_process *process)
{
    if (!process->input_closed) {
        process->input_closed = true;
        arcp__agent_process_close_handle((uv_handle_t *)&process->input);
    }
}

static void on_written(uv_write_t *request, int status)
{
    write_request *written = (write_request *)request;
    /* A program that closed its input will be told nothing more; its exit says the rest. */
    if (written->is_last || status != 0) {
        close_input(written->process);
    }
    arcp_buf_fini(&written->bytes);
    arcp__free(written);
}

/* The bytes behind the first `skip` of the two parts. */
static arcp_status queue(arcp__agent_process *process, const uv_buf_t parts[2], size_t skip,
                         bool is_last)
{
    write_request *request = arcp__alloc(sizeof(*request));
    if (request == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    request->process = process;
    request->bytes.secret = true;
    request->is_last = is_last;
    for (size_t at = 0; at < 2; at++) {
        arcp_span part = arcp_span_make(parts[at].base, parts[at].len);
        arcp_buf_append(&request->bytes, arcp_span_from(part, skip));
        skip = skip > part.size ? skip - part.size : 0;
    }
    uv_buf_t rest = uv_buf_init(request->bytes.data, (unsigned)request->bytes.size);
    bool failed = request->bytes.failed;
    int result =
        failed ? 0
               : uv_write(&request->request, (uv_stream_t *)&process->input, &rest, 1, on_written);
    if (failed || result != 0) {
        arcp_buf_fini(&request->bytes);
        arcp__free(request);
        return failed ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    return ARCP_OK;
}

static arcp_status write_bytes(arcp__agent_process *process, arcp_span bytes, arcp_span end,
                               bool is_last)
{
    uv_stream_t *input = (uv_stream_t *)&process->input;
    if (process->input_closed || process->is_freed) {
        return ARCP_OK;
    }
    size_t most = process->input_bytes_max == 0 ? INPUT_BYTES_MAX : process->input_bytes_max;
    size_t size = bytes.size + end.size;
    if (uv_stream_get_write_queue_size(input) > most || size > UINT32_MAX) {
        return ARCP_E_LIMIT;
    }
    /* libuv changes neither, whatever its type says. */
    union {
        const char *from;
        char *to;
    } first = {bytes.data}, second = {end.data};
    const uv_buf_t parts[2] = {uv_buf_init(first.to, (unsigned)bytes.size),
                               uv_buf_init(second.to, (unsigned)end.size)};
    int written = uv_try_write(input, parts, 2);
    if (written < 0 && written != UV_EAGAIN) {
        close_input(process);
        return ARCP_OK;
    }
    if (written < 0 || (size_t)written < size) {
        return queue(process, parts, written < 0 ? 0 : (size_t)written, is_last);
    }
    if (is_last) {
        close_input(process);
    }
    return ARCP_OK;
}

arcp_status arcp__agent_process_write(arcp__agent_process *process, arcp_span line)
{
    return write_bytes(process, line, ARCP_SPAN_LITERAL("\n"), false);
}

arcp_status arcp__agent_process_write_last(arcp__agent_process *process, arcp_span bytes)
{
    if (bytes.size == 0 && uv_stream_get_write_queue_size((uv_stream_t *)&process->input) == 0) {
        close_input(process);
        return ARCP_OK;
    }
    return write_bytes(process, bytes, arcp_span_make(NULL, 0), true);
}
