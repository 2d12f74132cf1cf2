/* The parts of src/mcp. */
#ifndef ARCP_MCP_MCP_PARTS_H
#define ARCP_MCP_MCP_PARTS_H

#include "base/hash.h"
#include "mcp/mcp.h"
#include "mcp/mcp_answer.h"
#include "mcp/mcp_method.h"
#include "json/json.h"
#include "json/json_put.h"

/* ---- mcp_message.c: JSON-RPC 2.0, as MCP uses it ---- */

typedef enum arcp__mcp_kind {
    ARCP__MCP_REQUEST,
    ARCP__MCP_NOTIFICATION,
    ARCP__MCP_RESULT,
    ARCP__MCP_ERROR
} arcp__mcp_kind;

/* Whether `arcp mcp` passes it. False for ARCP__MCP_METHOD_COUNT. */
bool arcp__mcp_method_is_filtered(arcp__mcp_method method);
/* Whether a lease may have granted a method by this name, which a tool must not have. */
bool arcp__mcp_is_granted_method(arcp_span name);
/* References into the index that the message was read into. */
typedef struct arcp__mcp_message {
    arcp__mcp_kind kind;
    arcp_json_ref id;     /* a string or an integer; ARCP_JSON_ABSENT: a notification */
    arcp_json_ref method; /* of requests and notifications */
    /* The one that passes, from this sender and of this kind, or ARCP__MCP_METHOD_COUNT. */
    arcp__mcp_method known;
    arcp_json_ref params;  /* an object, or ARCP_JSON_ABSENT */
    arcp_json_ref outcome; /* the value of `result` or `error` */
} arcp__mcp_message;

/* Why a line is no message: the code of the error, and a text. */
typedef struct arcp__mcp_fault {
    int code;
    char text[ARCP_ERROR_MESSAGE_MAX];
} arcp__mcp_fault;

/* Reads one message; `json` borrows from `line`. ARCP_E_INVALID_REQUEST: *fault says why;
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_message_read(arcp_json *json, arcp__mcp_side from,
                                                   arcp_span line, arcp__mcp_message *out,
                                                   arcp__mcp_fault *fault);

/* Begins {"jsonrpc":"2.0", with the id if there is one. */
arcp_json_writer arcp__mcp_begin(arcp_buf *out, arcp_span id);

/* Ends the message and its line. */
void arcp__mcp_finish(arcp_json_writer *writer);

/* A member with a value that was read, without white space. Absent values are left out. */
void arcp__mcp_put(arcp_json_writer *writer, const char *name, const arcp_json *json,
                   arcp_json_ref value);

/* Writes a value that was read, without white space, in place of one. */
void arcp__mcp_write(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref value);

/* A member's name as it was read, before its value. */
void arcp__mcp_copy_name(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref name);

/* The member `params` as it was read, or its _meta alone, but for the client's capabilities in
 * _meta, which are emptied: none is declared to the server. Absent ones are left out. */
void arcp__mcp_put_params(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref params);
void arcp__mcp_put_meta(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref params);

/* Whether a value can be an id: a string or an integer with one spelling. */
bool arcp__mcp_is_id(const arcp_json *json, arcp_json_ref id);

/* The response to a ping. */
void arcp__mcp_put_pong(arcp_buf *out, arcp_span id);

/* The response to a request of a server. Nothing is asked of the client: not a model, not its user,
 * not its directories. */
void arcp__mcp_put_reply(arcp_buf *out, const arcp_json *json, const arcp__mcp_message *message);

/* Whether an object has no other members than these. */
bool arcp__mcp_has_only(const arcp_json *json, arcp_json_ref params, const char *const *known,
                        size_t count);

/* Why the `params` of a tools/call are not those of a call that is passed on; NULL: they are. */
const char *arcp__mcp_call_fault(const arcp_json *json, arcp_json_ref params);

#define ARCP__MCP_MODERN "2026-07-28"

/* In _meta of requests of that version of the protocol. */
#define ARCP__MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define ARCP__MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define ARCP__MCP_META_CLIENT       "io.modelcontextprotocol/clientInfo"

/* The members resultType, ttlMs and cacheScope of a list in protocol 2026-07-28. */
void arcp__mcp_put_freshness(arcp_json_writer *writer, bool is_modern);

/* The gateway as a client or server: {"name": "arcp", "version": ...}. */
void arcp__mcp_write_identity(arcp_json_writer *writer);

/* Why a result is not passed on. */
#define ARCP__MCP_ASKS_FOR_INPUT "the server asks for input, which is not passed on"
#define ARCP__MCP_NOT_AN_OBJECT  "the response of the server is not an object"

/* Whether a result is not a question of the server. */
bool arcp__mcp_is_complete(const arcp_json *json, arcp_json_ref result);

/* ---- mcp_gate.c ---- */

/* Decides a call of a tool: `target` is its name with that of the server before it. */
ARCP_MUST_CHECK bool arcp__mcp_decide(const arcp_authority *authority, arcp_time now,
                                      arcp_span target, arcp_target_scratch *scratch,
                                      arcp_decision *decision);

/* ---- mcp_tools.c: what is listed ---- */

typedef struct arcp__mcp_listing {
    const arcp_json *json;
    arcp_json_ref result;
    bool (*may_call)(void *user, arcp_span tool); /* by its own name */
    void *user;
    arcp_buf *scratch;    /* for names */
    size_t shown, hidden; /* set */
} arcp__mcp_listing;

/* A tool as it was listed, without x-mcp-header in its schema, and without its name if !has_name.
 */
void arcp__mcp_write_tool(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref tool,
                          bool has_name);

/* Appends which arguments of a tool are headers, too (x-mcp-header): {"PROPERTY": "HEADER",
 * "PROPERTY": {"PROPERTY": ...}}. Nothing if there are none. */
void arcp__mcp_append_headers(const arcp_json *json, arcp_json_ref tool, arcp_buf *out);

/* The member `result` of a response to tools/list, with the tools that may be called, without
 * x-mcp-header in their schemas. False, and nothing is written: the result is not one of
 * tools/list. */
ARCP_MUST_CHECK bool arcp__mcp_put_listing(arcp_json_writer *writer, arcp__mcp_listing *listing);

/* The member `result` of a response to initialize or server/discover: of the capabilities, only
 * those of tools and of the log. False, and nothing is written: it is no object. */
ARCP_MUST_CHECK bool arcp__mcp_put_welcome(arcp_json_writer *writer, const arcp_json *json,
                                           arcp_json_ref result, bool is_discovery);

/* ---- mcp_filter.c ---- */

/* A request of the client that the server has not answered. */
typedef struct arcp__mcp_pending {
    UT_hash_handle hh;
    arcp__mcp_method method;
    bool is_modern;  /* protocol 2026-07-28: its _meta names the version */
    size_t key_size; /* of the id as it is compared: a letter, then the text */
    arcp_span id;    /* as the client wrote it; behind the key */
    arcp_span target;
    char key[]; /* followed by id and target */
} arcp__mcp_pending;

struct arcp__mcp_filter {
    const arcp_authority *authority; /* a reference is held */
    arcp_buf prefix;                 /* `NAME.`, or empty */
    arcp__mcp_output *output;
    arcp__mcp_events events;
    arcp_json json; /* of the line that is being taken */
    arcp__mcp_pending *pending;
    arcp_buf scratch;                   /* texts of that line */
    arcp_buf target;                    /* of the tool that is being asked for */
    arcp_target_scratch canonical;      /* for the gate */
    bool failed;                        /* something that is not in the output ran out of memory */
    char ended[ARCP_ERROR_MESSAGE_MAX]; /* why the server has ended; empty: it has not */
};

/* By the id of the message that was read. NULL: none. */
arcp__mcp_pending *arcp__mcp_pending_find(arcp__mcp_filter *filter, arcp_json_ref id);
/* The same for an id as JSON, in place of the line that was read; may be empty. */
arcp__mcp_pending *arcp__mcp_pending_find_text(arcp__mcp_filter *filter, arcp_span id);
/* Adds a request whose id is not pending. `target` is that of a call. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_pending_add(arcp__mcp_filter *filter, arcp_json_ref id,
                                                  arcp__mcp_method method, bool is_modern,
                                                  arcp_span target);
void arcp__mcp_pending_remove(arcp__mcp_filter *filter, arcp__mcp_pending *pending);

/* The target of a tool: its name, with that of the server before it. Valid until the next call. */
arcp_span arcp__mcp_target(arcp__mcp_filter *filter, arcp_span tool);

/* ARCP_E_NO_MEMORY if anything that was written has failed. */
ARCP_MUST_CHECK arcp_status arcp__mcp_filter_status(const arcp__mcp_filter *filter,
                                                    arcp_error *err);

#endif
