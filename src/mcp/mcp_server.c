/* Lines of the server: responses to the client's requests, of which only a part passes, and a few
 * notifications. Its own requests are refused. */
#include "mcp/mcp_parts.h"

static void drop(const arcp__mcp_filter *filter, const char *why, arcp_span line)
{
    filter->events.dropped(filter->events.user, ARCP__MCP_SERVER, why, line);
}

/* ---- responses ---- */

typedef struct asker {
    arcp__mcp_filter *filter;
    arcp_time now;
} asker;

static bool may_call(void *user, arcp_span tool)
{
    const asker *a = user;
    arcp_decision decision;
    return arcp__mcp_decide(a->filter->authority, a->now, arcp__mcp_target(a->filter, tool),
                            &a->filter->canonical, &decision);
}

/* Writes the member `result`. NULL, or why it cannot be passed on: then nothing is written. */
static const char *put_result(arcp__mcp_filter *filter, arcp_time now,
                              const arcp__mcp_pending *pending, arcp_json_ref result,
                              arcp_json_writer *writer)
{
    const arcp_json *json = &filter->json;
    if (!arcp__mcp_is_complete(json, result)) {
        return ARCP__MCP_ASKS_FOR_INPUT;
    }
    if (pending->method == ARCP__MCP_METHOD_INITIALIZE ||
        pending->method == ARCP__MCP_METHOD_DISCOVER) {
        const bool is_discovery = pending->method == ARCP__MCP_METHOD_DISCOVER;
        return arcp__mcp_put_welcome(writer, json, result, is_discovery) ? NULL
                                                                         : ARCP__MCP_NOT_AN_OBJECT;
    }
    if (pending->method == ARCP__MCP_METHOD_TOOLS_LIST) {
        asker a = {filter, now};
        arcp__mcp_listing listing = {.json = json,
                                     .result = result,
                                     .may_call = may_call,
                                     .user = &a,
                                     .scratch = &filter->scratch};
        if (!arcp__mcp_put_listing(writer, &listing)) {
            return "the response of the server has no list of tools";
        }
        filter->events.listed(filter->events.user, listing.shown, listing.hidden);
        return NULL;
    }
    arcp__mcp_put(writer, "result", json, result);
    return NULL;
}

static void take_response(arcp__mcp_filter *filter, arcp_time now, const arcp__mcp_message *message,
                          arcp_span line)
{
    arcp__mcp_pending *pending = arcp__mcp_pending_find(filter, message->id);
    arcp_buf *out = &filter->output->to_client;
    if (pending == NULL) {
        drop(filter, "it is a response to no request that waits for one", line);
        return;
    }
    const size_t begun = out->size;
    arcp_json_writer writer = arcp__mcp_begin(out, pending->id);
    const char *why = NULL;
    if (message->kind == ARCP__MCP_ERROR) {
        arcp__mcp_put(&writer, "error", &filter->json, message->outcome);
    } else {
        why = put_result(filter, now, pending, message->outcome, &writer);
    }
    if (why == NULL) {
        arcp__mcp_finish(&writer);
    } else {
        out->size = begun;
        arcp__mcp_put_error(out, pending->id, ARCP__MCP_INTERNAL_ERROR, why);
    }
    arcp__mcp_pending_remove(filter, pending);
}

/* A line that is no message. If it is the response to a request, the client must not wait for it.
 */
static void take_faulty(arcp__mcp_filter *filter, arcp_span line, const arcp__mcp_fault *fault)
{
    arcp__mcp_skim skim = {0};
    arcp__mcp_skim_feed(&skim, line);
    const arcp_span id = arcp__mcp_skim_id(&skim);
    drop(filter, fault->text, line);
    arcp__mcp_pending *pending = arcp__mcp_pending_find_text(filter, id);
    if (pending != NULL) {
        arcp_buf text = arcp_buf_init();
        arcp_buf_append_format(&text, "the response of the server cannot be read: %s", fault->text);
        arcp__mcp_put_error(&filter->output->to_client, pending->id, ARCP__MCP_INTERNAL_ERROR,
                            arcp_buf_cstr(&text));
        filter->failed = filter->failed || text.failed;
        arcp_buf_fini(&text);
        arcp__mcp_pending_remove(filter, pending);
    }
}

/* ---- requests ---- */

static void take_request(arcp__mcp_filter *filter, const arcp__mcp_message *message, arcp_span line)
{
    if (filter->output->is_server_behind) {
        drop(filter, "it is a request, and the server does not read responses", line);
    } else {
        arcp__mcp_put_reply(&filter->output->to_server, &filter->json, message);
    }
}

/* ---- a line ---- */

arcp_status arcp__mcp_filter_take_server(arcp__mcp_filter *filter, arcp_time now, arcp_span line,
                                         arcp_error *err)
{
    arcp__mcp_message message;
    arcp__mcp_fault fault;
    const arcp_status status =
        arcp__mcp_message_read(&filter->json, ARCP__MCP_SERVER, line, &message, &fault);
    if (status == ARCP_E_NO_MEMORY) {
        return arcp_error_set(err, status, "out of memory");
    }
    if (status != ARCP_OK) {
        take_faulty(filter, line, &fault);
    } else if (message.kind == ARCP__MCP_REQUEST) {
        take_request(filter, &message, line);
    } else if (message.kind != ARCP__MCP_NOTIFICATION) {
        take_response(filter, now, &message, line);
    } else if (message.known == ARCP__MCP_METHOD_COUNT) {
        drop(filter, "this notification is not passed on", line);
    } else {
        arcp_json_writer writer =
            arcp__mcp_begin(&filter->output->to_client, arcp_span_make(NULL, 0));
        arcp__put_cstr(&writer, "method", arcp__mcp_method_name(message.known));
        arcp__mcp_put_params(&writer, &filter->json, message.params);
        arcp__mcp_finish(&writer);
    }
    return arcp__mcp_filter_status(filter, err);
}
