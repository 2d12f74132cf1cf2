/* The gateway for tools, with servers that are programs: lists, calls, denials and their ends. */
#include "gateway/tool_rig.h"

static const char *const missing[] = {"/nowhere/server", NULL};

static void tools_that_the_lease_grants_are_listed_and_called(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web"), tool_rig_server("other")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 2);
    tool_rig_post(&r, "/", REQUEST("1", "tools/list", ""));
    tool_rig_expect(&r, "\"name\":\"web__odd_name\"");
    assert_true(tool_rig_has_received(&r, "\"name\":\"web__echo\""));
    assert_false(tool_rig_has_received(&r, "other"));
    tool_rig_post(&r, "/", CALL("2", "web__odd_name", ",\"arguments\":{\"a\":1}"));
    tool_rig_expect(&r, "\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"odd.name "
                        "{\\\"a\\\":1}\"}]}}");
    tool_rig_await_seen(&r, "tool_result {\"call_id\":\"call_");
    assert_non_null(memmem(r.f.seen.data, r.f.seen.size, "tool_call {\"tool\":\"web.odd.name\"",
                           strlen("tool_call {\"tool\":\"web.odd.name\"")));
    tool_rig_post(&r, "/s/web", REQUEST("3", "tools/list", ""));
    tool_rig_expect(&r, "\"name\":\"odd.name\"");
    tool_rig_post(&r, "/s/web", CALL("4", "odd.name", ""));
    tool_rig_expect(&r, "odd.name null");
    tool_rig_close(&r);
}

static void tools_that_the_lease_does_not_grant_are_denied(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web"), tool_rig_server("other")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 2);
    tool_rig_post(&r, "/", CALL("1", "other__echo", ""));
    tool_rig_expect(&r, "\"isError\":true");
    assert_true(tool_rig_has_received(&r, "\\\"code\\\":\\\"PERMISSION_DENIED\\\""));
    assert_true(tool_rig_has_received(&r, "\\\"granted\\\":[\\\"web.*\\\",\\\"web.odd.*\\\"]"));
    tool_rig_await_seen(&r, "denied tool.call other.echo NO_MATCH");
    tool_rig_post(&r, "/s/other", CALL("2", "echo", ""));
    tool_rig_expect(&r, "\"isError\":true");
    tool_rig_post(&r, "/", CALL("3", "nowhere.echo", ""));
    tool_rig_expect(&r, "\"isError\":true");
    tool_rig_close(&r);
}

/* Other gateways let calls pass while their policy engine has an error. */
static void what_cannot_be_recorded_is_denied(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    atomic_store(&r.f.gates.are_closed, true);
    tool_rig_post(&r, "/", CALL("1", "web__echo", ""));
    tool_rig_expect(&r, "\"isError\":true");
    assert_false(tool_rig_has_received(&r, "echo null"));
    atomic_store(&r.f.gates.are_closed, false);
    tool_rig_post(&r, "/", CALL("2", "web__echo", ""));
    tool_rig_expect(&r, "echo null");
    tool_rig_close(&r);
}

static void what_is_not_a_call_is_refused(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web.nothing", ""));
    tool_rig_expect(&r, "\"code\":-32602,\"message\":\"there is no such tool\"");
    tool_rig_post(&r, "/", "[]");
    raw_peer_expect(&r.f.peer, "batches are not accepted");
    tool_rig_post(&r, "/s/nothing", REQUEST("1", "tools/list", ""));
    raw_peer_expect(&r.f.peer, "HTTP/1.1 404 ");
    gateway_fixture_reconnect(&r.f);
    gateway_fixture_send(&r.f, "GET /", "", "");
    raw_peer_expect(&r.f.peer, "HTTP/1.1 405 ");
    tool_rig_close(&r);
}

static void servers_have_an_environment_of_their_own(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    assert_int_equal(setenv("ARCP_TEST_SECRET", "x", 1), 0);
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__env", ""));
    tool_rig_expect(&r, "PATH");
    assert_false(tool_rig_has_received(&r, "ARCP_TEST_SECRET"));
    tool_rig_close(&r);
}

static void progress_is_streamed(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__slow", ",\"_meta\":{\"progressToken\":\"mine\"}"));
    tool_rig_expect(&r, "0\r\n\r\n");
    assert_true(tool_rig_has_received(&r, "Content-Type: text/event-stream"));
    assert_true(tool_rig_has_received(&r, "{\"progressToken\":\"mine\",\"progress\":1}"));
    assert_true(tool_rig_has_received(&r, "\"text\":\"slow null\""));
    tool_rig_close(&r);
}

static void a_server_that_ends_fails_its_calls_and_is_started_again(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__die", ""));
    tool_rig_expect(&r, "it has ended with status 3");
    tool_rig_await_seen(&r, "log {\"level\":\"warn\"");
    tool_rig_post(&r, "/", REQUEST("2", "tools/list", ""));
    tool_rig_expect(&r, "\"tools\":[]");
    tool_rig_close(&r);
}

static void a_server_that_does_not_start_is_left_out(void **state)
{
    arcp__tool_server_options servers[] = {tool_rig_server("web"), tool_rig_server("other")};
    tool_rig r;
    servers[1].argv = missing;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"**\"]}", servers, 2);
    tool_rig_post(&r, "/", REQUEST("1", "tools/list", ""));
    tool_rig_expect(&r, "\"name\":\"web__echo\"");
    assert_false(tool_rig_has_received(&r, "other__"));
    tool_rig_await_seen(&r, "the server \\\"other\\\" of tools");
    tool_rig_post(&r, "/", CALL("2", "other.echo", ""));
    tool_rig_expect(&r, "does not run");
    tool_rig_close(&r);
}

static void the_list_of_a_server_that_does_not_run_is_an_error(void **state)
{
    arcp__tool_server_options servers[] = {tool_rig_server("web"), tool_rig_server("other")};
    tool_rig r;
    servers[1].argv = missing;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"**\"]}", servers, 2);
    tool_rig_post(&r, "/s/other", REQUEST("1", "tools/list", ""));
    tool_rig_expect(
        &r, "\"error\":{\"code\":-32603,\"message\":\"the server \\\"other\\\" does not run: ");
    tool_rig_post(&r, "/s/web", REQUEST("2", "tools/list", ""));
    tool_rig_expect(&r, "\"name\":\"echo\"");
    tool_rig_close(&r);
}

static void a_server_that_is_slow_to_start_is_left_out(void **state)
{
    static const char *const sleeper[] = {"sleep", "60", NULL};
    arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    servers[0].argv = sleeper;
    servers[0].start_ms = 50;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", REQUEST("1", "tools/list", ""));
    tool_rig_expect(&r, "\"tools\":[]");
    tool_rig_await_seen(&r, "it did not list its tools within 50 ms");
    tool_rig_close(&r);
}

static void a_tool_that_does_not_respond_is_cancelled(void **state)
{
    arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    servers[0].timeout_ms = 50;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", REQUEST("1", "tools/list", ""));
    tool_rig_expect(&r, "web__hang");
    tool_rig_post(&r, "/", CALL("2", "web__hang", ""));
    tool_rig_expect(&r, "\\\"code\\\":\\\"TIMEOUT\\\"");
    tool_rig_close(&r);
}

static void a_client_that_leaves_cancels_its_call(void **state)
{
    char path[] = "/tmp/arcp-tool-XXXXXX";
    const int fd = mkstemp(path);
    const char *const command[] = {"python3", SERVER, path, NULL};
    arcp__tool_server_options servers[] = {tool_rig_server("web")};
    char text[64] = "";
    tool_rig r;
    servers[0].argv = command;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    tool_rig_expect(&r, "\"progressToken\":5");
    gateway_fixture_reconnect(&r.f);
    tool_rig_await_seen(&r, "\"error\"");
    while (pread(fd, text, sizeof text - 1, 0) == 0) {
        (void)uv_run(&r.f.test.loop, UV_RUN_NOWAIT);
    }
    assert_string_equal(text, "cancelled the client has left\n");
    tool_rig_close(&r);
    (void)close(fd);
    (void)unlink(path);
}

static void prices_are_charged_and_end_the_budget(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"web.*\"],\"cost.budget\":[\"USD:0.015\"]}",
                          servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__echo", ""));
    tool_rig_expect(&r, "echo null");
    tool_rig_await_seen(&r, "metric {\"name\":\"cost.tool\",\"value\":0.01,\"unit\":\"USD\"");
    tool_rig_post(&r, "/", CALL("2", "web__echo", ""));
    tool_rig_expect(&r, "BUDGET_EXHAUSTED");
    tool_rig_post(&r, "/", CALL("3", "web__env", ""));
    tool_rig_expect(&r, "PATH");
    tool_rig_close(&r);
}

static void a_price_in_another_currency_is_denied(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"web.*\"],\"cost.budget\":[\"EUR:5\"]}", servers,
                          1);
    tool_rig_post(&r, "/", CALL("1", "web__echo", ""));
    tool_rig_expect(&r, "the tool costs USD, which cost.budget does not name");
    tool_rig_close(&r);
}

static void arguments_that_rules_name_are_asked(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"web.*\"],\"fs.read\":[\"/srv/**\"]}", servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__pid", ",\"arguments\":{\"path\":\"/etc/x\"}"));
    tool_rig_expect(&r, "\\\"capability\\\":\\\"fs.read\\\"");
    tool_rig_await_seen(&r, "denied fs.read /etc/x NO_MATCH");
    tool_rig_post(&r, "/", CALL("2", "web__pid", ""));
    tool_rig_expect(&r, "the arguments have no text where the target is");
    tool_rig_post(&r, "/", CALL("3", "web__pid", ",\"arguments\":{\"path\":\"/srv/x\"}"));
    tool_rig_expect(&r, "\"id\":3,\"result\":{\"content\"");
    tool_rig_close(&r);
}

static void the_end_of_a_job_ends_its_calls(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("1", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    tool_rig_expect(&r, "\"progressToken\":5");
    assert_true(arcp__gateway_settle(r.f.job, PATIENCE_MS, &r.f.events));
    tool_rig_await_seen(&r, "the job has ended");
    tool_rig_close(&r);
}

static void a_job_has_a_process_of_its_own_unless_it_is_shared(void **state)
{
    arcp__tool_server_options servers[] = {tool_rig_server("web"), tool_rig_server("all")};
    arcp__gateway_endpoint others[ARCP__GATEWAY_KINDS];
    char first[2000];
    tool_rig r;
    servers[0].target_count = 0;
    servers[1].target_count = 0;
    servers[1].is_shared = true;
    tool_rig_open_servers(&r, "{\"tool.call\":[\"*.*\"]}", servers, 2);
    arcp__gateway_job *other = gateway_fixture_open_job(&r.f, false, others);
    for (size_t i = 0; i < 2; i++) {
        const char *body = i == 0 ? CALL("1", "web__pid", "") : CALL("1", "all__pid", "");
        tool_rig_post(&r, "/", body);
        tool_rig_expect(&r, "}]}}");
        const char *at = memmem(r.f.peer.received.data, r.f.peer.received.size, "\"text\":\"", 8);
        assert_non_null(at);
        const char *end = memchr(at + 8, '"',
                                 arcp_buf_span(&r.f.peer.received).size -
                                     (size_t)(at + 8 - r.f.peer.received.data));
        assert_non_null(end);
        snprintf(first, sizeof first, "%.*s", (int)(end - at - 8), at + 8);
        char mine[ARCP__GATEWAY_KEY_MAX];
        memcpy(mine, r.f.endpoints[ARCP__GATEWAY_MCP].key, sizeof mine);
        memcpy(r.f.endpoints[ARCP__GATEWAY_MCP].key, others[ARCP__GATEWAY_MCP].key, sizeof mine);
        tool_rig_post(&r, "/", body);
        tool_rig_expect(&r, "}]}}");
        assert_int_equal(tool_rig_has_received(&r, first), i == 1);
        memcpy(r.f.endpoints[ARCP__GATEWAY_MCP].key, mine, sizeof mine);
    }
    arcp__gateway_release(other);
    tool_rig_close(&r);
}

/* The number of spans that were delivered. */
static size_t spans_in(const tool_rig *r)
{
    size_t count = 0;
    const char *end = r->f.seen.data + r->f.seen.size;
    for (const char *at = r->f.seen.data; (at = memmem(at, (size_t)(end - at), "\nspan ", 6));
         at += 6) {
        count++;
    }
    return count;
}

static void each_call_that_was_sent_has_a_span(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web"), tool_rig_server("other")};
    arcp__gateway_endpoint traced[ARCP__GATEWAY_KINDS];
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 2);
    tool_rig_post(&r, "/",
                  CALL("1", "web__odd_name", "")); /* of a job whose trace is not recorded */
    tool_rig_expect(&r, "odd.name null");
    r.f.makes_spans = true;
    arcp__gateway_job *job = gateway_fixture_open_job(&r.f, false, traced);
    memcpy(r.f.endpoints, traced, sizeof traced);
    tool_rig_post(&r, "/", CALL("2", "web__odd_name", ""));
    tool_rig_expect(&r, "\"id\":2,\"result\":{\"content\"");
    tool_rig_await_seen(&r, "span arcp.tool web.odd.name web []\n");
    tool_rig_post(&r, "/", CALL("3", "other__echo", ""));
    tool_rig_expect(&r, "PERMISSION_DENIED");
    tool_rig_await_seen(&r, "denied tool.call other.echo NO_MATCH");
    tool_rig_post(&r, "/", CALL("4", "web__die", ""));
    raw_peer_expect(&r.f.peer, "\"id\":4,");
    tool_rig_await_seen(&r, "span arcp.tool web.die web [INTERNAL_ERROR]\n");
    assert_int_equal(spans_in(&r), 2);
    arcp__gateway_release(job);
    tool_rig_close(&r);
}

/* Sends the request of a second client of the job. */
static void post_beside(tool_rig *r, raw_peer *other, const char *body)
{
    raw_peer mine = r->f.peer;
    raw_peer_connect(other, &r->f.test, r->f.url);
    r->f.peer = *other;
    tool_rig_post(r, "/", body);
    *other = r->f.peer;
    r->f.peer = mine;
}

static void a_client_cancels_by_a_notification(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    raw_peer other;
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    tool_rig_post(&r, "/", CALL("\"x\"", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    tool_rig_expect(&r, "\"progressToken\":5");
    post_beside(&r, &other,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":\"x\"}}");
    raw_peer_expect(&other, "HTTP/1.1 202 ");
    tool_rig_expect(&r, "the client has cancelled the call");
    raw_peer_fini(&other);
    tool_rig_close(&r);
}

/* Clients of different jobs use equal ids: those of the SDKs count from 0. */
static void a_notification_cancels_no_call_of_another_job(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    arcp__gateway_endpoint own[ARCP__GATEWAY_KINDS];
    raw_peer other;
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    arcp__gateway_job *second = gateway_fixture_open_job(&r.f, false, endpoints);
    tool_rig_post(&r, "/", CALL("\"x\"", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    tool_rig_expect(&r, "\"progressToken\":5");
    memcpy(own, r.f.endpoints, sizeof own);
    memcpy(r.f.endpoints, endpoints, sizeof own);
    post_beside(&r, &other,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":\"x\"}}");
    raw_peer_expect(&other, "HTTP/1.1 202 ");
    assert_false(tool_rig_has_received(&r, "cancelled the call"));
    raw_peer_fini(&other);
    memcpy(r.f.endpoints, own, sizeof own);
    /* The job's own notification still finds the call. */
    post_beside(&r, &other,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":\"x\"}}");
    tool_rig_expect(&r, "the client has cancelled the call");
    raw_peer_fini(&other);
    arcp__gateway_release(second);
    tool_rig_close(&r);
}

static void calls_at_once_are_limited(void **state)
{
    const arcp__tool_server_options servers[] = {tool_rig_server("web")};
    raw_peer others[16];
    tool_rig r;
    tool_rig_open_servers(&r, WEB, servers, 1);
    for (size_t i = 0; i < 16; i++) {
        post_beside(&r, &others[i], CALL("1", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
        raw_peer_expect(&others[i], "\"progressToken\":5");
    }
    tool_rig_post(&r, "/", CALL("2", "web__echo", ""));
    raw_peer_expect(&r.f.peer, "the job has too many calls at once");
    raw_peer_fini(&others[0]);
    tool_rig_await_seen(&r, "the client has left");
    gateway_fixture_reconnect(&r.f);
    tool_rig_post(&r, "/", CALL("2", "web__echo", ""));
    tool_rig_expect(&r, "echo null");
    for (size_t i = 1; i < 16; i++) {
        raw_peer_fini(&others[i]);
    }
    tool_rig_close(&r);
}

/* ---- the configuration ---- */

static void configurations_are_checked(void **state)
{
    static const arcp__mcp_target_rule wrong[] = {{"*", {"fs.read", 7}, {"path", 4}}};
    arcp__tool_server_options servers[2] = {tool_rig_server("web"), tool_rig_server("web")};
    arcp__tool_options options = {.servers = servers, .server_count = 2};
    arcp__tool_config *config = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__tool_config_new(&options, &config, &err), ARCP_E_USAGE);
    assert_string_equal(err.message, "there are two servers \"web\" of tools");
    servers[1].name = "we b";
    assert_int_equal(arcp__tool_config_new(&options, &config, &err), ARCP_E_USAGE);
    servers[1].name = "other";
    servers[1].targets = wrong;
    assert_int_equal(arcp__tool_config_new(&options, &config, &err), ARCP_E_USAGE);
    servers[1].target_count = 0;
    servers[1].argv = NULL;
    assert_int_equal(arcp__tool_config_new(&options, &config, &err), ARCP_E_USAGE);
    servers[1].argv = servers[0].argv;
    check_ok(arcp__tool_config_new(&options, &config, &err), &err);
    arcp__tool_config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_that_the_lease_grants_are_listed_and_called),
        cmocka_unit_test(tools_that_the_lease_does_not_grant_are_denied),
        cmocka_unit_test(what_cannot_be_recorded_is_denied),
        cmocka_unit_test(what_is_not_a_call_is_refused),
        cmocka_unit_test(servers_have_an_environment_of_their_own),
        cmocka_unit_test(progress_is_streamed),
        cmocka_unit_test(a_server_that_ends_fails_its_calls_and_is_started_again),
        cmocka_unit_test(a_server_that_does_not_start_is_left_out),
        cmocka_unit_test(the_list_of_a_server_that_does_not_run_is_an_error),
        cmocka_unit_test(a_server_that_is_slow_to_start_is_left_out),
        cmocka_unit_test(a_tool_that_does_not_respond_is_cancelled),
        cmocka_unit_test(a_client_that_leaves_cancels_its_call),
        cmocka_unit_test(prices_are_charged_and_end_the_budget),
        cmocka_unit_test(a_price_in_another_currency_is_denied),
        cmocka_unit_test(arguments_that_rules_name_are_asked),
        cmocka_unit_test(the_end_of_a_job_ends_its_calls),
        cmocka_unit_test(a_job_has_a_process_of_its_own_unless_it_is_shared),
        cmocka_unit_test(each_call_that_was_sent_has_a_span),
        cmocka_unit_test(a_client_cancels_by_a_notification),
        cmocka_unit_test(a_notification_cancels_no_call_of_another_job),
        cmocka_unit_test(calls_at_once_are_limited),
        cmocka_unit_test(configurations_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
