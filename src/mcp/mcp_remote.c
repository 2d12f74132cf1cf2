#include "mcp/mcp_remote.h"

#include <string.h>

#include "base/base64.h"
#include "mcp/mcp_parts.h"

/* Of messages that were decided before (mcp_message.c), in their envelope. */
static const arcp_json_limits limits = {130, 100000, SIZE_MAX};

bool arcp__mcp_session_is_valid(arcp_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '!' || text.data[i] > '~') {
            return false;
        }
    }
    return text.size != 0 && text.size <= ARCP__MCP_SESSION_MAX;
}

/* ---- values of headers ---- */

static bool is_plain(arcp_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < ' ' || text.data[i] > '~') {
            return false;
        }
    }
    return text.size == 0 || (text.data[0] != ' ' && text.data[text.size - 1] != ' ' &&
                              !arcp_span_starts_with(text, ARCP_SPAN_LITERAL("=?base64?")));
}

/* A text that a header cannot have as it is, is encoded. */
static void append_value(arcp_span text, arcp_buf *out)
{
    if (is_plain(text)) {
        arcp_buf_append(out, text);
        return;
    }
    arcp_buf_append_cstr(out, "=?base64?");
    arcp__base64_encode(text, ARCP__BASE64_STANDARD, out);
    arcp_buf_append_cstr(out, "?=");
}

static void append_header(const char *name, arcp_span value, arcp_buf *out)
{
    arcp_buf_append_format(out, "%s: ", name);
    append_value(value, out);
    arcp_buf_append_byte(out, '\0');
}

/* ---- arguments that are headers, too ---- */

typedef struct annotated {
    const arcp_json *json; /* of the call */
    arcp_buf *scratch, *out;
} annotated;

/* An argument that has a value, which is no object and no list. */
static void append_argument(const annotated *a, arcp_span header, arcp_json_ref value)
{
    arcp_buf_clear(a->scratch);
    const bool is_text = arcp_json_is(a->json, value, ARCP_JSON_STRING);
    if (arcp_json_is(a->json, value, ARCP_JSON_OBJECT) ||
        arcp_json_is(a->json, value, ARCP_JSON_ARRAY) ||
        arcp_json_is(a->json, value, ARCP_JSON_NULL)) {
        return;
    }
    const arcp_span text =
        is_text ? arcp_json_string(a->json, value, a->scratch) : arcp_json_raw(a->json, value);
    a->out->failed = a->out->failed || a->scratch->failed;
    arcp_buf_append_format(a->out, "Mcp-Param-%.*s: ", (int)header.size, header.data);
    append_value(text, a->out);
    arcp_buf_append_byte(a->out, '\0');
}

/* `headers` of a tool: {"PROPERTY": "HEADER", "PROPERTY": {...}} (mcp_tools.c). */
static void append_arguments(const annotated *a, const arcp_json *headers, arcp_json_ref object,
                             arcp_json_ref arguments, arcp_buf *name)
{
    for (arcp_json_ref at = arcp_json_first(headers, object); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(headers, object, at)) {
        arcp_buf_clear(name);
        const arcp_span property = arcp_json_string(headers, at, name);
        const arcp_json_ref value = arcp_json_member(a->json, arguments, property);
        a->out->failed = a->out->failed || name->failed;
        if (value == ARCP_JSON_ABSENT) {
            continue;
        }
        if (arcp_json_is(headers, at + 1, ARCP_JSON_OBJECT)) {
            if (arcp_json_is(a->json, value, ARCP_JSON_OBJECT)) {
                append_arguments(a, headers, at + 1, value, name);
            }
        } else {
            arcp_buf_clear(name);
            append_argument(a, arcp_json_string(headers, at + 1, name), value);
        }
    }
}

static arcp_status append_parameters(const arcp_json *json, arcp_json_ref params,
                                     const arcp__mcp_tool *tool, arcp_buf *out)
{
    arcp_json headers = ARCP__JSON_INIT;
    arcp_buf name = arcp_buf_init();
    arcp_buf scratch = arcp_buf_init();
    const annotated a = {json, &scratch, out};
    const arcp_status status = arcp_json_scan(&headers, tool->headers, NULL, NULL);
    if (status == ARCP_OK) {
        append_arguments(&a, &headers, ARCP_JSON_ROOT,
                         arcp_json_member(json, params, ARCP_SPAN_LITERAL("arguments")), &name);
    }
    arcp__json_fini(&headers);
    arcp_buf_fini(&name);
    arcp_buf_fini(&scratch);
    return status;
}

/* ---- a message ---- */

static void find_id(const arcp_json *json, arcp_json_ref value, arcp__mcp_sent *out)
{
    if (!arcp_json_is(json, value, ARCP_JSON_NUMBER) || !arcp_json_u64(json, value, &out->id)) {
        out->kind = ARCP__MCP_SENT_OTHER;
    }
}

static arcp_status append_modern(const arcp_json *json, arcp_span method,
                                 const arcp__mcp_toolset *tools, arcp_buf *headers)
{
    const arcp_json_ref params =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("params"));
    const bool is_call = arcp_span_equal_cstr(method, "tools/call");
    const arcp_json_ref name = arcp_json_member(
        json, params,
        arcp_span_cstr(arcp_span_equal_cstr(method, "resources/read") ? "uri" : "name"));
    arcp_buf text = arcp_buf_init();
    arcp_status status = ARCP_OK;
    append_header("Mcp-Method", method, headers);
    if (arcp_json_is(json, name, ARCP_JSON_STRING)) {
        const arcp_span called = arcp_json_string(json, name, &text);
        const arcp__mcp_tool *tool =
            !is_call || tools == NULL || text.failed ? NULL : arcp__mcp_toolset_find(tools, called);
        append_header("Mcp-Name", called, headers);
        if (tool != NULL && tool->headers.size != 0) {
            status = append_parameters(json, params, tool, headers);
        }
    }
    headers->failed = headers->failed || text.failed;
    arcp_buf_fini(&text);
    return status;
}

arcp_status arcp__mcp_sent_read(arcp_json *json, arcp_span line,
                                const arcp__mcp_remote_terms *terms, arcp__mcp_sent *out,
                                arcp_buf *headers)
{
    arcp_buf text = arcp_buf_init();
    *out = (arcp__mcp_sent){.kind = ARCP__MCP_SENT_OTHER};
    arcp_status status = arcp_json_scan(json, line, &limits, NULL);
    if (status != ARCP_OK) {
        return status;
    }
    const arcp_json_ref method =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("method"));
    const arcp_json_ref id = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("id"));
    const arcp_span name = method == ARCP_JSON_ABSENT ? arcp_span_make(NULL, 0)
                                                      : arcp_json_string(json, method, &text);
    if (name.size != 0 && id != ARCP_JSON_ABSENT) {
        out->kind = arcp_span_equal_cstr(name, "initialize") ? ARCP__MCP_SENT_INITIALIZE
                                                             : ARCP__MCP_SENT_REQUEST;
        find_id(json, id, out);
    } else if (arcp_span_equal_cstr(name, "notifications/initialized")) {
        out->kind = ARCP__MCP_SENT_INITIALIZED;
    } else if (arcp_span_equal_cstr(name, "notifications/cancelled")) {
        const arcp_json_ref params =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("params"));
        out->kind = ARCP__MCP_SENT_CANCELLED;
        find_id(json, arcp_json_member(json, params, ARCP_SPAN_LITERAL("requestId")), out);
    }
    arcp_buf_append_cstr(headers, "Content-Type: application/json");
    arcp_buf_append_byte(headers, '\0');
    arcp_buf_append_cstr(headers, "Accept: application/json, text/event-stream");
    arcp_buf_append_byte(headers, '\0');
    if (terms->version[0] != '\0' || terms->is_modern) {
        append_header("MCP-Protocol-Version",
                      arcp_span_cstr(terms->is_modern ? ARCP__MCP_MODERN : terms->version),
                      headers);
    }
    if (terms->session[0] != '\0') {
        append_header("Mcp-Session-Id", arcp_span_cstr(terms->session), headers);
    }
    if (terms->is_modern && name.size != 0) {
        status = append_modern(json, name, terms->tools, headers);
    }
    const bool failed = text.failed || headers->failed;
    arcp_buf_fini(&text);
    return failed ? ARCP_E_NO_MEMORY : status;
}
