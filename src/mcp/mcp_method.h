/* The methods of MCP that pass (mcp_method.def). */
#ifndef ARCP_MCP_MCP_METHOD_H
#define ARCP_MCP_MCP_METHOD_H

typedef enum arcp__mcp_method {
#define ARCP__MCP_METHOD(id, name, sender, kind, place) ARCP__MCP_METHOD_##id,
#include "mcp/mcp_method.def"
#undef ARCP__MCP_METHOD
    ARCP__MCP_METHOD_COUNT
} arcp__mcp_method;

const char *arcp__mcp_method_name(arcp__mcp_method method);

/* What a server offers beside tools, as bits. */
enum {
    ARCP__MCP_RESOURCES = 1,
    ARCP__MCP_PROMPTS = 2,
    ARCP__MCP_COMPLETIONS = 4 /* of arguments of prompts and templates */
};

#endif
