/* The row by which a worker starts a program: written and read, and what cannot be in it. */
#include "support/check.h"

#include <sys/resource.h>

#include "worker/worker_frame.h"
#include "worker/worker_spec.h"

static const char *const words[] = {"/bin/agent", "", "two \"words\"", NULL};
static const char *const variables[] = {"PATH=/bin", "NAME=\xc3\xa4\n", NULL};

static arcp__process_spec whole_spec(void)
{
    static const arcp_launch_limit limits[] = {{RLIMIT_NOFILE, 64, 128},
                                               {RLIMIT_CORE, 0, ARCP_LAUNCH_NO_LIMIT}};
    return (arcp__process_spec){.argv = words,
                                .env = variables,
                                .cwd = "/srv/job",
                                .makes_cwd = true,
                                .user = "agent",
                                .limits = limits,
                                .limit_count = 2,
                                .is_plain = true,
                                .line_bytes_max = 4096,
                                .input_bytes_max = 70000};
}

static void check_words(const char *const *got, const char *const *wanted)
{
    size_t i = 0;
    for (; wanted[i] != NULL; i++) {
        assert_string_equal(got[i], wanted[i]);
    }
    assert_null(got[i]);
}

static void a_spec_is_the_same_after_its_row_was_read(void **state)
{
    const arcp__process_spec spec = whole_spec();
    arcp__process_spec read = {.argv = NULL};
    arcp__arena arena = {0};
    arcp_error error = {0};
    arcp_buf row = arcp_buf_init();
    (void)state;
    check_ok(arcp__worker_spec_write(&spec, &row, &error), &error);
    check_ok(arcp__worker_spec_read(arcp_buf_span(&row), &arena, &read, &error), &error);
    arcp_buf_fini(&row); /* nothing is borrowed from it */
    check_words(read.argv, words);
    check_words(read.env, variables);
    assert_string_equal(read.cwd, "/srv/job");
    assert_string_equal(read.user, "agent");
    assert_true(read.makes_cwd && read.is_plain);
    assert_int_equal(read.line_bytes_max, 4096);
    assert_int_equal(read.input_bytes_max, 70000);
    assert_int_equal(read.limit_count, 2);
    assert_int_equal(read.limits[0].resource, RLIMIT_NOFILE);
    assert_int_equal(read.limits[0].soft, 64);
    assert_int_equal(read.limits[0].hard, 128);
    assert_true(read.limits[1].hard == ARCP_LAUNCH_NO_LIMIT);
    arcp__arena_fini(&arena);
}

static void what_a_spec_does_not_have_is_not_in_it_afterwards(void **state)
{
    static const char *const command[] = {"agent", NULL};
    const arcp__process_spec spec = {.argv = command, .line_bytes_max = 1};
    arcp__process_spec read = whole_spec();
    arcp__arena arena = {0};
    arcp_error error = {0};
    arcp_buf row = arcp_buf_init();
    (void)state;
    check_ok(arcp__worker_spec_write(&spec, &row, &error), &error);
    check_ok(arcp__worker_spec_read(arcp_buf_span(&row), &arena, &read, &error), &error);
    assert_null(read.cwd);
    assert_null(read.user);
    assert_null(read.env[0]);
    assert_int_equal(read.limit_count, 0);
    assert_false(read.makes_cwd || read.is_plain);
    arcp__arena_fini(&arena);
    arcp_buf_fini(&row);
}

/* ---- what cannot be written ---- */

static void check_unwritable(const arcp__process_spec *spec, arcp_status status, const char *why)
{
    arcp_error error = {0};
    arcp_buf row = arcp_buf_init();
    arcp_buf_append_cstr(&row, "before");
    assert_int_equal(arcp__worker_spec_write(spec, &row, &error), status);
    assert_non_null(strstr(error.message, why));
    check_span(arcp_buf_span(&row), "before");
    arcp_buf_fini(&row);
}

static void a_sandbox_and_a_file_are_refused(void **state)
{
    const arcp__process_confinement confinement = {.etc = NULL};
    arcp__process_spec spec = whole_spec();
    (void)state;
    spec.confinement = &confinement;
    check_unwritable(&spec, ARCP_E_INVALID_REQUEST, "sandbox");
    spec = whole_spec();
    spec.file_name = "mcp.json";
    check_unwritable(&spec, ARCP_E_INVALID_REQUEST, "file");
}

static void text_that_json_cannot_carry_is_refused(void **state)
{
    static const char *const bad[] = {"\xff", NULL};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        arcp__process_spec spec = whole_spec();
        spec.argv = i == 0 ? bad : spec.argv;
        spec.env = i == 1 ? bad : spec.env;
        spec.cwd = i == 2 ? bad[0] : spec.cwd;
        spec.user = i == 3 ? bad[0] : spec.user;
        check_unwritable(&spec, ARCP_E_INVALID_REQUEST, "UTF-8");
    }
}

/* The longest value of a variable with which the row still fits. */
static void a_row_that_does_not_fit_into_a_head_is_refused(void **state)
{
    static char variable[ARCP__WORKER_HEAD_MAX];
    static const char *const pair[] = {variable, NULL};
    static const char *const command[] = {"a", NULL};
    const arcp__process_spec spec = {.argv = command, .env = pair, .line_bytes_max = 1};
    arcp_buf row = arcp_buf_init();
    (void)state;
    variable[0] = 'x';
    assert_int_equal(arcp__worker_spec_write(&spec, &row, NULL), ARCP_OK);
    const size_t most = ARCP__WORKER_HEAD_MAX - 4096 - (row.size - 1);
    memset(variable, 'x', most);
    arcp_buf_clear(&row);
    assert_int_equal(arcp__worker_spec_write(&spec, &row, NULL), ARCP_OK);
    variable[most] = 'x';
    check_unwritable(&spec, ARCP_E_LIMIT, "61441 bytes, more than 61440");
    arcp_buf_fini(&row);
}

/* ---- what cannot be read ---- */

typedef struct bad_row {
    const char *row, *why;
} bad_row;

static const bad_row bad_rows[] = {
    {"", ""},
    {"[]", "row"},
    {"{\"line_bytes\":1}", "row.command"},
    {"{\"command\":[],\"line_bytes\":1}", "row.command is empty"},
    {"{\"command\":\"a\",\"line_bytes\":1}", "row.command"},
    {"{\"command\":[\"a\"]}", "row.line_bytes"},
    {"{\"command\":[\"a\\u0000b\"],\"line_bytes\":1}", "row.command has a NUL"},
    {"{\"command\":[\"a\"],\"env\":[1],\"line_bytes\":1}", "row.env"},
    {"{\"command\":[\"a\"],\"cwd\":\"/\\u0000\",\"line_bytes\":1}", "row.cwd has a NUL"},
    {"{\"command\":[\"a\"],\"makes_cwd\":true,\"line_bytes\":1}", "row.makes_cwd needs a cwd"},
    {"{\"command\":[\"a\"],\"limits\":[[1,2]],\"line_bytes\":1}", "row.limits must have"},
    {"{\"command\":[\"a\"],\"limits\":[[1,2,3,4]],\"line_bytes\":1}", "row.limits must have"},
    {"{\"command\":[\"a\"],\"limits\":[[1,2,-1]],\"line_bytes\":1}", "row.limits must have"},
    {"{\"command\":[\"a\"],\"limits\":[[4294967296,2,3]],\"line_bytes\":1}", "unknown resource"},
    {"{\"command\":[[[[[[]]]]]],\"line_bytes\":1}", ""},
};

static void a_row_that_is_wrong_is_refused(void **state)
{
    const bad_row *bad = *state;
    arcp__process_spec read = {.user = "unchanged"};
    arcp__arena arena = {0};
    arcp_error error = {0};
    assert_int_equal(arcp__worker_spec_read(arcp_span_cstr(bad->row), &arena, &read, &error),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(error.message, bad->why));
    assert_string_equal(read.user, "unchanged");
    arcp__arena_fini(&arena);
}

static void check_count(const char *begin, const char *word, size_t count, const char *end,
                        arcp_status status)
{
    arcp__process_spec read = {.user = NULL};
    arcp__arena arena = {0};
    arcp_buf row = arcp_buf_init();
    arcp_buf_append_cstr(&row, begin);
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_cstr(&row, i == 0 ? "" : ",");
        arcp_buf_append_cstr(&row, word);
    }
    arcp_buf_append_cstr(&row, end);
    assert_int_equal(arcp__worker_spec_read(arcp_buf_span(&row), &arena, &read, NULL), status);
    arcp__arena_fini(&arena);
    arcp_buf_fini(&row);
}

static void words_and_limits_are_counted(void **state)
{
    static const char limits[] = "{\"command\":[\"a\"],\"line_bytes\":1,\"limits\":[";
    (void)state;
    check_count("{\"line_bytes\":1,\"command\":[", "\"a\"", 4096, "]}", ARCP_OK);
    check_count("{\"line_bytes\":1,\"command\":[", "\"a\"", 4097, "]}", ARCP_E_INVALID_REQUEST);
    check_count(limits, "[1,2,3]", 32, "]}", ARCP_OK);
    check_count(limits, "[1,2,3]", 33, "]}", ARCP_E_INVALID_REQUEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_is_the_same_after_its_row_was_read),
        cmocka_unit_test(what_a_spec_does_not_have_is_not_in_it_afterwards),
        cmocka_unit_test(a_sandbox_and_a_file_are_refused),
        cmocka_unit_test(text_that_json_cannot_carry_is_refused),
        cmocka_unit_test(a_row_that_does_not_fit_into_a_head_is_refused),
        cmocka_unit_test(words_and_limits_are_counted),
    };
    const int failed = run_rows(bad_rows, sizeof bad_rows / sizeof bad_rows[0], sizeof bad_rows[0],
                                a_row_that_is_wrong_is_refused);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
