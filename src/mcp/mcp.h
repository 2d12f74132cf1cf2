/* The Model Context Protocol (MCP) with a lease in front of it: lines, JSON-RPC messages, the gate
 * at tools/call, and a filter between one client and one server. No I/O, clock or thread: bytes and
 * the time are passed in, and lines for both sides come out.
 *
 * A message that passes is written anew, compact and from the members that were read: a server that
 * reads JSON in another way (repeated members, names in another case, lines that end with CR)
 * cannot find another message in it than the one that was decided. */
#ifndef ARCP_MCP_MCP_H
#define ARCP_MCP_MCP_H

#include <arcp/gate.h>

/* A message, without its line feed. */
#define ARCP__MCP_LINE_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define ARCP__MCP_ID_BYTES_MAX   256 /* of a request, as JSON */
/* Requests of a client that have no response yet. */
#define ARCP__MCP_PENDING_MAX 1024
/* Of the name of a server in front of the names of its tools. */
#define ARCP__MCP_NAME_BYTES_MAX          32
#define ARCP__MCP_NAME_RULE               ARCP__MCP_NAME_RULE_OF(ARCP__MCP_NAME_BYTES_MAX) /* for people */
#define ARCP__MCP_NAME_RULE_OF(bytes_max) "1 to " ARCP__MCP_DIGITS(bytes_max) " of a-z, 0-9 and -"
#define ARCP__MCP_DIGITS(number)          #number

/* ---- mcp_skim.c: the id of a message that cannot be read as a whole ---- */

/* Looks for the member `id` of the outermost object while bytes pass, so that the sender of a
 * message that is too long, or that is not valid, still gets a response. Zero-initialise. */
typedef struct arcp__mcp_skim {
    char token[ARCP__MCP_ID_BYTES_MAX]; /* of a name, or of the value of `id` */
    size_t token_size;                  /* above the size of `token`: it does not fit */
    char id[ARCP__MCP_ID_BYTES_MAX];
    size_t id_size;
    unsigned ids; /* members `id` that were found */
    uint64_t depth;
    bool in_string, is_escaped;
    bool in_name, in_id; /* what `token` is of */
    bool is_over;        /* the outermost value has ended, or is no object */
} arcp__mcp_skim;

void arcp__mcp_skim_feed(arcp__mcp_skim *skim, arcp_span bytes);

/* The id as JSON: an integer, or a string without escapes. Empty if there is none, or more than
 * one. Valid as long as `skim`. */
arcp_span arcp__mcp_skim_id(const arcp__mcp_skim *skim);

/* ---- mcp_lines.c ---- */

/* Splits bytes into lines. A line that is too long is skipped; the next one is read as usual.
 * Zero-initialise. */
typedef struct arcp__mcp_lines {
    arcp_buf partial; /* the beginning of a line */
    bool is_given;    /* `partial` was returned as a line */
    bool is_skipping;
    arcp__mcp_skim skim; /* of the line that is skipped */
} arcp__mcp_lines;

typedef enum arcp__mcp_line_event {
    ARCP__MCP_LINE_NONE = 0, /* all input is consumed */
    ARCP__MCP_LINE,
    ARCP__MCP_LINE_TOO_LONG, /* *line is the id of the message, or empty */
    ARCP__MCP_LINE_NO_MEMORY
} arcp__mcp_line_event;

/* The next line that has more than white space, without its line feed; consumes bytes of *input.
 * *line is valid until the next call. */
arcp__mcp_line_event arcp__mcp_lines_next(arcp__mcp_lines *lines, arcp_span *input,
                                          arcp_span *line);

/* The last line, if the input has ended without a line feed. */
arcp__mcp_line_event arcp__mcp_lines_last(arcp__mcp_lines *lines, arcp_span *line);

void arcp__mcp_lines_fini(arcp__mcp_lines *lines);

/* ---- mcp_filter.c: between a client and a server ---- */

typedef enum arcp__mcp_side { ARCP__MCP_CLIENT, ARCP__MCP_SERVER } arcp__mcp_side;

/* Lines for both sides, each with its line feed. The owner takes them away. */
typedef struct arcp__mcp_output {
    arcp_buf to_client, to_server;
    /* Set by the owner while much is queued for the server: its own requests then get no response,
     * so that a server that sends them and does not read cannot fill the memory. */
    bool is_server_behind;
} arcp__mcp_output;

/* Called from inside the functions below, and must not call them. */
typedef struct arcp__mcp_events {
    /* A tools/call was decided, and nothing was sent yet. False: the decision cannot be recorded,
     * and the call is refused. Everything is borrowed during the call. */
    bool (*decided)(void *user, const arcp_decision *decision);
    /* The response to a tools/list was filtered. */
    void (*listed)(void *user, size_t shown, size_t hidden);
    /* A line was not passed on, and its sender gets no response. `why` is borrowed. */
    void (*dropped)(void *user, arcp__mcp_side from, const char *why, arcp_span line);
    void *user;
} arcp__mcp_events;

typedef struct arcp__mcp_filter_options {
    const arcp_authority *authority; /* a reference is kept */
    /* Tools are asked as NAME.tool; empty: as their own names. [a-z0-9-]{1,32}; copied. */
    arcp_span name;
    arcp__mcp_output *output; /* borrowed as long as the filter */
    arcp__mcp_events events;
} arcp__mcp_filter_options;

typedef struct arcp__mcp_filter arcp__mcp_filter;

/* Whether a text is a name of a server: [a-z0-9-]{1,32}. */
bool arcp__mcp_name_is_valid(arcp_span name);

/* ARCP_E_USAGE for a name that is not valid, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_new(const arcp__mcp_filter_options *options,
                                                 arcp__mcp_filter **out, arcp_error *err);
void arcp__mcp_filter_free(arcp__mcp_filter *filter); /* NULL is accepted */

/* The functions below append to the output. ARCP_E_NO_MEMORY: the filter cannot be used any more.
 * Whatever is not valid gets a response, where there is an id, or is dropped. */

/* mcp_client.c: a line of the client. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_take_client(arcp__mcp_filter *filter, arcp_time now,
                                                         arcp_span line, arcp_error *err);
/* mcp_server.c: a line of the server. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_take_server(arcp__mcp_filter *filter, arcp_time now,
                                                         arcp_span line, arcp_error *err);

/* A line that was too long; `id` as of ARCP__MCP_LINE_TOO_LONG. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_skip(arcp__mcp_filter *filter, arcp__mcp_side from,
                                                  arcp_span id, arcp_error *err);

/* The lease has expired: calls under way get LEASE_EXPIRED, and the server is sent that they are
 * cancelled. `*count` is their number. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_expire(arcp__mcp_filter *filter, arcp_time now,
                                                    size_t *count, arcp_error *err);

/* The server has ended: requests that wait for it, and all further ones, get an error with this
 * text, which is copied. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_end(arcp__mcp_filter *filter, const char *why,
                                                 arcp_error *err);

/* The requests of the client that wait for a response of the server. */
size_t arcp__mcp_filter_pending(const arcp__mcp_filter *filter);

#endif
