/* The whole path of an event, from an in-process agent to a client on a WebSocket over loopback.
 * The runtime runs on one thread, the agent on another, and the client, which only splits the
 * stream into frames, on a third. Baselines: the same bytes through a socket as fast as possible,
 * and as many requests that another thread answers with as many bytes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare.h"
#include "frame_client.h"
#include "harness.h"
#include "served_runtime.h"

typedef struct host {
    served_runtime served; /* first: what its agents are added to */
    uint64_t events;       /* per job of the chatty agent */
} host;

/* ---- the runtime's side ---- */

static void chatty(arcp_agent_call *call, void *user)
{
    const host *h = user;
    char body[256];
    (void)snprintf(body, sizeof body, "{\"level\":\"info\",\"message\":\"%.*s\"}", 20,
                   "a line of twenty chr");
    const arcp_span span = arcp_span_cstr(body);
    for (uint64_t i = 0; i < h->events; i++) {
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

static void add_agents(served_runtime *served)
{
    arcp_error error = {0};
    arcp_agent agents[2] = {arcp_agent_init(), arcp_agent_init()};
    agents[0].name = "chatty";
    agents[0].run = chatty;
    agents[0].user = served;
    agents[1].name = "quick";
    agents[1].kind = ARCP_AGENT_NON_BLOCKING;
    agents[1].run = quick;
    must(arcp_runtime_register(served->runtime, &agents[0], &error), &error);
    must(arcp_runtime_register(served->runtime, &agents[1], &error), &error);
}

/* ---- cases ---- */

typedef struct bench_state {
    host *h;
    unsigned in_flight;
} bench_state;

static host memory_host;
static host sqlite_host;

static void events(void *state, uint64_t iterations)
{
    const bench_state *s = state;
    client c;
    s->h->events = iterations;
    client_open(&c, s->h->served.port);
    client_submit(&c, "chatty", "null");
    while (!frame_is(client_next_frame(&c), "\"job.result\"")) {
    }
    client_close(&c);
}

static void jobs(void *state, uint64_t iterations)
{
    const bench_state *s = state;
    client_run_jobs(s->h->served.port, "quick", s->in_flight, iterations);
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

int main(int argc, char **argv)
{
    char directory[] = "/tmp/arcp-bench-XXXXXX";
    char sqlite_url[128];
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    (void)snprintf(sqlite_url, sizeof sqlite_url, "sqlite:%s/arcp.db", directory);
    served_runtime_start(&memory_host.served, "memory:", add_agents);
    served_runtime_start(&sqlite_host.served, sqlite_url, add_agents);
    bench_state memory = {&memory_host, 64};
    bench_state sqlite = {&sqlite_host, 64};
    bench_state memory_one = {&memory_host, 1};
    bench_state sqlite_one = {&sqlite_host, 1};
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
    const int status = bench_main(argc, argv, "runtime: agent to client over a WebSocket", cases,
                                  sizeof cases / sizeof cases[0]);
    served_runtime_stop(&memory_host.served);
    served_runtime_stop(&sqlite_host.served);
    served_store_remove(directory, "arcp.db");
    if (rmdir(directory) != 0) {
        (void)fprintf(stderr, "bench: %s is left\n", directory);
    }
    return status;
}
