/* Resources and prompts of servers through the gateway for tools: what is offered, listed, fetched
 * and denied. The server is tool_resource_server.py. */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/tool_rig.h"
#include "mcp/mcp_method.h"

#define RESOURCE_SERVER ARCP_SOURCE_DIR "/tests/gateway/tool_resource_server.py"
#define BOTH            (ARCP__MCP_RESOURCES | ARCP__MCP_PROMPTS)
#define ALL             "\"tool.call\":[\"docs.**\",\"more.**\"]"
#define DOCS                                                                                       \
    "{" ALL ",\"fs.read\":[\"/srv/docs/**\"],\"net.fetch\":[\"https://docs.example.com/**\"]}"
#define READ(id, uri) REQUEST(id, "resources/read", "\"uri\":\"" uri "\"")

static const char server_file[] = RESOURCE_SERVER;
static const char *const plain[] = {"python3", "-B", server_file, NULL};

static arcp__tool_server_options offering(const char *name, unsigned offers)
{
    arcp__tool_server_options server = tool_rig_server(name);
    server.argv = plain;
    server.offers = offers;
    return server;
}

/* ---- what is offered ---- */

static void nothing_is_offered_unless_the_configuration_says_so(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", 0)};
    tool_rig r;
    tool_rig_open_servers(&r, DOCS, servers, 1);
    tool_rig_post(&r, "/", REQUEST("1", "initialize", "\"protocolVersion\":\"2025-11-25\""));
    tool_rig_expect(&r, "\"capabilities\":{\"tools\":{}}");
    static const char *const methods[] = {
        "resources/list", "resources/templates/list", "resources/read",     "prompts/list",
        "prompts/get",    "completion/complete",      "resources/subscribe"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, REQUEST("1", "%s", "\"uri\":\"demo://one\""), methods[i]);
        tool_rig_post(&r, "/", body);
        tool_rig_expect(&r, "\"code\":-32601");
    }
    tool_rig_close(&r);
}

static void one_offer_does_not_bring_the_other(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", ARCP__MCP_RESOURCES),
                                                 offering("more", ARCP__MCP_PROMPTS)};
    tool_rig r;
    tool_rig_open_servers(&r, DOCS, servers, 2);
    tool_rig_post(&r, "/s/docs", REQUEST("1", "initialize", "\"protocolVersion\":\"2025-11-25\""));
    tool_rig_expect(&r, "\"capabilities\":{\"tools\":{},\"resources\":{},\"completions\":{}}");
    tool_rig_post(&r, "/s/docs", REQUEST("2", "prompts/list", ""));
    tool_rig_expect(&r, "\"code\":-32601");
    tool_rig_post(&r, "/", REQUEST("3", "prompts/get", "\"name\":\"docs__review\""));
    tool_rig_expect(&r, "\"code\":-32602,\"message\":\"the server does not offer this\"");
    tool_rig_post(&r, "/", READ("4", "arcp+more+demo://one"));
    tool_rig_expect(&r, "the server does not offer this");
    tool_rig_close(&r);
}

/* ---- lists ---- */

static void what_the_lease_grants_is_listed_with_its_server(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", BOTH), offering("more", BOTH)};
    tool_rig r;
    tool_rig_open_servers(&r, DOCS, servers, 2);
    tool_rig_post(&r, "/", REQUEST("1", "resources/list", ""));
    tool_rig_expect(&r, "\"uri\":\"arcp+more+https://docs.example.com/x\"");
    assert_true(
        tool_rig_has_received(&r, "\"uri\":\"arcp+docs+demo://one\",\"name\":\"of demo://one\""));
    assert_true(tool_rig_has_received(&r, "\"uri\":\"arcp+docs+file:///srv/docs/a%20b.txt\""));
    assert_false(tool_rig_has_received(&r, "/srv/other"));
    assert_false(tool_rig_has_received(&r, "intranet"));
    assert_false(tool_rig_has_received(&r, "no scheme"));
    tool_rig_post(&r, "/", REQUEST("2", "resources/templates/list", ""));
    tool_rig_expect(&r, "\"uriTemplate\":\"arcp+docs+demo://{id}\"");
    tool_rig_post(&r, "/", REQUEST("3", "prompts/list", ""));
    tool_rig_expect(&r, "{\"name\":\"docs__odd name__x\"}");
    tool_rig_post(&r, "/s/more", REQUEST("4", "prompts/list", ""));
    tool_rig_expect(&r, "{\"prompts\":[{\"name\":\"review\"},{\"name\":\"odd name__x\"}]}");
    tool_rig_close(&r);
}

static void lists_of_servers_that_the_lease_does_not_grant_are_empty(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", BOTH)};
    tool_rig r;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"docs.*\"],\"fs.read\":[\"/**\"]}", servers, 1);
    tool_rig_post(&r, "/", REQUEST("1", "resources/list", ""));
    tool_rig_expect(&r, "\"resources\":[]");
    tool_rig_post(&r, "/s/docs", REQUEST("2", "prompts/list", ""));
    tool_rig_expect(&r, "\"prompts\":[]");
    tool_rig_close(&r);
}

static void a_server_whose_list_is_not_valid_is_left_out(void **state)
{
    static const char *const garbage[] = {"python3", "-B", server_file, "garbage", NULL};
    static const char *const endless[] = {"python3", "-B", server_file, "endless", NULL};
    arcp__tool_server_options servers[] = {offering("bad", BOTH), offering("docs", BOTH),
                                           offering("long", BOTH)};
    tool_rig r;
    servers[0].argv = garbage;
    servers[2].argv = endless;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"**\"]}", servers, 3);
    tool_rig_post(&r, "/", REQUEST("1", "prompts/list", ""));
    tool_rig_expect(&r, "\"name\":\"docs__review\"");
    assert_false(tool_rig_has_received(&r, "bad__"));
    tool_rig_await_seen(
        &r, "the server \\\"bad\\\": the response of the server has no list of prompts");
    tool_rig_await_seen(&r,
                        "the server \\\"long\\\": the list of the server has more than 64 pages");
    tool_rig_close(&r);
}

/* ---- one resource or prompt ---- */

static void resources_and_prompts_are_fetched_by_the_names_of_the_list(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", BOTH), offering("more", BOTH)};
    tool_rig r;
    tool_rig_open_servers(&r, DOCS, servers, 2);
    tool_rig_post(&r, "/", READ("1", "arcp+more+demo://one"));
    tool_rig_expect(&r, "read {\\\"uri\\\": \\\"demo://one\\\"}");
    tool_rig_await_seen(&r, "tool_call {\"tool\":\"more.resources/read\"");
    tool_rig_await_seen(&r, "\"args\":{\"uri\":\"demo://one\"}");
    tool_rig_post(&r, "/s/docs", READ("2", "file:///srv/docs/a%20b.txt"));
    tool_rig_expect(&r, "read {\\\"uri\\\": \\\"file:///srv/docs/a%20b.txt\\\"}");
    tool_rig_post(
        &r, "/",
        REQUEST("3", "prompts/get", "\"name\":\"docs__odd name__x\",\"arguments\":{\"a\":\"b\"}"));
    tool_rig_expect(&r, "prompts/get {\\\"name\\\": \\\"odd name__x\\\", \\\"arguments\\\": "
                        "{\\\"a\\\": \\\"b\\\"}}");
    tool_rig_post(&r, "/",
                  REQUEST("4", "completion/complete",
                          "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"docs__review\"},"
                          "\"argument\":{\"name\":\"a\",\"value\":\"b\"}"));
    tool_rig_expect(&r, "completion/complete {\\\"ref\\\": {\\\"type\\\": \\\"ref/prompt\\\", "
                        "\\\"name\\\": \\\"review\\\"}");
    tool_rig_close(&r);
}

typedef struct denied_row {
    const char *name, *body, *error;
} denied_row;

static const denied_row denied[] = {
    {"a file that is not granted", READ("1", "file:///srv/other/c"),
     "\"code\":\"PERMISSION_DENIED\""},
    {"a file that leaves the grant", READ("1", "file:///srv/docs/../other/c"),
     "\"code\":\"PERMISSION_DENIED\""},
    {"a file that is named with dots", READ("1", "file:///srv/docs/x/../a.txt"), "canonical form"},
    {"a file that leaves it by escapes", READ("1", "file:///srv/docs/%2e%2e/other/c"),
     "a file URI must be"},
    {"a slash that is escaped", READ("1", "file:///srv/docs%2Fa.txt"), "a file URI must be"},
    {"a file of another host", READ("1", "file://host/srv/docs/a.txt"), "a file URI must be"},
    {"a scheme in capitals", READ("1", "FILE:///srv/other/c"), "\"code\":\"PERMISSION_DENIED\""},
    {"a URL that is not granted", READ("1", "https://intranet.example.com/x"),
     "\"capability\":\"net.fetch\""},
    {"a path without a scheme", READ("1", "/srv/docs/a.txt"), "has no scheme"},
    {"the completion of a template of files",
     REQUEST("1", "completion/complete",
             "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"file:///{+path}\"},\"argument\":{}"),
     "completions of templates of files"},
};

static void what_the_lease_does_not_grant_is_not_fetched(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", BOTH)};
    tool_rig r;
    tool_rig_open_servers(&r, DOCS, servers, 1);
    for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
        print_message("  %s\n", denied[i].name);
        tool_rig_post(&r, "/s/docs", denied[i].body);
        tool_rig_expect(&r, denied[i].error);
        assert_false(tool_rig_has_received(&r, "\"result\""));
    }
    tool_rig_close(&r);
}

static void a_method_that_the_lease_does_not_grant_is_denied(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", BOTH)};
    tool_rig r;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"docs.prompts/get\"]}", servers, 1);
    tool_rig_post(&r, "/", READ("1", "demo://one"));
    tool_rig_expect(&r, "\"error\":{\"code\":-32602,");
    assert_true(tool_rig_has_received(&r, "\"target\":\"docs.resources/read\""));
    tool_rig_await_seen(&r, "denied tool.call docs.resources/read NO_MATCH");
    tool_rig_post(&r, "/", REQUEST("2", "prompts/get", "\"name\":\"docs.review\""));
    tool_rig_expect(&r, "prompts/get {\\\"name\\\": \\\"review\\\"}");
    tool_rig_close(&r);
}

static void a_question_of_the_server_is_not_passed_on(void **state)
{
    static const char *const others[] = {"python3", "-B", server_file, "others", NULL};
    arcp__tool_server_options servers[] = {offering("docs", BOTH)};
    tool_rig r;
    servers[0].argv = others;
    tool_rig_open_servers(&r, DOCS, servers, 1);
    tool_rig_post(&r, "/", READ("1", "demo://one"));
    tool_rig_expect(&r, "\"error\":{\"code\":-32603,\"message\":\"the server asks for input");
    tool_rig_close(&r);
}

static void a_name_without_a_server_is_refused_where_several_offer(void **state)
{
    const arcp__tool_server_options servers[] = {offering("docs", BOTH), offering("more", BOTH)};
    tool_rig r;
    tool_rig_open_servers(&r, DOCS, servers, 2);
    tool_rig_post(&r, "/", READ("1", "demo://one"));
    tool_rig_expect(&r, "it names no server");
    tool_rig_post(&r, "/", REQUEST("2", "prompts/get", "\"name\":\"review\""));
    tool_rig_expect(&r, "it names no server");
    tool_rig_post(&r, "/", READ("3", "arcp+nobody+demo://one"));
    tool_rig_expect(&r, "it names no server");
    tool_rig_close(&r);
}

static void a_price_is_held_and_spent_for_a_fetch(void **state)
{
    static const arcp__mcp_price prices[] = {
        {"resources/read", {"USD", 3}, {600000000000000000, 0}}};
    arcp__tool_server_options servers[] = {offering("docs", BOTH)};
    tool_rig r;
    servers[0].prices = prices;
    tool_rig_open_servers(&r, "{" ALL ",\"cost.budget\":[\"USD:1\"]}", servers, 1);
    tool_rig_post(&r, "/", READ("1", "demo://one"));
    tool_rig_expect(&r, "\"contents\"");
    tool_rig_await_seen(&r, "\"name\":\"cost.tool\"");
    tool_rig_post(&r, "/", READ("2", "demo://one"));
    tool_rig_expect(&r, "\"code\":\"BUDGET_EXHAUSTED\"");
    tool_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_offered_unless_the_configuration_says_so),
        cmocka_unit_test(one_offer_does_not_bring_the_other),
        cmocka_unit_test(what_the_lease_grants_is_listed_with_its_server),
        cmocka_unit_test(lists_of_servers_that_the_lease_does_not_grant_are_empty),
        cmocka_unit_test(a_server_whose_list_is_not_valid_is_left_out),
        cmocka_unit_test(resources_and_prompts_are_fetched_by_the_names_of_the_list),
        cmocka_unit_test(what_the_lease_does_not_grant_is_not_fetched),
        cmocka_unit_test(a_method_that_the_lease_does_not_grant_is_denied),
        cmocka_unit_test(a_question_of_the_server_is_not_passed_on),
        cmocka_unit_test(a_name_without_a_server_is_refused_where_several_offer),
        cmocka_unit_test(a_price_is_held_and_spent_for_a_fetch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
