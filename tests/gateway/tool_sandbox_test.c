/* Servers of tools in sandboxes: each may do what its own lease grants. */
#include "gateway/tool_rig.h"

#include <poll.h>

#include "support/remove_tree.h"
#include "support/sandbox_host.h"

static arcp_lease *lease_of(const char *text)
{
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease, &err),
             &err);
    return lease;
}

/* The rig with one server, which has this lease. */
static void open_confined(tool_rig *r, const char *directory, const char *lease)
{
    static const arcp_span loopback[] = {{"127.0.0.1", 9}};
    arcp__tool_server_options servers[] = {tool_rig_server("web")};
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
    tool_rig_open(r, WEB, &tools);
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
static void post_of(tool_rig *r, const char *tool, const char *text)
{
    char body[512];
    (void)snprintf(body, sizeof body, CALL("1", "%s", ",\"arguments\":{\"of\":\"%s\"}"), tool,
                   text);
    tool_rig_post(r, "/", body);
}

static void a_server_may_do_what_its_own_lease_grants(void **state)
{
    char directory[] = "/tmp/arcp-tools-XXXXXX";
    char work[64], granted[64], secret[64], lease[256], url[64], wanted[80];
    arcp__sandbox_abilities abilities;
    tool_rig r;
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
    tool_rig_expect(&r, "\"text\":\"the text of the file\"");
    post_of(&r, "web__read", secret);
    tool_rig_expect(&r, "\"text\":\"no: ");
    const int listener = raw_listen(url);
    struct pollfd arrived = {.fd = listener, .events = POLLIN};
    (void)snprintf(wanted, sizeof wanted, "http://127.0.0.1:%s/", strrchr(url, ':') + 1);
    post_of(&r, "web__fetch", wanted);
    tool_rig_expect(&r, "\"text\":\"no: ");
    assert_int_equal(poll(&arrived, 1, 0), 0);
    tool_rig_post(&r, "/", CALL("4", "web__env", ""));
    tool_rig_expect(&r, "ARCP_SANDBOX");
    (void)close(listener);
    tool_rig_close(&r);
    assert_int_equal(remove_tree(directory), 0);
}

static void a_server_fetches_what_its_lease_grants(void **state)
{
    char directory[] = "/tmp/arcp-tools-XXXXXX";
    char url[64], lease[256], wanted[80];
    arcp__sandbox_abilities abilities;
    raw_peer upstream;
    tool_rig r;
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
    tool_rig_expect(&r, "\"text\":\"fetched\"");
    raw_peer_fini(&upstream);
    tool_rig_close(&r);
    (void)close(listener);
    assert_int_equal(remove_tree(directory), 0);
}

static void a_server_that_cannot_be_confined_does_not_start(void **state)
{
    arcp__tool_server_options servers[] = {tool_rig_server("web")};
    const arcp__tool_options tools = {.servers = servers, .server_count = 1};
    arcp_lease *lease = lease_of("{}");
    tool_rig r;
    servers[0].lease = lease;
    tool_rig_open(&r, WEB, &tools);
    arcp_lease_unref(lease);
    tool_rig_post(&r, "/", CALL("1", "web.echo", ""));
    tool_rig_expect(&r, "this host cannot confine it");
    tool_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_may_do_what_its_own_lease_grants),
        cmocka_unit_test(a_server_fetches_what_its_lease_grants),
        cmocka_unit_test(a_server_that_cannot_be_confined_does_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
