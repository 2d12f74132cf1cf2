/* What the gateway of tools writes for clients: JSON-RPC messages, each a line with its line feed.
 * `is_modern`: the request is of protocol 2026-07-28. Failures are kept in `out`. */
#ifndef ARCP_MCP_MCP_ANSWER_H
#define ARCP_MCP_MCP_ANSWER_H

#include <arcp/gate.h>
#include <arcp/json.h>

/* Codes of errors: JSON-RPC's, those of protocol 2026-07-28, and one of MCP's SDKs. */
enum {
    ARCP__MCP_PARSE_ERROR = -32700,
    ARCP__MCP_INVALID_REQUEST = -32600,
    ARCP__MCP_METHOD_NOT_FOUND = -32601,
    ARCP__MCP_INVALID_PARAMS = -32602,
    ARCP__MCP_INTERNAL_ERROR = -32603,
    ARCP__MCP_CONNECTION_CLOSED = -32000,
    ARCP__MCP_HEADER_MISMATCH = -32020,
    ARCP__MCP_UNSUPPORTED_VERSION = -32022
};

/* A response that is an error. An empty id: null. */
void arcp__mcp_put_error(arcp_buf *out, arcp_span id, int code, const char *text);

/* The response for a request other than tools/call that is not allowed: an error, whose `data` is
 * JSON as in the text of arcp__mcp_put_denied. */
void arcp__mcp_put_denied_error(arcp_buf *out, arcp_span id, arcp_status code, arcp_span message,
                                arcp_span details);

/* The response for a call that was denied: a result with isError, whose text is JSON with code,
 * message, capability, target, granted and reason, so that a model can adapt. */
void arcp__mcp_put_denial(arcp_buf *out, arcp_span id, bool is_modern,
                          const arcp_authority *authority, const arcp_decision *decision);

/* The same for a denial whose details (arcp_decision_format_details) were written before. */
void arcp__mcp_put_denied(arcp_buf *out, arcp_span id, bool is_modern, arcp_status code,
                          arcp_span message, arcp_span details);

/* The same for a call that is not allowed for another reason than the lease: `code` is one of a
 * denial, `text` a line for people. */
void arcp__mcp_put_refusal(arcp_buf *out, arcp_span id, bool is_modern, const char *code,
                           arcp_span target, const char *text);

/* The response with what a server has returned for a call. NULL, or why it cannot be passed on;
 * then nothing is written. */
const char *arcp__mcp_put_outcome(arcp_buf *out, arcp_span id, bool is_modern,
                                  const arcp_json *json, arcp_json_ref result);

/* The response with the error that a server has returned. */
void arcp__mcp_put_server_error(arcp_buf *out, arcp_span id, const arcp_json *json,
                                arcp_json_ref error);

/* notifications/progress with the params of the server's, under the token that the client chose. */
void arcp__mcp_put_progress(arcp_buf *out, arcp_span token, const arcp_json *json,
                            arcp_json_ref params);

/* A message as an event of a stream (text/event-stream): `line` ends with its line feed. */
void arcp__mcp_put_event(arcp_buf *out, arcp_span line);

#endif
