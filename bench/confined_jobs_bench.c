/* Jobs of programs, one at a time, from submit to result: bare, each started in a sandbox, and in
 * sandboxes that wait for their job (warm). Of a native program and of Python.
 *
 * A run is the mean of a few jobs. Before each there is a pause, which is not counted, in which a
 * waiting process is replaced. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frame_client.h"
#include "harness.h"
#include "served_runtime.h"
#include "support/remove_tree.h"

#define JOBS         10u
#define PAUSE_US     100000u
#define PYTHON       "/usr/bin/python3"
#define PYTHON_CASES 3u /* the last ones */

static const char python[] = "import sys, json\n"
                             "sys.stdin.readline()\n"
                             "print('{\"type\":\"job.result\",\"payload\":{\"result\":1}}')\n";
static const char *const native_command[] = {ARCP_JOBS_BENCH_AGENT, NULL};
static const char *const python_command[] = {PYTHON, "-c", python, NULL};

static served_runtime runtime;

static const struct agent_row {
    const char *name;
    const char *const *command;
    bool is_confined;
    size_t warm;
} rows[] = {
    {"native/bare", native_command, false, 0}, {"native/cold", native_command, true, 0},
    {"native/warm", native_command, true, 2},  {"python/bare", python_command, false, 0},
    {"python/cold", python_command, true, 0},  {"python/warm", python_command, true, 2},
};
#define ROWS (sizeof rows / sizeof rows[0])

static size_t row_count(void)
{
    return access(PYTHON, X_OK) == 0 ? ROWS : ROWS - PYTHON_CASES;
}

static void add_agents(served_runtime *served)
{
    arcp_error error = {0};
    for (size_t i = 0; i < row_count(); i++) {
        char name[16];
        arcp_process_agent agent = arcp_process_agent_init();
        (void)snprintf(name, sizeof name, "agent%zu", i);
        agent.name = name;
        agent.command = rows[i].command;
        agent.confine = rows[i].is_confined;
        agent.warm = rows[i].warm;
        must(arcp_runtime_register_process(served->runtime, &agent, &error), &error);
    }
}

static void job(void *state, uint64_t iterations)
{
    const struct agent_row *row = state;
    char name[16];
    int64_t sum_ns = 0;
    (void)snprintf(name, sizeof name, "agent%zu", (size_t)(row - rows));
    for (unsigned i = 0; i < JOBS; i++) {
        client c;
        (void)usleep(PAUSE_US);
        client_open(&c, runtime.port);
        const int64_t began_ns = bench_now_ns();
        client_submit(&c, name, "null");
        while (!frame_is(client_next_frame(&c), "\"job.result\"")) {
        }
        sum_ns += bench_now_ns() - began_ns;
        client_close(&c);
    }
    bench_set_value((double)sum_ns / JOBS);
}

int main(int argc, char **argv)
{
    static char directory[] = "/tmp/arcp-bench-XXXXXX";
    static char names[ROWS][32];
    arcp_enforce_options enforce = arcp_enforce_options_init();
    bench_case cases[ROWS];
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    enforce.sandbox = ARCP_BINARY_DIR "/bin/arcp-sandbox";
    runtime.enforce = &enforce;
    runtime.work_directory = directory;
    served_runtime_start(&runtime, "memory:", add_agents);
    for (size_t i = 0; i < row_count(); i++) {
        const union { /* the bench changes nothing there */
            const struct agent_row *from;
            void *to;
        } row = {&rows[i]};
        (void)snprintf(names[i], sizeof names[i], "job/%s", rows[i].name);
        cases[i] = (bench_case){.name = names[i],
                                .baseline = i % 3 == 0 ? NULL : names[i - i % 3],
                                .run = job,
                                .state = row.to,
                                .iterations = 1};
    }
    const int status = bench_main(argc, argv, "jobs in sandboxes", cases, row_count());
    served_runtime_stop(&runtime);
    if (remove_tree(directory) != 0) {
        (void)fprintf(stderr, "bench: %s is left\n", directory);
    }
    return status;
}
