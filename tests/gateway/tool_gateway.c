/* A gateway for the tools of one MCP server, for clients of other projects.
 *
 *   tool-gateway LEASE NAME COMMAND...
 *   tool-gateway LEASE NAME URL
 *
 * Prints the URL and the key of a job with this lease on one line, and serves until its standard
 * input ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/tool.h"
#include "http/web_client.h"

static arcp__job_gates gates;

static void on_wake(uv_async_t *wake)
{
    arcp__gateway_take(wake->data);
}

static void on_message(void *user, const arcp__job_message *message)
{
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
}

static void on_readable(uv_poll_t *input, int status, int events)
{
    char byte;
    if (read(STDIN_FILENO, &byte, 1) <= 0) {
        uv_stop(input->loop);
    }
}

static arcp_status make_authority(const char *text, arcp_authority **out, arcp_error *err)
{
    arcp_authority_options options = arcp_authority_options_init();
    arcp_lease *lease = NULL;
    options.now = arcp__clock_now();
    arcp_status status =
        arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease, err);
    if (status == ARCP_OK) {
        status = arcp_authority_new(lease, &options, out, err);
    }
    arcp_lease_unref(lease);
    return status;
}

static arcp_status expand(const char *what, const char *text, arcp_buf *out, arcp_error *err)
{
    arcp_buf_append_cstr(out, text);
    return ARCP_OK;
}

/* The settings that arcpd has by default. */
static arcp_status open_gateway(uv_async_t *wake, char **words, arcp__gateway **out,
                                arcp_error *err)
{
    const bool is_url = strncmp(words[1], "http://", 7) == 0;
    const arcp__tool_server_options server = {.name = words[0],
                                              .argv =
                                                  is_url ? NULL : (const char *const *)words + 1,
                                              .url = is_url ? words[1] : NULL,
                                              .timeout_ms = 60000,
                                              .total_ms = 600000,
                                              .start_ms = 20000};
    const arcp__tool_options tools = {.servers = &server, .server_count = 1, .expand = expand};
    arcp__tool_config *config = NULL;
    arcp_status status = arcp__tool_config_new(&tools, &config, err);
    if (status == ARCP_OK) {
        const arcp__gateway_options options = {
            .wake = wake,
            .listen = "127.0.0.1:0",
            .limits = {.request_bytes = 33554432,
                       .buffer_bytes = 268435456,
                       .response_bytes = 268435456,
                       .calls_per_job = 32,
                       .first_byte_ms = 600000,
                       .idle_timeout_ms = 300000,
                       .hold_wait_ms = 60000},
            .gates = &gates,
            .client = &arcp__web_client_by_libcurl,
            .client_options = {.keeps_connections = true},
            .providers[ARCP__GATEWAY_MCP] = {&arcp__tool_service, config}};
        status = arcp__gateway_new(&options, out, err);
    }
    arcp__tool_config_unref(config);
    return status;
}

static arcp_status serve(uv_async_t *wake, char **words, arcp_error *err)
{
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    arcp_authority *authority = NULL;
    arcp__gateway *gateway = NULL;
    arcp__gateway_job *job = NULL;
    arcp_status status = make_authority(words[0], &authority, err);
    if (status == ARCP_OK) {
        status = open_gateway(wake, words + 1, &gateway, err);
    }
    if (status == ARCP_OK) {
        const arcp__gateway_job_options options = {.authority = authority,
                                                   .job_id = ARCP_SPAN_LITERAL("job_1"),
                                                   .events = {on_message, on_denied, NULL}};
        wake->data = gateway;
        status = arcp__gateway_open(gateway, &options, endpoints, &job, err);
    }
    if (status == ARCP_OK) {
        (void)printf("%s %s\n", endpoints[ARCP__GATEWAY_MCP].url, endpoints[ARCP__GATEWAY_MCP].key);
        (void)fflush(stdout);
        (void)uv_run(wake->loop, UV_RUN_DEFAULT);
    }
    arcp__gateway_release(job);
    arcp__gateway_free(gateway);
    arcp_authority_unref(authority);
    return status;
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    uv_async_t wake;
    uv_poll_t input;
    arcp_error err = {0};
    if (argc < 4 || uv_loop_init(&loop) != 0 || uv_async_init(&loop, &wake, on_wake) != 0 ||
        uv_poll_init(&loop, &input, STDIN_FILENO) != 0 ||
        uv_poll_start(&input, UV_READABLE, on_readable) != 0) {
        (void)fputs("usage: tool-gateway LEASE NAME COMMAND..., with a pipe as input\n", stderr);
        return 2;
    }
    const arcp_status status = serve(&wake, argv + 1, &err);
    if (status != ARCP_OK) {
        (void)fprintf(stderr, "tool-gateway: %s\n", err.message);
    }
    uv_close((uv_handle_t *)&wake, NULL);
    uv_close((uv_handle_t *)&input, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    return status == ARCP_OK ? 0 : 1;
}
