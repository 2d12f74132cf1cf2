/* Writing JSON: commas where they are due, strings escaped, white space dropped. */
#include "support/check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json/json.h"

static const arcp_json_limits limits = {64, 10000, 4194304};

#define SPAN(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

typedef struct quote_row {
    const char *name;
    arcp_span text;
    const char *want;
} quote_row;

static const quote_row quotes[] = {
    {"nothing", SPAN(""), "\"\""},
    {"plain text", SPAN("plain text of more than eight bytes"),
     "\"plain text of more than eight bytes\""},
    {"a quote", SPAN("say \"yes\""), "\"say \\\"yes\\\"\""},
    {"a backslash", SPAN("C:\\temp"), "\"C:\\\\temp\""},
    {"a slash stays", SPAN("a/b"), "\"a/b\""},
    {"the short escapes", SPAN("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
    {"NUL", SPAN("a\0b"), "\"a\\u0000b\""},
    {"other control characters", SPAN("\x01\x0b\x1f"), "\"\\u0001\\u000b\\u001f\""},
    {"DEL stays", SPAN("\x7f"), "\"\x7f\""},
    {"UTF-8 stays", SPAN("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"),
     "\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {"an escape at every eighth byte", SPAN("1234567\n1234567\n"), "\"1234567\\n1234567\\n\""},
    {"a wrong byte",
     SPAN("a\xff"
          "b"),
     "\"a\xef\xbf\xbd"
     "b\""},
    {"a character that is cut short", SPAN("a\xe2\x82"), "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
    {"an encoded surrogate", SPAN("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"a wrong byte before an escape", SPAN("\xff\n"), "\"\xef\xbf\xbd\\n\""},
    {"good characters around a wrong byte", SPAN("\xc3\xbc\x80\xc3\xbc"),
     "\"\xc3\xbc\xef\xbf\xbd\xc3\xbc\""},
};

static void strings_are_quoted_with_the_shortest_escapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
        print_message("  %s\n", quotes[i].name);
        arcp_buf out = arcp_buf_init();
        arcp_json_quote(quotes[i].text, &out);
        check_span(arcp_buf_span(&out), quotes[i].want);
        arcp_buf_fini(&out);
    }
}

/* All pairs of bytes: the quoted text is scanned, and valid UTF-8 is returned unchanged. */
static void quoted_text_is_valid_and_unescapes_to_itself(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    arcp_buf scratch = arcp_buf_init();
    for (unsigned pair = 0; pair < 65536; pair++) {
        char bytes[3] = {(char)(pair >> 8), (char)pair, 'x'};
        arcp_buf_clear(&out);
        arcp_buf_clear(&scratch);
        arcp_json_quote(arcp_span_make(bytes, 3), &out);
        arcp_error err = {0};
        check_ok(arcp_json_scan(&json, arcp_buf_span(&out), &limits, &err), &err);
        const arcp_span back = arcp_json_string(&json, ARCP_JSON_ROOT, &scratch);
        if (pair >> 8 < 0x80 && (pair & 0xff) < 0x80) {
            assert_true(arcp_span_equal(back, arcp_span_make(bytes, 3)));
        }
    }
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
}

typedef struct compact_row {
    const char *name;
    const char *text;
    const char *want;
} compact_row;

static const compact_row compacts[] = {
    {"nothing to drop", "{\"a\":[1,\"x y\"]}", "{\"a\":[1,\"x y\"]}"},
    {"white space of all kinds", " {\t\"a\"\r\n:\n[ 1 , 2 ]\n} ", "{\"a\":[1,2]}"},
    {"white space in strings stays", "[ \" a  b \" ]", "[\" a  b \"]"},
    {"a quote in a string", "[ \"a\\\" b\" , \" \\\\\" , 1 ]", "[\"a\\\" b\",\" \\\\\",1]"},
    {"characters of several bytes", "[ \"\xc3\xbc  \xe2\x82\xac\" ]",
     "[\"\xc3\xbc  \xe2\x82\xac\"]"},
    {"escapes and spellings stay", "[ \"\\u0041\" , 1.0e+00 ]", "[\"\\u0041\",1.0e+00]"},
    {"a long string", "[ \"0123456789 0123456789 \\n 0123456789\" ]",
     "[\"0123456789 0123456789 \\n 0123456789\"]"},
    {"empty containers", "[ [ ] , { } ]", "[[],{}]"},
    {"a scalar", "  true  ", "true"},
};

static void compacting_drops_white_space_and_nothing_else(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof compacts / sizeof *compacts; i++) {
        print_message("  %s\n", compacts[i].name);
        arcp_error err = {0};
        check_ok(arcp_json_scan(&json, arcp_span_cstr(compacts[i].text), &limits, &err), &err);
        arcp_buf out = arcp_buf_init();
        arcp_buf_append_cstr(&out, "=");
        arcp_json_compact(&json, ARCP_JSON_ROOT, &out);
        check_span(arcp_span_from(arcp_buf_span(&out), 1), compacts[i].want);
        arcp_buf_fini(&out);
    }
    arcp__json_fini(&json);
}

static void a_part_is_compacted_alone(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(
        arcp_json_scan(&json, ARCP_SPAN_LITERAL("{ \"a\" : [ 1, 2 ] , \"b\" : 3 }"), &limits, &err),
        &err);
    arcp_buf out = arcp_buf_init();
    arcp_json_compact(&json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("a")), &out);
    check_span(arcp_buf_span(&out), "[1,2]");
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
}

static void the_writer_places_commas(void **state)
{
    (void)state;
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &out);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "empty");
    arcp_json_begin_object(&writer);
    arcp_json_end_object(&writer);
    arcp_json_name(&writer, "list");
    arcp_json_begin_array(&writer);
    arcp_json_begin_array(&writer);
    arcp_json_end_array(&writer);
    arcp_json_write_u64(&writer, UINT64_MAX);
    arcp_json_write_i64(&writer, INT64_MIN);
    arcp_json_write_bool(&writer, true);
    arcp_json_write_bool(&writer, false);
    arcp_json_write_null(&writer);
    arcp_json_write_cstr(&writer, "a\"b");
    arcp_json_write_string(&writer, ARCP_SPAN_LITERAL("\0"));
    arcp_json_write_raw(&writer, ARCP_SPAN_LITERAL("{\"raw\":1}"));
    arcp_json_end_array(&writer);
    arcp_json_name_span(&writer, ARCP_SPAN_LITERAL("n\n"));
    arcp_json_write_raw(&writer, ARCP_SPAN_LITERAL("1.50"));
    arcp_json_end_object(&writer);
    assert_int_equal(arcp_buf_status(&out), ARCP_OK);
    check_span(arcp_buf_span(&out),
               "{\"empty\":{},\"list\":[[],18446744073709551615,-9223372036854775808,true,false,"
               "null,\"a\\\"b\",\"\\u0000\",{\"raw\":1}],\"n\\n\":1.50}");
    arcp_buf_fini(&out);
}

/* A name takes up to four bytes more than its text: comma, quotes, colon. */
static void the_writer_reserves_enough_wherever_the_buffer_ends(void **state)
{
    static const arcp_span texts[] = {SPAN(""), SPAN("plain"), SPAN("an escape\n")};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (unsigned before = 0; before < 256; before++) {
            arcp_buf out = arcp_buf_init();
            arcp_json_writer writer = {.out = &out};
            arcp_buf_append_format(&out, "%*s", (int)before, "");
            arcp_json_begin_object(&writer);
            for (unsigned member = 0; member < 2; member++) {
                arcp_json_name_span(&writer, texts[i]);
                assert_in_range(out.size, 1, out.capacity);
                arcp_json_write_string(&writer, texts[i]);
                assert_in_range(out.size, 1, out.capacity);
            }
            arcp_json_end_object(&writer);
            arcp_buf_fini(&out);
        }
    }
}

static void a_value_alone_has_no_comma(void **state)
{
    (void)state;
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &out);
    arcp_json_write_null(&writer);
    check_span(arcp_buf_span(&out), "null");
    arcp_buf_fini(&out);
}

static void sixty_four_levels_can_be_written(void **state)
{
    (void)state;
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &out);
    for (int level = 0; level < 64; level++) {
        arcp_json_begin_array(&writer);
        arcp_json_write_u64(&writer, 1);
    }
    for (int level = 0; level < 64; level++) {
        arcp_json_write_u64(&writer, 2);
        arcp_json_end_array(&writer);
    }
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, arcp_buf_span(&out), &limits, &err), &err);
    assert_int_equal(arcp_json_count(&json, ARCP_JSON_ROOT), 3);
    assert_int_equal(json.count, 64 * 3);
    arcp__json_fini(&json);
    arcp_buf_fini(&out);
}

/* Runs in a child of the test, since it ends with an assertion; returns whether it did. */
static bool asserts(void (*misuse)(arcp_json_writer *))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        arcp_buf out = arcp_buf_init();
        arcp_json_writer writer;
        arcp_json_writer_init(&writer, &out);
        misuse(&writer);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void open_sixty_five(arcp_json_writer *writer)
{
    for (int level = 0; level < 65; level++) {
        arcp_json_begin_array(writer);
    }
}

static void close_too_often(arcp_json_writer *writer)
{
    arcp_json_begin_array(writer);
    arcp_json_end_array(writer);
    arcp_json_end_array(writer);
}

static void name_without_value(arcp_json_writer *writer)
{
    arcp_json_begin_object(writer);
    arcp_json_name(writer, "a");
    arcp_json_end_object(writer);
}

static void misuse_of_the_writer_stops_the_program(void **state)
{
    (void)state;
    assert_true(asserts(open_sixty_five));
    assert_true(asserts(close_too_often));
    assert_true(asserts(name_without_value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_quoted_with_the_shortest_escapes),
        cmocka_unit_test(quoted_text_is_valid_and_unescapes_to_itself),
        cmocka_unit_test(compacting_drops_white_space_and_nothing_else),
        cmocka_unit_test(a_part_is_compacted_alone),
        cmocka_unit_test(the_writer_places_commas),
        cmocka_unit_test(the_writer_reserves_enough_wherever_the_buffer_ends),
        cmocka_unit_test(a_value_alone_has_no_comma),
        cmocka_unit_test(sixty_four_levels_can_be_written),
        cmocka_unit_test(misuse_of_the_writer_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
