#include "mcp/mcp_answer.h"

#include "mcp/mcp_parts.h"

/* ---- results ---- */

void arcp__mcp_put_freshness(arcp_json_writer *writer, bool is_modern)
{
    if (is_modern) {
        arcp__put_cstr(writer, "resultType", "complete");
        /* Lists depend on the lease, which may expire: they are asked for again. */
        arcp__put_u64(writer, "ttlMs", 0);
        arcp__put_cstr(writer, "cacheScope", "private");
    }
}

/* A result with isError, whose text is this JSON. */
static void put_failure(arcp_buf *out, arcp_span id, bool is_modern, const arcp_buf *text)
{
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__put_object(&writer, "result");
    if (is_modern) {
        arcp__put_cstr(&writer, "resultType", "complete");
    }
    arcp__put_array(&writer, "content");
    arcp_json_begin_object(&writer);
    arcp__put_cstr(&writer, "type", "text");
    arcp__put_string(&writer, "text", arcp_buf_span(text));
    arcp_json_end_object(&writer);
    arcp_json_end_array(&writer);
    arcp__put_bool(&writer, "isError", true);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
    out->failed = out->failed || text->failed;
}

/* The details with code and message before them. */
static void append_denied(arcp_status code, arcp_span message, arcp_span details, arcp_buf *out)
{
    arcp_json_writer inner = arcp__put_begin(out);
    arcp__put_cstr(&inner, "code", arcp_status_wire_code(code));
    arcp__put_string(&inner, "message", message);
    arcp_buf_append_byte(out, ','); /* the members of the details follow, and their brace */
    arcp_buf_append(out, arcp_span_from(details, 1));
}

void arcp__mcp_put_denied_error(arcp_buf *out, arcp_span id, arcp_status code, arcp_span message,
                                arcp_span details)
{
    arcp_buf data = arcp_buf_init();
    append_denied(code, message, details, &data);
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__put_object(&writer, "error");
    arcp__put_i64(&writer, "code", ARCP__MCP_INVALID_PARAMS);
    arcp__put_string(&writer, "message", message);
    arcp__put_raw(&writer, "data", arcp_buf_span(&data));
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
    out->failed = out->failed || data.failed;
    arcp_buf_fini(&data);
}

void arcp__mcp_put_denied(arcp_buf *out, arcp_span id, bool is_modern, arcp_status code,
                          arcp_span message, arcp_span details)
{
    arcp_buf text = arcp_buf_init();
    append_denied(code, message, details, &text);
    put_failure(out, id, is_modern, &text);
    arcp_buf_fini(&text);
}

void arcp__mcp_put_denial(arcp_buf *out, arcp_span id, bool is_modern,
                          const arcp_authority *authority, const arcp_decision *decision)
{
    arcp_buf message = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_decision_format_message(decision, &message);
    arcp_decision_format_details(authority, decision, &details);
    arcp__mcp_put_denied(out, id, is_modern, decision->code, arcp_buf_span(&message),
                         arcp_buf_span(&details));
    out->failed = out->failed || message.failed || details.failed;
    arcp_buf_fini(&details);
    arcp_buf_fini(&message);
}

void arcp__mcp_put_refusal(arcp_buf *out, arcp_span id, bool is_modern, const char *code,
                           arcp_span target, const char *text)
{
    arcp_buf inside = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&inside);
    arcp__put_cstr(&writer, "code", code);
    arcp__put_cstr(&writer, "message", text);
    arcp__put_cstr(&writer, "capability", "tool.call");
    arcp__put_string(&writer, "target", target);
    arcp_json_end_object(&writer);
    put_failure(out, id, is_modern, &inside);
    arcp_buf_fini(&inside);
}

/* ---- what servers return ---- */

bool arcp__mcp_is_complete(const arcp_json *json, arcp_json_ref result)
{
    const arcp_json_ref type = arcp_json_member(json, result, ARCP_SPAN_LITERAL("resultType"));
    return type == ARCP_JSON_ABSENT ||
           (arcp_json_is(json, type, ARCP_JSON_STRING) &&
            arcp_json_string_equals(json, type, ARCP_SPAN_LITERAL("complete")));
}

const char *arcp__mcp_put_outcome(arcp_buf *out, arcp_span id, bool is_modern,
                                  const arcp_json *json, arcp_json_ref result)
{
    if (!arcp_json_is(json, result, ARCP_JSON_OBJECT)) {
        return ARCP__MCP_NOT_AN_OBJECT;
    }
    if (!arcp__mcp_is_complete(json, result)) {
        return ARCP__MCP_ASKS_FOR_INPUT;
    }
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__put_object(&writer, "result");
    if (is_modern) {
        arcp__put_cstr(&writer, "resultType", "complete");
    }
    for (arcp_json_ref name = arcp_json_first(json, result); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, result, name)) {
        if (!arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("resultType"))) {
            arcp__mcp_copy_name(&writer, json, name);
            arcp__mcp_write(&writer, json, name + 1);
        }
    }
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
    return NULL;
}

void arcp__mcp_put_server_error(arcp_buf *out, arcp_span id, const arcp_json *json,
                                arcp_json_ref error)
{
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__mcp_put(&writer, "error", json, error);
    arcp__mcp_finish(&writer);
}

void arcp__mcp_put_progress(arcp_buf *out, arcp_span token, const arcp_json *json,
                            arcp_json_ref params)
{
    arcp_json_writer writer = arcp__mcp_begin(out, arcp_span_make(NULL, 0));
    arcp__put_cstr(&writer, "method", arcp__mcp_method_name(ARCP__MCP_METHOD_PROGRESS));
    arcp__put_object(&writer, "params");
    arcp__put_raw(&writer, "progressToken", token);
    for (arcp_json_ref name = arcp_json_first(json, params); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, params, name)) {
        if (!arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("progressToken")) &&
            !arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("_meta"))) {
            arcp__mcp_copy_name(&writer, json, name);
            arcp__mcp_write(&writer, json, name + 1);
        }
    }
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

void arcp__mcp_put_event(arcp_buf *out, arcp_span line)
{
    arcp_buf_append_cstr(out, "event: message\ndata: ");
    arcp_buf_append(out, line);
    arcp_buf_append_byte(out, '\n');
}
