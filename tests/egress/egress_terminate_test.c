/* TLS that is terminated: each request inside is decided, and goes to the host over TLS. */
#include "egress/egress_tls_fixture.h"

static void a_request_that_is_granted_goes_to_the_host_over_tls(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    tls_open_both(&f, &client, &server, "GET /v1/x/../a?b HTTP/1.1\r\n" HOST "X-A: 1\r\n\r\n");
    tls_expect_exactly(&f, &client, &server, &server,
                       "GET /v1/a?b HTTP/1.1\r\n" HOST "X-A: 1\r\n\r\n");
    assert_string_equal(SSL_get_servername(server.ssl, TLSEXT_NAMETYPE_host_name), "localhost");
    tls_send(&f, &server, OK);
    tls_expect_exactly(&f, &client, &server, &client, OK);
    assert_int_equal(f.denied, 0);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 1);
    tls_close_both(&f, &client, &server);
}

static void the_second_request_of_a_connection_is_decided_too(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    tls_open_both(&f, &client, &server, GET "\r\n");
    tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
    tls_send(&f, &server, OK);
    tls_expect_exactly(&f, &client, &server, &client, OK);
    tls_send(&f, &client, "GET /v2 HTTP/1.1\r\n" HOST "\r\n");
    tls_expect(&f, &client, &server, &client, "403 Forbidden");
    assert_int_equal(server.received.size, 0);
    assert_int_equal(f.denied, 1);
    assert_non_null(strstr(f.target, "https://localhost:"));
    assert_non_null(strstr(f.target, "/v2"));
    tls_close_both(&f, &client, &server);
}

static void two_requests_use_one_connection_to_the_host(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    tls_open_both(&f, &client, &server, GET "\r\n");
    for (int i = 0; i < 2; i++) {
        tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
        tls_send(&f, &server, OK);
        tls_expect_exactly(&f, &client, &server, &client, OK);
        tls_send(&f, &client, GET "\r\n");
    }
    tls_expect(&f, &client, &server, &server, "/v1/a");
    tls_close_both(&f, &client, &server);
}

typedef struct refused {
    const char *name, *sent, *answer;
    bool is_denial;
} refused;

static const refused refused_rows[] = {
    {"a path that is not granted", "GET /v2 HTTP/1.1\r\n" HOST "\r\n", "403 Forbidden", true},
    {"encoded dots", "GET /v1/%2e%2e/v2 HTTP/1.1\r\n" HOST "\r\n", "403 ", true},
    {"a plain request for what is granted to WebSocket", "GET /chat HTTP/1.1\r\n" HOST "\r\n",
     "403 ", true},
    {"a host that is not the server name", "GET /v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n",
     "421 ", true},
    {"another spelling of the server name", "GET /v1/a HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
     "421 ", true},
    {"no port where it is not that of https", "GET /v1/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
     "421 ", true},
    {"no host", "GET /v1/a HTTP/1.1\r\n\r\n", "400 ", false},
    {"a URL of http", "GET http://localhost:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n", "400 ", false},
    {"a URL of another host", "GET https://api.test:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n", "421 ",
     true},
    {"CONNECT", "CONNECT localhost:PORT HTTP/1.1\r\n" HOST "\r\n", "400 ", false},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 ", true},
    {"another protocol", "SSH-2.0-x\r\n", "400 ", true},
    {"an upgrade to another protocol", GET "Connection: Upgrade\r\nUpgrade: x\r\n\r\n", "400 ",
     false},
    {"a length and chunks",
     "POST /v1/a HTTP/1.1\r\n" HOST
     "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 ", false},
};

static void is_refused(void **state)
{
    const refused *row = *state;
    egress_fixture f;
    tls_peer client;
    tls_open_inside(&f, &client);
    tls_send(&f, &client, row->sent);
    tls_expect(&f, &client, NULL, &client, row->answer);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 0);
    assert_int_equal(f.denied, row->is_denial);
    tls_close_both(&f, &client, NULL);
}

static void a_url_of_https_is_accepted_as_the_target(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    tls_open_both(&f, &client, &server, "GET https://localhost:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n");
    tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
    tls_close_both(&f, &client, &server);
}

static void an_upgrade_to_websocket_is_a_tunnel_inside_tls(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    tls_open_both(&f, &client, &server,
                  "GET /chat HTTP/1.1\r\n" HOST
                  "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    tls_expect(&f, &client, &server, &server, "\r\n\r\n");
    tls_send(&f, &server,
             "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
             "Upgrade: websocket\r\n\r\n");
    tls_expect(&f, &client, &server, &client, "HTTP/1.1 101 ");
    tls_send(&f, &client, "from the client");
    tls_send(&f, &server, "from the server");
    tls_expect_exactly(&f, &client, &server, &server, "from the client");
    tls_expect_exactly(&f, &client, &server, &client, "from the server");
    tls_close_both(&f, &client, &server);
}

static void large_bodies_pass_both_ways(void **state)
{
    enum { PIECES = 64, PIECE = 16000 };
    static char piece[PIECE + 1];
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    memset(piece, 'x', PIECE);
    tls_open_both(&f, &client, &server,
                  "PUT /v1/a HTTP/1.1\r\n" HOST "Content-Length: 1024000\r\n\r\n");
    tls_expect(&f, &client, &server, &server, "\r\n\r\n");
    for (int i = 0; i < PIECES; i++) {
        tls_send(&f, &client, piece);
        tls_receive(&f, &client, &server, &server, (size_t)(i + 1) * PIECE);
    }
    assert_int_equal(server.received.size, PIECES * PIECE);
    tls_send(&f, &server, "HTTP/1.1 200 OK\r\nContent-Length: 1024000\r\n\r\n");
    tls_expect(&f, &client, &server, &client, "\r\n\r\n");
    for (int i = 0; i < PIECES; i++) {
        tls_send(&f, &server, piece);
        tls_receive(&f, &client, &server, &client, (size_t)(i + 1) * PIECE);
    }
    assert_int_equal(client.received.size, PIECES * PIECE);
    tls_close_both(&f, &client, &server);
}

static void a_job_that_closes_in_a_report_ends_the_connection(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_open_inside(&f, &client);
    f.closes_on_denial = true;
    tls_send(&f, &client, "GET /v2 HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect_end(&f.client);
    assert_int_equal(client.received.size, 0);
    assert_int_equal(arcp__egress_count(f.egress).connections, 0);
    tls_close_both(&f, &client, NULL);
}

static void a_job_can_close_during_each_handshake(void **state)
{
    egress_fixture f;
    tls_peer client;
    egress_fixture_open_tls(&f, LEASE, 0);
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    egress_send_hello(&f.client, "localhost");
    test_loop_settle(&f.test);
    assert_int_equal(arcp__egress_count(f.egress).connections, 1);
    egress_fixture_close(&f);
    tls_open_inside(&f, &client);
    tls_send(&f, &client, GET "\r\n");
    egress_fixture_accept(&f);
    raw_peer_receive(&f.server, 5);
    tls_close_both(&f, &client, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_that_is_granted_goes_to_the_host_over_tls),
        cmocka_unit_test(the_second_request_of_a_connection_is_decided_too),
        cmocka_unit_test(two_requests_use_one_connection_to_the_host),
        cmocka_unit_test(a_url_of_https_is_accepted_as_the_target),
        cmocka_unit_test(an_upgrade_to_websocket_is_a_tunnel_inside_tls),
        cmocka_unit_test(large_bodies_pass_both_ways),
        cmocka_unit_test(a_job_that_closes_in_a_report_ends_the_connection),
        cmocka_unit_test(a_job_can_close_during_each_handshake),
    };
    tls_files_make(&test_tls_files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL) +
                       run_rows(refused_rows, sizeof refused_rows / sizeof refused_rows[0],
                                sizeof refused_rows[0], is_refused);
    tls_files_remove(&test_tls_files);
    return failed;
}
