/* The format of text/event-stream: lines that end with LF, CR or both, of which only `data` matters
 * here. An event ends with an empty line; one that the end of the input cuts off is not delivered.
 */
#include <string.h>

#include "mcp/mcp_remote.h"

static const char bom[] = "\xEF\xBB\xBF";

/* The bytes before the end of the line, or all. */
static size_t line_size(arcp_span input)
{
    const char *feed = memchr(input.data, '\n', input.size);
    const size_t size = feed == NULL ? input.size : (size_t)(feed - input.data);
    const char *ret = memchr(input.data, '\r', size);
    return ret == NULL ? size : (size_t)(ret - input.data);
}

static void take_data(arcp__mcp_stream *stream, arcp_span value)
{
    if (stream->data.size + value.size >= ARCP__MCP_LINE_BYTES_MAX) {
        stream->is_skipping = true;
    }
    if (stream->is_skipping) {
        return;
    }
    if (stream->has_data) {
        arcp_buf_append_byte(&stream->data, '\n');
    }
    stream->has_data = true;
    arcp_buf_append(&stream->data, value);
}

/* A complete line. True: it ends an event that has data. */
static bool take_line(arcp__mcp_stream *stream)
{
    const arcp_span name = ARCP_SPAN_LITERAL("data");
    arcp_span line = arcp_buf_span(&stream->line);
    if (!stream->has_started && arcp_span_starts_with(line, arcp_span_cstr(bom))) {
        line = arcp_span_from(line, sizeof bom - 1);
    }
    stream->has_started = true;
    if (line.size == 0) {
        return stream->has_data || stream->is_skipping;
    }
    if (arcp_span_starts_with(line, name) && (line.size == name.size || line.data[4] == ':')) {
        arcp_span value = arcp_span_from(line, line.size == name.size ? name.size : 5);
        if (value.size != 0 && value.data[0] == ' ') {
            value = arcp_span_from(value, 1);
        }
        take_data(stream, value);
    }
    return false;
}

static void forget_event(arcp__mcp_stream *stream)
{
    arcp_buf_clear(&stream->data);
    stream->has_data = stream->is_skipping = stream->is_given = false;
}

arcp__mcp_line_event arcp__mcp_stream_next(arcp__mcp_stream *stream, arcp_span *input,
                                           arcp_span *data)
{
    if (stream->is_given) {
        forget_event(stream);
    }
    while (input->size != 0) {
        if (stream->was_return && input->data[0] == '\n') {
            *input = arcp_span_from(*input, 1);
            stream->was_return = false;
            continue;
        }
        stream->was_return = false;
        const size_t size = line_size(*input);
        if (stream->line.size + size > ARCP__MCP_LINE_BYTES_MAX + 8) {
            stream->is_skipping = true;
            arcp_buf_clear(&stream->line);
            arcp_buf_append_byte(&stream->line, ':'); /* its rest is a comment */
        }
        if (stream->line.size == 0 || stream->line.data[0] != ':' || !stream->is_skipping) {
            arcp_buf_append(&stream->line, arcp_span_first(*input, size));
        }
        if (stream->line.failed || stream->data.failed) {
            return ARCP__MCP_LINE_NO_MEMORY;
        }
        const bool is_whole = size < input->size;
        stream->was_return = is_whole && input->data[size] == '\r';
        *input = arcp_span_from(*input, is_whole ? size + 1 : size);
        const bool is_event = is_whole && take_line(stream);
        if (is_whole) {
            arcp_buf_clear(&stream->line);
        }
        if (is_event) {
            stream->is_given = true;
            *data = arcp_buf_span(&stream->data);
            return stream->is_skipping ? ARCP__MCP_LINE_TOO_LONG : ARCP__MCP_LINE;
        }
    }
    return stream->data.failed ? ARCP__MCP_LINE_NO_MEMORY : ARCP__MCP_LINE_NONE;
}

void arcp__mcp_stream_fini(arcp__mcp_stream *stream)
{
    arcp_buf_fini(&stream->line);
    arcp_buf_fini(&stream->data);
}
