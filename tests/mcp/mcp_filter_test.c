/* What passes between a client and a server, and what does not. */
#include "mcp/mcp_fixture.h"

#define WRONG_ID "id must be a string of at most 256 bytes, or an integer within 2^53"
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
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    if (row->before != NULL) {
        mcp_client(&f, row->before);
        arcp_buf_clear(&f.output.to_server);
    }
    if (row->from == 'c') {
        mcp_client(&f, row->line);
    } else {
        mcp_server(&f, row->line);
    }
    mcp_check_sent(&f, row->to_server, row->to_client);
    check_span(arcp_buf_span(&f.dropped), row->dropped);
    mcp_end(&f);
}

static void a_second_response_is_dropped(void **state)
{
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    mcp_client(&f, ECHO("1"));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(&f, MESSAGE("\"id\":1,\"result\":{}"));
    mcp_check_sent(&f, "", MESSAGE("\"id\":1,\"result\":{}") "\n");
    mcp_server(&f, MESSAGE("\"id\":1,\"result\":{}"));
    mcp_check_sent(&f, "", "");
    mcp_client(&f, ECHO("1")); /* the id may be used again */
    mcp_check_sent(&f, ECHO("1") "\n", "");
    mcp_client(&f, MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}"));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(&f, MESSAGE("\"id\":1,\"result\":{}"));
    mcp_check_sent(&f, "", "");
    mcp_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_response_is_dropped),
    };
    const int failed = run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
