/* Lines for a terminal: broken at its width, and measured in its columns. */
#include "support/check.h"

#include <locale.h>

#include "cli/cli.h"

static void a_line_is_broken_at_blanks_and_goes_on_below_its_text(void **state)
{
    static const struct {
        const char *name;
        size_t columns;
        const char *line, *expected;
    } rows[] = {
        {"not a terminal", 0, "log       one two", "log       one two"},
        {"fits exactly", 17, "log       one two", "log       one two"},
        {"one too long", 16, "log       one twoo", "log\n  one twoo"},
        {"a label", 24, "log       one two three four", "log       one two three\n          four"},
        {"an indented label", 24, "  log       one two three",
         "  log       one two\n            three"},
        {"a label with colour", 24, "\033[33mwarning\033[0m   one two three four",
         "\033[33mwarning\033[0m   one two three\n          four"},
        {"a word with a colon", 20, "error: one two three four",
         "error: one two three\n       four"},
        {"a coloured one", 20, "\033[31merror:\033[0m one two three four",
         "\033[31merror:\033[0m one two three\n       four"},
        {"an indented line", 20, "       is the runtime there?",
         "       is the\n       runtime\n       there?"},
        {"a first word as wide as the indent", 12, "19 closed sessions", "19 closed\n  sessions"},
        {"no label", 12, "cancelling the job", "cancelling\n  the job"},
        {"a label that leaves no room", 20, "  --name NAME     name of the thing",
         "  --name NAME\n    name of the\n    thing"},
        {"a word that fits only alone", 20, "trace     0123456789abcdef",
         "trace\n  0123456789abcdef"},
        {"a word that fits nowhere", 12, "uri     0123456789abcdef and more",
         "uri\n  0123456789abcdef and\n  more"},
        {"several lines", 9, "one two three\nfour\n", "one two\n  three\nfour\n"},
        {"wide characters", 16, "log   日本語 日本語", "log   日本語\n      日本語"},
        {"wide characters that fit", 19, "log   日本語 日本語", "log   日本語 日本語"},
        {"empty", 10, "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_buf out = arcp_buf_init();
        print_message("  %s\n", rows[i].name);
        arcp__append_wrapped(&out, arcp_span_cstr(rows[i].line), rows[i].columns);
        check_span(arcp_buf_span(&out), rows[i].expected);
        arcp_buf_fini(&out);
    }
}

static void text_is_measured_in_columns(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
    } rows[] = {
        {"", 0},
        {"abc", 3},
        {"日本", 4},
        {"e\xcc\x81", 1},
        {"\033[31mred\033[0m", 3},
        {"\xff\xfe", 2},
        {"\xe2\x80", 2},
        {"\033[31", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(arcp__text_columns(arcp_span_cstr(rows[i].text)), rows[i].columns);
    }
}

static void a_cell_has_the_columns_of_its_table(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
        bool is_last;
        const char *expected;
    } rows[] = {
        {"abc", 5, false, "abc   "},    {"abcde", 5, false, "abcde "},
        {"abcdef", 5, false, "abcd… "}, {"abcdef", 5, true, "abcd…"},
        {"abcdef", 0, true, "abcdef"},  {"日本", 5, false, "日本  "},
        {"日本語", 5, false, "日本… "}, {"日本語", 4, false, "日…  "},
        {"a\nb", 5, false, "a\\nb  "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_buf out = arcp_buf_init();
        arcp__append_cell(&out, arcp_span_cstr(rows[i].text), rows[i].columns, rows[i].is_last);
        check_span(arcp_buf_span(&out), rows[i].expected);
        arcp_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_broken_at_blanks_and_goes_on_below_its_text),
        cmocka_unit_test(text_is_measured_in_columns),
        cmocka_unit_test(a_cell_has_the_columns_of_its_table),
    };
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
