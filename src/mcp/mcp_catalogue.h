/* The tools of several MCP servers as one list, and what a client's name for one of them stands
 * for. No I/O.
 *
 *   page of tools/list -> toolset (one server) -> sealed: each tool has its names -> pages
 *
 * A tool has three names. Its own is what its server calls it. `SERVER.TOOL`, its target, is what
 * leases, events, prices and rules say. `SERVER__TOOL` is what clients call it where the tools of
 * several servers are one list: providers of models take [a-zA-Z0-9_-]{1,64} only, so other
 * characters become `_`. Where that name is longer than 48 bytes, or two tools of a server would
 * have the same, its end is `_` and 8 digits of the SHA-256 of the target. Names of servers have no
 * `_`, so that the first `__` ends them and servers cannot take each other's names. */
#ifndef ARCP_MCP_MCP_CATALOGUE_H
#define ARCP_MCP_MCP_CATALOGUE_H

#include "json/json.h"

#define ARCP__MCP_LISTED_NAME_MAX 48 /* bytes of SERVER__TOOL */
/* Of the name of a tool; the protocol allows 128. */
#define ARCP__MCP_TOOL_NAME_MAX 256
/* Of one server's list, and of the list of all. */
#define ARCP__MCP_TOOLS_MAX      2048
#define ARCP__MCP_TOOLS_BYTES    ((size_t)4 * 1024 * 1024)
#define ARCP__MCP_LIST_PAGES_MAX 64 /* of one server's list */
#define ARCP__MCP_DIGEST_SIZE    32

/* Everything is borrowed from the toolset. */
typedef struct arcp__mcp_tool {
    arcp_span name;                        /* its own */
    arcp_span target;                      /* SERVER.TOOL */
    arcp_span listed;                      /* SERVER__TOOL */
    arcp_span members;                     /* JSON of all members except the name, with commas */
    arcp_span headers;                     /* arguments that are HTTP headers, too; mcp_tools.c */
    uint8_t digest[ARCP__MCP_DIGEST_SIZE]; /* SHA-256 of the canonical form, as it was listed */
} arcp__mcp_tool;

/* The tools that a server has listed. Immutable once it is sealed. One thread at a time. */
typedef struct arcp__mcp_toolset arcp__mcp_toolset;

/* ARCP_E_USAGE for a name of a server that is not valid, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_toolset_new(arcp_span server, arcp__mcp_toolset **out,
                                                  arcp_error *err);
void arcp__mcp_toolset_free(arcp__mcp_toolset *set); /* NULL is accepted */

/* Adds the tools of a result of tools/list. *cursor is the member nextCursor, or
 * ARCP_JSON_ABSENT at the end of the list. Tools that exceed a limit, that have no valid name
 * (none, or that of a method which a lease grants like a tool: resources/read), or whose name
 * occurred before, are left out. ARCP_E_INVALID_REQUEST: the result is not one of tools/list, or it
 * is page ARCP__MCP_LIST_PAGES_MAX and not the last one. ARCP_E_NO_MEMORY. After a failure the set
 * is only to be freed. */
ARCP_MUST_CHECK arcp_status arcp__mcp_toolset_add(arcp__mcp_toolset *set, const arcp_json *json,
                                                  arcp_json_ref result, arcp_json_ref *cursor,
                                                  arcp_error *err);

/* Gives the tools their names. A tool whose name is still that of another one is left out.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_toolset_seal(arcp__mcp_toolset *set, arcp_error *err);

arcp_span arcp__mcp_toolset_server(const arcp__mcp_toolset *set);
size_t arcp__mcp_toolset_count(const arcp__mcp_toolset *set);
size_t arcp__mcp_toolset_left_out(const arcp__mcp_toolset *set);

/* In the server's order; `i` is below the count. */
const arcp__mcp_tool *arcp__mcp_toolset_at(const arcp__mcp_toolset *set, size_t i);

/* By the tool's own name, and by the listed one, of a sealed set. NULL: none. */
const arcp__mcp_tool *arcp__mcp_toolset_find(const arcp__mcp_toolset *set, arcp_span name);
const arcp__mcp_tool *arcp__mcp_toolset_find_listed(const arcp__mcp_toolset *set, arcp_span listed);

/* What a client calls where the tools of all servers are one list. */
typedef struct arcp__mcp_called {
    arcp_span server;
    arcp_span name; /* the tool's own name, or all of SERVER__TOOL */
    bool is_own;    /* it was called as SERVER.TOOL */
} arcp__mcp_called;

/* False: it is neither SERVER.TOOL nor SERVER__TOOL with a valid name of a server. Borrows. */
bool arcp__mcp_called_read(arcp_span name, arcp__mcp_called *out);

/* ---- the list for a client ---- */

typedef struct arcp__mcp_page {
    const arcp__mcp_toolset *const *sets; /* sealed */
    size_t set_count;
    bool has_own_names; /* of the tools, which are those of one server */
    bool (*may_list)(void *user, const arcp__mcp_tool *tool);
    void *user;
    /* Set. `left_out` tools may be listed, and exceed a limit. */
    size_t shown, hidden, left_out;
} arcp__mcp_page;

/* Appends the response to a tools/list: one page. `is_modern`: of protocol 2026-07-28. */
void arcp__mcp_put_page(arcp_buf *out, arcp_span id, bool is_modern, arcp__mcp_page *page);

/* ---- mcp_seen.c: definitions that change ---- */

/* The definitions that the clients of a job were shown first. A server that changes what a tool
 * says of itself after it was trusted may be attacking the model. Zero-initialise. */
typedef struct arcp__mcp_seen {
    struct arcp__mcp_seen_tool *tools; /* by target */
} arcp__mcp_seen;

#define ARCP__MCP_SEEN_MAX 16384

typedef enum arcp__mcp_change {
    ARCP__MCP_CHANGED,       /* the first time with this definition */
    ARCP__MCP_CHANGED_AGAIN, /* the same change as the last time that it was asked */
    ARCP__MCP_UNCHANGED,
    ARCP__MCP_FIRST_SEEN, /* and it is remembered */
    ARCP__MCP_NOT_SEEN    /* ARCP__MCP_SEEN_MAX others are remembered */
} arcp__mcp_change;

/* Compares a tool with what was first seen under its target. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_seen_check(arcp__mcp_seen *seen, const arcp__mcp_tool *tool,
                                                 arcp__mcp_change *out);
void arcp__mcp_seen_fini(arcp__mcp_seen *seen);

#endif
