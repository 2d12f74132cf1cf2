#include "mcp/mcp_post.h"

#include <string.h>

#include "base/base64.h"
#include "mcp/mcp_parts.h"

#define OLDEST_REVISION "2025-03-26"
#define LATEST_REVISION "2025-11-25"

/* With `initialize`. */
static const char *const revisions[] = {LATEST_REVISION, "2025-06-18", OLDEST_REVISION};

/* What is being read. */
typedef struct reading {
    arcp__mcp_post *post;
    const arcp__mcp_headers *headers;
    arcp__mcp_message message;
    arcp_buf *answer;
} reading;

static void refuse(const reading *r, int status, int code, const char *text)
{
    r->post->kind = ARCP__MCP_POST_ANSWER;
    r->post->status = status;
    arcp__mcp_put_error(r->answer, r->post->id, code, text);
}

/* ---- headers ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Whether the list of a header has a media type; its parameters are ignored. */
static bool has_type(arcp_span list, const char *type)
{
    const size_t size = strlen(type);
    size_t at = 0;
    while (at < list.size) {
        size_t begin = at;
        while (at < list.size && list.data[at] != ',') {
            at++;
        }
        size_t end = begin;
        while (end < at && list.data[end] != ';') {
            end++;
        }
        at++;
        while (begin < end && (list.data[begin] == ' ' || list.data[begin] == '\t')) {
            begin++;
        }
        while (begin < end && (list.data[end - 1] == ' ' || list.data[end - 1] == '\t')) {
            end--;
        }
        size_t same = 0;
        while (same < size && same < end - begin && lower(list.data[begin + same]) == type[same]) {
            same++;
        }
        if (same == size && end - begin == size) {
            return true;
        }
    }
    return false;
}

/* A value that is not plain ASCII is sent as =?base64?...?=. False: it cannot be decoded, or out of
 * memory. */
static bool decode_header(arcp_span value, arcp_buf *room, arcp_span *out)
{
    static const char begin[] = "=?base64?";
    static const char end[] = "?=";
    const size_t size = sizeof begin - 1 + sizeof end - 1;
    const bool is_encoded =
        value.size >= size && arcp_span_starts_with(value, arcp_span_cstr(begin)) &&
        arcp_span_equal_cstr(arcp_span_from(value, value.size - (sizeof end - 1)), end);
    if (!is_encoded) {
        *out = value;
        return value.data != NULL;
    }
    const arcp_span text = arcp_span_make(value.data + sizeof begin - 1, value.size - size);
    const arcp_status status = arcp__base64_decode(text, ARCP__BASE64_STANDARD, room, NULL);
    *out = arcp_buf_span(room);
    return status == ARCP_OK && !room->failed;
}

/* ---- protocol 2026-07-28 ---- */

static void put_versions(arcp_json_writer *writer, bool has_revisions)
{
    arcp_json_begin_array(writer);
    arcp_json_write_cstr(writer, ARCP__MCP_MODERN);
    for (size_t i = 0; has_revisions && i < sizeof revisions / sizeof revisions[0]; i++) {
        arcp_json_write_cstr(writer, revisions[i]);
    }
    arcp_json_end_array(writer);
}

static void refuse_version(const reading *r, arcp_json_ref version)
{
    r->post->kind = ARCP__MCP_POST_ANSWER;
    r->post->status = 400;
    arcp_json_writer writer = arcp__mcp_begin(r->answer, r->post->id);
    arcp__put_object(&writer, "error");
    arcp__put_i64(&writer, "code", ARCP__MCP_UNSUPPORTED_VERSION);
    arcp__put_cstr(&writer, "message", "unsupported protocol version");
    arcp__put_object(&writer, "data");
    arcp_json_name(&writer, "supported");
    put_versions(&writer, true);
    arcp__mcp_put(&writer, "requested", &r->post->json, version);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

/* Why headers and body are not equal; NULL: they are. Proxies may have decided by the headers. */
static const char *compare_headers(const reading *r, arcp_json_ref version)
{
    const arcp_json *json = &r->post->json;
    const bool is_read = r->message.known == ARCP__MCP_METHOD_RESOURCES_READ;
    const arcp_json_ref name =
        arcp_json_member(json, r->message.params, arcp_span_cstr(is_read ? "uri" : "name"));
    const bool is_named = is_read || r->message.known == ARCP__MCP_METHOD_TOOLS_CALL ||
                          r->message.known == ARCP__MCP_METHOD_PROMPTS_GET;
    arcp_buf room = arcp_buf_init();
    arcp_span text;
    const char *why = NULL;
    if (r->headers->version.data == NULL ||
        !arcp_json_string_equals(json, version, r->headers->version)) {
        why = "the header MCP-Protocol-Version is not the version of the body";
    } else if (r->headers->method.data == NULL ||
               !arcp_json_string_equals(json, r->message.method, r->headers->method)) {
        why = "the header Mcp-Method is not the method of the body";
    } else if (is_named && name != ARCP_JSON_ABSENT &&
               !(decode_header(r->headers->name, &room, &text) &&
                 arcp_json_is(json, name, ARCP_JSON_STRING) &&
                 arcp_json_string_equals(json, name, text))) {
        why = is_read ? "the header Mcp-Name is not the URI of the body"
                      : "the header Mcp-Name is not the name of the body";
    }
    r->answer->failed = r->answer->failed || room.failed;
    arcp_buf_fini(&room);
    return why;
}

/* False: the request was answered. */
static bool check_modern(const reading *r, arcp_json_ref meta, arcp_json_ref version)
{
    const arcp_json *json = &r->post->json;
    const arcp_json_ref capabilities =
        arcp_json_member(json, meta, ARCP_SPAN_LITERAL(ARCP__MCP_META_CAPABILITIES));
    if (!arcp_json_is(json, version, ARCP_JSON_STRING) ||
        !arcp_json_is(json, capabilities, ARCP_JSON_OBJECT)) {
        refuse(r, 400, ARCP__MCP_INVALID_PARAMS,
               "_meta must have " ARCP__MCP_META_VERSION " and " ARCP__MCP_META_CAPABILITIES);
        return false;
    }
    const char *why = compare_headers(r, version);
    if (why != NULL) {
        refuse(r, 400, ARCP__MCP_HEADER_MISMATCH, why);
        return false;
    }
    if (!arcp_json_string_equals(json, version, ARCP_SPAN_LITERAL(ARCP__MCP_MODERN))) {
        refuse_version(r, version);
        return false;
    }
    return true;
}

static void put_capabilities(const reading *r, arcp_json_writer *writer)
{
    static const char *const names[] = {"resources", "prompts", "completions"};
    arcp__put_object(writer, "capabilities");
    arcp__put_raw(writer, "tools", ARCP_SPAN_LITERAL("{}"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((r->post->offers & 1U << i) != 0) {
            arcp__put_raw(writer, names[i], ARCP_SPAN_LITERAL("{}"));
        }
    }
    arcp_json_end_object(writer);
}

static void answer_discover(const reading *r)
{
    arcp_json_writer writer = arcp__mcp_begin(r->answer, r->post->id);
    arcp__put_object(&writer, "result");
    arcp_json_name(&writer, "supportedVersions");
    put_versions(&writer, false);
    put_capabilities(r, &writer);
    arcp__mcp_put_freshness(&writer, true);
    arcp__put_object(&writer, "_meta");
    arcp_json_name(&writer, "io.modelcontextprotocol/serverInfo");
    arcp__mcp_write_identity(&writer);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

/* ---- the earlier ones ---- */

/* A request after `initialize` names the version that was agreed; the oldest one does not. */
static bool check_revision(const reading *r)
{
    const arcp_span version = r->headers->version;
    bool is_known = version.data == NULL;
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        is_known = is_known || arcp_span_equal_cstr(version, revisions[i]);
    }
    if (!is_known) {
        refuse(r, 400, ARCP__MCP_INVALID_REQUEST,
               "MCP-Protocol-Version must be 2025-03-26, 2025-06-18, 2025-11-25 or 2026-07-28");
    }
    return is_known;
}

/* The version that the client asks for, or the latest one. */
static void answer_initialize(const reading *r)
{
    const arcp_json *json = &r->post->json;
    const arcp_json_ref wanted =
        arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("protocolVersion"));
    const char *version = LATEST_REVISION;
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        if (arcp_json_is(json, wanted, ARCP_JSON_STRING) &&
            arcp_json_string_equals(json, wanted, arcp_span_cstr(revisions[i]))) {
            version = revisions[i];
        }
    }
    arcp_json_writer writer = arcp__mcp_begin(r->answer, r->post->id);
    arcp__put_object(&writer, "result");
    arcp__put_cstr(&writer, "protocolVersion", version);
    put_capabilities(r, &writer);
    arcp_json_name(&writer, "serverInfo");
    arcp__mcp_write_identity(&writer);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

/* ---- requests ---- */

/* The client's name for what it wants to know of the progress. */
static void read_token(const reading *r)
{
    const arcp_json *json = &r->post->json;
    const arcp_json_ref meta =
        arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("_meta"));
    const arcp_json_ref token = arcp_json_member(json, meta, ARCP_SPAN_LITERAL("progressToken"));
    if (token != ARCP_JSON_ABSENT && arcp__mcp_is_id(json, token)) {
        r->post->token = arcp_json_raw(json, token);
    }
}

static void read_call(const reading *r)
{
    arcp__mcp_post *post = r->post;
    const arcp_json *json = &post->json;
    const char *why = arcp__mcp_call_fault(json, r->message.params);
    post->arguments = arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("arguments"));
    if (why == NULL && post->arguments != ARCP_JSON_ABSENT &&
        !arcp_json_is(json, post->arguments, ARCP_JSON_OBJECT)) {
        why = "arguments must be an object";
    }
    if (why != NULL) {
        refuse(r, post->is_modern ? 400 : 200, ARCP__MCP_INVALID_PARAMS, why);
        return;
    }
    post->kind = ARCP__MCP_POST_CALL;
    post->tool = arcp_json_string(
        json, arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("name")), &post->text);
    read_token(r);
}

/* ---- resources and prompts ---- */

/* The URI or name that a request is about. The errors are the client's. */
static const char *read_subject(const reading *r, arcp_json_ref object, const char *member)
{
    arcp__mcp_post *post = r->post;
    const arcp_json_ref value = arcp_json_member(&post->json, object, arcp_span_cstr(member));
    const bool is_uri = strcmp(member, "uri") == 0;
    if (!arcp_json_is(&post->json, value, ARCP_JSON_STRING)) {
        return is_uri ? "uri must be a string" : "name must be a string";
    }
    post->tool = arcp_json_string(&post->json, value, &post->text);
    return post->tool.size != 0 ? NULL : is_uri ? "uri is empty" : "name is empty";
}

static const char *read_prompt(const reading *r)
{
    static const char *const known[] = {"name", "arguments", "_meta"};
    const arcp_json *json = &r->post->json;
    r->post->arguments = arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("arguments"));
    if (r->post->arguments != ARCP_JSON_ABSENT &&
        !arcp_json_is(json, r->post->arguments, ARCP_JSON_OBJECT)) {
        return "arguments must be an object";
    }
    return arcp__mcp_has_only(json, r->message.params, known, sizeof known / sizeof known[0])
               ? read_subject(r, r->message.params, "name")
               : "of this request only name, arguments and _meta are passed on";
}

static const char *read_resource(const reading *r)
{
    static const char *const known[] = {"uri", "_meta"};
    return arcp__mcp_has_only(&r->post->json, r->message.params, known,
                              sizeof known / sizeof known[0])
               ? read_subject(r, r->message.params, "uri")
               : "of this request only uri and _meta are passed on";
}

static const char *read_completion(const reading *r)
{
    static const char *const known[] = {"ref", "argument", "context", "_meta"};
    const arcp_json *json = &r->post->json;
    const arcp_json_ref params = r->message.params;
    const arcp_json_ref ref = arcp_json_member(json, params, ARCP_SPAN_LITERAL("ref"));
    const arcp_json_ref type = arcp_json_member(json, ref, ARCP_SPAN_LITERAL("type"));
    const arcp_json_ref context = arcp_json_member(json, params, ARCP_SPAN_LITERAL("context"));
    if (!arcp_json_is(json, ref, ARCP_JSON_OBJECT) || !arcp_json_is(json, type, ARCP_JSON_STRING)) {
        return "ref must be an object with a type";
    }
    if (!arcp_json_is(json, arcp_json_member(json, params, ARCP_SPAN_LITERAL("argument")),
                      ARCP_JSON_OBJECT) ||
        (context != ARCP_JSON_ABSENT && !arcp_json_is(json, context, ARCP_JSON_OBJECT))) {
        return "argument and context must be objects";
    }
    if (!arcp__mcp_has_only(json, params, known, sizeof known / sizeof known[0])) {
        return "of this request only ref, argument, context and _meta are passed on";
    }
    if (arcp_json_string_equals(json, type, ARCP_SPAN_LITERAL("ref/prompt"))) {
        r->post->wanted = ARCP__MCP_PROMPTS;
        return read_subject(r, ref, "name");
    }
    r->post->wanted = ARCP__MCP_RESOURCES;
    return arcp_json_string_equals(json, type, ARCP_SPAN_LITERAL("ref/resource"))
               ? read_subject(r, ref, "uri")
               : "the type of ref must be ref/prompt or ref/resource";
}

/* False: it is none of these methods, or nothing of the kind is offered. */
static bool read_other(const reading *r)
{
    static const struct {
        arcp__mcp_method method;
        unsigned wanted;
        const char *(*read)(const reading *r); /* NULL: a list */
    } others[] = {{ARCP__MCP_METHOD_RESOURCES_LIST, ARCP__MCP_RESOURCES, NULL},
                  {ARCP__MCP_METHOD_TEMPLATES_LIST, ARCP__MCP_RESOURCES, NULL},
                  {ARCP__MCP_METHOD_PROMPTS_LIST, ARCP__MCP_PROMPTS, NULL},
                  {ARCP__MCP_METHOD_RESOURCES_READ, ARCP__MCP_RESOURCES, read_resource},
                  {ARCP__MCP_METHOD_PROMPTS_GET, ARCP__MCP_PROMPTS, read_prompt},
                  {ARCP__MCP_METHOD_COMPLETE, ARCP__MCP_COMPLETIONS, read_completion}};
    const arcp_json_ref params = r->message.params;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i].method != r->message.known || (r->post->offers & others[i].wanted) == 0) {
            continue;
        }
        r->post->method = others[i].method;
        r->post->wanted = others[i].wanted;
        r->post->params = params;
        const char *why = NULL;
        if (others[i].read != NULL) {
            why = others[i].read(r);
        } else if (!arcp_json_is_missing(
                       &r->post->json,
                       arcp_json_member(&r->post->json, params, ARCP_SPAN_LITERAL("cursor")))) {
            why = "the list has one page, and no cursor";
        }
        r->post->kind = others[i].read == NULL ? ARCP__MCP_POST_GATHER : ARCP__MCP_POST_FETCH;
        if (why != NULL) {
            refuse(r, r->post->is_modern ? 400 : 200, ARCP__MCP_INVALID_PARAMS, why);
        }
        return true;
    }
    return false;
}

static void read_list(const reading *r)
{
    const arcp_json *json = &r->post->json;
    const arcp_json_ref cursor =
        arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("cursor"));
    if (!arcp_json_is_missing(json, cursor)) {
        refuse(r, r->post->is_modern ? 400 : 200, ARCP__MCP_INVALID_PARAMS,
               "the list has one page, and no cursor");
        return;
    }
    r->post->kind = ARCP__MCP_POST_LIST;
}

static void take_request(reading *r)
{
    const arcp_json *json = &r->post->json;
    const arcp_json_ref meta =
        arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("_meta"));
    const arcp_json_ref version =
        arcp_json_member(json, meta, ARCP_SPAN_LITERAL(ARCP__MCP_META_VERSION));
    const bool is_modern =
        version != ARCP_JSON_ABSENT || arcp_span_equal_cstr(r->headers->version, ARCP__MCP_MODERN);
    r->post->is_modern = is_modern;
    if (!(is_modern ? check_modern(r, meta, version) : check_revision(r))) {
        return;
    }
    r->post->status = 200;
    if (r->message.known == ARCP__MCP_METHOD_TOOLS_CALL) {
        read_call(r);
    } else if (r->message.known == ARCP__MCP_METHOD_TOOLS_LIST) {
        read_list(r);
    } else if (r->message.known == ARCP__MCP_METHOD_DISCOVER && is_modern) {
        answer_discover(r);
    } else if (r->message.known == ARCP__MCP_METHOD_INITIALIZE && !is_modern) {
        answer_initialize(r);
    } else if (r->message.known == ARCP__MCP_METHOD_PING && !is_modern) {
        arcp__mcp_put_pong(r->answer, r->post->id);
    } else if (!read_other(r)) {
        refuse(r, is_modern ? 404 : 200, ARCP__MCP_METHOD_NOT_FOUND, "there is no such method");
    }
}

/* ---- notifications ---- */

/* All are accepted, as the protocol wants it; one means something. */
static void take_notification(const reading *r)
{
    const arcp_json *json = &r->post->json;
    const arcp_json_ref id =
        arcp_json_member(json, r->message.params, ARCP_SPAN_LITERAL("requestId"));
    r->post->status = 202;
    if (r->message.known == ARCP__MCP_METHOD_CANCELLED && id != ARCP_JSON_ABSENT &&
        arcp__mcp_is_id(json, id)) {
        r->post->kind = ARCP__MCP_POST_CANCEL;
        r->post->cancelled = arcp_json_raw(json, id);
    }
}

/* ---- a body ---- */

static void take_message(reading *r)
{
    r->post->id = arcp_json_raw(&r->post->json, r->message.id);
    if (r->headers->is_repeated) {
        refuse(r, 400, ARCP__MCP_HEADER_MISMATCH, "a header of the protocol is repeated");
    } else if (r->message.kind == ARCP__MCP_REQUEST) {
        take_request(r);
    } else if (r->message.kind == ARCP__MCP_NOTIFICATION) {
        take_notification(r);
    } else {
        refuse(r, 400, ARCP__MCP_INVALID_REQUEST,
               "it is a response, and the client was asked nothing");
    }
}

arcp_status arcp__mcp_post_read(arcp__mcp_post *post, const arcp__mcp_headers *headers,
                                arcp_span body, arcp_buf *answer)
{
    reading r = {.post = post, .headers = headers, .answer = answer};
    arcp__mcp_fault fault;
    arcp__mcp_skim skim = {0};
    arcp_status status = ARCP_OK;
    post->kind = ARCP__MCP_POST_ANSWER;
    post->arguments = ARCP_JSON_ABSENT;
    post->params = ARCP_JSON_ABSENT;
    post->may_stream = has_type(headers->accept, "text/event-stream");
    if (!has_type(headers->content_type, "application/json")) {
        refuse(&r, 415, ARCP__MCP_INVALID_REQUEST, "Content-Type must be application/json");
        return answer->failed ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    status = arcp__mcp_message_read(&post->json, ARCP__MCP_CLIENT, body, &r.message, &fault);
    if (status == ARCP_E_INVALID_REQUEST) {
        arcp__mcp_skim_feed(&skim, body);
        post->id = arcp__mcp_skim_id(&skim);
        refuse(&r, 400, fault.code, fault.text);
        post->id = arcp_span_make(NULL, 0); /* of the local skim */
        status = ARCP_OK;
    } else if (status == ARCP_OK) {
        take_message(&r);
    }
    return status == ARCP_OK && (answer->failed || post->text.failed) ? ARCP_E_NO_MEMORY : status;
}

void arcp__mcp_post_fini(arcp__mcp_post *post)
{
    arcp__json_fini(&post->json);
    arcp_buf_fini(&post->text);
}
