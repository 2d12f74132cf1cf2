/* The gateway for tools: MCP over streamable HTTP at `/`, with the tools of all servers of the
 * configuration, and at `/s/NAME` with one server's own names. docs/gateways.md. */
#ifndef ARCP_GATEWAY_TOOL_H
#define ARCP_GATEWAY_TOOL_H

#include "gateway/gateway_job.h"
#include "gateway/tool_config.h"

/* Its configuration is an arcp__tool_config. */
extern const arcp__gateway_service arcp__tool_service;

#endif
