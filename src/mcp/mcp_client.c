/* Lines of the client. What is not in mcp_method.def is refused. */
#include "mcp/mcp_parts.h"

/* The client sent a request, and gets this error for it. */
static arcp_status refuse(arcp__mcp_filter *filter, const arcp__mcp_message *message, int code,
                          const char *text)
{
    arcp__mcp_put_error(&filter->output->to_client, arcp_json_raw(&filter->json, message->id), code,
                        text);
    return ARCP_OK;
}

/* Protocol 2026-07-28 says its version in each request. */
static bool is_modern(const arcp__mcp_filter *filter, const arcp__mcp_message *message)
{
    const arcp_json *json = &filter->json;
    const arcp_json_ref meta = arcp_json_member(json, message->params, ARCP_SPAN_LITERAL("_meta"));
    return arcp_json_member(json, meta, ARCP_SPAN_LITERAL(ARCP__MCP_META_VERSION)) !=
           ARCP_JSON_ABSENT;
}

/* ---- requests ---- */

static arcp_json_writer begin_request(arcp__mcp_filter *filter, const arcp__mcp_message *message)
{
    const arcp_span id = arcp_json_raw(&filter->json, message->id);
    arcp_json_writer writer = arcp__mcp_begin(&filter->output->to_server, id);
    arcp__put_cstr(&writer, "method", arcp__mcp_method_name(message->known));
    return writer;
}

/* No capability is declared to the server, so that it does not offer what needs one. */
static void send_initialize(arcp__mcp_filter *filter, const arcp__mcp_message *message)
{
    const arcp_json *json = &filter->json;
    const arcp_json_ref params = message->params;
    arcp_json_writer writer = begin_request(filter, message);
    arcp__put_object(&writer, "params");
    arcp__mcp_put(&writer, "protocolVersion", json,
                  arcp_json_member(json, params, ARCP_SPAN_LITERAL("protocolVersion")));
    arcp__put_raw(&writer, "capabilities", ARCP_SPAN_LITERAL("{}"));
    arcp__mcp_put(&writer, "clientInfo", json,
                  arcp_json_member(json, params, ARCP_SPAN_LITERAL("clientInfo")));
    arcp__mcp_put_meta(&writer, json, params);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

/* The name is written from the text that was matched; the members are those that were read. */
static void send_call(arcp__mcp_filter *filter, const arcp__mcp_message *message, arcp_span tool)
{
    const arcp_json *json = &filter->json;
    arcp_json_writer writer = begin_request(filter, message);
    arcp__put_object(&writer, "params");
    arcp__put_string(&writer, "name", tool);
    arcp__mcp_put(&writer, "arguments", json,
                  arcp_json_member(json, message->params, ARCP_SPAN_LITERAL("arguments")));
    arcp__mcp_put_meta(&writer, json, message->params);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

static void send_as_is(arcp__mcp_filter *filter, const arcp__mcp_message *message)
{
    arcp_json_writer writer = begin_request(filter, message);
    arcp__mcp_put_params(&writer, &filter->json, message->params);
    arcp__mcp_finish(&writer);
}

/* Asks the gate for each call, whatever was listed before. */
static arcp_status take_call(arcp__mcp_filter *filter, arcp_time now,
                             const arcp__mcp_message *message)
{
    const arcp_json *json = &filter->json;
    const arcp_json_ref name = arcp_json_member(json, message->params, ARCP_SPAN_LITERAL("name"));
    arcp_decision decision;
    arcp_buf room = arcp_buf_init();
    const char *fault = arcp__mcp_call_fault(json, message->params);
    if (fault != NULL) {
        return refuse(filter, message, ARCP__MCP_INVALID_PARAMS, fault);
    }
    const arcp_span tool = arcp_json_string(json, name, &room);
    const arcp_span target = arcp__mcp_target(filter, tool);
    const bool is_allowed =
        arcp__mcp_decide(filter->authority, now, target, &filter->canonical, &decision);
    arcp_status status = room.failed || filter->failed ? ARCP_E_NO_MEMORY : ARCP_OK;
    if (status != ARCP_OK) {
        arcp_buf_fini(&room);
        return status;
    }
    const bool is_recorded = filter->events.decided(filter->events.user, &decision);
    if (!is_recorded) {
        status = refuse(filter, message, ARCP__MCP_INTERNAL_ERROR,
                        "the call cannot be recorded in the log, and is refused");
    } else if (!is_allowed) {
        arcp__mcp_put_denial(&filter->output->to_client, arcp_json_raw(json, message->id),
                             is_modern(filter, message), filter->authority, &decision);
    } else {
        status = arcp__mcp_pending_add(filter, message->id, message->known,
                                       is_modern(filter, message), target);
        if (status == ARCP_OK) {
            send_call(filter, message, tool);
        }
    }
    arcp_buf_fini(&room);
    return status;
}

static arcp_status take_request(arcp__mcp_filter *filter, arcp_time now,
                                const arcp__mcp_message *message)
{
    if (!arcp__mcp_method_is_filtered(message->known)) {
        return refuse(filter, message, ARCP__MCP_METHOD_NOT_FOUND, "this method is not passed on");
    }
    if (filter->ended[0] != '\0') {
        return refuse(filter, message, ARCP__MCP_CONNECTION_CLOSED, filter->ended);
    }
    if (arcp__mcp_pending_find(filter, message->id) != NULL) {
        return refuse(filter, message, ARCP__MCP_INVALID_REQUEST,
                      "a request with this id has no response yet");
    }
    if (HASH_COUNT(filter->pending) >= ARCP__MCP_PENDING_MAX) {
        return refuse(filter, message, ARCP__MCP_INTERNAL_ERROR,
                      "1024 requests have no response yet");
    }
    if (message->known == ARCP__MCP_METHOD_TOOLS_CALL) {
        return take_call(filter, now, message);
    }
    const arcp_status status = arcp__mcp_pending_add(
        filter, message->id, message->known, is_modern(filter, message), arcp_span_make(NULL, 0));
    if (status != ARCP_OK) {
        return status;
    }
    if (message->known == ARCP__MCP_METHOD_INITIALIZE) {
        send_initialize(filter, message);
    } else {
        send_as_is(filter, message);
    }
    return ARCP_OK;
}

/* ---- notifications ---- */

/* The request is forgotten: a response that still comes is dropped. */
static bool take_cancelled(arcp__mcp_filter *filter, const arcp__mcp_message *message)
{
    const arcp_json *json = &filter->json;
    const arcp_json_ref id =
        arcp_json_member(json, message->params, ARCP_SPAN_LITERAL("requestId"));
    if (!arcp_json_is(json, id, ARCP_JSON_STRING) && !arcp_json_is(json, id, ARCP_JSON_NUMBER)) {
        return false;
    }
    arcp__mcp_pending *pending = arcp__mcp_pending_find(filter, id);
    if (pending == NULL || pending->method == ARCP__MCP_METHOD_INITIALIZE) {
        return false;
    }
    arcp__mcp_pending_remove(filter, pending);
    return true;
}

static void drop(const arcp__mcp_filter *filter, const char *why, arcp_span line)
{
    filter->events.dropped(filter->events.user, ARCP__MCP_CLIENT, why, line);
}

static void take_notification(arcp__mcp_filter *filter, const arcp__mcp_message *message,
                              arcp_span line)
{
    if (message->known == ARCP__MCP_METHOD_COUNT) {
        drop(filter, "this notification is not passed on", line);
    } else if (message->known == ARCP__MCP_METHOD_CANCELLED && !take_cancelled(filter, message)) {
        drop(filter, "it cancels no request that waits for a response", line);
    } else if (filter->ended[0] == '\0') {
        arcp_json_writer writer =
            arcp__mcp_begin(&filter->output->to_server, arcp_span_make(NULL, 0));
        arcp__put_cstr(&writer, "method", arcp__mcp_method_name(message->known));
        arcp__mcp_put_params(&writer, &filter->json, message->params);
        arcp__mcp_finish(&writer);
    }
}

/* ---- a line ---- */

arcp_status arcp__mcp_filter_take_client(arcp__mcp_filter *filter, arcp_time now, arcp_span line,
                                         arcp_error *err)
{
    arcp__mcp_message message;
    arcp__mcp_fault fault;
    arcp_status status =
        arcp__mcp_message_read(&filter->json, ARCP__MCP_CLIENT, line, &message, &fault);
    if (status == ARCP_E_INVALID_REQUEST) {
        /* A message that has no id either way gets a response with the id null. */
        arcp__mcp_skim skim = {0};
        arcp__mcp_skim_feed(&skim, line);
        arcp__mcp_put_error(&filter->output->to_client, arcp__mcp_skim_id(&skim), fault.code,
                            fault.text);
        status = ARCP_OK;
    } else if (status == ARCP_OK && message.kind == ARCP__MCP_REQUEST) {
        status = take_request(filter, now, &message);
    } else if (status == ARCP_OK && message.kind == ARCP__MCP_NOTIFICATION) {
        take_notification(filter, &message, line);
    } else if (status == ARCP_OK) {
        drop(filter, "it is a response, and no request was passed to the client", line);
    }
    return status == ARCP_OK ? arcp__mcp_filter_status(filter, err)
                             : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}
