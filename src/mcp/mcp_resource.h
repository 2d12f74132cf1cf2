/* Resources and prompts of MCP servers: what clients call them where those of several servers are
 * one list, which lines of a lease a URI is asked of, and lists that are merged. No I/O.
 *
 * A resource of the server SERVER is `arcp+SERVER+URI` there, and a prompt `SERVER__NAME`; names of
 * servers have neither `+` nor `_`. A file URI is asked as fs.read, a URL of http or https as
 * net.fetch. Other schemes mean something to their server only, and have no line of their own. */
#ifndef ARCP_MCP_MCP_RESOURCE_H
#define ARCP_MCP_MCP_RESOURCE_H

#include <arcp/gate.h>

#include "mcp/mcp_catalogue.h"
#include "mcp/mcp_method.h"
#include "mcp/mcp_post.h"

/* ---- names ---- */

/* What a client asks for, by the names of a merged list: the server, and its own URI or name.
 * False: it names none. Borrows. */
bool arcp__mcp_uri_split(arcp_span uri, arcp_span *server, arcp_span *own);
bool arcp__mcp_prompt_split(arcp_span name, arcp_span *server, arcp_span *own);

/* ---- URIs and the lease ---- */

/* Whether files or URLs of http are behind a URI, or behind those of a template. */
bool arcp__mcp_uri_is_asked(arcp_span uri);

typedef struct arcp__mcp_uri_question {
    const arcp_authority *authority;
    arcp_time now;
    arcp_span uri;

    /* Set; zero-initialise. */
    bool is_allowed;
    const char *fault;      /* NULL: `decision` says why it is denied, if it is. Static. */
    arcp_decision decision; /* borrows from the members below */
    arcp_target_scratch scratch;
    arcp_buf path;  /* of a file URI, decoded */
    arcp_span sent; /* if it is allowed: the URI that the server gets */
} arcp__mcp_uri_question;

/* Asks the lease. The form of a file URI must be the only one of its path, so that a server reads
 * the file that was asked. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_uri_ask(arcp__mcp_uri_question *question);
void arcp__mcp_uri_question_fini(arcp__mcp_uri_question *question);

/* ---- requests ---- */

/* Appends the members of the params of a FETCH as its server gets them: with `subject`, its own
 * name or URI, in place of the one that the client sent. */
void arcp__mcp_put_fetch(const arcp__mcp_post *post, arcp_span subject, arcp_buf *out);

/* ---- lists ---- */

/* A list that grows page by page, server by server. Zero-initialise what is not set. */
typedef struct arcp__mcp_gather {
    arcp__mcp_method method; /* of the list */
    bool is_merged;          /* names and URIs have their server before them */
    /* Whether a resource may be listed, by its own URI. */
    bool (*may_list)(void *user, arcp_span uri);
    void *user;
    arcp_buf items; /* JSON objects, with commas */
    size_t count, left_out;
    size_t pages; /* of the present server; the owner sets it back */
} arcp__mcp_gather;

/* Adds a page of a server's list. *cursor is the member nextCursor, or ARCP_JSON_ABSENT at the end.
 * Items without a valid name or URI, and those beyond ARCP__MCP_TOOLS_MAX and
 * ARCP__MCP_TOOLS_BYTES, are left out. ARCP_E_INVALID_REQUEST: it is no such list, or has too many
 * pages. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_gather_add(arcp__mcp_gather *gather, arcp_span server,
                                                 const arcp_json *json, arcp_json_ref result,
                                                 arcp_json_ref *cursor, arcp_error *err);
/* Appends the response with what was gathered. */
void arcp__mcp_put_gathered(arcp_buf *out, arcp_span id, bool is_modern,
                            const arcp__mcp_gather *gather);
void arcp__mcp_gather_fini(arcp__mcp_gather *gather);

#endif
