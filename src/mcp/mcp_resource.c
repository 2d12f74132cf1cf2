#include "mcp/mcp_resource.h"

#include <string.h>

#include "mcp/mcp_parts.h"

#define URI_PREFIX "arcp+"

/* ---- names ---- */

bool arcp__mcp_uri_split(arcp_span uri, arcp_span *server, arcp_span *own)
{
    const size_t begin = sizeof URI_PREFIX - 1;
    size_t end = begin;
    if (!arcp_span_starts_with(uri, ARCP_SPAN_LITERAL(URI_PREFIX))) {
        return false;
    }
    while (end < uri.size && uri.data[end] != '+') {
        end++;
    }
    if (end == uri.size) {
        return false;
    }
    *server = arcp_span_make(uri.data + begin, end - begin);
    *own = arcp_span_from(uri, end + 1);
    return arcp__mcp_name_is_valid(*server);
}

bool arcp__mcp_prompt_split(arcp_span name, arcp_span *server, arcp_span *own)
{
    arcp__mcp_called called;
    if (!arcp__mcp_called_read(name, &called)) {
        return false;
    }
    *server = called.server;
    *own = called.is_own ? called.name : arcp_span_from(name, called.server.size + 2);
    return true;
}

/* ---- URIs ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* The scheme, without its colon; empty: the text is no URI. */
static arcp_span scheme_of(arcp_span uri)
{
    size_t size = 0;
    while (size < uri.size &&
           (is_letter(uri.data[size]) ||
            (size != 0 && memchr("0123456789+-.", uri.data[size], 13) != NULL))) {
        size++;
    }
    return size < uri.size && uri.data[size] == ':' ? arcp_span_first(uri, size)
                                                    : arcp_span_make(NULL, 0);
}

static bool is_scheme(arcp_span scheme, const char *name)
{
    size_t i = 0;
    while (i < scheme.size && lower(scheme.data[i]) == name[i]) {
        i++;
    }
    return i == scheme.size && name[i] == '\0';
}

static bool is_url(arcp_span scheme)
{
    return is_scheme(scheme, "http") || is_scheme(scheme, "https");
}

bool arcp__mcp_uri_is_asked(arcp_span uri)
{
    const arcp_span scheme = scheme_of(uri);
    return is_scheme(scheme, "file") || is_url(scheme);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10
                                                : -1;
}

/* Whether a URI never needs an escape for this byte: two spellings of a path would be equal. */
static bool needs_no_escape(int byte)
{
    return is_letter((char)byte) || (byte >= '0' && byte <= '9') ||
           (byte != 0 && strchr("-._~/", byte) != NULL);
}

/* Decodes the path behind the authority. False: it has a form that programs read differently. */
static bool decode_path(arcp_span text, arcp_buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c == '?' || c == '#' || c == '\\' || c <= ' ') {
            return false;
        }
        if (c != '%') {
            arcp_buf_append_byte(out, (char)c);
            continue;
        }
        const int high = i + 2 < text.size ? digit_of(text.data[i + 1]) : -1;
        const int low = i + 2 < text.size ? digit_of(text.data[i + 2]) : -1;
        const int byte = high * 16 + low;
        if (high < 0 || low < 0 || byte == 0 || needs_no_escape(byte)) {
            return false;
        }
        arcp_buf_append_byte(out, (char)byte);
        i += 2;
    }
    return text.size != 0 && text.data[0] == '/';
}

/* file:///PATH, or file://localhost/PATH. */
static void ask_file(arcp__mcp_uri_question *q, arcp_span rest)
{
    static const char host[] = "//localhost";
    const bool has_host = arcp_span_starts_with(rest, arcp_span_cstr(host));
    const arcp_span path = arcp_span_from(rest, has_host ? sizeof host - 1 : rest.size < 2 ? 0 : 2);
    if (!arcp_span_starts_with(rest, ARCP_SPAN_LITERAL("//")) || !decode_path(path, &q->path)) {
        q->fault = "a file URI must be file:///PATH, in which only what needs it is escaped";
        return;
    }
    q->is_allowed = arcp_authorize(q->authority, q->now, ARCP_SPAN_LITERAL("fs.read"),
                                   arcp_buf_span(&q->path), &q->scratch, &q->decision);
    q->sent = q->uri;
    if (q->is_allowed && !arcp_span_equal(q->decision.canonical, arcp_buf_span(&q->path))) {
        q->is_allowed = false;
        q->fault = "the path of the URI is not in its canonical form";
    }
}

arcp_status arcp__mcp_uri_ask(arcp__mcp_uri_question *question)
{
    const arcp_span scheme = scheme_of(question->uri);
    question->is_allowed = false;
    question->fault = NULL;
    arcp_buf_clear(&question->path);
    if (scheme.size == 0 || question->uri.size > ARCP_TARGET_BYTES_MAX) {
        question->fault = "the URI has no scheme, or more than 16384 bytes";
    } else if (is_scheme(scheme, "file")) {
        ask_file(question, arcp_span_from(question->uri, scheme.size + 1));
    } else if (is_url(scheme)) {
        question->is_allowed =
            arcp_authorize(question->authority, question->now, ARCP_SPAN_LITERAL("net.fetch"),
                           question->uri, &question->scratch, &question->decision);
        question->sent = question->decision.canonical;
    } else {
        question->is_allowed = true;
        question->sent = question->uri;
    }
    question->is_allowed = question->is_allowed && !question->path.failed;
    return question->path.failed ? ARCP_E_NO_MEMORY : ARCP_OK;
}

void arcp__mcp_uri_question_fini(arcp__mcp_uri_question *question)
{
    arcp_buf_fini(&question->path);
}

/* ---- requests ---- */

void arcp__mcp_put_fetch(const arcp__mcp_post *post, arcp_span subject, arcp_buf *out)
{
    const arcp_json *json = &post->json;
    const bool is_uri = post->wanted == ARCP__MCP_RESOURCES;
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    if (post->method == ARCP__MCP_METHOD_COMPLETE) {
        arcp__put_object(&writer, "ref");
        arcp__put_cstr(&writer, "type", is_uri ? "ref/resource" : "ref/prompt");
        arcp__put_string(&writer, is_uri ? "uri" : "name", subject);
        arcp_json_end_object(&writer);
        arcp__mcp_put(&writer, "argument", json,
                      arcp_json_member(json, post->params, ARCP_SPAN_LITERAL("argument")));
        arcp__mcp_put(&writer, "context", json,
                      arcp_json_member(json, post->params, ARCP_SPAN_LITERAL("context")));
    } else {
        arcp__put_string(&writer, is_uri ? "uri" : "name", subject);
        arcp__mcp_put(&writer, "arguments", json, post->arguments);
    }
    arcp_json_end_object(&writer);
    if (!text.failed) {
        arcp_buf_append(out, arcp_span_make(text.data + 1, text.size - 2));
    }
    out->failed = out->failed || text.failed;
    arcp_buf_fini(&text);
}

/* ---- lists ---- */

/* The member of the result that has the list, and that of an item by which it is asked for. */
static const char *list_of(const arcp__mcp_gather *gather)
{
    return gather->method == ARCP__MCP_METHOD_RESOURCES_LIST   ? "resources"
           : gather->method == ARCP__MCP_METHOD_TEMPLATES_LIST ? "resourceTemplates"
                                                               : "prompts";
}

static const char *key_of(const arcp__mcp_gather *gather)
{
    return gather->method == ARCP__MCP_METHOD_RESOURCES_LIST   ? "uri"
           : gather->method == ARCP__MCP_METHOD_TEMPLATES_LIST ? "uriTemplate"
                                                               : "name";
}

static void put_key(const arcp__mcp_gather *gather, arcp_json_writer *writer, arcp_span server,
                    arcp_span key)
{
    arcp_buf name = arcp_buf_init();
    const bool is_prompt = gather->method == ARCP__MCP_METHOD_PROMPTS_LIST;
    if (gather->is_merged) {
        arcp_buf_append_cstr(&name, is_prompt ? "" : URI_PREFIX);
        arcp_buf_append(&name, server);
        arcp_buf_append_cstr(&name, is_prompt ? "__" : "+");
    }
    arcp_buf_append(&name, key);
    arcp__put_string(writer, key_of(gather), arcp_buf_span(&name));
    writer->out->failed = writer->out->failed || name.failed;
    arcp_buf_fini(&name);
}

static void add_item(arcp__mcp_gather *gather, arcp_span server, const arcp_json *json,
                     arcp_json_ref item)
{
    const arcp_json_ref named = arcp_json_member(json, item, arcp_span_cstr(key_of(gather)));
    arcp_buf room = arcp_buf_init();
    const arcp_span key = arcp_json_is(json, named, ARCP_JSON_STRING)
                              ? arcp_json_string(json, named, &room)
                              : arcp_span_make(NULL, 0);
    gather->items.failed = gather->items.failed || room.failed;
    const size_t size = arcp_json_raw(json, item).size;
    const bool fits = gather->count < ARCP__MCP_TOOLS_MAX && size <= ARCP__MCP_TOOLS_BYTES &&
                      gather->items.size <= ARCP__MCP_TOOLS_BYTES - size;
    if (key.size == 0 || key.size > ARCP_TARGET_BYTES_MAX || !fits) {
        gather->left_out++;
    } else if (gather->method != ARCP__MCP_METHOD_RESOURCES_LIST ||
               gather->may_list(gather->user, key)) {
        arcp_buf_append_cstr(&gather->items, gather->count++ == 0 ? "" : ",");
        arcp_json_writer writer = arcp__put_begin(&gather->items);
        put_key(gather, &writer, server, key);
        for (arcp_json_ref name = arcp_json_first(json, item); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(json, item, name)) {
            if (name + 1 != named) {
                arcp__mcp_copy_name(&writer, json, name);
                arcp__mcp_write(&writer, json, name + 1);
            }
        }
        arcp_json_end_object(&writer);
    }
    arcp_buf_fini(&room);
}

arcp_status arcp__mcp_gather_add(arcp__mcp_gather *gather, arcp_span server, const arcp_json *json,
                                 arcp_json_ref result, arcp_json_ref *cursor, arcp_error *err)
{
    const arcp_json_ref items = arcp_json_member(json, result, arcp_span_cstr(list_of(gather)));
    const arcp_json_ref next = arcp_json_member(json, result, ARCP_SPAN_LITERAL("nextCursor"));
    const bool is_last = arcp_json_is_missing(json, next);
    if (!arcp_json_is(json, items, ARCP_JSON_ARRAY) ||
        (!is_last && !arcp_json_is(json, next, ARCP_JSON_STRING))) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the response of the server has no list of %s", list_of(gather));
    }
    gather->pages++;
    if (!is_last && gather->pages == ARCP__MCP_LIST_PAGES_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the list of the server has more than %d pages",
                              ARCP__MCP_LIST_PAGES_MAX);
    }
    for (arcp_json_ref item = arcp_json_first(json, items); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, items, item)) {
        add_item(gather, server, json, item);
    }
    *cursor = is_last ? ARCP_JSON_ABSENT : next;
    return gather->items.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

void arcp__mcp_put_gathered(arcp_buf *out, arcp_span id, bool is_modern,
                            const arcp__mcp_gather *gather)
{
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__put_object(&writer, "result");
    arcp__put_array(&writer, list_of(gather));
    if (gather->items.size != 0) {
        arcp_json_write_raw(&writer, arcp_buf_span(&gather->items));
    }
    arcp_json_end_array(&writer);
    arcp__mcp_put_freshness(&writer, is_modern);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
    out->failed = out->failed || gather->items.failed;
}

void arcp__mcp_gather_fini(arcp__mcp_gather *gather)
{
    arcp_buf_fini(&gather->items);
}
