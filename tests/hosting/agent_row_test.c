/* The texts by which a worker hosts agents and their jobs: written and read, and what cannot be in
 * them. */
#include "support/check.h"

#include <sys/resource.h>

#include "hosting/agent_row.h"

static const char *const words[] = {"/bin/agent", "", "two \"words\"", NULL};
static const char *const variables[] = {"PATH=/bin", "NAME=\xc3\xa4\n", NULL};
static const char *const bases[] = {"/opt/agent", NULL};

#define TEXT_MAX 61440u

static arcp__agent_row whole_row(void)
{
    static const arcp_launch_limit limits[] = {{RLIMIT_NOFILE, 64, 128},
                                               {RLIMIT_CORE, 0, ARCP_LAUNCH_NO_LIMIT}};
    return (arcp__agent_row){.name = "agent",
                             .version = "1.0.0",
                             .command = words,
                             .cwd = "/srv/agent",
                             .user = "nobody",
                             .limits = limits,
                             .limit_count = 2,
                             .stderr_in_errors = true,
                             .warm = 3,
                             .without_gateways = true,
                             .confine = true,
                             .base = bases,
                             .protect = ARCP_PROTECT_STRICT,
                             .min = ARCP_ENFORCE_MIN_EXACT,
                             .tls = ARCP_ENFORCE_TLS_TERMINATE,
                             .pids = 7,
                             .cpu_percent = 50,
                             .memory_bytes = 1048576,
                             .processes = 2,
                             .concurrency = 32,
                             .jobs_per_process = 1000,
                             .process_memory_bytes = 4096};
}

static arcp__environment environment_of(const char *const *pairs)
{
    arcp__environment environment = {0};
    arcp__environment_pass(&environment, pairs);
    return environment;
}

static void check_words(const char *const *got, const char *const *wanted)
{
    size_t i = 0;
    for (; wanted[i] != NULL; i++) {
        assert_string_equal(got[i], wanted[i]);
    }
    assert_null(got[i]);
}

static void a_registration_is_the_same_after_its_text_was_read(void **state)
{
    arcp__agent_row row = whole_row();
    arcp__agent_row read = {.warm = 0};
    arcp__environment environment = environment_of(variables);
    arcp__arena arena = {0};
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    arcp_buf lease = arcp_buf_init();
    arcp_lease *granted = NULL;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    (void)state;
    arcp_lease_allow(builder, "fs.read", "/srv/**");
    check_ok(arcp_lease_build(builder, &granted, &error), &error);
    row.lease = granted;
    check_ok(arcp__agent_row_write(&row, &environment, &text, &error), &error);
    check_ok(arcp__agent_row_read(arcp_buf_span(&text), &arena, &read, &error), &error);
    arcp_buf_fini(&text); /* nothing is borrowed from it */
    assert_string_equal(read.name, "agent");
    assert_string_equal(read.version, "1.0.0");
    check_words(read.command, words);
    check_words(read.env, variables);
    check_words(read.base, bases);
    assert_true(read.env_is_all);
    assert_string_equal(read.cwd, "/srv/agent");
    assert_string_equal(read.user, "nobody");
    assert_int_equal(read.limit_count, 2);
    assert_int_equal(read.limits[0].resource, RLIMIT_NOFILE);
    assert_int_equal(read.limits[0].soft, 64);
    assert_int_equal(read.limits[0].hard, 128);
    assert_true(read.limits[1].hard == ARCP_LAUNCH_NO_LIMIT);
    assert_true(read.stderr_in_errors && read.without_gateways && read.confine);
    assert_false(read.is_plain);
    assert_int_equal(read.warm, 3);
    assert_int_equal(read.protect, ARCP_PROTECT_STRICT);
    assert_int_equal(read.min, ARCP_ENFORCE_MIN_EXACT);
    assert_int_equal(read.tls, ARCP_ENFORCE_TLS_TERMINATE);
    assert_int_equal(read.pids, 7);
    assert_int_equal(read.cpu_percent, 50);
    assert_int_equal(read.memory_bytes, 1048576);
    assert_int_equal(read.processes, 2);
    assert_int_equal(read.concurrency, 32);
    assert_int_equal(read.jobs_per_process, 1000);
    assert_int_equal(read.process_memory_bytes, 4096);
    arcp_lease_format(read.lease, &lease);
    check_span(arcp_buf_span(&lease), "{\"fs.read\":[\"/srv/**\"]}");
    arcp_buf_fini(&lease);
    arcp_lease_unref(read.lease);
    arcp_lease_unref(granted);
    arcp__arena_fini(&arena);
    arcp__environment_fini(&environment);
}

static void what_a_registration_does_not_have_is_not_in_it_afterwards(void **state)
{
    static const char *const command[] = {"agent", NULL};
    const arcp__agent_row row = {.command = command};
    arcp__agent_row read = whole_row();
    arcp__environment none = {0};
    arcp__arena arena = {0};
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    (void)state;
    check_ok(arcp__agent_row_write(&row, &none, &text, &error), &error);
    check_ok(arcp__agent_row_read(arcp_buf_span(&text), &arena, &read, &error), &error);
    assert_null(read.name);
    assert_null(read.cwd);
    assert_null(read.user);
    assert_null(read.env);
    assert_null(read.base);
    assert_null(read.lease);
    assert_int_equal(read.limit_count, 0);
    assert_false(read.is_plain || read.confine || read.stderr_in_errors);
    assert_int_equal(read.warm + read.processes + read.memory_bytes, 0);
    arcp__arena_fini(&arena);
    arcp_buf_fini(&text);
}

static void a_start_is_the_same_after_its_row_was_read(void **state)
{
    const arcp__start_row row = {.agent = ARCP_SPAN_LITERAL("{\"command\":[\"a\"]}"),
                                 .host = ARCP_SPAN_LITERAL("{\"line_bytes\":1}"),
                                 .env = variables,
                                 .cwd = ARCP_SPAN_LITERAL("/srv/job"),
                                 .owns_cwd = true,
                                 .endpoint = ARCP_SPAN_LITERAL("https://api.example.com")};
    arcp__start_row read;
    arcp__arena arena = {0};
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    (void)state;
    check_ok(arcp__start_row_write(&row, &text, &error), &error);
    check_ok(arcp__start_row_read(arcp_buf_span(&text), &arena, &read, &error), &error);
    check_span(read.agent, "{\"command\":[\"a\"]}");
    check_span(read.host, "{\"line_bytes\":1}");
    check_words(read.env, variables);
    check_span(read.cwd, "/srv/job");
    check_span(read.endpoint, "https://api.example.com");
    assert_true(read.owns_cwd);
    arcp__arena_fini(&arena);
    arcp_buf_fini(&text);
}

static void settings_are_the_same_after_they_were_read(void **state)
{
    arcp__hosting hosting = {.line_bytes_max = 4096, .cancel_grace_ms = 30000};
    arcp__hosting read = {.line_bytes_max = 1};
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    (void)state;
    hosting.enforce.min = 2;
    hosting.enforce.tls = 1;
    hosting.enforce.cgroup = 1;
    hosting.enforce.hides = hosting.enforce.outlasts_expiry = true;
    hosting.enforce.scratch_bytes = 65536;
    hosting.enforce.pids = 9;
    hosting.enforce.egress_idle_sec = 60;
    arcp__hosting_write(&hosting, arcp__hosting_options(&hosting), &text);
    check_ok(arcp__hosting_read(&read, arcp_buf_span(&text), &error), &error);
    assert_int_equal(read.line_bytes_max, 4096);
    assert_int_equal(read.cancel_grace_ms, 30000);
    assert_memory_equal(&read.enforce, &hosting.enforce, sizeof read.enforce);
    assert_null(read.confinement);
    arcp_buf_fini(&text);
}

/* ---- what cannot be written ---- */

static void check_unwritable(const arcp__agent_row *row, const char *const *env, arcp_status status,
                             const char *why)
{
    arcp__environment environment = environment_of(env);
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "before");
    assert_int_equal(arcp__agent_row_write(row, &environment, &text, &error), status);
    assert_non_null(strstr(error.message, why));
    check_span(arcp_buf_span(&text), "before");
    arcp_buf_fini(&text);
    arcp__environment_fini(&environment);
}

static void text_that_json_cannot_carry_is_refused(void **state)
{
    static const char *const bad[] = {"A=\xff", NULL};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        arcp__agent_row row = whole_row();
        row.command = i == 0 ? bad : row.command;
        row.base = i == 1 ? bad : row.base;
        row.cwd = i == 2 ? bad[0] : row.cwd;
        row.user = i == 3 ? bad[0] : row.user;
        check_unwritable(&row, i == 4 ? bad : variables, ARCP_E_INVALID_REQUEST, "UTF-8");
    }
}

/* The longest value of a variable with which the text still fits. */
static void a_registration_that_does_not_fit_is_refused(void **state)
{
    static char variable[TEXT_MAX + 8] = "A=x";
    static const char *const pair[] = {variable, NULL};
    static const char *const command[] = {"a", NULL};
    const arcp__agent_row row = {.command = command};
    arcp_buf text = arcp_buf_init();
    (void)state;
    arcp__environment environment = environment_of(pair);
    assert_int_equal(arcp__agent_row_write(&row, &environment, &text, NULL), ARCP_OK);
    arcp__environment_fini(&environment);
    const size_t most = TEXT_MAX - text.size;
    memset(variable + 3, 'x', most);
    arcp_buf_clear(&text);
    environment = environment_of(pair);
    assert_int_equal(arcp__agent_row_write(&row, &environment, &text, NULL), ARCP_OK);
    arcp__environment_fini(&environment);
    assert_int_equal(text.size, TEXT_MAX);
    variable[3 + most] = 'x';
    check_unwritable(&row, pair, ARCP_E_LIMIT, "61441 bytes, more than 61440");
    arcp_buf_fini(&text);
}

/* ---- what cannot be read ---- */

typedef struct bad_row {
    const char *text, *why;
} bad_row;

static const bad_row bad_agents[] = {
    {"", ""},
    {"[]", "agent"},
    {"{}", "agent.command"},
    {"{\"command\":[]}", "agent.command is empty"},
    {"{\"command\":\"a\"}", "agent.command"},
    {"{\"command\":[\"a\\u0000b\"]}", "agent.command has a NUL"},
    {"{\"command\":[\"a\"],\"env\":[1]}", "agent.env"},
    {"{\"command\":[\"a\"],\"cwd\":\"/\\u0000\"}", "agent.cwd has a NUL"},
    {"{\"command\":[\"a\"],\"limits\":[[1,2]]}", "agent.limits must have"},
    {"{\"command\":[\"a\"],\"limits\":[[1,2,3,4]]}", "agent.limits must have"},
    {"{\"command\":[\"a\"],\"limits\":[[1,2,-1]]}", "agent.limits must have"},
    {"{\"command\":[\"a\"],\"limits\":[[4294967296,2,3]]}", "unknown resource"},
    {"{\"command\":[\"a\"],\"pids\":4294967296}", "out of range"},
    {"{\"command\":[\"a\"],\"processes\":1}", "out of range"},
    {"{\"command\":[\"a\"],\"processes\":1,\"concurrency\":1,\"plain\":true}", "out of range"},
    {"{\"command\":[\"a\"],\"lease\":{\"fs.read\":1}}", ""},
    {"{\"command\":[[[[[[[[]]]]]]]]}", ""},
};

static void a_registration_that_is_wrong_is_refused(void **state)
{
    const bad_row *bad = *state;
    arcp__agent_row read;
    arcp__arena arena = {0};
    arcp_error error = {0};
    assert_int_not_equal(arcp__agent_row_read(arcp_span_cstr(bad->text), &arena, &read, &error),
                         ARCP_OK);
    assert_non_null(strstr(error.message, bad->why));
    arcp_lease_unref(read.lease);
    arcp__arena_fini(&arena);
}

static const bad_row bad_starts[] = {
    {"{\"host\":{\"line_bytes\":1}}", "row.agent"},
    {"{\"agent\":{\"command\":[\"a\"]}}", "row.host"},
    {"{\"agent\":{},\"host\":{},\"job\":{\"env\":[\"a\\u0000b\"]}}", "env has a NUL"},
    {"{\"agent\":{},\"host\":{},\"job\":{\"cwd\":\"/\\u0000\"}}", "cwd has a NUL"},
    {"{\"agent\":{},\"host\":{},\"job\":{\"makes_cwd\":true}}", "makes_cwd needs a cwd"},
};

static void a_start_that_is_wrong_is_refused(void **state)
{
    const bad_row *bad = *state;
    arcp__start_row read;
    arcp__arena arena = {0};
    arcp_error error = {0};
    assert_int_equal(arcp__start_row_read(arcp_span_cstr(bad->text), &arena, &read, &error),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(error.message, bad->why));
    arcp__arena_fini(&arena);
}

static const bad_row bad_hosts[] = {
    {"{}", "host.line_bytes"},
    {"{\"line_bytes\":0}", "host.line_bytes"},
    {"{\"line_bytes\":1,\"confinement\":{\"own\":\"/\"}}", "host.own must be a list"},
    {"{\"line_bytes\":1,\"confinement\":{\"base\":[\"a\\u0000b\"]}}", "host.base has a NUL"},
};

static void settings_that_are_wrong_are_refused(void **state)
{
    const bad_row *bad = *state;
    arcp__hosting read = {.line_bytes_max = 7};
    arcp_error error = {0};
    assert_int_equal(arcp__hosting_read(&read, arcp_span_cstr(bad->text), &error),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(error.message, bad->why));
    assert_int_equal(read.line_bytes_max, 7);
}

static void check_count(const char *begin, const char *word, size_t count, arcp_status status)
{
    arcp__agent_row read;
    arcp__arena arena = {0};
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, begin);
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_cstr(&text, i == 0 ? "" : ",");
        arcp_buf_append_cstr(&text, word);
    }
    arcp_buf_append_cstr(&text, "]}");
    assert_int_equal(arcp__agent_row_read(arcp_buf_span(&text), &arena, &read, NULL), status);
    arcp__arena_fini(&arena);
    arcp_buf_fini(&text);
}

static void words_and_limits_are_counted(void **state)
{
    static const char limits[] = "{\"command\":[\"a\"],\"limits\":[";
    (void)state;
    check_count("{\"command\":[", "\"a\"", 4096, ARCP_OK);
    check_count("{\"command\":[", "\"a\"", 4097, ARCP_E_INVALID_REQUEST);
    check_count(limits, "[1,2,3]", 32, ARCP_OK);
    check_count(limits, "[1,2,3]", 33, ARCP_E_INVALID_REQUEST);
}

/* A registration with so many empty words and so many bytes of text, and no variables. */
static arcp_status check_start(size_t count, size_t size, arcp_error *err)
{
    static const char *const none[] = {NULL};
    const char *command[4099] = {NULL};
    char *text = calloc(1, size + 1);
    const arcp__environment environment = environment_of(none);
    arcp__agent_row row = {.name = "a", .command = command};
    arcp_buf agent = arcp_buf_secret_init();
    arcp_error error = {0};
    assert_non_null(text);
    memset(text, 'x', size);
    for (size_t i = 0; i < count; i++) {
        command[i] = i == 0 ? text : "";
    }
    check_ok(arcp__agent_row_write(&row, &environment, &agent, &error), &error);
    const arcp_status status = arcp__start_row_check(
        arcp_buf_span(&agent), ARCP_SPAN_LITERAL("{\"line_bytes\":1}"), &environment, err);
    arcp_buf_fini(&agent);
    free(text);
    return status;
}

/* What a job could not have is refused with its registration. */
static void a_start_that_does_not_fit_is_refused_before(void **state)
{
    arcp_error error = {0};
    size_t fits = 1;
    size_t too_long = TEXT_MAX - 1024;
    (void)state;
    check_ok(check_start(4096, 1, &error), &error);
    assert_int_equal(check_start(4097, 1, &error), ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(error.message, "more than 4096 words"));
    while (too_long - fits > 1) {
        const size_t middle = (fits + too_long) / 2;
        *(check_start(1, middle, &error) == ARCP_OK ? &fits : &too_long) = middle;
    }
    check_ok(check_start(1, fits, &error), &error);
    assert_int_equal(check_start(1, fits + 1, &error), ARCP_E_LIMIT);
    assert_non_null(strstr(error.message, "53249 bytes, more than 53248"));
}

#define ROWS(rows, test)                                                                           \
    run_rows((rows), sizeof(rows) / sizeof((rows)[0]), sizeof((rows)[0]), (test))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registration_is_the_same_after_its_text_was_read),
        cmocka_unit_test(what_a_registration_does_not_have_is_not_in_it_afterwards),
        cmocka_unit_test(a_start_is_the_same_after_its_row_was_read),
        cmocka_unit_test(settings_are_the_same_after_they_were_read),
        cmocka_unit_test(text_that_json_cannot_carry_is_refused),
        cmocka_unit_test(a_registration_that_does_not_fit_is_refused),
        cmocka_unit_test(words_and_limits_are_counted),
        cmocka_unit_test(a_start_that_does_not_fit_is_refused_before),
    };
    int failed = ROWS(bad_agents, a_registration_that_is_wrong_is_refused);
    failed += ROWS(bad_starts, a_start_that_is_wrong_is_refused);
    failed += ROWS(bad_hosts, settings_that_are_wrong_are_refused);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
