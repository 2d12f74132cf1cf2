/* Lines of limited length: one that is too long is skipped, and what follows is read. */
#include "support/check.h"

#include "mcp/mcp.h"

/* Feeds the text in pieces of this size, and appends what comes: "line|", and "!id|" for a line
 * that is too long. */
static void feed(arcp__mcp_lines *lines, const char *text, size_t piece, arcp_buf *out)
{
    const arcp_span all = arcp_span_cstr(text);
    for (size_t at = 0; at < all.size; at += piece) {
        arcp_span input = arcp_span_first(arcp_span_from(all, at), piece);
        arcp_span line;
        arcp__mcp_line_event event;
        while ((event = arcp__mcp_lines_next(lines, &input, &line)) != ARCP__MCP_LINE_NONE) {
            assert_int_not_equal(event, ARCP__MCP_LINE_NO_MEMORY);
            arcp_buf_append_cstr(out, event == ARCP__MCP_LINE_TOO_LONG ? "!" : "");
            arcp_buf_append(out, line);
            arcp_buf_append_byte(out, '|');
        }
    }
}

static void feed_last(arcp__mcp_lines *lines, arcp_buf *out)
{
    arcp_span line;
    const arcp__mcp_line_event event = arcp__mcp_lines_last(lines, &line);
    if (event != ARCP__MCP_LINE_NONE) {
        arcp_buf_append_cstr(out, event == ARCP__MCP_LINE_TOO_LONG ? "!" : "");
        arcp_buf_append(out, line);
        arcp_buf_append_byte(out, '|');
    }
}

static void lines_are_found_in_pieces_of_any_size(void **state)
{
    for (size_t piece = 1; piece < 16; piece++) {
        arcp__mcp_lines lines = {0};
        arcp_buf out = arcp_buf_init();
        feed(&lines, "one\ntwo\r\n\n \t\r\nthree\nfour", piece, &out);
        check_span(arcp_buf_span(&out), "one|two\r|three|");
        feed_last(&lines, &out);
        check_span(arcp_buf_span(&out), "one|two\r|three|four|");
        arcp_buf_fini(&out);
        arcp__mcp_lines_fini(&lines);
    }
}

/* {"id":5,"x":"aaa..."} of this many bytes, with a line feed. */
static char *message_of(size_t size)
{
    static const char head[] = "{\"id\":5,\"x\":\"";
    char *text = malloc(size + 2);
    assert_non_null(text);
    memset(text, 'a', size);
    memcpy(text, head, sizeof head - 1);
    memcpy(text + size - 2, "\"}\n", 4);
    return text;
}

static void a_line_of_8_mib_is_read(void **state)
{
    char *text = message_of(ARCP__MCP_LINE_BYTES_MAX);
    arcp__mcp_lines lines = {0};
    arcp_buf out = arcp_buf_init();
    feed(&lines, text, 65536, &out);
    assert_int_equal(out.size, ARCP__MCP_LINE_BYTES_MAX + 1);
    assert_int_equal(out.data[0], '{');
    arcp_buf_fini(&out);
    arcp__mcp_lines_fini(&lines);
    free(text);
}

static void a_longer_line_is_skipped_and_its_id_is_found(void **state)
{
    static const size_t pieces[] = {1000, 65536, ARCP__MCP_LINE_BYTES_MAX * 2};
    char *text = message_of(ARCP__MCP_LINE_BYTES_MAX + 1);
    for (size_t i = 0; i < 3; i++) {
        arcp__mcp_lines lines = {0};
        arcp_buf out = arcp_buf_init();
        feed(&lines, text, pieces[i], &out);
        feed(&lines, "next\n", 5, &out);
        check_span(arcp_buf_span(&out), "!5|next|");
        assert_true(lines.partial.capacity <= 65536);
        arcp_buf_fini(&out);
        arcp__mcp_lines_fini(&lines);
    }
    text[ARCP__MCP_LINE_BYTES_MAX + 1] = '\0'; /* without its line feed */
    arcp__mcp_lines lines = {0};
    arcp_buf out = arcp_buf_init();
    feed(&lines, text, 65536, &out);
    feed_last(&lines, &out);
    check_span(arcp_buf_span(&out), "!5|");
    arcp_buf_fini(&out);
    arcp__mcp_lines_fini(&lines);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found_in_pieces_of_any_size),
        cmocka_unit_test(a_line_of_8_mib_is_read),
        cmocka_unit_test(a_longer_line_is_skipped_and_its_id_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
