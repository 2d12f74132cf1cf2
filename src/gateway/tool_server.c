/* One server of tools: its process or its connection, its list, its back-off. */
#include <stdio.h>
#include <string.h>

#include "gateway/tool_parts.h"
#include "mcp/mcp.h"

#define BACKOFF_MS     1000
#define BACKOFF_MS_MAX 30000

/* ---- the link's events ---- */

static void set_timer(arcp__tool_server *server, uint64_t ms);

/* Ends the process, or the connection; the end is an event that comes later. */
static void stop_peer(arcp__tool_server *server)
{
    if (server->process != NULL) {
        arcp__agent_process_kill(server->process);
    } else if (server->remote != NULL) {
        arcp__tool_remote_end(server->remote, server->why, false);
    }
}

static void on_listed(void *user, arcp__mcp_toolset *set, const char *why)
{
    arcp__tool_server *server = user;
    arcp__mcp_toolset_free(server->tools);
    server->tools = set;
    if (set == NULL) {
        (void)snprintf(server->why, sizeof server->why, "%s", why);
        stop_peer(server);
        return;
    }
    server->state = ARCP__TOOL_READY;
    server->failures = 0;
    (void)uv_timer_stop(&server->timer);
    arcp__tool_news(server->service);
}

static void on_progress(void *user, void *call, const arcp_json *json, arcp_json_ref params)
{
    arcp__tool_call_progress(call, json, params);
}

static void on_answered(void *user, void *call, const arcp_json *json, arcp_json_ref outcome,
                        bool is_error)
{
    arcp__tool_call_answered(call, json, outcome, is_error);
}

static void on_failed(void *user, void *call, const char *why)
{
    arcp__tool_call_failed(call, why);
}

static void on_broken(void *user, const char *why)
{
    arcp__tool_server *server = user;
    (void)snprintf(server->why, sizeof server->why, "%s", why);
    stop_peer(server);
}

static void on_dropped(void *user, const char *why, arcp_span line)
{
}

/* ---- the process ---- */

/* Writes what the link has for the server. */
static void flush(arcp__tool_server *server, arcp_status status)
{
    arcp_span rest = arcp_buf_span(&server->out);
    while (status == ARCP_OK && rest.size != 0) {
        const char *end = memchr(rest.data, '\n', rest.size);
        const size_t size = (size_t)(end - rest.data);
        const arcp_span line = arcp_span_first(rest, size);
        status = server->remote != NULL ? arcp__tool_remote_send(server->remote, line)
                                        : arcp__agent_process_write(server->process, line);
        rest = arcp_span_from(rest, size + 1);
    }
    arcp_buf_clear(&server->out);
    if (status != ARCP_OK) {
        (void)snprintf(server->why, sizeof server->why, "%s",
                       status == ARCP_E_LIMIT ? "it does not read its input" : "out of memory");
        stop_peer(server);
    }
}

static void on_line(void *user, arcp_span line)
{
    arcp__tool_server *server = user;
    flush(server, arcp__mcp_link_take(server->link, line, NULL));
}

static void on_line_refused(void *user, arcp_status why)
{
    arcp__tool_server *server = user;
    (void)snprintf(server->why, sizeof server->why, "%s",
                   why == ARCP_E_LIMIT ? "it has sent a line of more than 8 MiB" : "out of memory");
    arcp__agent_process_kill(server->process);
}

/* What servers write to their standard error is theirs. */
static void on_log(void *user, arcp_span line)
{
}

/* The process has ended, or was not started. */
static void close_link(arcp__tool_server *server, const char *why)
{
    arcp__tool_sandbox_free(server->sandbox);
    server->sandbox = NULL;
    if (server->link != NULL) {
        arcp__mcp_link_end(server->link, why);
        arcp__mcp_link_free(server->link);
        server->link = NULL;
    }
    arcp__mcp_toolset_free(server->tools);
    server->tools = NULL;
    arcp_buf_fini(&server->out);
}

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__tool_server *server = handle->data;
    arcp__tool_handle_closed(server->service);
    arcp__tool_config_unref(server->config);
    arcp__free(server);
}

static void free_server(arcp__tool_server *server)
{
    close_link(server, "the server is stopped");
    DL_DELETE(*server->owner, server);
    uv_close((uv_handle_t *)&server->timer, on_timer_closed);
}

/* The process does not run any more, or never did. */
static void back_off(arcp__tool_server *server)
{
    const unsigned doublings = server->failures < 5 ? server->failures : 5;
    const uint64_t wait_ms = (uint64_t)BACKOFF_MS << doublings;
    if (server->is_leaving) {
        free_server(server);
        return;
    }
    server->failures++;
    server->state = ARCP__TOOL_WAITING;
    set_timer(server, wait_ms < BACKOFF_MS_MAX ? wait_ms : BACKOFF_MS_MAX);
    if (server->job != NULL) {
        arcp_buf text = arcp_buf_init();
        arcp_buf_append_format(&text, "the server \"%s\" of tools: %s", server->options->name,
                               server->why);
        arcp__tool_say_log(server->job, "warn", arcp_buf_cstr(&text));
        arcp_buf_fini(&text);
    }
    arcp__tool_news(server->service);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__tool_server *server = user;
    if (status == ARCP_OK) {
        return;
    }
    (void)snprintf(server->why, sizeof server->why, "%s", why);
    arcp__agent_process_free(server->process);
    server->process = NULL;
    close_link(server, server->why);
    back_off(server);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__tool_server *server = user;
    const arcp_span failure = arcp__agent_process_failure(server->process, NULL);
    if (failure.size != 0) {
        (void)snprintf(server->why, sizeof server->why, "%.*s", (int)failure.size, failure.data);
    } else if (server->why[0] == '\0') {
        (void)snprintf(server->why, sizeof server->why, "it has ended with %s %d",
                       end->by_signal ? "signal" : "status", end->code);
    }
    arcp__agent_process_free(server->process);
    server->process = NULL;
    close_link(server, server->why);
    back_off(server);
}

/* ---- a server behind HTTP ---- */

static void on_remote_ended(void *user, const char *why)
{
    arcp__tool_server *server = user;
    (void)snprintf(server->why, sizeof server->why, "%s", why);
    arcp__tool_remote_free(server->remote);
    server->remote = NULL;
    close_link(server, server->why);
    back_off(server);
}

/* ---- starting ---- */

static void on_timer(uv_timer_t *timer)
{
    arcp__tool_server *server = timer->data;
    if (server->state == ARCP__TOOL_WAITING) {
        server->state = ARCP__TOOL_STOPPED;
    } else {
        (void)snprintf(server->why, sizeof server->why, "it did not list its tools within %u ms",
                       server->options->start_ms);
        stop_peer(server);
    }
}

static void set_timer(arcp__tool_server *server, uint64_t ms)
{
    (void)uv_timer_start(&server->timer, on_timer, ms, 0);
}

static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    arcp__tool_server *server = user;
    arcp_error err = {0};
    if (arcp__tool_sandbox_serve(server->sandbox, sockets, count, proxy_secret, &err) != ARCP_OK) {
        arcp__agent_process_fail_network(server->process, err.message);
    }
}

/* Starts it in a clean environment, and in a sandbox of its own unless its configuration has no
 * lease. */
static arcp_status start_process(arcp__tool_server *server, arcp_error *err)
{
    const arcp__tool_server_options *options = server->options;
    const arcp__agent_process_callbacks callbacks = {.started = on_started,
                                                     .line = on_line,
                                                     .line_refused = on_line_refused,
                                                     .log = on_log,
                                                     .listeners = on_listeners,
                                                     .exited = on_exited,
                                                     .user = server};
    arcp__environment environment = {0};
    arcp__process_spec spec = {.argv = options->argv, .line_bytes_max = ARCP__MCP_LINE_BYTES_MAX};
    arcp_status status = ARCP_OK;
    if (options->lease != NULL) {
        status =
            arcp__tool_sandbox_new(server->service, server->config, options, &server->sandbox, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp__environment_base(&environment, NULL);
    if (server->sandbox != NULL) {
        arcp__tool_sandbox_apply(server->sandbox, &spec, &environment);
    }
    arcp__environment_pass(&environment, options->env);
    spec.env = (const char *const *)environment.pairs;
    status = environment.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                : arcp__agent_process_start(server->service->processes, &spec,
                                                            &callbacks, &server->process, err);
    arcp__environment_fini(&environment);
    return status;
}

static void start(arcp__tool_server *server)
{
    const arcp__mcp_link_events events = {on_listed, on_progress, on_answered, on_failed,
                                          on_broken, on_dropped,  server};
    arcp_error err = {0};
    server->why[0] = '\0';
    server->out = arcp_buf_init();
    arcp_status status = arcp__mcp_link_new(arcp_span_cstr(server->options->name), &server->out,
                                            &events, &server->link, &err);
    if (status == ARCP_OK && server->options->url != NULL) {
        const arcp__tool_remote_events remote = {on_line, on_remote_ended, server};
        status = arcp__tool_remote_new(server, &remote, &server->remote, &err);
    } else if (status == ARCP_OK) {
        status = start_process(server, &err);
    }
    if (status != ARCP_OK) {
        (void)snprintf(server->why, sizeof server->why, "%s", err.message);
        close_link(server, server->why);
        back_off(server);
        return;
    }
    server->state = ARCP__TOOL_STARTING;
    set_timer(server, server->options->start_ms);
    flush(server, ARCP_OK);
}

void arcp__tool_server_wake(arcp__tool_server *server)
{
    if (server->state == ARCP__TOOL_STOPPED) {
        start(server);
    } else if (server->state == ARCP__TOOL_READY && arcp__mcp_link_is_stale(server->link)) {
        server->state = ARCP__TOOL_STARTING;
        set_timer(server, server->options->start_ms);
        flush(server, arcp__mcp_link_list(server->link, NULL));
    }
}

bool arcp__tool_server_is_pending(const arcp__tool_server *server)
{
    return server->state == ARCP__TOOL_STARTING;
}

/* ---- calls ---- */

arcp_status arcp__tool_server_send(arcp__tool_server *server, const arcp__mcp_link_call *call,
                                   uint64_t *id, arcp_error *err)
{
    if (server->state != ARCP__TOOL_READY) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the server \"%s\" does not run: %.300s",
                              server->options->name, server->why);
    }
    const arcp_status status = arcp__mcp_link_send(server->link, call, id, err);
    if (status == ARCP_OK) {
        flush(server, ARCP_OK);
    }
    return status;
}

void arcp__tool_server_cancel(arcp__tool_server *server, uint64_t id, const char *why)
{
    if (server->link != NULL) {
        flush(server, arcp__mcp_link_cancel(server->link, id, why, NULL));
    }
}

/* ---- the object ---- */

arcp__tool_server *arcp__tool_server_of(arcp__tool_service_state *service, arcp__gateway_job *job,
                                        arcp__tool_config *config,
                                        const arcp__tool_server_options *options)
{
    arcp__tool_job *state = arcp__tool_job_of(job);
    arcp__tool_server *server = NULL;
    if (state == NULL) {
        return NULL;
    }
    arcp__tool_server **list = options->is_shared ? &service->shared : &state->servers;
    DL_FOREACH (*list, server) {
        if (arcp__tool_server_is_same(server->options, options)) {
            return server;
        }
    }
    server = arcp__alloc(sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    server->service = service;
    server->job = options->is_shared ? NULL : job;
    server->config = arcp__tool_config_ref(config);
    server->options = options;
    server->owner = list;
    (void)uv_timer_init(arcp__gateway_loop(service->gateway), &server->timer);
    server->timer.data = server;
    service->open_handles++;
    DL_APPEND(*list, server);
    return server;
}

void arcp__tool_server_leave(arcp__tool_server *server)
{
    arcp__tool_service_state *service = server->service;
    if (server->process == NULL && server->remote == NULL) {
        free_server(server);
        return;
    }
    DL_DELETE(*server->owner, server);
    DL_APPEND(service->leaving, server);
    server->owner = &service->leaving;
    server->job = NULL;
    server->is_leaving = true;
    (void)uv_timer_stop(&server->timer);
    if (server->remote != NULL) {
        arcp__tool_remote_end(server->remote, "it is not needed any more", true);
    } else {
        arcp__agent_process_terminate(server->process);
    }
}

void arcp__tool_server_kill(arcp__tool_server *server)
{
    arcp__agent_process_free(server->process);
    server->process = NULL;
    arcp__tool_remote_free(server->remote);
    server->remote = NULL;
    free_server(server);
}
