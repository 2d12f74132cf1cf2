/* MCP over streamable HTTP towards clients, without sessions: each POST is one message, and is
 * complete in itself. Versions 2025-03-26, 2025-06-18 and 2025-11-25 begin with `initialize`, of
 * which nothing is remembered; 2026-07-28 names its version in each request, in the body and in
 * headers, which must be equal. No I/O. */
#ifndef ARCP_MCP_MCP_POST_H
#define ARCP_MCP_MCP_POST_H

#include "mcp/mcp_method.h"
#include "json/json.h"

/* Without data: the request has no such header. */
typedef struct arcp__mcp_headers {
    arcp_span content_type, accept;
    arcp_span version, method, name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
    bool is_repeated;                /* one of these five occurs twice */
} arcp__mcp_headers;

typedef enum arcp__mcp_post_kind {
    ARCP__MCP_POST_ANSWER, /* the response is known */
    ARCP__MCP_POST_LIST,   /* tools/list */
    ARCP__MCP_POST_CALL,   /* tools/call; the gate was not asked yet */
    ARCP__MCP_POST_GATHER, /* a list of resources, their templates, or prompts: `method` */
    ARCP__MCP_POST_FETCH,  /* `method` is resources/read, prompts/get or completion/complete */
    ARCP__MCP_POST_CANCEL  /* the request with the id `cancelled` is cancelled; the response is
                              known */
} arcp__mcp_post_kind;

/* A request of a client. Zero-initialise; spans and references are valid as long as it and the body
 * that it was read from. */
typedef struct arcp__mcp_post {
    unsigned offers; /* set before it is read: what is offered to the client beside tools */
    arcp__mcp_post_kind kind;
    arcp__mcp_method method;
    unsigned wanted; /* the one of the offers that a GATHER or FETCH is about */
    int status;      /* of the response, if it is known: 200, or 202 without a body, or an error */
    bool is_modern;  /* protocol 2026-07-28 */
    bool may_stream; /* the client accepts text/event-stream */
    arcp_span id;    /* as JSON */
    arcp_span cancelled; /* the id of the cancelled request, as JSON */
    arcp_span tool;      /* that is called, unescaped; of a FETCH the URI or the prompt's name */
    arcp_json_ref arguments; /* an object, or ARCP_JSON_ABSENT */
    arcp_json_ref params;    /* of a FETCH */
    arcp_span token;         /* for progress, as JSON; empty: none is wanted */
    arcp_json json;
    arcp_buf text;
} arcp__mcp_post;

/* Reads a body. A response that is known is appended to `answer`: nothing for 202. Whatever is not
 * valid is answered. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_post_read(arcp__mcp_post *post,
                                                const arcp__mcp_headers *headers, arcp_span body,
                                                arcp_buf *answer);
void arcp__mcp_post_fini(arcp__mcp_post *post);

#endif
