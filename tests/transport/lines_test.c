/* Lines, command words and the send queue: the parts that need no event loop. */
#include "support/check.h"

#include "base/alloc.h"
#include "transport/command_words.h"
#include "transport/line_reader.h"

#define CAP 10

typedef struct line_row {
    const char *name;
    const char *text;
    const char *want; /* each line and a '|'; '!' for a line that is too long */
} line_row;

static const line_row line_rows[] = {
    {"nothing", "", ""},
    {"one line", "abc\n", "abc|"},
    {"two lines", "abc\nde\n", "abc|de|"},
    {"a last line without an end", "abc\nde", "abc|de|"},
    {"only a last line", "abc", "abc|"},
    {"carriage returns", "abc\r\nde\r\n", "abc|de|"},
    {"a last line with a carriage return", "abc\r", "abc|"},
    {"one carriage return is dropped, not two", "abc\r\r\n", "abc\r|"},
    {"a carriage return inside stays", "a\rb\n", "a\rb|"},
    {"blank lines", "\n\n  \n\t\r\n\r\na\n\n", "a|"},
    {"a last line that is blank", "a\n  ", "a|"},
    {"blanks around stay", " a \n", " a |"},
    {"a line at the limit", "0123456789\na\n", "0123456789|a|"},
    {"a line at the limit with a carriage return", "0123456789\r\na\n", "0123456789|a|"},
    {"a last line at the limit", "0123456789", "0123456789|"},
    {"a line above the limit", "a\n0123456789x\nnever\n", "a|!"},
    {"a line above the limit with a carriage return", "0123456789x\r\n", "!"},
    {"a last line above the limit", "0123456789x", "!"},
    {"a line far above the limit", "0123456789012345678901234567890123456789\nnever\n", "!"},
    {"a line of blanks above the limit", "             \nnever\n", "!"},
};

/* False at the end of reading. */
static bool note(arcp__line_event event, arcp_span line, arcp_buf *log)
{
    switch (event) {
    case ARCP__LINE_NONE:
        return false;
    case ARCP__LINE:
        arcp_buf_append(log, line);
        arcp_buf_append_byte(log, '|');
        return true;
    case ARCP__LINE_TOO_LONG:
        arcp_buf_append_byte(log, '!');
        return true;
    case ARCP__LINE_NO_MEMORY:
        fail();
    }
    return false;
}

static void read_lines(arcp_span text, size_t piece, arcp_buf *log)
{
    arcp__line_reader reader = {.line_bytes_max = CAP};
    arcp_span line = {NULL, 0};
    while (text.size > 0) {
        arcp_span input = arcp_span_first(text, piece);
        text = arcp_span_from(text, input.size);
        while (note(arcp__line_reader_next(&reader, &input, &line), line, log)) {
        }
        assert_int_equal(input.size, 0);
    }
    note(arcp__line_reader_last(&reader, &line), line, log);
    arcp__line_reader_fini(&reader);
}

static void lines_are_read_in_any_split(void **state)
{
    for (size_t i = 0; i < sizeof line_rows / sizeof line_rows[0]; i++) {
        for (size_t piece = 1; piece < 50; piece++) {
            arcp_buf log = arcp_buf_init();
            read_lines(arcp_span_cstr(line_rows[i].text), piece, &log);
            if (!arcp_span_equal_cstr(arcp_buf_span(&log), line_rows[i].want)) {
                fail_msg("%s, in pieces of %zu: got \"%.*s\"", line_rows[i].name, piece,
                         (int)log.size, log.size == 0 ? "" : log.data);
            }
            arcp_buf_fini(&log);
        }
    }
}

static void an_idle_line_reader_holds_no_memory(void **state)
{
    arcp__line_reader reader = {.line_bytes_max = 1000};
    arcp_span line = {NULL, 0};
    arcp_span first = ARCP_SPAN_LITERAL("ab");
    arcp_span second = ARCP_SPAN_LITERAL("cd\n");
    assert_int_equal(arcp__line_reader_next(&reader, &first, &line), ARCP__LINE_NONE);
    assert_int_equal(arcp__line_reader_next(&reader, &second, &line), ARCP__LINE);
    check_span(line, "abcd");
    assert_int_equal(arcp__line_reader_next(&reader, &second, &line), ARCP__LINE_NONE);
    assert_null(reader.partial.data);
    arcp__line_reader_fini(&reader);
}

/* ---- command words ---- */

typedef struct words_row {
    const char *text;
    const char *want; /* each word in brackets; NULL: refused */
} words_row;

static const words_row words_rows[] = {
    {"arcpd", "[arcpd]"},
    {"arcpd --stdio", "[arcpd][--stdio]"},
    {"  arcpd \t --stdio \n", "[arcpd][--stdio]"},
    {"a 'b c' d", "[a][b c][d]"},
    {"a \"b c\" d", "[a][b c][d]"},
    {"a b' 'c\" \"d", "[a][b c d]"},
    {"a '' \"\"", "[a][][]"},
    {"a\\ b c", "[a b][c]"},
    {"a \\\\ \\' \\\"", "[a][\\]['][\"]"},
    {"'a\\b' \"a\\b\"", "[a\\b][a\\b]"},
    {"\"a\\\\b\\\"c\\$d\\`e\"", "[a\\b\"c$d`e]"},
    {"'it'\\''s'", "[it's]"},
    {"\"'\" '\"'", "['][\"]"},
    {"a $HOME `b` $(c) * ; | > &", "[a][$HOME][`b`][$(c)][*][;][|][>][&]"},
    {"a#b #c", "[a#b][#c]"},
    {"", NULL},
    {"  \t ", NULL},
    {"a 'b", NULL},
    {"a \"b", NULL},
    {"a \"b\\\"", NULL},
    {"a \\", NULL},
};

static void commands_are_split_as_a_shell_does(void **state)
{
    for (size_t i = 0; i < sizeof words_rows / sizeof words_rows[0]; i++) {
        const words_row *row = &words_rows[i];
        char **words = NULL;
        arcp_error err = {0};
        const arcp_status status = arcp__command_words(arcp_span_cstr(row->text), &words, &err);
        if (row->want == NULL) {
            assert_int_equal(status, ARCP_E_USAGE);
            assert_null(words);
            continue;
        }
        check_ok(status, &err);
        arcp_buf log = arcp_buf_init();
        for (char **word = words; *word != NULL; word++) {
            arcp_buf_append_format(&log, "[%s]", *word);
        }
        check_span(arcp_buf_span(&log), row->want);
        arcp_buf_fini(&log);
        arcp__free(words);
    }
}

static void a_command_has_no_nul(void **state)
{
    char **words = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__command_words(arcp_span_make("a\0b", 3), &words, &err), ARCP_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_in_any_split),
        cmocka_unit_test(an_idle_line_reader_holds_no_memory),
        cmocka_unit_test(commands_are_split_as_a_shell_does),
        cmocka_unit_test(a_command_has_no_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
