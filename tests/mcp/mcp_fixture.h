/* A filter between a client and a server that the test is, and what both are sent. */
#ifndef ARCP_TESTS_MCP_FIXTURE_H
#define ARCP_TESTS_MCP_FIXTURE_H

#include "support/check.h"

#include "mcp/mcp.h"
#include "json/json.h"

typedef struct mcp_fixture {
    arcp__mcp_output output;
    arcp__mcp_filter *filter;
    arcp_buf decided; /* "+target " for a grant, "-target " for a denial */
    arcp_buf dropped; /* why, "; " */
    size_t shown, hidden;
    bool cannot_record;
    arcp_time now; /* mcp_begun at first */
} mcp_fixture;

/* When authorities are made: 2026-09-21T14:13:20Z. */
extern const arcp_time mcp_begun;

/* Reads a text, which must be valid and stays borrowed. */
void mcp_scan(arcp_json *json, const char *text);

/* The caller unrefs it. */
arcp_authority *mcp_authority(const char *lease, const char *constraints);
/* Takes a reference to the authority; `name`: of the server, "" for none. */
arcp_status mcp_begin(mcp_fixture *f, const arcp_authority *authority, const char *name,
                      arcp_error *err);
void mcp_start(mcp_fixture *f, const char *lease, const char *constraints, const char *name);
void mcp_end(mcp_fixture *f);

/* A line of the client, and of the server. */
void mcp_client(mcp_fixture *f, const char *line);
void mcp_server(mcp_fixture *f, const char *line);
/* What both sides were sent since the last call, and nothing else. */
void mcp_check_sent(mcp_fixture *f, const char *to_server, const char *to_client);

#define LEASE "{\"tool.call\":[\"read_*\",\"echo\"]}"

#define MESSAGE(rest)    "{\"jsonrpc\":\"2.0\"," rest "}"
#define CALL(id, params) MESSAGE("\"id\":" id ",\"method\":\"tools/call\",\"params\":{" params "}")
#define ECHO(id)         CALL(id, "\"name\":\"echo\"")
#define ERROR(id, code, text)                                                                      \
    MESSAGE("\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text "\"}") "\n"

#endif
