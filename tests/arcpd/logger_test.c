/* Lines of the log, and what a name in a field can do to them. */
#include "arcpd/arcpd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

static char line[1024];

/* The text that is written to standard error after the time. */
static const char *log_line(arcp__log_format format, const char *text, const char *fields)
{
    arcp__logger logger = {.level = ARCP_LOG_INFO, .format = format};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int errors = dup(STDERR_FILENO);
    assert_true(errors >= 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    arcp__logger_log_fields(&logger, ARCP_LOG_INFO, text, fields);
    assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
    (void)close(errors);
    (void)close(ends[1]);
    const ssize_t size = read(ends[0], line, sizeof line - 1);
    (void)close(ends[0]);
    assert_true(size > 0);
    line[size] = '\0';
    const char *level = strstr(line, "info");
    assert_non_null(level);
    return level;
}

static void fields_are_written_before_the_message(void **state)
{
    (void)state;
    assert_string_equal(
        log_line(ARCP__LOG_TEXT, "job ended", "{\"principal\":\"alice@x.org\",\"duration_ms\":7}"),
        "info  [principal=alice@x.org duration_ms=7] job ended\n");
    assert_string_equal(log_line(ARCP__LOG_TEXT, "ready", ""), "info  ready\n");
}

static void no_value_can_be_taken_for_more_than_one_field(void **state)
{
    (void)state;
    static const char *const values[][2] = {
        {"", "\"\""},
        {"a b", "\"a b\""},
        {"a status=success] job ended", "\"a status=success] job ended\""},
        {"a=b", "\"a=b\""},
        {"[", "\"[\""},
        {"\\\"a\\\"", "\"\\\"a\\\"\""},
        {"a\\\\", "\"a\\\\\""},
        {"a\\u001b\\n b", "\"a\\u001b\\n b\""},
        {"a\\u001b\\n", "a??"},
        {"a\xe2\x80\xae"
         "b",
         "a?b"},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char fields[128];
        char want[128];
        snprintf(fields, sizeof fields, "{\"principal\":\"%s\",\"n\":1}", values[i][0]);
        snprintf(want, sizeof want, "info  [principal=%s n=1] m\n", values[i][1]);
        assert_string_equal(log_line(ARCP__LOG_TEXT, "m", fields), want);
    }
}

/* A reader that does not read delays nothing; later it reads how many lines were lost. */
static void a_reader_that_does_not_read_is_not_waited_for(void **state)
{
    (void)state;
    arcp__logger logger = {.level = ARCP_LOG_INFO, .format = ARCP__LOG_TEXT};
    static char text[200001];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int errors = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    for (int i = 0; i < 5000; i++) { /* more than any pipe holds */
        arcp__logger_log(&logger, ARCP_LOG_INFO, "a line of some forty bytes, all of them idle");
    }
    uint64_t lost = logger.lost;
    ssize_t size = read(ends[0], text, sizeof text - 1);
    while (size > 0 && logger.lost != 0) {
        arcp__logger_log(&logger, ARCP_LOG_INFO, "the end");
        lost = logger.lost == 0 ? lost : logger.lost;
        if (logger.lost != 0) {
            size = read(ends[0], text, sizeof text - 1);
        }
    }
    assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
    (void)close(errors);
    (void)close(ends[1]);
    assert_true(lost != 0);
    bool is_reported = false;
    for (size = read(ends[0], text, sizeof text - 1); size > 0;
         size = read(ends[0], text, sizeof text - 1)) {
        text[size] = '\0';
        is_reported = is_reported || strstr(text, " log lines were lost)") != NULL;
    }
    (void)close(ends[0]);
    assert_true(is_reported);
}

static void members_of_a_json_line_are_its_fields(void **state)
{
    (void)state;
    assert_string_equal(log_line(ARCP__LOG_JSON, "a\n\"b\"", "{\"principal\":\"a b\"}"),
                        "info\",\"message\":\"a\\n\\\"b\\\"\",\"principal\":\"a b\"}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_written_before_the_message),
        cmocka_unit_test(no_value_can_be_taken_for_more_than_one_field),
        cmocka_unit_test(a_reader_that_does_not_read_is_not_waited_for),
        cmocka_unit_test(members_of_a_json_line_are_its_fields),
    };
    return cmocka_run_group_tests_name("arcpd_logger", tests, NULL, NULL);
}
