/* The counterpart of the other runtimes' programs in bench/peers/ with our library: a runtime whose
 * agents are callbacks inside the program. `make bench-peers` drives it like them.
 *
 *   arcp-bench-host STORE      memory: or sqlite:PATH
 *
 * Prints "ready URL" and serves until SIGTERM. `bench` writes {"events": N} log events of 64
 * bytes, as arcp-bench-agent does; `quick` returns at once. Any token is accepted. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "served_runtime.h"

#define MESSAGE_BYTES 64

typedef struct host {
    uv_loop_t loop;
    uv_signal_t terminate;
    arcp_runtime *runtime;
} host;

static void bench(arcp_agent_call *call, void *user)
{
    const arcp_json *start = arcp_agent_start(call);
    uint64_t events = 0;
    (void)user;
    (void)arcp_json_u64(
        start, arcp_json_member(start, arcp_agent_input(call), ARCP_SPAN_LITERAL("events")),
        &events);
    for (uint64_t i = 0; i < events; i++) {
        char message[MESSAGE_BYTES + 1];
        char body[MESSAGE_BYTES + 64];
        int size = snprintf(message, sizeof message, "%" PRIu64 " ", i);
        memset(message + size, '.', MESSAGE_BYTES - (size_t)size);
        message[MESSAGE_BYTES] = '\0';
        size = snprintf(body, sizeof body, "{\"level\":\"info\",\"message\":\"%s\"}", message);
        if (arcp_agent_event(call, "log", arcp_span_make(body, (size_t)size), NULL) != ARCP_OK) {
            return;
        }
    }
    char count[24];
    const int size = snprintf(count, sizeof count, "%" PRIu64, events);
    arcp_agent_succeed(call, arcp_span_make(count, (size_t)size));
}

static void quick(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("0"));
}

static void on_stopped(void *user)
{
    const host *h = user;
    uv_close((uv_handle_t *)&h->terminate, NULL);
    arcp_runtime_free(h->runtime);
}

static void on_terminate(uv_signal_t *handle, int number)
{
    host *h = handle->data;
    (void)number;
    (void)uv_signal_stop(handle);
    arcp_runtime_stop(h->runtime, on_stopped, h);
}

static void add_agents(host *h)
{
    arcp_error error = {0};
    arcp_agent agent = arcp_agent_init();
    agent.name = "bench";
    agent.run = bench;
    must(arcp_runtime_register(h->runtime, &agent, &error), &error);
    agent.name = "quick";
    agent.kind = ARCP_AGENT_NON_BLOCKING;
    agent.run = quick;
    must(arcp_runtime_register(h->runtime, &agent, &error), &error);
}

int main(int argc, char **argv)
{
    static host h;
    arcp_runtime_options options = arcp_runtime_options_init();
    const char *url = NULL;
    if (argc != 2) {
        (void)fputs("usage: arcp-bench-host memory:|sqlite:PATH\n", stderr);
        return 2;
    }
    arcp_error error = {0};
    arcp_settings *settings = arcp_settings_new();
    if (settings == NULL) {
        return 1;
    }
    if (strcmp(argv[1], "memory:") == 0) { /* as arcpd has it */
        arcp_settings_fit_memory(settings);
    }
    must(arcp_settings_set(settings, "shutdown.grace_sec", "0", &error), &error);
    /* One principal submits as fast as can be. */
    must(arcp_settings_set(settings, "limits.submits_per_sec", "0", &error), &error);
    (void)uv_loop_init(&h.loop);
    (void)uv_signal_init(&h.loop, &h.terminate);
    h.terminate.data = &h;
    (void)uv_signal_start(&h.terminate, on_terminate, SIGTERM);
    options.name = "arcp-bench-host";
    options.settings = settings;
    options.agent_threads = 128; /* every session of a run has a job that blocks */
    h.runtime = runtime_open(&h.loop, argv[1], &options);
    arcp_settings_free(settings);
    add_agents(&h);
    runtime_serve(h.runtime, &url);
    (void)printf("ready %s\n", url);
    (void)fflush(stdout);
    (void)uv_run(&h.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&h.loop) == 0 ? 0 : 1;
}
