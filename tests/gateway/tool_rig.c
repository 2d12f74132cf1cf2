#include "gateway/tool_rig.h"

#define HEADERS "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"

static const char *const argv[] = {"python3", SERVER, NULL};
static const arcp__mcp_price prices[] = {
    {"echo", {"USD", 3}, {UINT64_C(10000000000000000), 0}}, /* 0.01 */
};
static const arcp__mcp_target_rule targets[] = {{"pid", {"fs.read", 7}, {"/path", 5}}};

arcp__tool_server_options tool_rig_server(const char *name)
{
    return (arcp__tool_server_options){.name = name,
                                       .argv = argv,
                                       .timeout_ms = PATIENCE_MS,
                                       .total_ms = PATIENCE_MS,
                                       .start_ms = PATIENCE_MS,
                                       .log = ARCP__TOOL_LOG_FULL,
                                       .prices = prices,
                                       .price_count = 1,
                                       .targets = targets,
                                       .target_count = 1};
}

void tool_rig_open(tool_rig *r, const char *lease, const arcp__tool_options *tools)
{
    arcp_error err = {0};
    gateway_fixture_init(&r->f, lease);
    check_ok(arcp__tool_config_new(tools, &r->config, &err), &err);
    arcp__gateway_options options = gateway_fixture_options(&r->f);
    options.limits.request_bytes = 100000;
    options.limits.buffer_bytes = 1000000;
    options.limits.calls_per_job = 16;
    options.providers[ARCP__GATEWAY_LLM] = (arcp__gateway_provider){0};
    options.providers[ARCP__GATEWAY_MCP] = (arcp__gateway_provider){&arcp__tool_service, r->config};
    gateway_fixture_start(&r->f, &options);
}

void tool_rig_close(tool_rig *r)
{
    gateway_fixture_close(&r->f);
    arcp__tool_config_unref(r->config);
}

void tool_rig_post(tool_rig *r, const char *path, const char *body)
{
    arcp_buf line = arcp_buf_init();
    arcp_buf_append_format(&line, "POST %s", path);
    gateway_fixture_send(&r->f, arcp_buf_cstr(&line), HEADERS, body);
    arcp_buf_fini(&line);
}

void tool_rig_expect(tool_rig *r, const char *text)
{
    raw_peer_expect(&r->f.peer, text);
    assert_non_null(memmem(r->f.peer.received.data, r->f.peer.received.size, "HTTP/1.1 200 ", 13));
}

void tool_rig_open_servers(tool_rig *r, const char *lease, const arcp__tool_server_options *servers,
                           size_t count)
{
    const arcp__tool_options options = {.servers = servers, .server_count = count};
    tool_rig_open(r, lease, &options);
}

bool tool_rig_has_received(const tool_rig *r, const char *text)
{
    return memmem(r->f.peer.received.data, r->f.peer.received.size, text, strlen(text)) != NULL;
}

void tool_rig_await_seen(tool_rig *r, const char *text)
{
    while (r->f.seen.size == 0 ||
           memmem(r->f.seen.data, r->f.seen.size, text, strlen(text)) == NULL) {
        (void)uv_run(&r->f.test.loop, UV_RUN_ONCE);
    }
}
