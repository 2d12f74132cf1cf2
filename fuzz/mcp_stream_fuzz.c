/* A stream of events: the same events come whatever the pieces are, and a line that was accepted
 * makes headers without a control character. Input: the size of a piece in a byte, then the stream.
 */
#include "entry.h"
#include "mcp/mcp_remote.h"

static void feed(arcp_span text, size_t piece, arcp_buf *out)
{
    arcp__mcp_stream stream = {0};
    for (size_t at = 0; at < text.size; at += piece) {
        arcp_span input = arcp_span_first(arcp_span_from(text, at), piece);
        arcp_span data;
        while (arcp__mcp_stream_next(&stream, &input, &data) == ARCP__MCP_LINE) {
            arcp_buf_append(out, data);
            arcp_buf_append_byte(out, '\0');
        }
        require(input.size == 0);
    }
    arcp__mcp_stream_fini(&stream);
}

static void check_headers(arcp_span line)
{
    const arcp__mcp_remote_terms terms = {.version = "", .is_modern = true, .session = "s"};
    arcp_json *json = arcp_json_new();
    arcp_buf headers = arcp_buf_init();
    arcp__mcp_sent sent;
    require(json != NULL);
    if (arcp__mcp_sent_read(json, line, &terms, &sent, &headers) == ARCP_OK) {
        for (size_t i = 0; i < headers.size; i++) {
            require(headers.data[i] == '\0' || (headers.data[i] >= ' ' && headers.data[i] <= '~'));
        }
    }
    arcp_buf_fini(&headers);
    arcp_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    const arcp_span text = arcp_span_make((const char *)data + 1, size - 1);
    arcp_buf whole = arcp_buf_init();
    arcp_buf pieces = arcp_buf_init();
    feed(text, text.size + 1, &whole);
    feed(text, (size_t)data[0] + 1, &pieces);
    require(arcp_span_equal(arcp_buf_span(&whole), arcp_buf_span(&pieces)));
    check_headers(text);
    arcp_buf_fini(&whole);
    arcp_buf_fini(&pieces);
    return 0;
}
