/* MCP over streamable HTTP towards a server: what goes with a message that a link has written
 * (mcp_link.h), and the messages of a stream of events. No I/O. */
#ifndef ARCP_MCP_MCP_REMOTE_H
#define ARCP_MCP_MCP_REMOTE_H

#include "mcp/mcp.h"
#include "mcp/mcp_catalogue.h"
#include "json/json.h"

#define ARCP__MCP_SESSION_MAX 1024 /* bytes of the id of a session */

typedef enum arcp__mcp_sent_kind {
    ARCP__MCP_SENT_REQUEST, /* it has the id `id` */
    ARCP__MCP_SENT_INITIALIZE,
    ARCP__MCP_SENT_INITIALIZED, /* a notification; what follows must not overtake it */
    ARCP__MCP_SENT_CANCELLED,   /* a notification: the request `id` is cancelled */
    ARCP__MCP_SENT_OTHER        /* another notification, or a response */
} arcp__mcp_sent_kind;

typedef struct arcp__mcp_sent {
    arcp__mcp_sent_kind kind;
    uint64_t id;
} arcp__mcp_sent;

/* Of the connection that a message belongs to. */
typedef struct arcp__mcp_remote_terms {
    const char *version;            /* of the link; "": not agreed yet */
    bool is_modern;                 /* 2026-07-28, also while it is tried */
    const char *session;            /* "": none */
    const arcp__mcp_toolset *tools; /* NULL: not listed yet */
} arcp__mcp_remote_terms;

/* Reads a line that a link has written, and appends its headers as lines "Name: value" with a NUL
 * behind each: those of the protocol, which in 2026-07-28 repeat the method, the name of a tool and
 * the arguments whose schema has x-mcp-header. ARCP_E_INVALID_REQUEST: it is no such line.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_sent_read(arcp_json *json, arcp_span line,
                                                const arcp__mcp_remote_terms *terms,
                                                arcp__mcp_sent *out, arcp_buf *headers);

/* Whether a text is the id of a session: visible ASCII, 1 to ARCP__MCP_SESSION_MAX bytes. */
bool arcp__mcp_session_is_valid(arcp_span text);

/* ---- mcp_stream.c: text/event-stream ---- */

/* Zero-initialise. */
typedef struct arcp__mcp_stream {
    arcp_buf line;                /* that is being read */
    arcp_buf data;                /* of the event that is being read */
    bool has_data, is_given;      /* `data` was returned */
    bool is_skipping;             /* the event is too long */
    bool was_return, has_started; /* a CR has ended the last line; the first line has begun */
} arcp__mcp_stream;

/* The data of the next event; consumes bytes of *input. Like arcp__mcp_lines_next, but for
 * ARCP__MCP_LINE_TOO_LONG there is no id. *data is valid until the next call. */
arcp__mcp_line_event arcp__mcp_stream_next(arcp__mcp_stream *stream, arcp_span *input,
                                           arcp_span *data);
void arcp__mcp_stream_fini(arcp__mcp_stream *stream);

#endif
