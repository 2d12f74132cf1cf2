/* A client's POST: what is answered at once, what is read for the gateway, and what is refused. */
#include "mcp/mcp_fixture.h"

#include "mcp/mcp_answer.h"
#include "mcp/mcp_post.h"
#include "support/failing_alloc.h"

#define ENVELOPE(version)                                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version                            \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define REQUEST(method, params)                                                                    \
    MESSAGE("\"id\":1,\"method\":\"" method "\",\"params\":{" params "}")
#define MODERN(method, params) REQUEST(method, params ENVELOPE("2026-07-28"))
#define NO_METHOD              ERROR("1", "-32601", "there is no such method")
#define BAD_ENVELOPE                                                                               \
    ERROR("1", "-32602",                                                                           \
          "_meta must have io.modelcontextprotocol/protocolVersion and "                           \
          "io.modelcontextprotocol/clientCapabilities")
#define NO_VERSION                                                                                 \
    ERROR("1", "-32600",                                                                           \
          "MCP-Protocol-Version must be 2025-03-26, 2025-06-18, 2025-11-25 or 2026-07-28")
#define ANOTHER_VERSION                                                                            \
    ERROR("1", "-32020", "the header MCP-Protocol-Version is not the version of the body")
#define ANOTHER_METHOD ERROR("1", "-32020", "the header Mcp-Method is not the method of the body")
#define ANOTHER_NAME   ERROR("1", "-32020", "the header Mcp-Name is not the name of the body")
#define ONE_PAGE       ERROR("1", "-32602", "the list has one page, and no cursor")
#define UNSUPPORTED(version)                                                                       \
    MESSAGE("\"id\":1,\"error\":{\"code\":-32022,\"message\":\"unsupported protocol version\","    \
            "\"data\":{\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"" \
            "],\"requested\":\"" version "\"}}")                                                   \
    "\n"
#define WELCOME(version)                                                                           \
    MESSAGE("\"id\":1,\"result\":{\"protocolVersion\":\"" version                                  \
            "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":IDENTITY}")                         \
    "\n"
#define FOUND                                                                                      \
    MESSAGE("\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"       \
            "\"tools\":{}},\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\","    \
            "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":IDENTITY}}")                        \
    "\n"
#define PING MESSAGE("\"id\":1,\"method\":\"ping\"")

typedef struct post_row {
    const char *name;
    const char *version, *method, *tool; /* headers; NULL: absent */
    const char *body;
    int kind;
    int status;
    const char *answer; /* IDENTITY stands for {"name":"arcp",...} */
} post_row;

enum {
    ANSWER = ARCP__MCP_POST_ANSWER,
    LIST = ARCP__MCP_POST_LIST,
    CALL = ARCP__MCP_POST_CALL,
    GATHER = ARCP__MCP_POST_GATHER,
    FETCH = ARCP__MCP_POST_FETCH,
    CANCEL = ARCP__MCP_POST_CANCEL
};

#define INITIALIZE(version) REQUEST("initialize", "\"protocolVersion\":\"" version "\"")
#define V11                 "2025-11-25"
#define V07                 "2026-07-28"
#define PLAIN(name, version, body, kind, status, answer)                                           \
    {                                                                                              \
        name, version, NULL, NULL, body, kind, status, answer                                      \
    }
/* The same where resources and prompts are offered. */
#define OTHER(name, method, params, kind, answer)                                                  \
    {                                                                                              \
        name, V11, NULL, NULL, REQUEST(method, params), kind, 200, answer                          \
    }
#define FAULT(text) ERROR("1", "-32602", text)

static const post_row rows[] = {
    /* With initialize. */
    PLAIN("the first version is agreed", NULL, INITIALIZE("2025-03-26"), ANSWER, 200,
          WELCOME("2025-03-26")),
    PLAIN("the second version is agreed", NULL, INITIALIZE("2025-06-18"), ANSWER, 200,
          WELCOME("2025-06-18")),
    PLAIN("the third version is agreed", NULL, INITIALIZE("2025-11-25"), ANSWER, 200,
          WELCOME("2025-11-25")),
    PLAIN("an older version is answered with ours", NULL, INITIALIZE("2024-11-05"), ANSWER, 200,
          WELCOME("2025-11-25")),
    PLAIN("a version that is no text is answered with ours", NULL,
          REQUEST("initialize", "\"protocolVersion\":5"), ANSWER, 200, WELCOME("2025-11-25")),
    PLAIN("initialized is accepted", V11, MESSAGE("\"method\":\"notifications/initialized\""),
          ANSWER, 202, ""),
    PLAIN("any notification is accepted", V11, MESSAGE("\"method\":\"notifications/x\""), ANSWER,
          202, ""),
    PLAIN("cancelled names a request", V11,
          MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"a\"}"),
          CANCEL, 202, ""),
    PLAIN("cancelled without a request is accepted", V11,
          MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1.5}"), ANSWER,
          202, ""),
    PLAIN("ping is answered", V11, PING, ANSWER, 200, MESSAGE("\"id\":1,\"result\":{}") "\n"),
    PLAIN("a request without a version is of the oldest one", NULL, PING, ANSWER, 200,
          MESSAGE("\"id\":1,\"result\":{}") "\n"),
    PLAIN("a version that is not known is refused", "2024-11-05", PING, ANSWER, 400, NO_VERSION),
    PLAIN("an empty version is refused", "", PING, ANSWER, 400, NO_VERSION),
    PLAIN("tools are listed", V11, MESSAGE("\"id\":1,\"method\":\"tools/list\""), LIST, 200, ""),
    PLAIN("a list has no cursor", V11, REQUEST("tools/list", "\"cursor\":\"x\""), ANSWER, 200,
          ONE_PAGE),
    PLAIN("a list has a null cursor", V11, REQUEST("tools/list", "\"cursor\":null"), LIST, 200, ""),
    PLAIN("a tool is called", V11, REQUEST("tools/call", "\"name\":\"web__a\""), CALL, 200, ""),
    PLAIN("a call has a name", V11, REQUEST("tools/call", "\"arguments\":{}"), ANSWER, 200,
          ERROR("1", "-32602", "name must be a string")),
    PLAIN("a name is not empty", V11, REQUEST("tools/call", "\"name\":\"\""), ANSWER, 200,
          ERROR("1", "-32602", "name is empty")),
    PLAIN("arguments are an object", V11, REQUEST("tools/call", "\"name\":\"a\",\"arguments\":[]"),
          ANSWER, 200, ERROR("1", "-32602", "arguments must be an object")),
    PLAIN("a task is not offered", V11, REQUEST("tools/call", "\"name\":\"a\",\"task\":{}"), ANSWER,
          200, ERROR("1", "-32602", "of a call only name, arguments and _meta are passed on")),
    PLAIN("discover is not a method of these versions", V11,
          MESSAGE("\"id\":1,\"method\":\"server/discover\""), ANSWER, 200, NO_METHOD),
    PLAIN("resources are not offered", V11, MESSAGE("\"id\":1,\"method\":\"resources/list\""),
          ANSWER, 200, NO_METHOD),
    PLAIN("the log has no level", V11, REQUEST("logging/setLevel", "\"level\":\"debug\""), ANSWER,
          200, NO_METHOD),

    /* 2026-07-28. */
    {"discover", V07, "server/discover", NULL, MODERN("server/discover", ""), ANSWER, 200, FOUND},
    {"tools are listed by envelope", V07, "tools/list", NULL, MODERN("tools/list", ""), LIST, 200,
     ""},
    {"a tool is called by envelope", V07, "tools/call", "a",
     MODERN("tools/call", "\"name\":\"a\","), CALL, 200, ""},
    {"a name may be encoded in its header", V07, "tools/call",
     "=?base64?w6k=?=", MODERN("tools/call", "\"name\":\"\xc3\xa9\","), CALL, 200, ""},
    {"a name that looks encoded is encoded", V07, "tools/call", "=?base64?PT9iYXNlNjQ/Pz0=?=",
     MODERN("tools/call", "\"name\":\"=?base64?\x3f=\","), CALL, 200, ""},
    {"a name whose encoding is wrong is another one", V07, "tools/call",
     "=?base64?w6l=?=", MODERN("tools/call", "\"name\":\"\xc3\xa9\","), ANSWER, 400, ANOTHER_NAME},
    {"the header of the name must be there", V07, "tools/call", NULL,
     MODERN("tools/call", "\"name\":\"a\","), ANSWER, 400, ANOTHER_NAME},
    {"the header of the name must be equal", V07, "tools/call", "b",
     MODERN("tools/call", "\"name\":\"a\","), ANSWER, 400, ANOTHER_NAME},
    {"a name that is no text equals no header", V07, "tools/call", "5",
     MODERN("tools/call", "\"name\":5,"), ANSWER, 400, ANOTHER_NAME},
    {"a call without a name has no name", V07, "tools/call", NULL, MODERN("tools/call", ""), ANSWER,
     400, ERROR("1", "-32602", "name must be a string")},
    {"the header of the method must be there", V07, NULL, NULL, MODERN("tools/list", ""), ANSWER,
     400, ANOTHER_METHOD},
    {"the header of the method must be equal", V07, "tools/call", NULL, MODERN("tools/list", ""),
     ANSWER, 400, ANOTHER_METHOD},
    {"the header of the version must be there", NULL, "tools/list", NULL, MODERN("tools/list", ""),
     ANSWER, 400, ANOTHER_VERSION},
    {"the header of the version must be equal", V11, "tools/list", NULL, MODERN("tools/list", ""),
     ANSWER, 400, ANOTHER_VERSION},
    {"the envelope must be there", V07, "tools/list", NULL,
     MESSAGE("\"id\":1,\"method\":\"tools/list\""), ANSWER, 400, BAD_ENVELOPE},
    {"the envelope must have the capabilities", V07, "tools/list", NULL,
     REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" V07 "\"}"),
     ANSWER, 400, BAD_ENVELOPE},
    {"the version must be a text", V07, "tools/list", NULL,
     REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":1,"
                           "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
     ANSWER, 400, BAD_ENVELOPE},
    {"a later version is not supported", "2027-01-01", "tools/list", NULL,
     REQUEST("tools/list", ENVELOPE("2027-01-01")), ANSWER, 400, UNSUPPORTED("2027-01-01")},
    {"an earlier version has no envelope", V11, "tools/list", NULL,
     REQUEST("tools/list", ENVELOPE(V11)), ANSWER, 400, UNSUPPORTED(V11)},
    {"other methods are not found", V07, "resources/list", NULL, MODERN("resources/list", ""),
     ANSWER, 404, NO_METHOD},
    {"initialize is not found", V07, "initialize", NULL, MODERN("initialize", ""), ANSWER, 404,
     NO_METHOD},
    {"ping is not found", V07, "ping", NULL, MODERN("ping", ""), ANSWER, 404, NO_METHOD},
    {"a list by envelope has no cursor", V07, "tools/list", NULL,
     MODERN("tools/list", "\"cursor\":\"x\","), ANSWER, 400, ONE_PAGE},

    /* Not messages of a client. */
    PLAIN("batches are refused", NULL, "[" PING "]", ANSWER, 400,
          ERROR("null", "-32600", "batches are not accepted")),
    PLAIN("responses are refused", V11, MESSAGE("\"id\":1,\"result\":{}"), ANSWER, 400,
          ERROR("1", "-32600", "it is a response, and the client was asked nothing")),
    PLAIN("repeated members are refused", V11,
          MESSAGE("\"id\":1,\"method\":\"ping\",\"method\":\"tools/list\""), ANSWER, 400,
          ERROR("1", "-32700",
                "JSON: the name \\\"method\\\" occurs twice in one object, again at byte 40")),
    PLAIN("an empty body is refused", V11, "", ANSWER, 400,
          ERROR("null", "-32700", "JSON: expected a value, found the end of the text, at byte 0")),
};

/* Where resources and prompts are offered. */
static const post_row offered[] = {
    {"what is offered is a capability", NULL, NULL, NULL, INITIALIZE("2025-11-25"), ANSWER, 200,
     MESSAGE("\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
             "\"tools\":{},\"resources\":{},\"prompts\":{},\"completions\":{}},"
             "\"serverInfo\":IDENTITY}") "\n"},
    OTHER("resources are listed", "resources/list", "", GATHER, ""),
    OTHER("templates are listed", "resources/templates/list", "", GATHER, ""),
    OTHER("prompts are listed", "prompts/list", "", GATHER, ""),
    OTHER("a list of resources has no cursor", "resources/list", "\"cursor\":\"x\"", ANSWER,
          ONE_PAGE),
    OTHER("a resource is read", "resources/read", "\"uri\":\"demo:1\"", FETCH, ""),
    OTHER("a resource has a URI", "resources/read", "", ANSWER, FAULT("uri must be a string")),
    OTHER("a URI is not empty", "resources/read", "\"uri\":\"\"", ANSWER, FAULT("uri is empty")),
    OTHER("no other member of a read passes", "resources/read",
          "\"uri\":\"demo:1\",\"requestState\":1", ANSWER,
          FAULT("of this request only uri and _meta are passed on")),
    OTHER("a prompt is fetched", "prompts/get", "\"name\":\"a\",\"arguments\":{}", FETCH, ""),
    OTHER("a prompt has a name", "prompts/get", "\"name\":1", ANSWER,
          FAULT("name must be a string")),
    OTHER("arguments of a prompt are an object", "prompts/get", "\"name\":\"a\",\"arguments\":1",
          ANSWER, FAULT("arguments must be an object")),
    OTHER("no other member of a prompt passes", "prompts/get", "\"name\":\"a\",\"x\":1", ANSWER,
          FAULT("of this request only name, arguments and _meta are passed on")),
    OTHER("an argument of a prompt is completed", "completion/complete",
          "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"a\"},\"argument\":{}", FETCH, ""),
    OTHER("an argument of a template is completed", "completion/complete",
          "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"demo:{a}\"},\"argument\":{}", FETCH, ""),
    OTHER("nothing else is completed", "completion/complete",
          "\"ref\":{\"type\":\"ref/tool\",\"name\":\"a\"},\"argument\":{}", ANSWER,
          FAULT("the type of ref must be ref/prompt or ref/resource")),
    OTHER("a completion needs what it refers to", "completion/complete", "\"argument\":{}", ANSWER,
          FAULT("ref must be an object with a type")),
    OTHER("a completion needs an argument", "completion/complete",
          "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"a\"}", ANSWER,
          FAULT("argument and context must be objects")),
    OTHER("subscriptions are not offered", "resources/subscribe", "\"uri\":\"demo:1\"", ANSWER,
          NO_METHOD),
    {"a resource is read by envelope", V07, "resources/read", "demo:1",
     MODERN("resources/read", "\"uri\":\"demo:1\","), FETCH, 200, ""},
    {"the header of the URI must be equal", V07, "resources/read", "demo:2",
     MODERN("resources/read", "\"uri\":\"demo:1\","), ANSWER, 400,
     ERROR("1", "-32020", "the header Mcp-Name is not the URI of the body")},
    {"the header of the prompt must be there", V07, "prompts/get", NULL,
     MODERN("prompts/get", "\"name\":\"a\","), ANSWER, 400, ANOTHER_NAME},
};

static arcp_span span_of(const char *text)
{
    return text == NULL ? arcp_span_make(NULL, 0) : arcp_span_make(text, strlen(text));
}

static arcp__mcp_headers headers_of(const char *version, const char *method, const char *tool)
{
    return (arcp__mcp_headers){.content_type = ARCP_SPAN_LITERAL("application/json"),
                               .accept = ARCP_SPAN_LITERAL("application/json, text/event-stream"),
                               .version = span_of(version),
                               .method = span_of(method),
                               .name = span_of(tool)};
}

/* Replaces IDENTITY. */
static char *expand(const char *text)
{
    static const char word[] = "IDENTITY";
    arcp_buf out = arcp_buf_init();
    const char *found = strstr(text, word);
    const size_t before = found == NULL ? strlen(text) : (size_t)(found - text);
    arcp_buf_append(&out, arcp_span_make(text, before));
    if (found != NULL) {
        arcp_buf_append_cstr(&out, "{\"name\":\"arcp\",\"version\":\"" ARCP_VERSION_STRING "\"}");
        arcp_buf_append_cstr(&out, found + sizeof word - 1);
    }
    char *whole = strdup(arcp_buf_cstr(&out));
    assert_non_null(whole);
    arcp_buf_fini(&out);
    return whole;
}

static void check_row_with(const post_row *row, unsigned offers)
{
    const arcp__mcp_headers headers = headers_of(row->version, row->method, row->tool);
    arcp__mcp_post post = {.offers = offers};
    arcp_buf answer = arcp_buf_init();
    char *expected = expand(row->answer);
    assert_int_equal(arcp__mcp_post_read(&post, &headers, span_of(row->body), &answer), ARCP_OK);
    check_span(arcp_buf_span(&answer), expected);
    assert_int_equal(post.kind, row->kind);
    assert_int_equal(post.status, row->status);
    free(expected);
    arcp_buf_fini(&answer);
    arcp__mcp_post_fini(&post);
}

static void check_row(void **state)
{
    check_row_with(*state, 0);
}

static void check_offered(void **state)
{
    check_row_with(*state, ARCP__MCP_RESOURCES | ARCP__MCP_PROMPTS | ARCP__MCP_COMPLETIONS);
}

/* ---- what is read ---- */

static void a_call_is_read(void **state)
{
    const arcp__mcp_headers headers = headers_of(V11, NULL, NULL);
    arcp__mcp_post post = {0};
    arcp_buf answer = arcp_buf_init();
    assert_int_equal(
        arcp__mcp_post_read(
            &post, &headers,
            ARCP_SPAN_LITERAL(MESSAGE("\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":"
                                      "\"w\\u0065b.a\",\"arguments\":{\"p\":1},\"_meta\":{"
                                      "\"progressToken\":\"t\"}}")),
            &answer),
        ARCP_OK);
    check_span(post.id, "\"x\"");
    check_span(post.tool, "web.a");
    check_span(post.token, "\"t\"");
    check_span(arcp_json_raw(&post.json, post.arguments), "{\"p\":1}");
    assert_false(post.is_modern);
    assert_true(post.may_stream);
    arcp_buf_fini(&answer);
    arcp__mcp_post_fini(&post);
}

static void a_cancelled_request_is_named_by_its_id(void **state)
{
    const arcp__mcp_headers headers = headers_of(V11, NULL, NULL);
    arcp__mcp_post post = {0};
    arcp_buf answer = arcp_buf_init();
    assert_int_equal(
        arcp__mcp_post_read(&post, &headers,
                            ARCP_SPAN_LITERAL(MESSAGE("\"method\":\"notifications/cancelled\","
                                                      "\"params\":{\"requestId\":12}")),
                            &answer),
        ARCP_OK);
    check_span(post.cancelled, "12");
    arcp_buf_fini(&answer);
    arcp__mcp_post_fini(&post);
}

typedef struct token_row {
    const char *name;
    const char *meta, *token;
} token_row;

static const token_row tokens[] = {
    {"an integer is a token", "{\"progressToken\":3}", "3"},
    {"a text is a token", "{\"progressToken\":\"a\"}", "\"a\""},
    {"a fraction is none", "{\"progressToken\":3.5}", ""},
    {"null is none", "{\"progressToken\":null}", ""},
    {"without _meta there is none", "5", ""},
};

static void check_token(void **state)
{
    const token_row *row = *state;
    const arcp__mcp_headers headers = headers_of(V11, NULL, NULL);
    arcp__mcp_post post = {0};
    arcp_buf answer = arcp_buf_init();
    arcp_buf body = arcp_buf_init();
    arcp_buf_append_format(&body, REQUEST("tools/call", "\"name\":\"a\",\"_meta\":%s"), row->meta);
    assert_int_equal(arcp__mcp_post_read(&post, &headers, arcp_buf_span(&body), &answer), ARCP_OK);
    check_span(post.token, row->token);
    arcp_buf_fini(&answer);
    arcp__mcp_post_fini(&post);
    arcp_buf_fini(&body);
}

/* ---- media types ---- */

typedef struct type_row {
    const char *name;
    const char *content_type, *accept;
    int status;
    bool may_stream;
} type_row;

static const type_row types[] = {
    {"parameters of types are ignored", "Application/JSON; charset=utf-8",
     "application/json;q=1, Text/Event-Stream ;q=0.9", 200, true},
    {"a client may accept JSON alone", "application/json", "application/json", 200, false},
    {"a client need not say what it accepts", "application/json", NULL, 200, false},
    {"another type is refused", "text/plain", "*/*", 415, false},
    {"a longer type is refused", "application/json5", "*/*", 415, false},
    {"no type is refused", NULL, "*/*", 415, false},
};

static void check_type(void **state)
{
    const type_row *row = *state;
    arcp__mcp_headers headers = headers_of(V11, NULL, NULL);
    arcp__mcp_post post = {0};
    arcp_buf answer = arcp_buf_init();
    headers.content_type = span_of(row->content_type);
    headers.accept = span_of(row->accept);
    assert_int_equal(arcp__mcp_post_read(&post, &headers, span_of(PING), &answer), ARCP_OK);
    assert_int_equal(post.status, row->status);
    assert_int_equal(post.may_stream, row->may_stream);
    if (row->status == 415) {
        check_span(arcp_buf_span(&answer),
                   ERROR("null", "-32600", "Content-Type must be application/json"));
    }
    arcp_buf_fini(&answer);
    arcp__mcp_post_fini(&post);
}

static void repeated_headers_are_refused(void **state)
{
    arcp__mcp_headers headers = headers_of(V11, NULL, NULL);
    arcp__mcp_post post = {0};
    arcp_buf answer = arcp_buf_init();
    headers.is_repeated = true;
    assert_int_equal(arcp__mcp_post_read(&post, &headers, span_of(PING), &answer), ARCP_OK);
    check_span(arcp_buf_span(&answer),
               ERROR("1", "-32020", "a header of the protocol is repeated"));
    assert_int_equal(post.status, 400);
    arcp_buf_fini(&answer);
    arcp__mcp_post_fini(&post);
}

/* ---- answers ---- */

typedef struct outcome_row {
    const char *name;
    const char *result;
    bool is_modern;
    const char *why; /* NULL: it is passed on */
    const char *line;
} outcome_row;

static const outcome_row outcomes[] = {
    {"a result is passed on", "{ \"content\" : [], \"structuredContent\":{\"a\": 1}}", false, NULL,
     MESSAGE("\"id\":9,\"result\":{\"content\":[],\"structuredContent\":{\"a\":1}}") "\n"},
    {"the client's version has a type of results", "{\"content\":[]}", true, NULL,
     MESSAGE("\"id\":9,\"result\":{\"resultType\":\"complete\",\"content\":[]}") "\n"},
    {"the client's version has none", "{\"resultType\":\"complete\",\"isError\":true}", false, NULL,
     MESSAGE("\"id\":9,\"result\":{\"isError\":true}") "\n"},
    {"a question is an error", "{\"resultType\":\"input_required\"}", true,
     "the server asks for input, which is not passed on", ""},
    {"a type that is no text is an error", "{\"resultType\":1}", true,
     "the server asks for input, which is not passed on", ""},
    {"a result is an object", "[]", false, "the response of the server is not an object", ""},
};

static void check_outcome(void **state)
{
    const outcome_row *row = *state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    mcp_scan(&json, row->result);
    const char *why =
        arcp__mcp_put_outcome(&out, ARCP_SPAN_LITERAL("9"), row->is_modern, &json, ARCP_JSON_ROOT);
    assert_int_equal(why == NULL, row->why == NULL);
    if (why != NULL) {
        assert_string_equal(why, row->why);
    }
    check_span(arcp_buf_span(&out), row->line);
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
}

static void progress_has_the_token_of_the_client(void **state)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf line = arcp_buf_init();
    arcp_buf event = arcp_buf_init();
    mcp_scan(&json, "{\"progressToken\":77,\"progress\":1.5,\"message\":\"a\",\"_meta\":{}}");
    arcp__mcp_put_progress(&line, ARCP_SPAN_LITERAL("\"t\""), &json, ARCP_JSON_ROOT);
    arcp__mcp_put_event(&event, arcp_buf_span(&line));
    check_span(arcp_buf_span(&event),
               "event: message\ndata: " MESSAGE(
                   "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"t\","
                   "\"progress\":1.5,\"message\":\"a\"}") "\n\n");
    arcp_buf_fini(&event);
    arcp_buf_fini(&line);
    arcp__json_fini(&json);
}

static void errors_of_servers_are_passed_on(void **state)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    mcp_scan(&json, "{\"code\": -32000, \"message\":\"x\"}");
    arcp__mcp_put_server_error(&out, ARCP_SPAN_LITERAL("9"), &json, ARCP_JSON_ROOT);
    check_span(arcp_buf_span(&out),
               MESSAGE("\"id\":9,\"error\":{\"code\":-32000,\"message\":\"x\"}") "\n");
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
}

static void a_refusal_has_the_form_of_a_denial(void **state)
{
    arcp_buf out = arcp_buf_init();
    arcp__mcp_put_refusal(&out, ARCP_SPAN_LITERAL("9"), true, "PERMISSION_DENIED",
                          ARCP_SPAN_LITERAL("web.a"), "no");
    check_span(arcp_buf_span(&out),
               MESSAGE("\"id\":9,\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                       "\"text\",\"text\":\"{\\\"code\\\":\\\"PERMISSION_DENIED\\\","
                       "\\\"message\\\":\\\"no\\\",\\\"capability\\\":\\\"tool.call\\\","
                       "\\\"target\\\":\\\"web.a\\\"}\"}],\"isError\":true}") "\n");
    arcp_buf_fini(&out);
}

/* ---- memory ---- */

static arcp_status whole_exchange(void *user, arcp_error *err)
{
    static const char *const bodies[] = {INITIALIZE("2025-11-25"), "[", PING,
                                         REQUEST("tools/call", "\"name\":\"w\\u0065b.a\"")};
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0] && status == ARCP_OK; i++) {
        const arcp__mcp_headers headers = headers_of(NULL, NULL, NULL);
        arcp__mcp_post post = {0};
        arcp_buf answer = arcp_buf_init();
        status = arcp__mcp_post_read(&post, &headers, span_of(bodies[i]), &answer);
        arcp_buf_fini(&answer);
        arcp__mcp_post_fini(&post);
    }
    if (status == ARCP_OK) {
        const arcp__mcp_headers headers = headers_of(V07, "tools/call", "=?base64?w6k=?=");
        arcp__mcp_post post = {0};
        arcp_buf answer = arcp_buf_init();
        status = arcp__mcp_post_read(
            &post, &headers, span_of(MODERN("tools/call", "\"name\":\"\xc3\xa9\",")), &answer);
        arcp_buf_fini(&answer);
        arcp__mcp_post_fini(&post);
    }
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    assert_true(failing_alloc_sweep(whole_exchange, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_read),
        cmocka_unit_test(a_cancelled_request_is_named_by_its_id),
        cmocka_unit_test(repeated_headers_are_refused),
        cmocka_unit_test(progress_has_the_token_of_the_client),
        cmocka_unit_test(errors_of_servers_are_passed_on),
        cmocka_unit_test(a_refusal_has_the_form_of_a_denial),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    int failed = run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
    failed +=
        run_rows(offered, sizeof offered / sizeof offered[0], sizeof offered[0], check_offered);
    failed += run_rows(tokens, sizeof tokens / sizeof tokens[0], sizeof tokens[0], check_token);
    failed += run_rows(types, sizeof types / sizeof types[0], sizeof types[0], check_type);
    failed +=
        run_rows(outcomes, sizeof outcomes / sizeof outcomes[0], sizeof outcomes[0], check_outcome);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
