/* The whole path: an in-process agent says something, a client on a WebSocket over loopback
 * has it. The runtime runs on one thread, the agent on another, the client (which only
 * cuts frames) on a third. Baselines: the same bytes through a socket, as fast as the system
 * moves them, and as many requests that another thread answers with as many bytes. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <arcp/runtime.h>

#include "bare.h"
#include "frame_client.h"
#include "harness.h"

typedef struct rig {
    uv_loop_t loop;
    uv_async_t stop;
    arcp_runtime *runtime;
    pthread_t thread;
    pthread_barrier_t ready;
    char url[256];
    char store_url[256];
    uint64_t events; /* per job of the chatty agent */
    int port;
} rig;

/* ---- the runtime's side ---- */

static void let_in(void *user, arcp_token_question *question)
{
    arcp_token_answer answer = ARCP_TOKEN_ANSWER_INIT;
    (void)user;
    answer.status = ARCP_OK;
    answer.principal = arcp_token_question_token(question);
    arcp_token_question_answer(question, &answer);
}

static void chatty(arcp_agent_call *call, void *user)
{
    const rig *r = user;
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"level\":\"info\",\"message\":\"%.*s\"}", 20,
                   "a line of twenty chr");
    arcp_span span = arcp_span_cstr(body);
    for (uint64_t at = 0; at < r->events; at++) {
        if (arcp_agent_event(call, "log", span, NULL) != ARCP_OK) {
            return;
        }
    }
}

static void quick(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static void on_stopped(void *user)
{
    rig *r = user;
    uv_close((uv_handle_t *)&r->stop, NULL);
    arcp_runtime_free(r->runtime);
}

static void on_stop(uv_async_t *handle)
{
    rig *r = handle->data;
    arcp_runtime_stop(r->runtime, on_stopped, r);
}

static void must(arcp_status status, const arcp_error *error)
{
    if (status != ARCP_OK) {
        (void)fprintf(stderr, "bench: %s\n", error->message);
        exit(1);
    }
}

static void *run_runtime(void *argument)
{
    rig *r = argument;
    arcp_error error = {0};
    arcp_settings settings;
    arcp_runtime_options options = ARCP_RUNTIME_OPTIONS_INIT;
    const char *url = NULL;
    arcp_token_verifier *verifier = NULL;
    (void)uv_loop_init(&r->loop);
    (void)uv_async_init(&r->loop, &r->stop, on_stop);
    r->stop.data = r;
    arcp_settings_default(&settings);
    settings.shutdown_grace_sec = 0;
    settings.jobs_keep_terminal_sec = 1;
    settings.limits_jobs_per_session = 100000;
    settings.limits_jobs_per_principal = 100000;
    must(arcp_store_open(r->store_url, &options.store, &error), &error);
    options.settings = &settings;
    must(arcp_runtime_new(&r->loop, &options, &r->runtime, &error), &error);
    must(arcp_token_verifier_new_callback(let_in, NULL, NULL, &verifier, &error), &error);
    must(arcp_runtime_set_token_verifiers(r->runtime, &verifier, 1, &error), &error);
    arcp_agent agents[2] = {ARCP_AGENT_INIT, ARCP_AGENT_INIT};
    agents[0].name = "chatty";
    agents[0].run = chatty;
    agents[0].user = r;
    agents[1].name = "quick";
    agents[1].kind = ARCP_AGENT_NON_BLOCKING;
    agents[1].run = quick;
    must(arcp_runtime_register(r->runtime, &agents[0], &error), &error);
    must(arcp_runtime_register(r->runtime, &agents[1], &error), &error);
    must(arcp_runtime_listen(r->runtime, "ws://127.0.0.1:0/arcp", NULL, &url, &error), &error);
    (void)snprintf(r->url, sizeof(r->url), "%s", url);
    (void)pthread_barrier_wait(&r->ready);
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&r->loop);
    return NULL;
}

static void rig_start(rig *r, const char *store_url)
{
    (void)snprintf(r->store_url, sizeof(r->store_url), "%s", store_url);
    (void)pthread_barrier_init(&r->ready, NULL, 2);
    (void)pthread_create(&r->thread, NULL, run_runtime, r);
    (void)pthread_barrier_wait(&r->ready);
    r->port = (int)strtol(strrchr(r->url, ':') + 1, NULL, 10);
}

static void rig_stop(rig *r)
{
    (void)uv_async_send(&r->stop);
    (void)pthread_join(r->thread, NULL);
    (void)pthread_barrier_destroy(&r->ready);
}

/* ---- cases ---- */

typedef struct bench_state {
    rig *r;
    const char *store_url;
    unsigned in_flight;
} bench_state;

static rig memory_rig;
static rig sqlite_rig;

static void events(void *state, uint64_t iterations)
{
    bench_state *s = state;
    client c;
    s->r->events = iterations;
    client_open(&c, s->r->port);
    client_submit(&c, "chatty", "null");
    while (!frame_is(client_next_frame(&c), "\"job.result\"")) {
    }
    client_close(&c);
}

static void jobs(void *state, uint64_t iterations)
{
    bench_state *s = state;
    client c;
    uint64_t sent = 0;
    uint64_t done = 0;
    client_open(&c, s->r->port);
    while (sent < s->in_flight && sent < iterations) {
        client_submit(&c, "quick", "null");
        sent++;
    }
    while (done < iterations) {
        arcp_span frame = client_next_frame(&c);
        if (frame_is(frame, "\"job.result\"") || frame_is(frame, "\"job.error\"")) {
            done++;
            if (sent < iterations) {
                client_submit(&c, "quick", "null");
                sent++;
            }
        }
    }
    client_close(&c);
}

#define EVENT_BYTES  300u /* a frame of the chatty agent's */
#define SUBMIT_BYTES 130u
#define ANSWER_BYTES 900u /* job.accepted, running, job.result */

static void bare_socket(void *state, uint64_t iterations)
{
    (void)state;
    bench_socket_bytes(iterations * EVENT_BYTES);
}

static void bare_requests(void *state, uint64_t iterations)
{
    const bench_state *s = state;
    const bench_exchange how = {s->in_flight, SUBMIT_BYTES, ANSWER_BYTES};
    bench_socket_requests(&how, iterations);
}

static void remove_store(const char *directory)
{
    static const char *const names[] = {"arcp.db", "arcp.db-wal", "arcp.db-shm", "arcp.db.lock",
                                        "arcp.db-lock"};
    char path[256];
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, names[at]);
        (void)unlink(path);
    }
    if (rmdir(directory) != 0) {
        (void)fprintf(stderr, "bench: %s is left\n", directory);
    }
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/arcp-bench-XXXXXX";
    char sqlite_url[128];
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    (void)snprintf(sqlite_url, sizeof(sqlite_url), "sqlite:%s/arcp.db", directory);
    rig_start(&memory_rig, "memory:");
    rig_start(&sqlite_rig, sqlite_url);
    bench_state memory = {&memory_rig, NULL, 64};
    bench_state sqlite = {&sqlite_rig, NULL, 64};
    bench_state memory_one = {&memory_rig, NULL, 1};
    bench_state sqlite_one = {&sqlite_rig, NULL, 1};
    const bench_case cases[] = {
        {"bare socket, 300 bytes", NULL, bare_socket, NULL, 1, "events/s", 300000},
        {"events, memory:", "bare socket, 300 bytes", events, &memory, 1, "events/s", 300000},
        {"events, sqlite:", "bare socket, 300 bytes", events, &sqlite, 1, "events/s", 200000},
        {"bare request, one at a time", NULL, bare_requests, &memory_one, 0, NULL, 2000},
        {"submit to result, memory:, one at a time", "bare request, one at a time", jobs,
         &memory_one, 0, NULL, 2000},
        {"submit to result, sqlite:, one at a time", "bare request, one at a time", jobs,
         &sqlite_one, 0, NULL, 500},
        {"bare requests, 64 in flight", NULL, bare_requests, &memory, 1, "jobs/s", 20000},
        {"jobs, memory:, 64 in flight", "bare requests, 64 in flight", jobs, &memory, 1, "jobs/s",
         20000},
        {"jobs, sqlite:, 64 in flight", "bare requests, 64 in flight", jobs, &sqlite, 1, "jobs/s",
         5000},
    };
    int status = bench_main(argc, argv, "runtime: agent to client over a WebSocket", cases,
                            sizeof(cases) / sizeof(cases[0]));
    rig_stop(&memory_rig);
    rig_stop(&sqlite_rig);
    remove_store(directory);
    return status;
}
