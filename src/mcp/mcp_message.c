#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp_parts.h"

/* What a message may nest, and members of an object. */
static const arcp_json_limits limits = {128, 100000, SIZE_MAX};

enum { ANYWHERE, GATEWAY };

typedef struct method_row {
    const char *name;
    arcp__mcp_side from;
    arcp__mcp_kind kind;
    int place;
} method_row;

static const method_row methods[ARCP__MCP_METHOD_COUNT] = {
#define ARCP__MCP_METHOD(id, name, sender, kind, place)                                            \
    [ARCP__MCP_METHOD_##id] = {name, ARCP__MCP_##sender, ARCP__MCP_##kind, place},
#include "mcp/mcp_method.def"
#undef ARCP__MCP_METHOD
};

const char *arcp__mcp_method_name(arcp__mcp_method method)
{
    return methods[method].name;
}

bool arcp__mcp_method_is_filtered(arcp__mcp_method method)
{
    return method != ARCP__MCP_METHOD_COUNT && methods[method].place == ANYWHERE;
}

bool arcp__mcp_is_granted_method(arcp_span name)
{
    for (int i = 0; i < ARCP__MCP_METHOD_COUNT; i++) {
        if (methods[i].place == GATEWAY && arcp_span_equal_cstr(name, methods[i].name)) {
            return true;
        }
    }
    return false;
}

/* ---- reading ---- */

#define INTEGER_MAX INT64_C(9007199254740991) /* 2^53 - 1 */

static arcp_status refuse(arcp__mcp_fault *fault, int code, const char *text)
{
    fault->code = code;
    (void)snprintf(fault->text, sizeof fault->text, "%s", text);
    return ARCP_E_INVALID_REQUEST;
}

/* Whether there is no other spelling of it that a reader takes for the same integer: ids are
 * compared as text here, and as numbers by servers, of which some have doubles. */
static bool is_plain_integer(arcp_span raw)
{
    char text[24];
    char again[24];
    if (raw.size >= sizeof text) {
        return false;
    }
    memcpy(text, raw.data, raw.size);
    text[raw.size] = '\0';
    const long long value = strtoll(text, NULL, 10);
    (void)snprintf(again, sizeof again, "%lld", value);
    return strcmp(text, again) == 0 && value >= -INTEGER_MAX && value <= INTEGER_MAX;
}

/* MCP has strings and integers. */
bool arcp__mcp_is_id(const arcp_json *json, arcp_json_ref id)
{
    const arcp_span raw = arcp_json_raw(json, id);
    if (arcp_json_is(json, id, ARCP_JSON_NUMBER)) {
        return is_plain_integer(raw);
    }
    return arcp_json_is(json, id, ARCP_JSON_STRING) && raw.size <= ARCP__MCP_ID_BYTES_MAX;
}

static arcp__mcp_method method_of(const arcp_json *json, arcp_json_ref name, arcp__mcp_side from,
                                  arcp__mcp_kind kind)
{
    for (int i = 0; i < ARCP__MCP_METHOD_COUNT; i++) {
        if (methods[i].from == from && methods[i].kind == kind &&
            arcp_json_string_equals(json, name, arcp_span_cstr(methods[i].name))) {
            return (arcp__mcp_method)i;
        }
    }
    return ARCP__MCP_METHOD_COUNT;
}

/* A request or a notification. */
static arcp_status read_call(const arcp_json *json, arcp__mcp_side from, arcp__mcp_message *out,
                             arcp__mcp_fault *fault)
{
    if (!arcp_json_is(json, out->method, ARCP_JSON_STRING)) {
        return refuse(fault, ARCP__MCP_INVALID_REQUEST, "method must be a string");
    }
    if (out->params != ARCP_JSON_ABSENT && !arcp_json_is(json, out->params, ARCP_JSON_OBJECT)) {
        return refuse(fault, ARCP__MCP_INVALID_PARAMS, "params must be an object");
    }
    out->kind = out->id == ARCP_JSON_ABSENT ? ARCP__MCP_NOTIFICATION : ARCP__MCP_REQUEST;
    out->known = method_of(json, out->method, from, out->kind);
    return ARCP_OK;
}

arcp_status arcp__mcp_message_read(arcp_json *json, arcp__mcp_side from, arcp_span line,
                                   arcp__mcp_message *out, arcp__mcp_fault *fault)
{
    arcp_error err = {0};
    const arcp_json_ref root = ARCP_JSON_ROOT;
    const arcp_status status = arcp_json_scan(json, line, &limits, &err);
    if (status != ARCP_OK) {
        return status == ARCP_E_NO_MEMORY ? status
                                          : refuse(fault, ARCP__MCP_PARSE_ERROR, err.message);
    }
    if (arcp_json_is(json, root, ARCP_JSON_ARRAY)) {
        return refuse(fault, ARCP__MCP_INVALID_REQUEST, "batches are not accepted");
    }
    if (!arcp_json_is(json, root, ARCP_JSON_OBJECT)) {
        return refuse(fault, ARCP__MCP_INVALID_REQUEST, "a message must be an object");
    }
    const arcp_json_ref version = arcp_json_member(json, root, ARCP_SPAN_LITERAL("jsonrpc"));
    const arcp_json_ref result = arcp_json_member(json, root, ARCP_SPAN_LITERAL("result"));
    const arcp_json_ref error = arcp_json_member(json, root, ARCP_SPAN_LITERAL("error"));
    *out = (arcp__mcp_message){
        .id = arcp_json_member(json, root, ARCP_SPAN_LITERAL("id")),
        .method = arcp_json_member(json, root, ARCP_SPAN_LITERAL("method")),
        .params = arcp_json_member(json, root, ARCP_SPAN_LITERAL("params")),
        .known = ARCP__MCP_METHOD_COUNT,
    };
    if (!arcp_json_is(json, version, ARCP_JSON_STRING) ||
        !arcp_json_string_equals(json, version, ARCP_SPAN_LITERAL("2.0"))) {
        return refuse(fault, ARCP__MCP_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    }
    if (out->id != ARCP_JSON_ABSENT && !arcp__mcp_is_id(json, out->id)) {
        return refuse(fault, ARCP__MCP_INVALID_REQUEST,
                      "id must be a string of at most 256 bytes, or an integer within 2^53");
    }
    const unsigned parts = (out->method != ARCP_JSON_ABSENT) + (result != ARCP_JSON_ABSENT) +
                           (error != ARCP_JSON_ABSENT);
    if (parts != 1 || (out->method == ARCP_JSON_ABSENT && out->id == ARCP_JSON_ABSENT)) {
        return refuse(fault, ARCP__MCP_INVALID_REQUEST,
                      "a message is a request, a notification or a response");
    }
    if (out->method != ARCP_JSON_ABSENT) {
        return read_call(json, from, out, fault);
    }
    out->kind = result != ARCP_JSON_ABSENT ? ARCP__MCP_RESULT : ARCP__MCP_ERROR;
    out->outcome = result != ARCP_JSON_ABSENT ? result : error;
    return ARCP_OK;
}

bool arcp__mcp_has_only(const arcp_json *json, arcp_json_ref params, const char *const *known,
                        size_t count)
{
    for (arcp_json_ref at = arcp_json_first(json, params); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, params, at)) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++) {
            is_known = is_known || arcp_json_string_equals(json, at, arcp_span_cstr(known[i]));
        }
        if (!is_known) {
            return false;
        }
    }
    return true;
}

/* A task, or the answer to a question of the server, is not passed on. */
const char *arcp__mcp_call_fault(const arcp_json *json, arcp_json_ref params)
{
    static const char *const known[] = {"name", "arguments", "_meta"};
    const arcp_json_ref name = arcp_json_member(json, params, ARCP_SPAN_LITERAL("name"));
    if (!arcp_json_is(json, name, ARCP_JSON_STRING)) {
        return "name must be a string";
    }
    if (!arcp__mcp_has_only(json, params, known, sizeof known / sizeof known[0])) {
        return "of a call only name, arguments and _meta are passed on";
    }
    return arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("")) ? "name is empty" : NULL;
}

/* ---- writing ---- */

arcp_json_writer arcp__mcp_begin(arcp_buf *out, arcp_span id)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "jsonrpc", "2.0");
    arcp__put_raw(&writer, "id", id);
    return writer;
}

void arcp__mcp_finish(arcp_json_writer *writer)
{
    arcp_json_end_object(writer);
    arcp_buf_append_byte(writer->out, '\n');
}

void arcp__mcp_write(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref value)
{
    arcp_json_write_raw(writer, arcp_span_make(NULL, 0)); /* the comma, if one is due */
    arcp_json_compact(json, value, writer->out);
}

void arcp__mcp_put(arcp_json_writer *writer, const char *name, const arcp_json *json,
                   arcp_json_ref value)
{
    if (value != ARCP_JSON_ABSENT) {
        arcp_json_name(writer, name);
        arcp__mcp_write(writer, json, value);
    }
}

void arcp__mcp_copy_name(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref name)
{
    arcp__mcp_write(writer, json, name);
    arcp_buf_append_byte(writer->out, ':');
    writer->after_name = true;
}

/* Of protocol 2026-07-28, in which each request names the client's capabilities. */
static void write_meta(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref meta)
{
    if (!arcp_json_is(json, meta, ARCP_JSON_OBJECT)) {
        arcp__mcp_write(writer, json, meta);
        return;
    }
    arcp_json_begin_object(writer);
    for (arcp_json_ref name = arcp_json_first(json, meta); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, meta, name)) {
        arcp__mcp_copy_name(writer, json, name);
        if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL(ARCP__MCP_META_CAPABILITIES))) {
            arcp_json_write_raw(writer, ARCP_SPAN_LITERAL("{}"));
        } else {
            arcp__mcp_write(writer, json, name + 1);
        }
    }
    arcp_json_end_object(writer);
}

void arcp__mcp_put_meta(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref params)
{
    const arcp_json_ref meta = arcp_json_member(json, params, ARCP_SPAN_LITERAL("_meta"));
    if (meta != ARCP_JSON_ABSENT) {
        arcp_json_name(writer, "_meta");
        write_meta(writer, json, meta);
    }
}

void arcp__mcp_put_params(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref params)
{
    if (params == ARCP_JSON_ABSENT) {
        return;
    }
    arcp__put_object(writer, "params");
    for (arcp_json_ref name = arcp_json_first(json, params); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, params, name)) {
        if (!arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("_meta"))) {
            arcp__mcp_copy_name(writer, json, name);
            arcp__mcp_write(writer, json, name + 1);
        }
    }
    arcp__mcp_put_meta(writer, json, params);
    arcp_json_end_object(writer);
}

void arcp__mcp_write_identity(arcp_json_writer *writer)
{
    arcp_json_begin_object(writer);
    arcp__put_cstr(writer, "name", "arcp");
    arcp__put_cstr(writer, "version", ARCP_VERSION_STRING);
    arcp_json_end_object(writer);
}

void arcp__mcp_put_error(arcp_buf *out, arcp_span id, int code, const char *text)
{
    arcp_json_writer writer = arcp__mcp_begin(out, id.size != 0 ? id : ARCP_SPAN_LITERAL("null"));
    arcp__put_object(&writer, "error");
    arcp__put_i64(&writer, "code", code);
    arcp__put_cstr(&writer, "message", text);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

void arcp__mcp_put_reply(arcp_buf *out, const arcp_json *json, const arcp__mcp_message *message)
{
    const arcp_span id = arcp_json_raw(json, message->id);
    if (!arcp_json_string_equals(json, message->method, ARCP_SPAN_LITERAL("ping"))) {
        arcp__mcp_put_error(out, id, ARCP__MCP_METHOD_NOT_FOUND,
                            "requests are not passed to the client");
        return;
    }
    arcp__mcp_put_pong(out, id);
}

void arcp__mcp_put_pong(arcp_buf *out, arcp_span id)
{
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__put_raw(&writer, "result", ARCP_SPAN_LITERAL("{}"));
    arcp__mcp_finish(&writer);
}
