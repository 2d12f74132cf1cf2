/* What passes between a client and a server, and what does not. */
#include "support/check.h"

#include "mcp/mcp.h"
#include "support/failing_alloc.h"

typedef struct fixture {
    arcp__mcp_output output;
    arcp__mcp_filter *filter;
    arcp_buf decided; /* "+target " for a grant, "-target " for a denial */
    arcp_buf dropped; /* why, "; " */
    size_t shown, hidden;
    bool cannot_record;
    arcp_time now;
} fixture;

static bool on_decided(void *user, const arcp_decision *decision)
{
    fixture *f = user;
    arcp_buf_append_byte(&f->decided, decision->allowed ? '+' : '-');
    arcp_buf_append(&f->decided, decision->target);
    arcp_buf_append_byte(&f->decided, ' ');
    return !f->cannot_record;
}

static void on_listed(void *user, size_t shown, size_t hidden)
{
    fixture *f = user;
    f->shown = shown;
    f->hidden = hidden;
}

static void on_dropped(void *user, arcp__mcp_side from, const char *why, arcp_span line)
{
    fixture *f = user;
    arcp_buf_append_format(&f->dropped, "%s: %s; ", from == ARCP__MCP_CLIENT ? "client" : "server",
                           why);
}

static const arcp_time begun = {INT64_C(1790000000000000000), 1};

static arcp_authority *authority_of(const char *lease, const char *constraints)
{
    arcp_authority_options options = arcp_authority_options_init();
    arcp_lease *parsed = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    options.now = begun;
    check_ok(
        arcp_lease_parse(arcp_span_cstr(lease), arcp_span_cstr(constraints), NULL, &parsed, &err),
        &err);
    check_ok(arcp_authority_new(parsed, &options, &authority, &err), &err);
    arcp_lease_unref(parsed);
    return authority;
}

/* Takes a reference to the authority. */
static arcp_status begin(fixture *f, const arcp_authority *authority, const char *name,
                         arcp_error *err)
{
    *f = (fixture){.now = begun};
    const arcp__mcp_filter_options filter = {
        .authority = authority,
        .name = arcp_span_cstr(name),
        .output = &f->output,
        .events = {on_decided, on_listed, on_dropped, f},
    };
    return arcp__mcp_filter_new(&filter, &f->filter, err);
}

static void end(fixture *f)
{
    arcp__mcp_filter_free(f->filter);
    arcp_buf_fini(&f->output.to_client);
    arcp_buf_fini(&f->output.to_server);
    arcp_buf_fini(&f->decided);
    arcp_buf_fini(&f->dropped);
}

static void start(fixture *f, const char *lease, const char *constraints, const char *name)
{
    arcp_error err = {0};
    arcp_authority *authority = authority_of(lease, constraints);
    check_ok(begin(f, authority, name, &err), &err);
    arcp_authority_unref(authority);
}

static void client(fixture *f, const char *line)
{
    arcp_error err = {0};
    check_ok(arcp__mcp_filter_take_client(f->filter, f->now, arcp_span_cstr(line), &err), &err);
}

static void server(fixture *f, const char *line)
{
    arcp_error err = {0};
    check_ok(arcp__mcp_filter_take_server(f->filter, f->now, arcp_span_cstr(line), &err), &err);
}

/* What both sides get, and nothing else was sent since the last time. */
static void check_sent(fixture *f, const char *to_server, const char *to_client)
{
    check_span(arcp_buf_span(&f->output.to_server), to_server);
    check_span(arcp_buf_span(&f->output.to_client), to_client);
    arcp_buf_clear(&f->output.to_server);
    arcp_buf_clear(&f->output.to_client);
}

#define LEASE "{\"tool.call\":[\"read_*\",\"echo\"]}"

#define MESSAGE(rest)    "{\"jsonrpc\":\"2.0\"," rest "}"
#define CALL(id, params) MESSAGE("\"id\":" id ",\"method\":\"tools/call\",\"params\":{" params "}")
#define WRONG_ID         "id must be a string of at most 256 bytes, or an integer within 2^53"
#define ECHO(id)         CALL(id, "\"name\":\"echo\"")
#define ERROR(id, code, text)                                                                      \
    MESSAGE("\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text "\"}") "\n"
#define DENIAL(id, more, text)                                                                     \
    MESSAGE("\"id\":" id ",\"result\":{" more "\"content\":[{\"type\":\"text\",\"text\":\"" text   \
            "\"}],\"isError\":true}")                                                              \
    "\n"
#define DENIED_WRITE                                                                               \
    "{\\\"code\\\":\\\"PERMISSION_DENIED\\\",\\\"message\\\":\\\"tool.call of "                    \
    "\\\\\\\"write\\\\\\\" is not covered by the "                                                 \
    "lease\\\",\\\"capability\\\":\\\"tool.call\\\",\\\"target\\\":\\\"write\\\","                 \
    "\\\"canonical\\\":\\\"write\\\",\\\"granted\\\":[\\\"read_*\\\",\\\"echo\\\"],"               \
    "\\\"reason\\\":\\\"NO_MATCH\\\"}"
#define MODERN "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"

/* ---- one line after another ---- */

typedef struct line_row {
    const char *name;
    const char *before; /* a line of the client that passes; NULL: none */
    char from;          /* 'c' or 's' */
    const char *line;
    const char *to_server, *to_client;
    const char *dropped;
} line_row;

#define REFUSED(text)  "client: " text "; "
#define SERVERS(text)  "server: " text "; "
#define NOT_PASSED     "this notification is not passed on"
#define NO_SUCH_METHOD "this method is not passed on"
#define ONLY           "of a call only name, arguments and _meta are passed on"

static const line_row rows[] = {
    /* Calls. */
    {"a call that the lease grants", NULL, 'c', ECHO("1"), ECHO("1") "\n", "", ""},
    {"arguments and the progress token", NULL, 'c',
     CALL("\"x\"", "\"name\":\"read_file\",\"arguments\":{\"path\":\"/a b\"},\"_meta\":{"
                   "\"progressToken\":3}"),
     CALL("\"x\"", "\"name\":\"read_file\",\"arguments\":{\"path\":\"/a b\"},\"_meta\":{"
                   "\"progressToken\":3}") "\n",
     "", ""},
    {"a call that the lease does not grant", NULL, 'c', CALL("1", "\"name\":\"write\""), "",
     DENIAL("1", "", DENIED_WRITE), ""},
    {"such a call of protocol 2026-07-28", NULL, 'c', CALL("1", "\"name\":\"write\"," MODERN), "",
     DENIAL("1", "\"resultType\":\"complete\",", DENIED_WRITE), ""},
    {"a name with escapes", NULL, 'c', CALL("1", "\"name\":\"\\u0065ch\\u006f\""), ECHO("1") "\n",
     "", ""},
    {"members in another order, and white space", NULL, 'c',
     " { \"params\" : {\"arguments\": { \"a\" : [ 1 , 2 ] },\r\"name\":\"echo\"} ,\t\"method\" : "
     "\"tools/call\", \"id\" : 1 , \"jsonrpc\" : \"2.0\"} ",
     CALL("1", "\"name\":\"echo\",\"arguments\":{\"a\":[1,2]}") "\n", "", ""},
    {"a call in the white space of a call", NULL, 'c',
     CALL("1", "\"name\":\"echo\",\"arguments\":{\"a\":[\r" CALL("2", "\"name\":\"write\"") "\r]}"),
     CALL("1",
          "\"name\":\"echo\",\"arguments\":{\"a\":[" CALL("2", "\"name\":\"write\"") "]}") "\n",
     "", ""},
    {"a name twice", NULL, 'c', CALL("1", "\"name\":\"echo\",\"name\":\"write\""), "",
     ERROR("1", "-32700",
           "JSON: the name \\\"name\\\" occurs twice in one object, again at byte 70"),
     ""},
    {"a name in another case", NULL, 'c', CALL("1", "\"name\":\"echo\",\"Name\":\"write\""), "",
     ERROR("1", "-32602", ONLY), ""},
    {"params in another case", NULL, 'c',
     MESSAGE("\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"},"
             "\"Params\":{\"name\":\"write\"},\"METHOD\":\"x\",\"extra\":1"),
     ECHO("1") "\n", "", ""},
    {"a call as a task", NULL, 'c', CALL("1", "\"name\":\"echo\",\"task\":{}"), "",
     ERROR("1", "-32602", ONLY), ""},
    {"a call with an answer to the server", NULL, 'c',
     CALL("1", "\"name\":\"echo\",\"inputResponses\":{}"), "", ERROR("1", "-32602", ONLY), ""},
    {"a call without a name", NULL, 'c', CALL("1", "\"arguments\":{}"), "",
     ERROR("1", "-32602", "name must be a string"), ""},
    {"a call with a name that is no text", NULL, 'c', CALL("1", "\"name\":[\"echo\"]"), "",
     ERROR("1", "-32602", "name must be a string"), ""},
    {"a call with an empty name", NULL, 'c', CALL("1", "\"name\":\"\""), "",
     ERROR("1", "-32602", "name is empty"), ""},
    {"a call without params", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"tools/call\""), "",
     ERROR("1", "-32602", "name must be a string"), ""},
    {"a call as a notification", NULL, 'c',
     MESSAGE("\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}"), "", "",
     REFUSED(NOT_PASSED)},
    {"an id whose request has no response yet", ECHO("1"), 'c', ECHO("1"), "",
     ERROR("1", "-32600", "a request with this id has no response yet"), ""},
    {"the same id as a text", ECHO("1"), 'c', ECHO("\"1\""), ECHO("\"1\"") "\n", "", ""},
    {"the same text in another spelling", ECHO("\"a\""), 'c', ECHO("\"\\u0061\""), "",
     ERROR("\"\\u0061\"", "-32600", "a request with this id has no response yet"), ""},
    /* Other requests of the client. */
    {"initialize declares no capability to the server", NULL, 'c',
     MESSAGE("\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":{\"sampling\":{},\"roots\":{}},\"clientInfo\":{\"name\":\"c\"},"
             "\"Capabilities\":{\"sampling\":{}}}"),
     MESSAGE("\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":{},\"clientInfo\":{\"name\":\"c\"}}") "\n",
     "", ""},
    {"nor do the requests of protocol 2026-07-28", NULL, 'c',
     MESSAGE("\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{\"a\":1,"
             "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}},\"b\":2}}"),
     MESSAGE("\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{\"a\":1,"
             "\"io.modelcontextprotocol/clientCapabilities\":{},\"b\":2}}") "\n",
     "", ""},
    {"ping", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"ping\""),
     MESSAGE("\"id\":1,\"method\":\"ping\"") "\n", "", ""},
    {"the page of a list", NULL, 'c',
     MESSAGE("\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"n\"}"),
     MESSAGE("\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"n\"}") "\n", "", ""},
    {"the level of the log", NULL, 'c',
     MESSAGE("\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}"),
     MESSAGE("\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}") "\n", "",
     ""},
    {"resources", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"resources/list\""), "",
     ERROR("1", "-32601", NO_SUCH_METHOD), ""},
    {"prompts", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"prompts/get\""), "",
     ERROR("1", "-32601", NO_SUCH_METHOD), ""},
    {"completions", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"completion/complete\""), "",
     ERROR("1", "-32601", NO_SUCH_METHOD), ""},
    {"tasks", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"tasks/result\""), "",
     ERROR("1", "-32601", NO_SUCH_METHOD), ""},
    {"subscriptions", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"subscriptions/listen\""), "",
     ERROR("1", "-32601", NO_SUCH_METHOD), ""},
    {"a method in another case", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"Tools/Call\""), "",
     ERROR("1", "-32601", NO_SUCH_METHOD), ""},
    /* Notifications and responses of the client. */
    {"initialized", NULL, 'c', MESSAGE("\"method\":\"notifications/initialized\""),
     MESSAGE("\"method\":\"notifications/initialized\"") "\n", "", ""},
    {"a request is cancelled", ECHO("1"), 'c',
     MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}"),
     MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}") "\n", "", ""},
    {"a request that is not known is cancelled", ECHO("1"), 'c',
     MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"1\"}"), "", "",
     REFUSED("it cancels no request that waits for a response")},
    {"initialize is not cancelled", MESSAGE("\"id\":1,\"method\":\"initialize\""), 'c',
     MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}"), "", "",
     REFUSED("it cancels no request that waits for a response")},
    {"roots have changed", NULL, 'c', MESSAGE("\"method\":\"notifications/roots/list_changed\""),
     "", "", REFUSED(NOT_PASSED)},
    {"a response of the client", NULL, 'c', MESSAGE("\"id\":1,\"result\":{}"), "", "",
     REFUSED("it is a response, and no request was passed to the client")},
    /* Lines that are no messages. */
    {"a batch", NULL, 'c', "[" ECHO("1") "]", "",
     ERROR("null", "-32600", "batches are not accepted"), ""},
    {"a text", NULL, 'c', "\"a\"", "", ERROR("null", "-32600", "a message must be an object"), ""},
    {"another version of JSON-RPC", NULL, 'c', "{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"ping\"}",
     "", ERROR("4", "-32600", "jsonrpc must be \\\"2.0\\\""), ""},
    {"a fraction as id", NULL, 'c', MESSAGE("\"id\":1.5,\"method\":\"ping\""), "",
     ERROR("null", "-32600", WRONG_ID), ""},
    {"minus zero as id, which servers take for 0", NULL, 'c',
     MESSAGE("\"id\":-0,\"method\":\"ping\""), "", ERROR("-0", "-32600", WRONG_ID), ""},
    {"the largest integer that a double has for itself", NULL, 'c', ECHO("9007199254740991"),
     ECHO("9007199254740991") "\n", "", ""},
    {"one more", NULL, 'c', ECHO("9007199254740992"), "",
     ERROR("9007199254740992", "-32600", WRONG_ID), ""},
    {"the smallest", NULL, 'c', ECHO("-9007199254740991"), ECHO("-9007199254740991") "\n", "", ""},
    {"one less", NULL, 'c', ECHO("-9007199254740992"), "",
     ERROR("-9007199254740992", "-32600", WRONG_ID), ""},
    {"null as id", NULL, 'c', MESSAGE("\"id\":null,\"method\":\"ping\""), "",
     ERROR("null", "-32600", WRONG_ID), ""},
    {"a request that is a response, too", NULL, 'c',
     MESSAGE("\"id\":1,\"method\":\"ping\",\"result\":{}"), "",
     ERROR("1", "-32600", "a message is a request, a notification or a response"), ""},
    {"a list as params", NULL, 'c', MESSAGE("\"id\":1,\"method\":\"ping\",\"params\":[]"), "",
     ERROR("1", "-32602", "params must be an object"), ""},
    /* The server. */
    {"the result of a call", ECHO("1"), 's',
     MESSAGE("\"id\":1,\"result\":{\"content\":[],\"structuredContent\":{\"a\" :1}}"), "",
     MESSAGE("\"id\":1,\"result\":{\"content\":[],\"structuredContent\":{\"a\":1}}") "\n", ""},
    {"the error of a call", ECHO("1"), 's',
     MESSAGE("\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\",\"data\":[1]}"), "",
     MESSAGE("\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\",\"data\":[1]}") "\n", ""},
    {"the id as the client wrote it", ECHO("\"\\u0061\""), 's',
     MESSAGE("\"id\":\"a\",\"result\":{}"), "", MESSAGE("\"id\":\"\\u0061\",\"result\":{}") "\n",
     ""},
    {"a response to no request", ECHO("1"), 's', MESSAGE("\"id\":2,\"result\":{}"), "", "",
     SERVERS("it is a response to no request that waits for one")},
    {"a result that asks for input", ECHO("1"), 's',
     MESSAGE("\"id\":1,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{}}"), "",
     ERROR("1", "-32603", "the server asks for input, which is not passed on"), ""},
    {"a result that says that it is complete", ECHO("1"), 's',
     MESSAGE("\"id\":1,\"result\":{\"resultType\":\"complete\"}"), "",
     MESSAGE("\"id\":1,\"result\":{\"resultType\":\"complete\"}") "\n", ""},
    {"a response that cannot be read", ECHO("1"), 's',
     MESSAGE("\"id\":1,\"result\":{\"a\":\"\\ud800\"}"), "",
     ERROR("1", "-32603",
           "the response of the server cannot be read: JSON: half a surrogate pair "
           "(\\\\ud800-\\\\udbff, then \\\\udc00-\\\\udfff), at byte 39"),
     SERVERS("JSON: half a surrogate pair (\\ud800-\\udbff, then \\udc00-\\udfff), at byte 39")},
    {"a line that is no message", NULL, 's', "Server started.", "", "",
     SERVERS("JSON: expected a value (object, array, string, number, true, false or null), found "
             "'S', at byte 0")},
    {"ping of the server", NULL, 's', MESSAGE("\"id\":\"p\",\"method\":\"ping\""),
     MESSAGE("\"id\":\"p\",\"result\":{}") "\n", "", ""},
    {"sampling", NULL, 's', MESSAGE("\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{}"),
     ERROR("1", "-32601", "requests are not passed to the client"), "", ""},
    {"elicitation", NULL, 's', MESSAGE("\"id\":1,\"method\":\"elicitation/create\",\"params\":{}"),
     ERROR("1", "-32601", "requests are not passed to the client"), "", ""},
    {"roots", NULL, 's', MESSAGE("\"id\":1,\"method\":\"roots/list\""),
     ERROR("1", "-32601", "requests are not passed to the client"), "", ""},
    {"progress", ECHO("1"), 's',
     MESSAGE(
         "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":2}"),
     "",
     MESSAGE("\"method\":\"notifications/"
             "progress\",\"params\":{\"progressToken\":1,\"progress\":2}") "\n",
     ""},
    {"a message of the log", NULL, 's',
     MESSAGE("\"method\":\"notifications/message\",\"params\":{\"level\":\"info\"}"), "",
     MESSAGE("\"method\":\"notifications/message\",\"params\":{\"level\":\"info\"}") "\n", ""},
    {"the list has changed", NULL, 's', MESSAGE("\"method\":\"notifications/tools/list_changed\""),
     "", MESSAGE("\"method\":\"notifications/tools/list_changed\"") "\n", ""},
    {"resources have changed", NULL, 's',
     MESSAGE("\"method\":\"notifications/resources/list_changed\""), "", "", SERVERS(NOT_PASSED)},
    {"initialized, of the server", NULL, 's', MESSAGE("\"method\":\"notifications/initialized\""),
     "", "", SERVERS(NOT_PASSED)},
};

static void check_row(void **state)
{
    const line_row *row = *state;
    fixture f;
    start(&f, LEASE, "", "");
    if (row->before != NULL) {
        client(&f, row->before);
        arcp_buf_clear(&f.output.to_server);
    }
    if (row->from == 'c') {
        client(&f, row->line);
    } else {
        server(&f, row->line);
    }
    check_sent(&f, row->to_server, row->to_client);
    check_span(arcp_buf_span(&f.dropped), row->dropped);
    end(&f);
}

/* ---- names ---- */

static void a_name_stands_before_the_tools_of_its_server(void **state)
{
    fixture f;
    start(&f, "{\"tool.call\":[\"web.fetch\",\"git.*\"]}", "", "web");
    client(&f, CALL("1", "\"name\":\"fetch\""));
    check_sent(&f, CALL("1", "\"name\":\"fetch\"") "\n", "");
    client(&f, CALL("2", "\"name\":\"web.fetch\""));
    client(&f, CALL("3", "\"name\":\"git.log\""));
    client(&f, CALL("4", "\"name\":\"../git.log\""));
    check_span(arcp_buf_span(&f.output.to_server), "");
    check_span(arcp_buf_span(&f.decided),
               "+web.fetch -web.web.fetch -web.git.log -web.../git.log ");
    end(&f);
}

static void names_of_servers_are_checked(void **state)
{
    static const char *const good[] = {"a", "web-1", "0123456789abcdef0123456789abcdef"};
    static const char *const bad[] = {
        "", "A", "a.b", "a_b", "a b", "a*", "0123456789abcdef0123456789abcdef0"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(arcp__mcp_name_is_valid(arcp_span_cstr(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(arcp__mcp_name_is_valid(arcp_span_cstr(bad[i])));
    }
    fixture f;
    arcp_error err = {0};
    arcp_authority *authority = authority_of(LEASE, "");
    assert_int_equal(begin(&f, authority, "A", &err), ARCP_E_USAGE);
    end(&f);
    arcp_authority_unref(authority);
}

/* ---- lists ---- */

static void a_list_has_the_tools_that_may_be_called(void **state)
{
    fixture f;
    start(&f, LEASE, "", "");
    client(&f, MESSAGE("\"id\":1,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    server(&f,
           MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"write\"},"
                   "{\"description\":\"d\",\"name\":\"read_file\",\"annotations\":{}},"
                   "{\"title\":\"no name\"},7,{\"name\":5},{\"name\":\"\"},{\"name\":\"echo\"}],"
                   "\"nextCursor\":\"c\",\"ttlMs\":60000,\"cacheScope\":\"public\"}"));
    check_sent(&f, "",
               MESSAGE("\"id\":1,\"result\":{\"tools\":["
                       "{\"description\":\"d\",\"name\":\"read_file\",\"annotations\":{}},"
                       "{\"name\":\"echo\"}],\"nextCursor\":\"c\",\"ttlMs\":0,\"cacheScope\":"
                       "\"private\"}") "\n");
    assert_int_equal(f.shown, 2);
    assert_int_equal(f.hidden, 5);
    check_span(arcp_buf_span(&f.decided), ""); /* only calls are recorded */
    end(&f);
}

static void a_list_names_no_headers(void **state)
{
    fixture f;
    start(&f, LEASE, "", "");
    client(&f, MESSAGE("\"id\":1,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    server(&f, MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{"
                       "\"type\":\"object\",\"properties\":{\"a\":{\"x-mcp-header\":\"A\",\"type\":"
                       "\"string\"},\"x-mcp-header\":{\"type\":\"string\"},\"b\":{\"anyOf\":[{"
                       "\"type\":\"string\",\"\\u0078-mcp-header\":\"B\"},7]}}}}]}"));
    check_sent(&f, "",
               MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{"
                       "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},"
                       "\"x-mcp-header\":{\"type\":\"string\"},\"b\":{\"anyOf\":[{\"type\":"
                       "\"string\"},7]}}}}]}") "\n");
    end(&f);
}

static void a_list_that_is_none_is_an_error(void **state)
{
    fixture f;
    start(&f, LEASE, "", "");
    client(&f, MESSAGE("\"id\":1,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    server(&f, MESSAGE("\"id\":1,\"result\":{\"tools\":{\"name\":\"write\"}}"));
    check_sent(&f, "", ERROR("1", "-32603", "the response of the server has no list of tools"));
    end(&f);
}

static void few_capabilities_of_a_server_are_shown(void **state)
{
    static const char capabilities[] =
        "\"capabilities\":{\"prompts\":{},\"tools\":{\"listChanged\":true},\"resources\":{},"
        "\"completions\":{},\"tasks\":{},\"experimental\":{},\"logging\":{}}";
    char line[512];
    fixture f;
    start(&f, LEASE, "", "");
    client(&f, MESSAGE("\"id\":1,\"method\":\"initialize\""));
    client(&f, MESSAGE("\"id\":2,\"method\":\"server/discover\""));
    arcp_buf_clear(&f.output.to_server);
    (void)snprintf(line, sizeof line, MESSAGE("\"id\":1,\"result\":{\"protocolVersion\":\"v\",%s}"),
                   capabilities);
    server(&f, line);
    check_sent(
        &f, "",
        MESSAGE("\"id\":1,\"result\":{\"protocolVersion\":\"v\",\"capabilities\":{\"tools\":{"
                "\"listChanged\":true},\"logging\":{}}}") "\n");
    (void)snprintf(line, sizeof line, MESSAGE("\"id\":2,\"result\":{%s,\"instructions\":\"i\"}"),
                   capabilities);
    server(&f, line);
    check_sent(&f, "",
               MESSAGE("\"id\":2,\"result\":{\"capabilities\":{\"tools\":{},\"logging\":{}},"
                       "\"instructions\":\"i\"}") "\n");
    client(&f, MESSAGE("\"id\":1,\"method\":\"initialize\""));
    arcp_buf_clear(&f.output.to_server);
    server(&f, MESSAGE("\"id\":1,\"result\":[]"));
    check_sent(&f, "", ERROR("1", "-32603", "the response of the server is not an object"));
    end(&f);
}

/* ---- time, the log, the end ---- */

#define EXPIRES "{\"expires_at\":\"2026-09-21T14:13:30Z\"}" /* 10 s after fixture.now */

static void after_the_lease_calls_are_denied_and_nothing_is_listed(void **state)
{
    size_t count = 0;
    arcp_error err = {0};
    fixture f;
    start(&f, LEASE, EXPIRES, "");
    f.now.mono_ns += 10 * ARCP_NS_PER_SEC - 1;
    f.now.wall_ns += 10 * ARCP_NS_PER_SEC - 1;
    client(&f, ECHO("1"));
    check_sent(&f, ECHO("1") "\n", "");
    client(&f, MESSAGE("\"id\":2,\"method\":\"ping\""));
    arcp_buf_clear(&f.output.to_server);
    check_ok(arcp__mcp_filter_expire(f.filter, f.now, &count, &err), &err);
    assert_int_equal(count, 0);

    f.now.mono_ns++;
    f.now.wall_ns++;
    check_ok(arcp__mcp_filter_expire(f.filter, f.now, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(arcp__mcp_filter_pending(f.filter), 1); /* the ping */
    check_span(arcp_buf_span(&f.output.to_server),
               MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,"
                       "\"reason\":\"the lease has expired\"}") "\n");
    assert_non_null(strstr(arcp_buf_cstr(&f.output.to_client), "LEASE_EXPIRED"));
    arcp_buf_clear(&f.output.to_server);
    arcp_buf_clear(&f.output.to_client);

    server(&f, MESSAGE("\"id\":1,\"result\":{\"content\":[\"late\"]}"));
    check_sent(&f, "", "");
    client(&f, ECHO("3"));
    check_span(arcp_buf_span(&f.output.to_server), "");
    assert_non_null(strstr(arcp_buf_cstr(&f.output.to_client), "LEASE_EXPIRED"));
    check_span(arcp_buf_span(&f.decided), "+echo -echo ");
    arcp_buf_clear(&f.output.to_client);
    client(&f, MESSAGE("\"id\":4,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    server(&f, MESSAGE("\"id\":4,\"result\":{\"tools\":[{\"name\":\"echo\"}]}"));
    check_sent(&f, "", MESSAGE("\"id\":4,\"result\":{\"tools\":[]}") "\n");
    end(&f);
}

static void a_call_that_cannot_be_recorded_is_refused(void **state)
{
    fixture f;
    start(&f, LEASE, "", "");
    f.cannot_record = true;
    client(&f, ECHO("1"));
    check_sent(&f, "",
               ERROR("1", "-32603", "the call cannot be recorded in the log, and is refused"));
    assert_int_equal(arcp__mcp_filter_pending(f.filter), 0);
    end(&f);
}

static void a_used_up_budget_denies(void **state)
{
    fixture f;
    start(&f, "{\"tool.call\":[\"**\"],\"cost.budget\":[\"USD:0\"]}", "", "");
    client(&f, ECHO("1"));
    check_span(arcp_buf_span(&f.output.to_server), "");
    assert_non_null(strstr(arcp_buf_cstr(&f.output.to_client), "BUDGET_EXHAUSTED"));
    end(&f);
}

static void requests_get_an_error_when_the_server_has_ended(void **state)
{
    arcp_error err = {0};
    fixture f;
    start(&f, LEASE, "", "");
    client(&f, ECHO("1"));
    client(&f, MESSAGE("\"id\":\"l\",\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    check_ok(arcp__mcp_filter_end(f.filter, "it has ended", &err), &err);
    check_sent(&f, "",
               ERROR("1", "-32000", "it has ended") ERROR("\"l\"", "-32000", "it has ended"));
    client(&f, ECHO("2"));
    client(&f, MESSAGE("\"method\":\"notifications/initialized\""));
    check_sent(&f, "", ERROR("2", "-32000", "it has ended"));
    end(&f);
}

static void a_second_response_is_dropped(void **state)
{
    fixture f;
    start(&f, LEASE, "", "");
    client(&f, ECHO("1"));
    arcp_buf_clear(&f.output.to_server);
    server(&f, MESSAGE("\"id\":1,\"result\":{}"));
    check_sent(&f, "", MESSAGE("\"id\":1,\"result\":{}") "\n");
    server(&f, MESSAGE("\"id\":1,\"result\":{}"));
    check_sent(&f, "", "");
    client(&f, ECHO("1")); /* the id may be used again */
    check_sent(&f, ECHO("1") "\n", "");
    client(&f, MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}"));
    arcp_buf_clear(&f.output.to_server);
    server(&f, MESSAGE("\"id\":1,\"result\":{}"));
    check_sent(&f, "", "");
    end(&f);
}

/* ---- limits ---- */

static void lines_that_are_too_long_get_errors(void **state)
{
    arcp_error err = {0};
    fixture f;
    start(&f, LEASE, "", "");
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_CLIENT, ARCP_SPAN_LITERAL("5"), &err), &err);
    check_sent(&f, "", ERROR("5", "-32600", "the message is longer than 8 MiB"));
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_CLIENT, arcp_span_make(NULL, 0), &err),
             &err);
    check_sent(&f, "", ERROR("null", "-32600", "the message is longer than 8 MiB"));
    client(&f, ECHO("5"));
    arcp_buf_clear(&f.output.to_server);
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_SERVER, ARCP_SPAN_LITERAL("6"), &err), &err);
    check_sent(&f, "", "");
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_SERVER, ARCP_SPAN_LITERAL("5"), &err), &err);
    check_sent(&f, "", ERROR("5", "-32603", "the response of the server is longer than 8 MiB"));
    end(&f);
}

static void requests_without_a_response_are_limited(void **state)
{
    char line[128];
    fixture f;
    start(&f, LEASE, "", "");
    for (int i = 0; i < ARCP__MCP_PENDING_MAX; i++) {
        (void)snprintf(line, sizeof line, ECHO("%d"), i);
        client(&f, line);
    }
    check_span(arcp_buf_span(&f.output.to_client), "");
    arcp_buf_clear(&f.output.to_server);
    client(&f, ECHO("1024"));
    check_sent(&f, "", ERROR("1024", "-32603", "1024 requests have no response yet"));
    server(&f, MESSAGE("\"id\":3,\"result\":{}"));
    arcp_buf_clear(&f.output.to_client);
    client(&f, ECHO("1024"));
    check_sent(&f, ECHO("1024") "\n", "");
    end(&f);
}

static void a_server_that_does_not_read_gets_no_responses(void **state)
{
    fixture f;
    start(&f, LEASE, "", "");
    f.output.is_server_behind = true;
    server(&f, MESSAGE("\"id\":1,\"method\":\"ping\""));
    server(&f, MESSAGE("\"id\":2,\"method\":\"roots/list\""));
    check_sent(&f, "", "");
    end(&f);
}

static arcp_status whole_exchange(void *user, arcp_error *err)
{
    static const char *const lines[] = {ECHO("1"),
                                        CALL("2", "\"name\":\"wr\\u0069te\""),
                                        ECHO("\"\\u0061\""),
                                        MESSAGE("\"id\":3,\"method\":\"tools/list\""),
                                        "[",
                                        MESSAGE("\"id\":4,\"method\":\"x\"")};
    static const char *const answers[] = {
        MESSAGE("\"id\":1,\"result\":{}"),
        MESSAGE("\"id\":3,\"result\":{\"tools\":[{\"name\":\"ec\\u0068o\",\"inputSchema\":{}}]}"),
        MESSAGE("\"id\":\"a\",\"result\":{\"a\":1,\"a\":2}")};
    fixture f;
    arcp_status status = begin(&f, user, "web", err);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && status == ARCP_OK; i++) {
        status = arcp__mcp_filter_take_client(f.filter, f.now, arcp_span_cstr(lines[i]), err);
    }
    for (size_t i = 0; i < sizeof answers / sizeof answers[0] && status == ARCP_OK; i++) {
        status = arcp__mcp_filter_take_server(f.filter, f.now, arcp_span_cstr(answers[i]), err);
    }
    if (status == ARCP_OK) {
        status = arcp__mcp_filter_end(f.filter, "over", err);
    }
    if (status == ARCP_OK && (f.decided.failed || f.dropped.failed)) {
        status = ARCP_E_NO_MEMORY; /* of the fixture */
    }
    end(&f);
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    arcp_authority *authority = authority_of("{\"tool.call\":[\"web.echo\"]}", "");
    assert_true(failing_alloc_sweep(whole_exchange, authority) > 10);
    arcp_authority_unref(authority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_stands_before_the_tools_of_its_server),
        cmocka_unit_test(names_of_servers_are_checked),
        cmocka_unit_test(a_list_has_the_tools_that_may_be_called),
        cmocka_unit_test(a_list_names_no_headers),
        cmocka_unit_test(a_list_that_is_none_is_an_error),
        cmocka_unit_test(few_capabilities_of_a_server_are_shown),
        cmocka_unit_test(after_the_lease_calls_are_denied_and_nothing_is_listed),
        cmocka_unit_test(a_call_that_cannot_be_recorded_is_refused),
        cmocka_unit_test(a_used_up_budget_denies),
        cmocka_unit_test(requests_get_an_error_when_the_server_has_ended),
        cmocka_unit_test(a_second_response_is_dropped),
        cmocka_unit_test(lines_that_are_too_long_get_errors),
        cmocka_unit_test(requests_without_a_response_are_limited),
        cmocka_unit_test(a_server_that_does_not_read_gets_no_responses),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    const int failed = run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
