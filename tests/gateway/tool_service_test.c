/* The gateway for tools, with servers that are programs: lists, calls, denials and their ends. */
#include "gateway/gateway_fixture.h"

#include <poll.h>

#include "gateway/tool.h"
#include "support/remove_tree.h"
#include "support/sandbox_host.h"

#define SERVER ARCP_SOURCE_DIR "/tests/gateway/tool_server.py"

static const char *const argv[] = {"python3", SERVER, NULL};
static const char *const missing[] = {"/nowhere/server", NULL};
static const arcp__mcp_price prices[] = {
    {"echo", {"USD", 3}, {UINT64_C(10000000000000000), 0}}, /* 0.01 */
};
static const arcp__mcp_target_rule targets[] = {{"pid", {"fs.read", 7}, {"/path", 5}}};

static arcp__tool_server_options server_named(const char *name)
{
    return (arcp__tool_server_options){.name = name,
                                       .argv = argv,
                                       .timeout_ms = PATIENCE_MS,
                                       .total_ms = PATIENCE_MS,
                                       .start_ms = PATIENCE_MS,
                                       .log = ARCP__TOOL_LOG_FULL,
                                       .prices = prices,
                                       .price_count = 1,
                                       .targets = targets,
                                       .target_count = 1};
}

typedef struct rig {
    gateway_fixture f;
    arcp__tool_config *config;
} rig;

static void open_tools(rig *r, const char *lease, const arcp__tool_options *tools)
{
    arcp_error err = {0};
    gateway_fixture_init(&r->f, lease);
    check_ok(arcp__tool_config_new(tools, &r->config, &err), &err);
    arcp__gateway_options options = gateway_fixture_options(&r->f);
    options.limits.request_bytes = 100000;
    options.limits.buffer_bytes = 1000000;
    options.limits.calls_per_job = 16;
    options.providers[ARCP__GATEWAY_LLM] = (arcp__gateway_provider){0};
    options.providers[ARCP__GATEWAY_MCP] = (arcp__gateway_provider){&arcp__tool_service, r->config};
    gateway_fixture_start(&r->f, &options);
}

static void open_rig(rig *r, const char *lease, const arcp__tool_server_options *servers,
                     size_t count)
{
    const arcp__tool_options tools = {.servers = servers, .server_count = count};
    open_tools(r, lease, &tools);
}

static void close_rig(rig *r)
{
    gateway_fixture_close(&r->f);
    arcp__tool_config_unref(r->config);
}

#define HEADERS "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
#define REQUEST(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(id, name, more) REQUEST(id, "tools/call", "\"name\":\"" name "\"" more)

static void post(rig *r, const char *path, const char *body)
{
    arcp_buf line = arcp_buf_init();
    arcp_buf_append_format(&line, "POST %s", path);
    gateway_fixture_send(&r->f, arcp_buf_cstr(&line), HEADERS, body);
    arcp_buf_fini(&line);
}

/* A JSON response that has these texts. */
static void expect(rig *r, const char *text)
{
    raw_peer_expect(&r->f.peer, text);
    assert_non_null(memmem(r->f.peer.received.data, r->f.peer.received.size, "HTTP/1.1 200 ", 13));
}

static bool has_received(const rig *r, const char *text)
{
    return memmem(r->f.peer.received.data, r->f.peer.received.size, text, strlen(text)) != NULL;
}

/* Runs the loop until what was delivered has the text. */
static void await_seen(rig *r, const char *text)
{
    while (r->f.seen.size == 0 ||
           memmem(r->f.seen.data, r->f.seen.size, text, strlen(text)) == NULL) {
        (void)uv_run(&r->f.test.loop, UV_RUN_ONCE);
    }
}

#define WEB "{\"tool.call\":[\"web.*\",\"web.odd.*\"]}"

static void tools_that_the_lease_grants_are_listed_and_called(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web"), server_named("other")};
    rig r;
    open_rig(&r, WEB, servers, 2);
    post(&r, "/", REQUEST("1", "tools/list", ""));
    expect(&r, "\"name\":\"web__odd_name\"");
    assert_true(has_received(&r, "\"name\":\"web__echo\""));
    assert_false(has_received(&r, "other"));
    post(&r, "/", CALL("2", "web__odd_name", ",\"arguments\":{\"a\":1}"));
    expect(&r, "\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"odd.name "
               "{\\\"a\\\":1}\"}]}}");
    await_seen(&r, "tool_result {\"call_id\":\"call_");
    assert_non_null(memmem(r.f.seen.data, r.f.seen.size, "tool_call {\"tool\":\"web.odd.name\"",
                           strlen("tool_call {\"tool\":\"web.odd.name\"")));
    post(&r, "/s/web", REQUEST("3", "tools/list", ""));
    expect(&r, "\"name\":\"odd.name\"");
    post(&r, "/s/web", CALL("4", "odd.name", ""));
    expect(&r, "odd.name null");
    close_rig(&r);
}

static void tools_that_the_lease_does_not_grant_are_denied(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web"), server_named("other")};
    rig r;
    open_rig(&r, WEB, servers, 2);
    post(&r, "/", CALL("1", "other__echo", ""));
    expect(&r, "\"isError\":true");
    assert_true(has_received(&r, "\\\"code\\\":\\\"PERMISSION_DENIED\\\""));
    assert_true(has_received(&r, "\\\"granted\\\":[\\\"web.*\\\",\\\"web.odd.*\\\"]"));
    await_seen(&r, "denied tool.call other.echo NO_MATCH");
    post(&r, "/s/other", CALL("2", "echo", ""));
    expect(&r, "\"isError\":true");
    post(&r, "/", CALL("3", "nowhere.echo", ""));
    expect(&r, "\"isError\":true");
    close_rig(&r);
}

/* Other gateways let calls pass while their policy engine has an error. */
static void what_cannot_be_recorded_is_denied(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, WEB, servers, 1);
    atomic_store(&r.f.gates.are_closed, true);
    post(&r, "/", CALL("1", "web__echo", ""));
    expect(&r, "\"isError\":true");
    assert_false(has_received(&r, "echo null"));
    atomic_store(&r.f.gates.are_closed, false);
    post(&r, "/", CALL("2", "web__echo", ""));
    expect(&r, "echo null");
    close_rig(&r);
}

static void what_is_not_a_call_is_refused(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("1", "web.nothing", ""));
    expect(&r, "\"code\":-32602,\"message\":\"there is no such tool\"");
    post(&r, "/", "[]");
    raw_peer_expect(&r.f.peer, "batches are not accepted");
    post(&r, "/s/nothing", REQUEST("1", "tools/list", ""));
    raw_peer_expect(&r.f.peer, "HTTP/1.1 404 ");
    gateway_fixture_reconnect(&r.f);
    gateway_fixture_send(&r.f, "GET /", "", "");
    raw_peer_expect(&r.f.peer, "HTTP/1.1 405 ");
    close_rig(&r);
}

static void servers_have_an_environment_of_their_own(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    assert_int_equal(setenv("ARCP_TEST_SECRET", "x", 1), 0);
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("1", "web__env", ""));
    expect(&r, "PATH");
    assert_false(has_received(&r, "ARCP_TEST_SECRET"));
    close_rig(&r);
}

static void progress_is_streamed(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("1", "web__slow", ",\"_meta\":{\"progressToken\":\"mine\"}"));
    expect(&r, "0\r\n\r\n");
    assert_true(has_received(&r, "Content-Type: text/event-stream"));
    assert_true(has_received(&r, "{\"progressToken\":\"mine\",\"progress\":1}"));
    assert_true(has_received(&r, "\"text\":\"slow null\""));
    close_rig(&r);
}

static void a_server_that_ends_fails_its_calls_and_is_started_again(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("1", "web__die", ""));
    expect(&r, "it has ended with status 3");
    await_seen(&r, "log {\"level\":\"warn\"");
    post(&r, "/", REQUEST("2", "tools/list", ""));
    expect(&r, "\"tools\":[]");
    close_rig(&r);
}

static void a_server_that_does_not_start_is_left_out(void **state)
{
    arcp__tool_server_options servers[] = {server_named("web"), server_named("other")};
    rig r;
    servers[1].argv = missing;
    open_rig(&r, "{\"tool.call\":[\"**\"]}", servers, 2);
    post(&r, "/", REQUEST("1", "tools/list", ""));
    expect(&r, "\"name\":\"web__echo\"");
    assert_false(has_received(&r, "other__"));
    await_seen(&r, "the server \\\"other\\\" of tools");
    post(&r, "/", CALL("2", "other.echo", ""));
    expect(&r, "does not run");
    close_rig(&r);
}

static void a_server_that_is_slow_to_start_is_left_out(void **state)
{
    static const char *const sleeper[] = {"sleep", "60", NULL};
    arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    servers[0].argv = sleeper;
    servers[0].start_ms = 50;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", REQUEST("1", "tools/list", ""));
    expect(&r, "\"tools\":[]");
    await_seen(&r, "it did not list its tools within 50 ms");
    close_rig(&r);
}

static void a_tool_that_does_not_respond_is_cancelled(void **state)
{
    arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    servers[0].timeout_ms = 50;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", REQUEST("1", "tools/list", ""));
    expect(&r, "web__hang");
    post(&r, "/", CALL("2", "web__hang", ""));
    expect(&r, "\\\"code\\\":\\\"TIMEOUT\\\"");
    close_rig(&r);
}

static void a_client_that_leaves_cancels_its_call(void **state)
{
    char path[] = "/tmp/arcp-tool-XXXXXX";
    const int fd = mkstemp(path);
    const char *const command[] = {"python3", SERVER, path, NULL};
    arcp__tool_server_options servers[] = {server_named("web")};
    char text[64] = "";
    rig r;
    servers[0].argv = command;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("1", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    expect(&r, "\"progressToken\":5");
    gateway_fixture_reconnect(&r.f);
    await_seen(&r, "\"error\"");
    while (pread(fd, text, sizeof text - 1, 0) == 0) {
        (void)uv_run(&r.f.test.loop, UV_RUN_NOWAIT);
    }
    assert_string_equal(text, "cancelled the client has left\n");
    close_rig(&r);
    (void)close(fd);
    (void)unlink(path);
}

static void prices_are_charged_and_end_the_budget(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, "{\"tool.call\":[\"web.*\"],\"cost.budget\":[\"USD:0.015\"]}", servers, 1);
    post(&r, "/", CALL("1", "web__echo", ""));
    expect(&r, "echo null");
    await_seen(&r, "metric {\"name\":\"cost.tool\",\"value\":0.01,\"unit\":\"USD\"");
    post(&r, "/", CALL("2", "web__echo", ""));
    expect(&r, "BUDGET_EXHAUSTED");
    post(&r, "/", CALL("3", "web__env", ""));
    expect(&r, "PATH");
    close_rig(&r);
}

static void a_price_in_another_currency_is_denied(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, "{\"tool.call\":[\"web.*\"],\"cost.budget\":[\"EUR:5\"]}", servers, 1);
    post(&r, "/", CALL("1", "web__echo", ""));
    expect(&r, "the tool costs USD, which cost.budget does not name");
    close_rig(&r);
}

static void arguments_that_rules_name_are_asked(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, "{\"tool.call\":[\"web.*\"],\"fs.read\":[\"/srv/**\"]}", servers, 1);
    post(&r, "/", CALL("1", "web__pid", ",\"arguments\":{\"path\":\"/etc/x\"}"));
    expect(&r, "\\\"capability\\\":\\\"fs.read\\\"");
    await_seen(&r, "denied fs.read /etc/x NO_MATCH");
    post(&r, "/", CALL("2", "web__pid", ""));
    expect(&r, "the arguments have no text where the target is");
    post(&r, "/", CALL("3", "web__pid", ",\"arguments\":{\"path\":\"/srv/x\"}"));
    expect(&r, "\"id\":3,\"result\":{\"content\"");
    close_rig(&r);
}

static void the_end_of_a_job_ends_its_calls(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    rig r;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("1", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    expect(&r, "\"progressToken\":5");
    assert_true(arcp__gateway_settle(r.f.job, PATIENCE_MS, &r.f.events));
    await_seen(&r, "the job has ended");
    close_rig(&r);
}

static void a_job_has_a_process_of_its_own_unless_it_is_shared(void **state)
{
    arcp__tool_server_options servers[] = {server_named("web"), server_named("all")};
    arcp__gateway_endpoint others[ARCP__GATEWAY_KINDS];
    char first[2000];
    rig r;
    servers[0].target_count = 0;
    servers[1].target_count = 0;
    servers[1].is_shared = true;
    open_rig(&r, "{\"tool.call\":[\"*.*\"]}", servers, 2);
    arcp__gateway_job *other = gateway_fixture_open_job(&r.f, false, others);
    for (size_t i = 0; i < 2; i++) {
        const char *body = i == 0 ? CALL("1", "web__pid", "") : CALL("1", "all__pid", "");
        post(&r, "/", body);
        expect(&r, "}]}}");
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
        post(&r, "/", body);
        expect(&r, "}]}}");
        assert_int_equal(has_received(&r, first), i == 1);
        memcpy(r.f.endpoints[ARCP__GATEWAY_MCP].key, mine, sizeof mine);
    }
    arcp__gateway_release(other);
    close_rig(&r);
}

/* The number of spans that were delivered. */
static size_t spans_in(const rig *r)
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
    const arcp__tool_server_options servers[] = {server_named("web"), server_named("other")};
    arcp__gateway_endpoint traced[ARCP__GATEWAY_KINDS];
    rig r;
    open_rig(&r, WEB, servers, 2);
    post(&r, "/", CALL("1", "web__odd_name", "")); /* of a job whose trace is not recorded */
    expect(&r, "odd.name null");
    r.f.makes_spans = true;
    arcp__gateway_job *job = gateway_fixture_open_job(&r.f, false, traced);
    memcpy(r.f.endpoints, traced, sizeof traced);
    post(&r, "/", CALL("2", "web__odd_name", ""));
    expect(&r, "\"id\":2,\"result\":{\"content\"");
    await_seen(&r, "span arcp.tool web.odd.name web []\n");
    post(&r, "/", CALL("3", "other__echo", ""));
    expect(&r, "PERMISSION_DENIED");
    await_seen(&r, "denied tool.call other.echo NO_MATCH");
    post(&r, "/", CALL("4", "web__die", ""));
    raw_peer_expect(&r.f.peer, "\"id\":4,");
    await_seen(&r, "span arcp.tool web.die web [INTERNAL_ERROR]\n");
    assert_int_equal(spans_in(&r), 2);
    arcp__gateway_release(job);
    close_rig(&r);
}

/* Sends the request of a second client of the job. */
static void post_beside(rig *r, raw_peer *other, const char *body)
{
    raw_peer mine = r->f.peer;
    raw_peer_connect(other, &r->f.test, r->f.url);
    r->f.peer = *other;
    post(r, "/", body);
    *other = r->f.peer;
    r->f.peer = mine;
}

static void a_client_cancels_by_a_notification(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    raw_peer other;
    rig r;
    open_rig(&r, WEB, servers, 1);
    post(&r, "/", CALL("\"x\"", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
    expect(&r, "\"progressToken\":5");
    post_beside(&r, &other,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":\"x\"}}");
    raw_peer_expect(&other, "HTTP/1.1 202 ");
    expect(&r, "the client has cancelled the call");
    raw_peer_fini(&other);
    close_rig(&r);
}

static void calls_at_once_are_limited(void **state)
{
    const arcp__tool_server_options servers[] = {server_named("web")};
    raw_peer others[16];
    rig r;
    open_rig(&r, WEB, servers, 1);
    for (size_t i = 0; i < 16; i++) {
        post_beside(&r, &others[i], CALL("1", "web__hang", ",\"_meta\":{\"progressToken\":5}"));
        raw_peer_expect(&others[i], "\"progressToken\":5");
    }
    post(&r, "/", CALL("2", "web__echo", ""));
    raw_peer_expect(&r.f.peer, "the job has too many calls at once");
    raw_peer_fini(&others[0]);
    await_seen(&r, "the client has left");
    gateway_fixture_reconnect(&r.f);
    post(&r, "/", CALL("2", "web__echo", ""));
    expect(&r, "echo null");
    for (size_t i = 1; i < 16; i++) {
        raw_peer_fini(&others[i]);
    }
    close_rig(&r);
}

/* ---- sandboxes ---- */

static arcp_lease *lease_of(const char *text)
{
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease, &err),
             &err);
    return lease;
}

/* The rig with one server, which has this lease. */
static void open_confined(rig *r, const char *directory, const char *lease)
{
    static const arcp_span loopback[] = {{"127.0.0.1", 9}};
    arcp__tool_server_options servers[] = {server_named("web")};
    arcp__tool_host host = {.private_hosts = loopback, .private_host_count = 1};
    const arcp__tool_options tools = {.servers = servers,
                                      .server_count = 1,
                                      .work_directory = directory,
                                      .sandbox = SANDBOX,
                                      .host = &host};
    arcp_lease *parsed = lease_of(lease);
    arcp__sandbox_request_defaults(&host.request);
    sandbox_probe(&host.request.abilities);
    servers[0].lease = parsed;
    open_tools(r, WEB, &tools);
    arcp_lease_unref(parsed);
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

/* Calls a tool whose argument is this text. */
static void post_of(rig *r, const char *tool, const char *text)
{
    char body[512];
    (void)snprintf(body, sizeof body, CALL("1", "%s", ",\"arguments\":{\"of\":\"%s\"}"), tool,
                   text);
    post(r, "/", body);
}

static void a_server_may_do_what_its_own_lease_grants(void **state)
{
    char directory[] = "/tmp/arcp-tools-XXXXXX";
    char work[64], granted[64], secret[64], lease[256], url[64], wanted[80];
    arcp__sandbox_abilities abilities;
    rig r;
    sandbox_probe(&abilities);
    if (arcp__sandbox_level_of(&abilities) == ARCP__SANDBOX_LEVEL_NONE) {
        skip();
    }
    assert_non_null(mkdtemp(directory));
    (void)snprintf(work, sizeof work, "%s/work", directory);
    (void)snprintf(granted, sizeof granted, "%s/granted", directory);
    (void)snprintf(secret, sizeof secret, "%s/secret", directory);
    (void)snprintf(lease, sizeof lease, "{\"fs.read\":[\"%s\"]}", granted);
    write_file(granted, "the text of the file");
    write_file(secret, "the secret");
    open_confined(&r, work, lease);
    post_of(&r, "web__read", granted);
    expect(&r, "\"text\":\"the text of the file\"");
    post_of(&r, "web__read", secret);
    expect(&r, "\"text\":\"no: ");
    const int listener = raw_listen(url);
    struct pollfd arrived = {.fd = listener, .events = POLLIN};
    (void)snprintf(wanted, sizeof wanted, "http://127.0.0.1:%s/", strrchr(url, ':') + 1);
    post_of(&r, "web__fetch", wanted);
    expect(&r, "\"text\":\"no: ");
    assert_int_equal(poll(&arrived, 1, 0), 0);
    post(&r, "/", CALL("4", "web__env", ""));
    expect(&r, "ARCP_SANDBOX");
    (void)close(listener);
    close_rig(&r);
    assert_int_equal(remove_tree(directory), 0);
}

static void a_server_fetches_what_its_lease_grants(void **state)
{
    char directory[] = "/tmp/arcp-tools-XXXXXX";
    char url[64], lease[256], wanted[80];
    arcp__sandbox_abilities abilities;
    raw_peer upstream;
    rig r;
    sandbox_probe(&abilities);
    if (arcp__sandbox_level_of(&abilities) != ARCP__SANDBOX_LEVEL_FULL) {
        skip();
    }
    assert_non_null(mkdtemp(directory));
    const int listener = raw_listen(url);
    const char *port = strrchr(url, ':') + 1;
    (void)snprintf(lease, sizeof lease, "{\"net.fetch\":[\"http://127.0.0.1:%.*s/**\"]}",
                   (int)strspn(port, "0123456789"), port);
    open_confined(&r, directory, lease);
    (void)snprintf(wanted, sizeof wanted, "http://127.0.0.1:%.*s/a",
                   (int)strspn(port, "0123456789"), port);
    post_of(&r, "web__fetch", wanted);
    raw_peer_accept(&upstream, &r.f.test, listener);
    raw_peer_expect(&upstream, "GET /a HTTP/1.1\r\n");
    raw_peer_send_text(&upstream, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nfetched");
    expect(&r, "\"text\":\"fetched\"");
    raw_peer_fini(&upstream);
    close_rig(&r);
    (void)close(listener);
    assert_int_equal(remove_tree(directory), 0);
}

static void a_server_that_cannot_be_confined_does_not_start(void **state)
{
    arcp__tool_server_options servers[] = {server_named("web")};
    const arcp__tool_options tools = {.servers = servers, .server_count = 1};
    arcp_lease *lease = lease_of("{}");
    rig r;
    servers[0].lease = lease;
    open_tools(&r, WEB, &tools);
    arcp_lease_unref(lease);
    post(&r, "/", CALL("1", "web.echo", ""));
    expect(&r, "this host cannot confine it");
    close_rig(&r);
}

/* ---- the configuration ---- */

static void configurations_are_checked(void **state)
{
    static const arcp__mcp_target_rule wrong[] = {{"*", {"fs.read", 7}, {"path", 4}}};
    arcp__tool_server_options servers[2] = {server_named("web"), server_named("web")};
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
    servers[1].argv = argv;
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
        cmocka_unit_test(calls_at_once_are_limited),
        cmocka_unit_test(a_server_may_do_what_its_own_lease_grants),
        cmocka_unit_test(a_server_fetches_what_its_lease_grants),
        cmocka_unit_test(a_server_that_cannot_be_confined_does_not_start),
        cmocka_unit_test(configurations_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
