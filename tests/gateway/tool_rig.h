/* A gateway for tools, and a client of it; its servers are tool_server.py. */
#ifndef ARCP_TESTS_GATEWAY_TOOL_RIG_H
#define ARCP_TESTS_GATEWAY_TOOL_RIG_H

#include "gateway/gateway_fixture.h"
#include "gateway/tool.h"

/* The program of the servers. */
#define SERVER ARCP_SOURCE_DIR "/tests/gateway/tool_server.py"

typedef struct tool_rig {
    gateway_fixture f;
    arcp__tool_config *config;
} tool_rig;

/* A row of the configuration, with a price and a target. */
arcp__tool_server_options tool_rig_server(const char *name);

/* Starts the gateway; its job has the lease. */
void tool_rig_open(tool_rig *r, const char *lease, const arcp__tool_options *tools);
void tool_rig_open_servers(tool_rig *r, const char *lease, const arcp__tool_server_options *servers,
                           size_t count);
void tool_rig_close(tool_rig *r);

#define REQUEST(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(id, name, more) REQUEST(id, "tools/call", "\"name\":\"" name "\"" more)

#define WEB "{\"tool.call\":[\"web.*\",\"web.odd.*\"]}"

void tool_rig_post(tool_rig *r, const char *path, const char *body);
/* Waits for a JSON response that has the text. */
void tool_rig_expect(tool_rig *r, const char *text);
/* Whether the client has received the text. */
bool tool_rig_has_received(const tool_rig *r, const char *text);
/* Runs the loop until what was delivered has the text. */
void tool_rig_await_seen(tool_rig *r, const char *text);

#endif
