/* Jobs: how many per second a runtime accepts, starts and ends, from a client on a WebSocket.
 *
 * Agents that are callbacks: with memory:, beside as many requests over a socket that another
 * thread answers; with sqlite:, beside two measured commits per job: with 64 jobs in flight, each
 * of which waits for the commit that holds its acceptance and for the one that holds its end,
 * no runtime can do more than 64 jobs in two commits. Agents that are processes, beside a plain
 * fork, exec and wait of the same program with the same line on its standard input, as many
 * at a time. Agents whose process runs all jobs (mode: serve), in C and in Python with the helper,
 * in threads and on asyncio. The gate over an agent's pipe, beside an echo over two pipes. */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"
#include "frame_client.h"
#include "harness.h"
#include "served_runtime.h"

#define IN_FLIGHT       64u
#define PROCESSES       8u
#define PYTHON          "/usr/bin/python3"
#define PYTHON_CASES    5u /* the last ones */
#define QUESTIONS_A_JOB 5000u

static const char python[] = "import sys\n"
                             "sys.stdin.readline()\n"
                             "print('{\"type\":\"job.result\",\"payload\":{\"result\":1}}')\n";
static const char threads[] = "import arcp_agent\narcp_agent.serve(lambda job: 1)\n";
static const char asyncio[] = "import arcp_agent\n"
                              "async def run(job):\n"
                              "    return 1\n"
                              "arcp_agent.serve(run)\n";
static const char *const native_command[] = {ARCP_JOBS_BENCH_AGENT, NULL};
static const char *const served_command[] = {ARCP_SERVE_BENCH_AGENT, NULL};
static const char *const threads_command[] = {PYTHON, "-c", threads, NULL};
static const char *const asyncio_command[] = {PYTHON, "-c", asyncio, NULL};
static const char *const helpers[] = {"PYTHONPATH=" ARCP_SERVE_BENCH_HELPERS, NULL};
static const char *const python_command[] = {PYTHON, "-c", python, NULL};

static served_runtime memory_runtime, sqlite_runtime;

static bool has_python(void)
{
    return access(PYTHON, X_OK) == 0;
}

/* ---- the runtime's side ---- */

static void quick(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static void add_agents(served_runtime *served)
{
    arcp_error error = {0};
    arcp_agent agent = arcp_agent_init();
    agent.name = "quick";
    agent.kind = ARCP_AGENT_NON_BLOCKING;
    agent.run = quick;
    must(arcp_runtime_register(served->runtime, &agent, &error), &error);
    const struct {
        const char *name;
        const char *const *command;
        size_t warm, processes;
    } rows[] = {{"native", native_command, 0, 0},
                {"python", python_command, 0, 0},
                {"warm-python", python_command, PROCESSES, 0},
                {"served", served_command, 0, 1},
                {"served-threads", threads_command, 0, 1},
                {"served-asyncio", asyncio_command, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_process_agent process = arcp_process_agent_init();
        process.name = rows[i].name;
        process.command = rows[i].command;
        process.env = helpers;
        process.processes = rows[i].processes;
        process.concurrency = IN_FLIGHT;
        process.warm = served == &memory_runtime && has_python() ? rows[i].warm : 0;
        must(arcp_runtime_register_process(served->runtime, &process, &error), &error);
    }
}

/* ---- jobs ---- */

typedef struct job_bench {
    const served_runtime *served;
    const char *agent;
    unsigned in_flight;
} job_bench;

static void jobs(void *state, uint64_t iterations)
{
    const job_bench *bench = state;
    client_run_jobs(bench->served->port, bench->agent, bench->in_flight, iterations);
}

/* A submit's bytes, answered with those of job.accepted, running and job.result. */
static void bare_requests(void *state, uint64_t iterations)
{
    const bench_exchange how = {IN_FLIGHT, 130, 900};
    (void)state;
    bench_socket_requests(&how, iterations);
}

static void gate_over_pipe(void *state, uint64_t iterations)
{
    const served_runtime *served = state;
    client c;
    client_open(&c, served->port);
    for (uint64_t left = iterations; left > 0;) {
        char input[32];
        const uint64_t questions = left < QUESTIONS_A_JOB ? left : QUESTIONS_A_JOB;
        (void)snprintf(input, sizeof input, "%llu", (unsigned long long)questions);
        client_submit(&c, "native", input);
        while (!frame_is(client_next_frame(&c), "\"job.result\"")) {
        }
        left -= questions;
    }
    client_close(&c);
}

/* ---- baselines ---- */

typedef struct commit_bench {
    arcp_store *store;
    uint64_t next_batch, done;
    uint64_t next_job;
} commit_bench;

static void on_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    commit_bench *bench = user;
    must(status, err);
    bench->done = batch_id;
}

/* One commit with a record and a row of each of 64 jobs, as the engine writes them. */
static void commit(commit_bench *bench, uint64_t first_job, uint64_t position)
{
    static char record[260], row[520];
    static char streams[IN_FLIGHT][40], keys[IN_FLIGHT][40];
    arcp_store_op ops[2 * IN_FLIGHT];
    arcp_error error = {0};
    memset(record, 'r', sizeof record);
    memset(row, 'w', sizeof row);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        const unsigned long long job = first_job + i;
        (void)snprintf(streams[i], sizeof streams[i], "j:job_%026llu", job);
        (void)snprintf(keys[i], sizeof keys[i], "job_%026llu", job);
        ops[2 * i] = (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                     .position = position,
                                     .key = arcp_span_cstr(streams[i]),
                                     .value = arcp_span_make(record, sizeof record)};
        ops[2 * i + 1] = (arcp_store_op){.kind = ARCP_STORE_PUT,
                                         .table = ARCP_STORE_JOBS,
                                         .key = arcp_span_cstr(keys[i]),
                                         .value = arcp_span_make(row, sizeof row)};
    }
    arcp_store_batch batch = {
        .id = ++bench->next_batch, .ops = ops, .count = sizeof ops / sizeof ops[0]};
    must(bench->store->ops->submit(bench->store, &batch, &error), &error);
    while (bench->done != batch.id) {
        if (!bench->store->ops->poll(bench->store)) {
            (void)poll(NULL, 0, 0);
        }
    }
}

static void two_commits(void *state, uint64_t iterations)
{
    commit_bench *bench = state;
    for (uint64_t job = 0; job < iterations; job += IN_FLIGHT) {
        commit(bench, bench->next_job, 0);
        commit(bench, bench->next_job, 1);
        bench->next_job += IN_FLIGHT;
    }
}

typedef struct child {
    pid_t pid;
    int out;
} child;

/* A process as a shell would start it: its line on a pipe, its answer on another. */
static child start_child(const char *const *command)
{
    static const char line[] = "{\"type\":\"job.start\",\"payload\":{\"input\":null}}\n";
    int in[2];
    int out[2];
    child made;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        exit(1);
    }
    /* posix_spawn copies no page tables, which the jobs before have made long. */
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (posix_spawn(&made.pid, command[0], &actions, NULL, (char *const *)(const void *)command,
                    environ) != 0) {
        exit(1);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(out[1]);
    bench_write_all(in[1], line, sizeof line - 1);
    (void)close(in[1]);
    made.out = out[0];
    return made;
}

static void end_child(const child *ended)
{
    char answer[256];
    ssize_t got = 0;
    size_t size = 0;
    int status = 0;
    while ((got = read(ended->out, answer + size, sizeof answer - size)) > 0) {
        size += (size_t)got;
    }
    (void)close(ended->out);
    if (waitpid(ended->pid, &status, 0) != ended->pid || status != 0 || size == 0) {
        (void)fprintf(stderr, "bench: a child ended with %d\n", status);
        exit(1);
    }
}

typedef struct plain_bench {
    const char *const *command;
} plain_bench;

static void plain_children(void *state, uint64_t iterations)
{
    const char *const *command = ((const plain_bench *)state)->command;
    child running[PROCESSES];
    uint64_t started = 0;
    for (uint64_t ended = 0; ended < iterations; ended++) {
        for (; started < iterations && started - ended < PROCESSES; started++) {
            running[started % PROCESSES] = start_child(command);
        }
        end_child(&running[ended % PROCESSES]);
    }
}

static void *echo(void *argument)
{
    const int *fds = argument;
    char bytes[256];
    ssize_t got = 0;
    while ((got = read(fds[0], bytes, sizeof bytes)) > 0) {
        bench_write_all(fds[1], bytes, (size_t)got);
    }
    return NULL;
}

static void pipe_echo(void *state, uint64_t iterations)
{
    int there[2];
    int back[2];
    char bytes[128] = {0};
    pthread_t thread;
    (void)state;
    if (pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0) {
        exit(1);
    }
    int ends[2] = {there[0], back[1]};
    (void)pthread_create(&thread, NULL, echo, ends);
    for (uint64_t i = 0; i < iterations; i++) {
        bench_write_all(there[1], bytes, sizeof bytes);
        const ssize_t got = read(back[0], bytes, sizeof bytes);
        assert(got > 0);
        (void)got;
    }
    (void)close(there[1]);
    (void)pthread_join(thread, NULL);
    (void)close(there[0]);
    (void)close(back[0]);
    (void)close(back[1]);
}

/* ---- main ---- */

int main(int argc, char **argv)
{
    char directory[] = "/tmp/arcp-bench-XXXXXX";
    char served[128];
    char bare[128];
    arcp_error error = {0};
    commit_bench commits = {0};
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    (void)snprintf(served, sizeof served, "sqlite:%s/served.db", directory);
    (void)snprintf(bare, sizeof bare, "sqlite:%s/bare.db", directory);
    must(arcp_store_open(bare, &commits.store, &error), &error);
    arcp_store_callbacks callbacks = {.done = on_done, .user = &commits};
    commits.store->ops->set_callbacks(commits.store, &callbacks);
    served_runtime_start(&memory_runtime, "memory:", add_agents);
    served_runtime_start(&sqlite_runtime, served, add_agents);
    job_bench rows[] = {{&memory_runtime, "quick", IN_FLIGHT},
                        {&sqlite_runtime, "quick", IN_FLIGHT},
                        {&memory_runtime, "native", PROCESSES},
                        {&memory_runtime, "python", PROCESSES},
                        {&memory_runtime, "warm-python", PROCESSES},
                        {&memory_runtime, "served", IN_FLIGHT},
                        {&memory_runtime, "served-threads", IN_FLIGHT},
                        {&memory_runtime, "served-asyncio", IN_FLIGHT}};
    plain_bench native = {native_command};
    plain_bench snake = {python_command};
    const bench_case cases[] = {
        {"bare requests over a socket, 64 in flight", NULL, bare_requests, NULL, 1, "jobs/s",
         20000},
        {"in-process, memory:, 64 in flight", "bare requests over a socket, 64 in flight", jobs,
         &rows[0], 1, "jobs/s", 20000},
        {"two commits for 64 jobs, sqlite:", NULL, two_commits, &commits, 1, "jobs/s", 6400},
        {"in-process, sqlite:, 64 in flight", "two commits for 64 jobs, sqlite:", jobs, &rows[1], 1,
         "jobs/s", 6400},
        {"fork and exec, 8 at once", NULL, plain_children, &native, 1, "jobs/s", 400},
        {"process agents, 8 in flight", "fork and exec, 8 at once", jobs, &rows[2], 1, "jobs/s",
         400},
        {"served, memory:, 64 in flight", "bare requests over a socket, 64 in flight", jobs,
         &rows[5], 1, "jobs/s", 20000},
        {"echo over two pipes", NULL, pipe_echo, NULL, 0, NULL, 10000},
        {"gate over the agent's pipe", "echo over two pipes", gate_over_pipe, &memory_runtime, 0,
         NULL, 10000},
        {"fork and exec of Python, 8 at once", NULL, plain_children, &snake, 1, "jobs/s", 100},
        {"Python agents, 8 in flight", "fork and exec of Python, 8 at once", jobs, &rows[3], 1,
         "jobs/s", 100},
        {"warm Python agents, 8 in flight", "fork and exec of Python, 8 at once", jobs, &rows[4], 1,
         "jobs/s", 100},
        {"served Python, threads, 64 in flight", "fork and exec of Python, 8 at once", jobs,
         &rows[6], 1, "jobs/s", 5000},
        {"served Python, asyncio, 64 in flight", "fork and exec of Python, 8 at once", jobs,
         &rows[7], 1, "jobs/s", 5000},
    };
    const size_t count = sizeof cases / sizeof cases[0] - (has_python() ? 0 : PYTHON_CASES);
    const int status = bench_main(argc, argv, "jobs, from submit to result", cases, count);
    served_runtime_stop(&memory_runtime);
    served_runtime_stop(&sqlite_runtime);
    commits.store->ops->close(commits.store);
    served_store_remove(directory, "served.db");
    served_store_remove(directory, "bare.db");
    if (rmdir(directory) != 0) {
        (void)fprintf(stderr, "bench: %s is left\n", directory);
    }
    return status;
}
