/* Events of a stream: which lines make one, in pieces of any size, and its limit. Ids of sessions.
 */
#include "support/check.h"

#include "mcp/mcp_remote.h"

/* Feeds the text in pieces, and appends the data of each event and a bar. */
static void feed(arcp__mcp_stream *stream, arcp_span text, size_t piece, arcp_buf *out)
{
    for (size_t at = 0; at < text.size; at += piece) {
        arcp_span input = arcp_span_first(arcp_span_from(text, at), piece);
        arcp_span data;
        arcp__mcp_line_event event;
        while ((event = arcp__mcp_stream_next(stream, &input, &data)) != ARCP__MCP_LINE_NONE) {
            assert_int_not_equal(event, ARCP__MCP_LINE_NO_MEMORY);
            arcp_buf_append(out, event == ARCP__MCP_LINE ? data : ARCP_SPAN_LITERAL("!"));
            arcp_buf_append_byte(out, '|');
        }
        assert_int_equal(input.size, 0);
    }
}

static void events_are_found_in_pieces_of_any_size(void **state)
{
    static const struct {
        const char *text, *events;
    } rows[] = {
        {"data: one\n\ndata: two\n\n", "one|two|"},
        {"data: one\r\n\r\ndata: two\r\rdata: three\n\n", "one|two|three|"},
        {"data:one\ndata:  two\n\n", "one\n two|"},
        {"event: message\nid: 7\nretry: 3\ndata: x\n: comment\n\n", "x|"},
        {"\xEF\xBB\xBF"
         "data: x\n\n",
         "x|"},
        {"data\n\n", "|"},
        {"data: \n\n", "|"},
        {"\n\n\r\n: only a comment\n\nevent: none\n\n", ""},
        {"data: without an end\n", ""},
        {"database: x\nxdata: y\n Data: z\n\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t piece = 1; piece < 30; piece++) {
            arcp__mcp_stream stream = {0};
            arcp_buf out = arcp_buf_init();
            feed(&stream, arcp_span_cstr(rows[i].text), piece, &out);
            check_span(arcp_buf_span(&out), rows[i].events);
            arcp_buf_fini(&out);
            arcp__mcp_stream_fini(&stream);
        }
    }
}

/* An event with this many bytes of data in lines of `line` bytes, then a short one. */
static void check_size(size_t size, size_t line, const char *events)
{
    arcp__mcp_stream stream = {0};
    arcp_buf text = arcp_buf_init();
    arcp_buf out = arcp_buf_init();
    for (size_t at = 0, data = 0; at < size; at += data) {
        data = size - at < line ? size - at : line;
        /* The line feed between two lines is a byte of the data, too. */
        const size_t letters = at + data == size ? data : data - 1;
        arcp_buf_append_cstr(&text, "data:");
        assert_true(arcp_buf_reserve(&text, letters));
        memset(text.data + text.size, 'a', letters);
        text.size += letters;
        arcp_buf_append_cstr(&text, letters == data ? "" : "\n");
    }
    arcp_buf_append_cstr(&text, "\n\ndata: next\n\n");
    feed(&stream, arcp_buf_span(&text), 65536, &out);
    if (events[0] == '!') {
        check_span(arcp_buf_span(&out), events);
    } else {
        assert_int_equal(out.size, size + strlen("|next|"));
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&out);
    arcp__mcp_stream_fini(&stream);
}

static void an_event_that_is_too_long_is_skipped(void **state)
{
    check_size(ARCP__MCP_LINE_BYTES_MAX - 1, SIZE_MAX, "");
    check_size(ARCP__MCP_LINE_BYTES_MAX + 100, SIZE_MAX, "!|next|");
    check_size(ARCP__MCP_LINE_BYTES_MAX * 2, SIZE_MAX, "!|next|");
    check_size(ARCP__MCP_LINE_BYTES_MAX * 2, 1000000, "!|next|");
}

static void an_id_of_a_session_is_visible_ascii(void **state)
{
    char longest[ARCP__MCP_SESSION_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_true(arcp__mcp_session_is_valid(ARCP_SPAN_LITERAL("1868a90c-!~")));
    assert_false(arcp__mcp_session_is_valid(ARCP_SPAN_LITERAL("")));
    assert_false(arcp__mcp_session_is_valid(ARCP_SPAN_LITERAL("a b")));
    assert_false(arcp__mcp_session_is_valid(ARCP_SPAN_LITERAL("a\r\nX: y")));
    assert_false(arcp__mcp_session_is_valid(ARCP_SPAN_LITERAL("\x7f")));
    assert_true(arcp__mcp_session_is_valid(arcp_span_make(longest, sizeof longest - 1)));
    assert_false(arcp__mcp_session_is_valid(arcp_span_make(longest, sizeof longest)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_found_in_pieces_of_any_size),
        cmocka_unit_test(an_event_that_is_too_long_is_skipped),
        cmocka_unit_test(an_id_of_a_session_is_visible_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
