/* Names below .arcp: requests for a gateway of the job are passed on to it, all others refused. */
#include "egress/egress_fixture.h"

#define OK        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define ASK(host) "POST /v1/chat?x=%2e HTTP/1.1\r\nHost: " host "\r\nContent-Length: 2\r\n\r\nhi"

/* Takes the connection that the gateway got; f->server is its other end. */
static void take(egress_fixture *f, unsigned gateway)
{
    run_until(&f->test, f->gateway_fd >= 0);
    assert_int_equal(f->gateway, gateway);
    raw_peer_fini(&f->server);
    f->server = (raw_peer){.test = &f->test, .fd = f->gateway_fd};
    f->gateway_fd = -1;
}

static void serve(egress_fixture *f, const char *host)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\r\nHost: %s\r\n", host);
    raw_peer_expect(&f->server, "hi");
    assert_memory_equal(f->server.received.data, "POST /v1/chat?x=%2e HTTP/1.1\r\n", 30);
    assert_non_null(memmem(f->server.received.data, f->server.received.size, line, strlen(line)));
    raw_peer_forget(&f->server);
    raw_peer_send_text(&f->server, OK);
    raw_peer_expect(&f->client, "\r\n\r\nok");
    raw_peer_forget(&f->client);
}

static void a_name_of_a_gateway_has_its_address_and_leads_to_it(void **state)
{
    static const struct {
        const char *host, *address;
    } rows[] = {{"llm.arcp", "198.18.0.2"}, {"mcp.arcp", "198.18.0.3"}};
    for (unsigned i = 0; i < 2; i++) {
        egress_fixture f;
        egress_fixture_open_gateways(&f, "[]", 3);
        assert_int_equal(egress_fixture_name(&f, rows[i].host), 0xc6120002U + i);
        egress_fixture_connect(&f, &f.client, rows[i].address, 80);
        raw_peer_send_text(&f.client, i == 0 ? ASK("llm.arcp") : ASK("mcp.arcp"));
        take(&f, i);
        serve(&f, rows[i].host);
        raw_peer_send_text(&f.client, i == 0 ? ASK("llm.arcp") : ASK("mcp.arcp"));
        serve(&f, rows[i].host); /* on the same connection */
        assert_int_equal(f.gateway_fd, -1);
        assert_int_equal(f.denied + f.allowed + answers.asked, 0);
        egress_fixture_close(&f);
    }
}

static void the_explicit_proxy_leads_to_it_too(void **state)
{
    static const char *const requests[] = {
        "POST http://llm.arcp/v1/chat?x=%2e HTTP/1.1\r\nHost: llm.arcp\r\nContent-Length: 2\r\n"
        "\r\nhi",
        "CONNECT llm.arcp:80 HTTP/1.1\r\nHost: llm.arcp:80\r\n\r\n" ASK("llm.arcp")};
    for (size_t i = 0; i < 2; i++) {
        egress_fixture f;
        egress_fixture_open_gateways(&f, "[]", 1);
        egress_fixture_connect(&f, &f.client, "127.0.0.1", ARCP__EGRESS_PROXY_PORT);
        raw_peer_send_text(&f.client, requests[i]);
        take(&f, 0);
        serve(&f, "llm.arcp");
        egress_fixture_close(&f);
    }
}

static void after_a_gateway_the_proxy_leads_elsewhere_by_the_lease(void **state)
{
    egress_fixture f;
    egress_fixture_open_gateways(&f, "[\"http://api.test:PORT/**\"]", 1);
    egress_fixture_connect(&f, &f.client, "127.0.0.1", ARCP__EGRESS_PROXY_PORT);
    raw_peer_send_text(&f.client, "POST http://llm.arcp/v1/chat?x=%2e HTTP/1.1\r\n"
                                  "Host: llm.arcp\r\nContent-Length: 2\r\n\r\nhi");
    take(&f, 0);
    serve(&f, "llm.arcp");
    egress_fixture_send(&f, &f.client,
                        "GET http://api.test:PORT/ HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "GET / HTTP/1.1\r\n");
    assert_int_equal(f.gateway_fd, -1);
    assert_int_equal(f.allowed, 1);
    egress_fixture_close(&f);
}

static void all_else_below_arcp_is_refused(void **state)
{
    static const struct {
        const char *name;
        unsigned gateways;
        const char *request;
    } rows[] = {
        {"a gateway that the job has not", 1,
         "GET http://mcp.arcp/ HTTP/1.1\r\nHost: mcp.arcp\r\n\r\n"},
        {"no gateways", 0, "GET http://llm.arcp/ HTTP/1.1\r\nHost: llm.arcp\r\n\r\n"},
        {"another name", 3, "GET http://x.arcp/ HTTP/1.1\r\nHost: x.arcp\r\n\r\n"},
        {"a name below", 3, "GET http://a.llm.arcp/ HTTP/1.1\r\nHost: a.llm.arcp\r\n\r\n"},
        {"another port", 3, "GET http://llm.arcp:81/ HTTP/1.1\r\nHost: llm.arcp:81\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        egress_fixture f;
        egress_fixture_open_gateways(&f, "[\"https://**\", \"http://**\"]", rows[i].gateways);
        egress_fixture_connect(&f, &f.client, "127.0.0.1", ARCP__EGRESS_PROXY_PORT);
        raw_peer_send_text(&f.client, rows[i].request);
        raw_peer_expect(&f.client, "HTTP/1.1 403 ");
        assert_int_equal(f.denied, 1);
        assert_int_equal(f.gateway_fd, -1);
        assert_int_equal(answers.asked, 0);
        egress_fixture_close(&f);
    }
}

static void tls_to_a_gateway_is_refused(void **state)
{
    egress_fixture f;
    egress_fixture_open_gateways(&f, "[\"https://**\"]", 3);
    egress_fixture_connect(&f, &f.client, "198.18.0.2", 443);
    egress_send_hello(&f.client, "llm.arcp");
    raw_peer_expect(&f.client, "\x15\x03");
    assert_int_equal(f.denied, 1);
    assert_int_equal(f.gateway_fd, -1);
    egress_fixture_close(&f);
}

static void a_request_for_another_host_at_a_gateway_is_misdirected(void **state)
{
    egress_fixture f;
    egress_fixture_open_gateways(&f, "[\"http://api.test/**\"]", 3);
    egress_fixture_connect(&f, &f.client, "198.18.0.2", 80);
    raw_peer_send_text(&f.client, ASK("api.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 421 ");
    assert_int_equal(f.gateway_fd, -1);
    egress_fixture_close(&f);
}

static void a_gateway_may_take_longer_than_other_servers(void **state)
{
    egress_fixture f;
    egress_fixture_open_gateways(&f, "[]", 1);
    f.egress->idle_ms = 30;
    egress_fixture_connect(&f, &f.client, "198.18.0.2", 80);
    raw_peer_send_text(&f.client, ASK("llm.arcp"));
    take(&f, 0);
    egress_fixture_pass_ms(&f, 100);
    serve(&f, "llm.arcp");
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_of_a_gateway_has_its_address_and_leads_to_it),
        cmocka_unit_test(the_explicit_proxy_leads_to_it_too),
        cmocka_unit_test(after_a_gateway_the_proxy_leads_elsewhere_by_the_lease),
        cmocka_unit_test(all_else_below_arcp_is_refused),
        cmocka_unit_test(tls_to_a_gateway_is_refused),
        cmocka_unit_test(a_request_for_another_host_at_a_gateway_is_misdirected),
        cmocka_unit_test(a_gateway_may_take_longer_than_other_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
