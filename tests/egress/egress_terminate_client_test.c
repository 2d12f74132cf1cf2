/* Which connections of a program have their TLS terminated, and how handshakes with it fail. */
#include "egress/egress_tls_fixture.h"

static void a_host_that_is_wholly_granted_stays_a_tunnel(void **state)
{
    egress_fixture f;
    egress_fixture_open_tls(&f, LEASE, 0);
    egress_fixture_connect_name(&f, "other.test");
    egress_send_hello(&f.client, "other.test");
    egress_fixture_accept(&f);
    raw_peer_receive(&f.server, 5);
    assert_int_equal(f.server.received.data[0], 0x16);
    assert_true(f.server.received.size > 100);
    egress_fixture_close(&f);
}

static void a_host_that_is_not_granted_at_all_is_denied_before_any_certificate(void **state)
{
    egress_fixture f;
    egress_fixture_open_tls(&f, "[\"http://api.test:PORT/**\", \"https://h/v1/*\"]", 0);
    egress_fixture_connect_name(&f, "api.test");
    egress_send_hello(&f.client, "api.test");
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.client.received.size, 7);
    assert_memory_equal(f.client.received.data, "\x15\x03\x03\x00\x02\x02\x31", 7);
    assert_int_equal(f.denied, 1);
    egress_fixture_close(&f);
}

static void the_server_name_must_be_the_name_connected_to(void **state)
{
    egress_fixture f;
    egress_fixture_open_tls(&f, LEASE, 0);
    egress_fixture_connect_name(&f, "api.test");
    egress_send_hello(&f.client, "localhost");
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.client.received.size, 7);
    assert_int_equal(f.denied, 1);
    egress_fixture_close(&f);
}

static void without_a_server_name_the_address_counts(void **state)
{
    egress_fixture f;
    tls_peer client;
    egress_fixture_open_tls(&f, "[\"https://[::1]:PORT/v1/*\"]", 0);
    egress_fixture_connect(&f, &f.client, "::1", f.port);
    tls_client(&client, &f, NULL);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(client.ssl), "::1");
    tls_shake(&f, &client);
    assert_true(client.is_secured);
    tls_send(&f, &client, "GET /v2 HTTP/1.1\r\nHost: [::1]:PORT\r\n\r\n");
    tls_expect(&f, &client, NULL, &client, "403 ");
    tls_close_both(&f, &client, NULL);
}

/* ---- the explicit proxy ---- */

static void open_proxy(egress_fixture *f, const char *request, const char *answer)
{
    egress_fixture_open_tls(f, LEASE, 0);
    egress_fixture_connect(f, &f->client, "127.0.0.1", ARCP__EGRESS_PROXY_PORT);
    egress_fixture_send(f, &f->client, request);
    raw_peer_expect(&f->client, answer);
    raw_peer_forget(&f->client);
}

static void after_connect_tls_is_terminated_too(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    open_proxy(&f, "CONNECT localhost:PORT HTTP/1.1\r\n" HOST "\r\n", "established\r\n\r\n");
    tls_client(&client, &f, "localhost");
    tls_shake(&f, &client);
    assert_true(client.is_secured);
    tls_send(&f, &client, GET "\r\n");
    tls_server(&server, &f, test_tls_files.certificate, test_tls_files.key);
    tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
    tls_close_both(&f, &client, &server);
}

static void after_connect_another_server_name_is_denied(void **state)
{
    egress_fixture f;
    open_proxy(&f, "CONNECT localhost:PORT HTTP/1.1\r\n" HOST "\r\n", "established\r\n\r\n");
    egress_send_hello(&f.client, "api.test");
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.client.received.size, 7);
    assert_int_equal(f.denied, 1);
    egress_fixture_close(&f);
}

/* A request in TLS must not go to the server in the clear, where the proxy has a connection to the
 * same port already. */
static void a_plain_connection_is_not_used_for_tls(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    egress_fixture_open_tls(&f, LEASE, 0);
    egress_fixture_connect(&f, &f.client, "127.0.0.1", ARCP__EGRESS_PROXY_PORT);
    egress_fixture_send(&f, &f.client, "GET http://localhost:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "GET /v1/a");
    raw_peer_send_text(&f.server, OK);
    raw_peer_expect(&f.client, "ok");
    raw_peer_forget(&f.client);
    egress_fixture_send(&f, &f.client, "CONNECT localhost:PORT HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&f.client, "established\r\n\r\n");
    raw_peer_forget(&f.client);
    raw_peer_expect_end(&f.server);
    tls_client(&client, &f, "localhost");
    tls_shake(&f, &client);
    tls_send(&f, &client, GET "\r\n");
    tls_server(&server, &f, test_tls_files.certificate, test_tls_files.key);
    tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
    tls_close_both(&f, &client, &server);
}

static void a_program_that_does_not_trust_the_authority_is_reported(void **state)
{
    egress_fixture f;
    tls_peer client;
    egress_fixture_open_tls(&f, LEASE, 0);
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    tls_peer_open(&client, &f.client, context);
    SSL_set_tlsext_host_name(client.ssl, "localhost");
    SSL_set_connect_state(client.ssl);
    tls_shake(&f, &client);
    assert_true(client.has_failed);
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.denied, 1);
    assert_non_null(strstr(f.target, "https://localhost:"));
    assert_non_null(strstr(f.reason, "did not accept"));
    tls_close_both(&f, &client, NULL);
}

static void a_client_that_offers_only_http_2_gets_an_alert(void **state)
{
    static const unsigned char h2[] = {2, 'h', '2'};
    static const unsigned char both[] = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    egress_fixture f;
    tls_peer client;
    for (int i = 0; i < 2; i++) {
        const unsigned char *chosen = NULL;
        unsigned size = 0;
        egress_fixture_open_tls(&f, LEASE, 0);
        egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
        tls_client(&client, &f, "localhost");
        SSL_set_alpn_protos(client.ssl, i == 0 ? h2 : both, i == 0 ? sizeof h2 : sizeof both);
        tls_shake(&f, &client);
        assert_int_equal(client.has_failed, i == 0);
        assert_int_equal(client.is_secured, i == 1);
        assert_int_equal(f.denied, i == 0 ? 1 : 0);
        SSL_get0_alpn_selected(client.ssl, &chosen, &size);
        assert_int_equal(size, i == 0 ? 0 : 8);
        tls_close_both(&f, &client, NULL);
    }
}

static void a_handshake_that_is_not_completed_ends_in_time(void **state)
{
    egress_fixture f;
    egress_fixture_open_tls(&f, LEASE, 400); /* in which a busy machine responds, too */
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    egress_send_hello(&f.client, "localhost");
    raw_peer_expect_end(&f.client);
    assert_true(f.client.received.size > 100);
    assert_int_equal(arcp__egress_count(f.egress).connections, 0);
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_is_wholly_granted_stays_a_tunnel),
        cmocka_unit_test(a_host_that_is_not_granted_at_all_is_denied_before_any_certificate),
        cmocka_unit_test(the_server_name_must_be_the_name_connected_to),
        cmocka_unit_test(without_a_server_name_the_address_counts),
        cmocka_unit_test(after_connect_tls_is_terminated_too),
        cmocka_unit_test(after_connect_another_server_name_is_denied),
        cmocka_unit_test(a_plain_connection_is_not_used_for_tls),
        cmocka_unit_test(a_program_that_does_not_trust_the_authority_is_reported),
        cmocka_unit_test(a_client_that_offers_only_http_2_gets_an_alert),
        cmocka_unit_test(a_handshake_that_is_not_completed_ends_in_time),
    };
    tls_files_make(&test_tls_files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tls_files_remove(&test_tls_files);
    return failed;
}
