/* What a client is shown of a server: the tools that the lease allows, and few capabilities. */
#include "mcp/mcp_parts.h"

/* ---- tools/list ---- */

/* Appends a schema without the names of HTTP headers that its properties are to be repeated in: the
 * annotation x-mcp-header, whose value is a string. A property of that name has an object. */
static void append_schema(const arcp_json *json, arcp_json_ref value, arcp_buf *out)
{
    const bool is_object = arcp_json_is(json, value, ARCP_JSON_OBJECT);
    bool has_items = false;
    if (!is_object && !arcp_json_is(json, value, ARCP_JSON_ARRAY)) {
        arcp_json_compact(json, value, out);
        return;
    }
    arcp_buf_append_byte(out, is_object ? '{' : '[');
    for (arcp_json_ref at = arcp_json_first(json, value); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, value, at)) {
        if (is_object && arcp_json_is(json, at + 1, ARCP_JSON_STRING) &&
            arcp_json_string_equals(json, at, ARCP_SPAN_LITERAL("x-mcp-header"))) {
            continue;
        }
        if (has_items) {
            arcp_buf_append_byte(out, ',');
        }
        has_items = true;
        if (is_object) {
            arcp_json_compact(json, at, out);
            arcp_buf_append_byte(out, ':');
        }
        append_schema(json, is_object ? at + 1 : at, out);
    }
    arcp_buf_append_byte(out, is_object ? '}' : ']');
}

/* A name of a header (RFC 9110 §5.1), as JSON. */
static bool is_token(const arcp_json *json, arcp_json_ref value)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    if (!arcp_json_is(json, value, ARCP_JSON_STRING)) {
        return false;
    }
    const arcp_span raw = arcp_json_raw(json, value);
    const arcp_span text = arcp_span_make(raw.data + 1, raw.size - 2);
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (!is_letter && !(byte >= '0' && byte <= '9') &&
            memchr(marks, byte, sizeof marks - 1) == NULL) {
            return false;
        }
    }
    return text.size != 0;
}

static void append_properties(const arcp_json *json, arcp_json_ref schema, arcp_buf *out)
{
    const arcp_json_ref properties =
        arcp_json_member(json, schema, ARCP_SPAN_LITERAL("properties"));
    const size_t begun = out->size;
    size_t count = 0;
    if (!arcp_json_is(json, properties, ARCP_JSON_OBJECT)) {
        return;
    }
    for (arcp_json_ref at = arcp_json_first(json, properties); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, properties, at)) {
        const arcp_json_ref header =
            arcp_json_member(json, at + 1, ARCP_SPAN_LITERAL("x-mcp-header"));
        const size_t before = out->size;
        arcp_buf_append_byte(out, count == 0 ? '{' : ',');
        arcp_json_compact(json, at, out);
        arcp_buf_append_byte(out, ':');
        const size_t named = out->size;
        if (is_token(json, header)) {
            arcp_json_compact(json, header, out);
        } else {
            append_properties(json, at + 1, out);
        }
        if (out->size == named) {
            out->size = before;
        } else {
            count++;
        }
    }
    if (out->size != begun) {
        arcp_buf_append_byte(out, '}');
    }
}

void arcp__mcp_append_headers(const arcp_json *json, arcp_json_ref tool, arcp_buf *out)
{
    append_properties(json, arcp_json_member(json, tool, ARCP_SPAN_LITERAL("inputSchema")), out);
}

void arcp__mcp_write_tool(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref tool,
                          bool has_name)
{
    arcp_json_begin_object(writer);
    for (arcp_json_ref name = arcp_json_first(json, tool); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, tool, name)) {
        if (!has_name && arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("name"))) {
            continue;
        }
        arcp__mcp_copy_name(writer, json, name);
        if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("inputSchema"))) {
            arcp_json_write_raw(writer, arcp_span_make(NULL, 0));
            append_schema(json, name + 1, writer->out);
        } else {
            arcp__mcp_write(writer, json, name + 1);
        }
    }
    arcp_json_end_object(writer);
}

static void write_tools(arcp_json_writer *writer, arcp__mcp_listing *listing, arcp_json_ref tools)
{
    const arcp_json *json = listing->json;
    arcp_json_begin_array(writer);
    for (arcp_json_ref tool = arcp_json_first(json, tools); tool != ARCP_JSON_ABSENT;
         tool = arcp_json_next(json, tools, tool)) {
        const arcp_json_ref name = arcp_json_member(json, tool, ARCP_SPAN_LITERAL("name"));
        arcp_buf_clear(listing->scratch);
        const arcp_span text = arcp_json_string(json, name, listing->scratch);
        writer->out->failed = writer->out->failed || listing->scratch->failed;
        if (text.size != 0 && listing->may_call(listing->user, text)) {
            arcp__mcp_write_tool(writer, json, tool, true);
            listing->shown++;
        } else {
            listing->hidden++;
        }
    }
    arcp_json_end_array(writer);
}

bool arcp__mcp_put_listing(arcp_json_writer *writer, arcp__mcp_listing *listing)
{
    const arcp_json *json = listing->json;
    const arcp_json_ref result = listing->result;
    if (!arcp_json_is(json, arcp_json_member(json, result, ARCP_SPAN_LITERAL("tools")),
                      ARCP_JSON_ARRAY)) {
        return false;
    }
    arcp__put_object(writer, "result");
    for (arcp_json_ref name = arcp_json_first(json, result); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, result, name)) {
        arcp__mcp_copy_name(writer, json, name);
        if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("tools"))) {
            write_tools(writer, listing, name + 1);
        } else if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("ttlMs"))) {
            /* The list depends on the lease, which may expire: it is asked for again. */
            arcp_json_write_u64(writer, 0);
        } else if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("cacheScope"))) {
            arcp_json_write_cstr(writer, "private");
        } else {
            arcp__mcp_write(writer, json, name + 1);
        }
    }
    arcp_json_end_object(writer);
    return true;
}

/* ---- initialize, server/discover ---- */

static void write_capabilities(arcp_json_writer *writer, const arcp_json *json,
                               arcp_json_ref capabilities, bool is_discovery)
{
    const arcp_json_ref tools = arcp_json_member(json, capabilities, ARCP_SPAN_LITERAL("tools"));
    arcp_json_begin_object(writer);
    if (is_discovery && tools != ARCP_JSON_ABSENT) {
        /* In this version changes of the list arrive by subscriptions, which are not offered. */
        arcp__put_raw(writer, "tools", ARCP_SPAN_LITERAL("{}"));
    } else {
        arcp__mcp_put(writer, "tools", json, tools);
    }
    arcp__mcp_put(writer, "logging", json,
                  arcp_json_member(json, capabilities, ARCP_SPAN_LITERAL("logging")));
    arcp_json_end_object(writer);
}

bool arcp__mcp_put_welcome(arcp_json_writer *writer, const arcp_json *json, arcp_json_ref result,
                           bool is_discovery)
{
    if (!arcp_json_is(json, result, ARCP_JSON_OBJECT)) {
        return false;
    }
    arcp__put_object(writer, "result");
    for (arcp_json_ref name = arcp_json_first(json, result); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, result, name)) {
        arcp__mcp_copy_name(writer, json, name);
        if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("capabilities"))) {
            write_capabilities(writer, json, name + 1, is_discovery);
        } else {
            arcp__mcp_write(writer, json, name + 1);
        }
    }
    arcp_json_end_object(writer);
    return true;
}
