/* The gateway as a client of one MCP server: lines for the server, and what its lines mean. No I/O
 * and no clock: the owner has the bytes, the time limits and the process.
 *
 *   GREETING ── initialize refused ──> DISCOVERING ──> READY ── end ──> ENDED
 *      └──────────────────────────────────────────────────^
 *
 * A server is asked with `initialize` of 2025-11-25, and with `server/discover` of 2026-07-28 if it
 * refuses that. No capability is declared, and requests of the server are refused. When it has
 * answered, its list of tools is read at once, page by page.
 *
 * Ids and progress tokens are the gateway's own, because clients of different jobs use equal ones.
 * No call is sent a second time. */
#ifndef ARCP_MCP_MCP_LINK_H
#define ARCP_MCP_MCP_LINK_H

#include "mcp/mcp_catalogue.h"

#define ARCP__MCP_LINK_CALLS_MAX 1024 /* calls of a server that have no response yet */
#define ARCP__MCP_VERSION_MAX    32   /* bytes of the name of a version, with its NUL */

typedef enum arcp__mcp_link_state {
    ARCP__MCP_LINK_GREETING,
    ARCP__MCP_LINK_DISCOVERING,
    ARCP__MCP_LINK_READY,
    ARCP__MCP_LINK_ENDED
} arcp__mcp_link_state;

/* Called from inside the functions below, and must not call them. `call` is the owner's pointer;
 * everything else is borrowed during the call. */
typedef struct arcp__mcp_link_events {
    /* The server's list: the callee owns the sealed set. NULL: it cannot be read, and `why` is the
     * reason; what was listed before is not valid any more. */
    void (*listed)(void *user, arcp__mcp_toolset *set, const char *why);
    void (*progress)(void *user, void *call, const arcp_json *json, arcp_json_ref params);
    /* The response to a call, once: a result, or an error if `is_error`. */
    void (*answered)(void *user, void *call, const arcp_json *json, arcp_json_ref outcome,
                     bool is_error);
    /* There will be no response that can be read. */
    void (*failed)(void *user, void *call, const char *why);
    /* The server cannot be talked to; the link has ended. */
    void (*broken)(void *user, const char *why);
    void (*dropped)(void *user, const char *why, arcp_span line);
    void *user;
} arcp__mcp_link_events;

typedef struct arcp__mcp_link arcp__mcp_link;

/* Begins with the request to initialize. Lines for the server are appended to `out`, which is
 * borrowed; the owner takes them away. ARCP_E_USAGE for a name that is not valid, ARCP_E_NO_MEMORY.
 */
ARCP_MUST_CHECK arcp_status arcp__mcp_link_new(arcp_span server, arcp_buf *out,
                                               const arcp__mcp_link_events *events,
                                               arcp__mcp_link **out_link, arcp_error *err);
void arcp__mcp_link_free(arcp__mcp_link *link); /* NULL is accepted; calls no event */

arcp__mcp_link_state arcp__mcp_link_state_of(const arcp__mcp_link *link);
/* What the server offers beside tools (mcp_method.h); 0 before it is READY. */
unsigned arcp__mcp_link_offers(const arcp__mcp_link *link);
/* The version that was agreed, "" before. Valid as long as the link. */
const char *arcp__mcp_link_version(const arcp__mcp_link *link);
/* Whether it is 2026-07-28, also while that is tried. */
bool arcp__mcp_link_is_modern(const arcp__mcp_link *link);
/* Calls without a response. */
size_t arcp__mcp_link_pending(const arcp__mcp_link *link);
/* The server has reported that its list has changed since it was last asked for. */
bool arcp__mcp_link_is_stale(const arcp__mcp_link *link);

/* While much is queued for the server its own requests get no response, so that a server that sends
 * them and does not read cannot fill the memory. */
void arcp__mcp_link_set_behind(arcp__mcp_link *link, bool is_behind);

/* The functions below return ARCP_E_NO_MEMORY if the link cannot be used any more. */

/* A line of the server, and one that was too long; `id` as of ARCP__MCP_LINE_TOO_LONG. */
ARCP_MUST_CHECK arcp_status arcp__mcp_link_take(arcp__mcp_link *link, arcp_span line,
                                                arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__mcp_link_skip(arcp__mcp_link *link, arcp_span id,
                                                arcp_error *err);

/* Reads the list again; `listed` follows. Does nothing while it is being read, or if the link is
 * not READY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_link_list(arcp__mcp_link *link, arcp_error *err);

typedef struct arcp__mcp_link_call {
    arcp_span tool;      /* its own name */
    arcp_span arguments; /* an object without white space, or empty */
    /* In place of a call of a tool: another request, and the members of its params as JSON with
     * commas, or empty. Static; NULL: it is a call. */
    const char *method;
    arcp_span params;
    bool wants_progress;
    void *call; /* for the events; not NULL */
} arcp__mcp_link_call;

/* Sends a call, whose `*id` is for arcp__mcp_link_cancel. ARCP_E_LIMIT: as many as may be have no
 * response yet; ARCP_E_CLOSED: the link is not READY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_link_send(arcp__mcp_link *link,
                                                const arcp__mcp_link_call *call, uint64_t *id,
                                                arcp_error *err);

/* Forgets a call, and reports that to the server. No event follows. An id without a call is
 * ignored. */
ARCP_MUST_CHECK arcp_status arcp__mcp_link_cancel(arcp__mcp_link *link, uint64_t id,
                                                  const char *reason, arcp_error *err);

/* The server has ended: calls fail with this text. */
void arcp__mcp_link_end(arcp__mcp_link *link, const char *why);

#endif
