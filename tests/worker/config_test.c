/* worker.yaml: what is refused, with its place; and the rows that are made of it. */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp_worker/jobs.h"
#include "arcp_worker/worker_config.h"

static char directory[] = "/tmp/arcp-worker-config-XXXXXX";
static char config_path[128], token_path[128];

static int begin(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(config_path, sizeof config_path, "%s/worker.yaml", directory);
    (void)snprintf(token_path, sizeof token_path, "%s/token", directory);
    FILE *file = fopen(token_path, "w");
    assert_non_null(file);
    assert_true(fputs("t\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(token_path, 0600), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(config_path);
    (void)unlink(token_path);
    return rmdir(directory);
}

/* Four lines, then `rows`. */
static arcp_status read_config(const char *rows, arcp__worker_config *out, arcp_error *err)
{
    FILE *file = fopen(config_path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "url: ws://127.0.0.1:1/w\ntoken_file: %s\nname: w\nstate: %s\n%s",
                        token_path, directory, rows) > 0);
    assert_int_equal(fclose(file), 0);
    return arcp__worker_config_read(config_path, out, err);
}

typedef struct refused_row {
    const char *name, *rows;
    const char *why; /* behind the name of the file */
} refused_row;

static const refused_row refused_rows[] = {
    {"a default version",
     "agents:\n  - {name: a, command: [c]}\n  - {name: b, command: [c], default: true}\n",
     ":7: agents[1].default: cannot be in worker.yaml: arcpd has the default"},
    {"a queue", "agents:\n  - name: a\n    command: [c]\n    queue: false\n",
     ":8: agents[0].queue: cannot be in worker.yaml: jobs of this agent wait in arcpd's"},
    {"a key that there is not", "agents:\n  - {name: a, command: [c], lane: 1}\n",
     ":6: agents[0].lane"},
    {"events of a job", "enforce: {denials_per_job: 1}\nagents: [{name: a, command: [c]}]\n",
     ":5: enforce.denials_per_job: cannot be in worker.yaml: arcpd counts"},
    {"models", "enforce: {allow_direct_models: true}\nagents: [{name: a, command: [c]}]\n",
     ":5: enforce.allow_direct_models"},
    {"a setting out of range", "enforce: {pids: 0}\nagents: [{name: a, command: [c]}]\n",
     ":5: enforce.pids"},
    {"a base that is relative", "enforce: {base: [x]}\nagents: [{name: a, command: [c]}]\n",
     ":5: enforce.base"},
    {"no agents", "capacity: 1\n", "needs url, token_file, name and agents"},
};

static void a_row_is_refused_with_its_place(void **state)
{
    for (size_t i = 0; i < sizeof refused_rows / sizeof *refused_rows; i++) {
        const refused_row *row = &refused_rows[i];
        arcp__worker_config config;
        arcp_error error = {0};
        (void)state;
        assert_int_equal(read_config(row->rows, &config, &error), ARCP_E_USAGE);
        if (strstr(error.message, row->why) == NULL ||
            strstr(error.message, "worker.yaml") == NULL) {
            fail_msg("%s: %s", row->name, error.message);
        }
        arcp__worker_config_fini(&config);
    }
}

/* The text is in the command once, and in the row of a job. */
static arcp_status read_with_bytes(size_t size, arcp_error *err)
{
    arcp__worker_config config;
    char *text = calloc(1, size + 128);
    assert_non_null(text);
    const int begun = snprintf(text, 128, "agents: [{name: a, command: [c, ");
    memset(text + begun, 'x', size);
    memcpy(text + begun + size, "]}]\n", 5);
    const arcp_status status = read_config(text, &config, err);
    arcp__worker_config_fini(&config);
    free(text);
    return status;
}

/* Its job would be refused: that is reported when the file is read. */
static void a_row_that_no_job_could_have_is_refused(void **state)
{
    arcp_error error = {0};
    size_t fits = 1000;
    size_t too_long = 61440;
    (void)state;
    while (too_long - fits > 1) {
        const size_t middle = (fits + too_long) / 2;
        *(read_with_bytes(middle, &error) == ARCP_OK ? &fits : &too_long) = middle;
    }
    assert_int_equal(read_with_bytes(fits, &error), ARCP_OK);
    assert_int_equal(read_with_bytes(fits + 1, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "worker.yaml:5: agents[0].name: the program"));
    assert_non_null(strstr(error.message, "have 53249 bytes, more than 53248"));
}

/* A hello has all offers in one head. */
static arcp_status read_with_directories(size_t count, size_t size, arcp_error *err)
{
    arcp__worker_config config;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "agents:\n");
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_format(&text, "  - {name: a%03zu, command: [c], cwd: \"/%0*d\"}\n", i,
                               (int)size - 1, 0);
    }
    arcp_buf_append_byte(&text, '\0');
    const arcp_status status = read_config(text.data, &config, err);
    arcp__worker_config_fini(&config);
    arcp_buf_fini(&text);
    return status;
}

static void agents_that_no_hello_could_have_are_refused(void **state)
{
    arcp_error error = {0};
    (void)state;
    assert_int_equal(read_with_directories(256, 40, &error), ARCP_OK);
    assert_int_equal(read_with_directories(257, 40, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "agents"));
    assert_int_equal(read_with_directories(256, 200, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "agents: what the worker says of them has"));
    assert_non_null(strstr(error.message, "bytes, more than 64512"));
}

static arcp_status write_row(const char *rows, const arcp__worker_start *start, arcp_buf *out,
                             arcp_error *err)
{
    static const arcp_launch_limit files = {.soft = 1024, .hard = 1024};
    const arcp__worker_terms terms = {.files = &files, .line_bytes = 4096, .cancel_grace_ms = 7};
    const arcp__worker_message order = {
        .kind = ARCP__WORKER_START, .start = *start, .body = ARCP_SPAN_LITERAL("{}")};
    const arcp__own_job job = {.order = &order, .jobs = "/jobs", .terms = &terms};
    arcp__worker_config config;
    assert_int_equal(read_config(rows, &config, err), ARCP_OK);
    const arcp_status status = arcp__worker_config_write_row(&config, &job, out, err);
    arcp__worker_config_fini(&config);
    return status;
}

typedef struct order_row {
    const char *name, *rows;
    arcp__worker_start start;
    arcp_status status;
    const char *has; /* the row, or the error */
} order_row;

#define A        .agent = {"a", sizeof "a" - 1}, .job = {"job_1", sizeof "job_1" - 1}
#define BARE     "agents: [{name: a, command: [c], confine: false}]\n"
#define CONFINED "agents: [{name: a, command: [c]}]\n"
static const order_row order_rows[] = {
    {"a job without a sandbox", BARE, {A}, ARCP_OK, "\"cwd\":\"/jobs/job_1\",\"makes_cwd\":true"},
    {"a job of a sandbox that is no more",
     BARE,
     {A, .is_confined = true},
     ARCP_E_AGENT_NOT_AVAILABLE,
     "the agent has none any more"},
    {"a job of a sandbox, and none are made",
     "enforce: {mode: off}\n" CONFINED,
     {A, .is_confined = true},
     ARCP_E_AGENT_NOT_AVAILABLE,
     "the agent has none any more"},
    {"a job of a sandbox", CONFINED, {A, .is_confined = true}, ARCP_OK, "\"confinement\":{"},
    {"a job of an agent that is confined by now", CONFINED, {A}, ARCP_OK, "\"confine\":true"},
    {"the worker's own files", CONFINED, {A}, ARCP_OK, "/token"},
    {"a served job",
     "agents: [{name: a, command: [c], mode: serve, processes: 2}]\n",
     {A},
     ARCP_OK,
     "\"processes\":2"},
    {"another agent",
     CONFINED,
     {.agent = {"b", sizeof "b" - 1}, .job = {"job_1", sizeof "job_1" - 1}},
     ARCP_E_NOT_FOUND,
     "no agent b"},
    {"a row",
     CONFINED,
     {A, .row = {"{}", sizeof "{}" - 1}},
     ARCP_E_INVALID_REQUEST,
     "takes no rows"},
    {"an id that is a path",
     CONFINED,
     {.agent = {"a", sizeof "a" - 1}, .job = {"../x", sizeof "../x" - 1}},
     ARCP_E_INVALID_REQUEST,
     "no job's id that is a path"},
};

static void a_job_gets_the_row_of_the_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof order_rows / sizeof *order_rows; i++) {
        const order_row *row = &order_rows[i];
        arcp_buf out = arcp_buf_secret_init();
        arcp_error error = {0};
        const arcp_status status = write_row(row->rows, &row->start, &out, &error);
        arcp_buf_append_byte(&out, '\0');
        if (status != row->status ||
            strstr(status == ARCP_OK ? out.data : error.message, row->has) == NULL) {
            fail_msg("%s: %s %s", row->name, error.message, out.data);
        }
        arcp_buf_fini(&out);
    }
}

static void arcpd_lists_agents_for_a_worker_without_a_file_only(void **state)
{
    const arcp__worker_config config = {.capacity = 1};
    arcp__hosted_jobs jobs = {.config = &config};
    (void)state;
    assert_null(arcp__hosted_jobs_programs(&jobs).warm);
    jobs.config = NULL;
    assert_non_null(arcp__hosted_jobs_programs(&jobs).warm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_refused_with_its_place),
        cmocka_unit_test(a_row_that_no_job_could_have_is_refused),
        cmocka_unit_test(agents_that_no_hello_could_have_are_refused),
        cmocka_unit_test(a_job_gets_the_row_of_the_file),
        cmocka_unit_test(arcpd_lists_agents_for_a_worker_without_a_file_only),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
