/* How the program of a job finds the job's gateways: variables that SDKs read. Any thread. */
#ifndef ARCP_GATEWAY_GATEWAY_PROGRAM_H
#define ARCP_GATEWAY_GATEWAY_PROGRAM_H

#include "gateway/gateway.h"
#include "process/process.h"

/* Adds the variables. What is set already stays; the hosts are added to NO_PROXY. */
void arcp__gateway_set_environment(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                   arcp__environment *environment);

/* A file .mcp.json, by which clients of MCP find the gateway for tools, if there is one; its text,
 * which has the job's key, is appended to `text`, and borrowed from it. */
void arcp__gateway_write_clients(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                 arcp_buf *text, const char **name, arcp_span *content);

/* Appends the job.start line with the endpoints. */
void arcp__gateway_write_start(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                               arcp_span line, arcp_buf *out);

/* The endpoints of a job whose connections a worker passes on: at `url`, with its key, or in a
 * sandbox (url is NULL) at the names there. `kinds`: the gateways that there are, as bits. */
void arcp__gateway_set_endpoints(arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                 unsigned kinds, const char *url, arcp_span key);

#endif
