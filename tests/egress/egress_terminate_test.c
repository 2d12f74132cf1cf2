/* TLS that is terminated: each request inside is decided, and goes to the host over TLS. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "egress/egress_fixture.h"
#include "transport/tls_files.h"

#define LEASE                                                                                      \
    "[\"https://localhost:PORT/v1/**\", \"wss://localhost:PORT/chat\", "                           \
    "\"https://api.test:PORT/v1/*\", \"https://other.test:PORT/**\", "                             \
    "\"http://localhost:PORT/**\"]"
#define HOST    "Host: localhost:PORT\r\n"
#define GET     "GET /v1/a HTTP/1.1\r\n" HOST
#define WAIT_MS 10000
#define OK      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* ---- peers that speak TLS ---- */

typedef struct tls_peer {
    raw_peer *raw;
    SSL_CTX *context;
    SSL *ssl;
    arcp_buf received; /* what was inside */
    bool is_secured;
    bool has_failed; /* the handshake, or the peer has sent an alert */
} tls_peer;

static void tls_peer_open(tls_peer *peer, raw_peer *raw, SSL_CTX *context)
{
    *peer = (tls_peer){.raw = raw, .context = context, .ssl = SSL_new(context)};
    assert_non_null(peer->ssl);
    SSL_set_bio(peer->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(peer->ssl), -1);
}

static void tls_peer_fini(tls_peer *peer)
{
    SSL_free(peer->ssl);
    SSL_CTX_free(peer->context);
    arcp_buf_fini(&peer->received);
}

/* A client inside that trusts the job's authority; `name` NULL: without a server name. */
static void tls_client(tls_peer *peer, egress_fixture *f, const char *name)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    const char *text = arcp__tls_ca_certificate(f->job->ca);
    BIO *in = BIO_new_mem_buf(text, -1);
    X509 *authority = PEM_read_bio_X509(in, NULL, NULL, NULL);
    assert_non_null(authority);
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority), 1);
    X509_free(authority);
    BIO_free(in);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    tls_peer_open(peer, &f->client, context);
    if (name != NULL) {
        assert_int_equal(SSL_set_tlsext_host_name(peer->ssl, name), 1);
        assert_int_equal(SSL_set1_host(peer->ssl, name), 1);
    }
    SSL_set_connect_state(peer->ssl);
}

/* A server outside, at the connection that egress makes. */
static void tls_server(tls_peer *peer, egress_fixture *f, const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), 1);
    egress_fixture_accept(f);
    tls_peer_open(peer, &f->server, context);
    SSL_set_accept_state(peer->ssl);
}

static void tls_peer_flush(tls_peer *peer)
{
    char *data = NULL;
    const long size = BIO_get_mem_data(SSL_get_wbio(peer->ssl), &data);
    if (size > 0) {
        raw_peer_send(peer->raw, arcp_span_make(data, (size_t)size));
        (void)BIO_reset(SSL_get_wbio(peer->ssl));
    }
}

/* Does what is possible now. */
static void tls_peer_step(tls_peer *peer)
{
    char bytes[16384];
    size_t size = 0;
    raw_peer_poll(peer->raw);
    if (peer->raw->received.size > 0) {
        BIO_write_ex(SSL_get_rbio(peer->ssl), peer->raw->received.data, peer->raw->received.size,
                     &size);
        raw_peer_forget(peer->raw);
    }
    ERR_clear_error();
    if (!peer->is_secured && !peer->has_failed) {
        const int result = SSL_do_handshake(peer->ssl);
        peer->is_secured = result == 1;
        peer->has_failed = result != 1 && SSL_get_error(peer->ssl, result) == SSL_ERROR_SSL;
    }
    while (peer->is_secured && SSL_read_ex(peer->ssl, bytes, sizeof bytes, &size) == 1) {
        arcp_buf_append(&peer->received, arcp_span_make(bytes, size));
    }
    peer->has_failed = peer->has_failed || ERR_peek_error() != 0;
    tls_peer_flush(peer);
}

/* Lets both sides go on once; `server` may be NULL. Fails the test when it takes too long. */
static void tls_turn(egress_fixture *f, tls_peer *client, tls_peer *server, uint64_t begun_ms)
{
    test_loop_settle(&f->test);
    tls_peer_step(client);
    if (server != NULL) {
        tls_peer_step(server);
    }
    uv_update_time(&f->test.loop);
    if (uv_now(&f->test.loop) - begun_ms > WAIT_MS) {
        fail_msg("timed out; the client received \"%s\"", arcp_buf_cstr(&client->received));
    }
}

/* Waits until the peer, one of the two, has received so much. */
static void tls_receive(egress_fixture *f, tls_peer *client, tls_peer *server, const tls_peer *peer,
                        size_t size)
{
    const uint64_t begun_ms = uv_now(&f->test.loop);
    while (peer->received.size < size) {
        tls_turn(f, client, server, begun_ms);
    }
}

/* Waits for the end of the client's handshake. */
static void tls_shake(egress_fixture *f, tls_peer *client)
{
    const uint64_t begun_ms = uv_now(&f->test.loop);
    while (!client->is_secured && !client->has_failed) {
        tls_turn(f, client, NULL, begun_ms);
    }
}

static void tls_send(egress_fixture *f, tls_peer *peer, const char *text)
{
    size_t written = 0;
    arcp_buf bytes = egress_fixture_text(f, text);
    assert_int_equal(SSL_write_ex(peer->ssl, bytes.data, bytes.size, &written), 1);
    tls_peer_flush(peer);
    arcp_buf_fini(&bytes);
}

static void tls_expect(egress_fixture *f, tls_peer *client, tls_peer *server, tls_peer *peer,
                       const char *text)
{
    const uint64_t begun_ms = uv_now(&f->test.loop);
    while (peer->received.size == 0 ||
           memmem(peer->received.data, peer->received.size, text, strlen(text)) == NULL) {
        tls_turn(f, client, server, begun_ms);
    }
    arcp_buf_clear(&peer->received);
}

static void tls_expect_exactly(egress_fixture *f, tls_peer *client, tls_peer *server,
                               tls_peer *peer, const char *text)
{
    arcp_buf wanted = egress_fixture_text(f, text);
    tls_receive(f, client, server, peer, wanted.size);
    if (!arcp_span_equal(arcp_buf_span(&peer->received), arcp_buf_span(&wanted))) {
        fail_msg("\"%s\" instead of \"%s\"", arcp_buf_cstr(&peer->received),
                 arcp_buf_cstr(&wanted));
    }
    arcp_buf_clear(&peer->received);
    arcp_buf_fini(&wanted);
}

/* A client that has made TLS to localhost inside. */
static void open_inside(egress_fixture *f, tls_peer *client)
{
    egress_fixture_open_tls(f, LEASE, 0);
    egress_fixture_connect(f, &f->client, "127.0.0.1", f->port);
    tls_client(client, f, "localhost");
    tls_shake(f, client);
    assert_true(client->is_secured);
}

static void open_both(egress_fixture *f, tls_peer *client, tls_peer *server, const char *request)
{
    open_inside(f, client);
    tls_send(f, client, request);
    tls_server(server, f, test_tls_files.certificate, test_tls_files.key);
}

static void close_both(egress_fixture *f, tls_peer *client, tls_peer *server)
{
    tls_peer_fini(client);
    if (server != NULL) {
        tls_peer_fini(server);
    }
    egress_fixture_close(f);
}

/* ---- requests ---- */

static void a_request_that_is_granted_goes_to_the_host_over_tls(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    open_both(&f, &client, &server, "GET /v1/x/../a?b HTTP/1.1\r\n" HOST "X-A: 1\r\n\r\n");
    tls_expect_exactly(&f, &client, &server, &server,
                       "GET /v1/a?b HTTP/1.1\r\n" HOST "X-A: 1\r\n\r\n");
    assert_string_equal(SSL_get_servername(server.ssl, TLSEXT_NAMETYPE_host_name), "localhost");
    tls_send(&f, &server, OK);
    tls_expect_exactly(&f, &client, &server, &client, OK);
    assert_int_equal(f.denied, 0);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 1);
    close_both(&f, &client, &server);
}

static void the_second_request_of_a_connection_is_decided_too(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    open_both(&f, &client, &server, GET "\r\n");
    tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
    tls_send(&f, &server, OK);
    tls_expect_exactly(&f, &client, &server, &client, OK);
    tls_send(&f, &client, "GET /v2 HTTP/1.1\r\n" HOST "\r\n");
    tls_expect(&f, &client, &server, &client, "403 Forbidden");
    assert_int_equal(server.received.size, 0);
    assert_int_equal(f.denied, 1);
    assert_non_null(strstr(f.target, "https://localhost:"));
    assert_non_null(strstr(f.target, "/v2"));
    close_both(&f, &client, &server);
}

static void two_requests_use_one_connection_to_the_host(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    open_both(&f, &client, &server, GET "\r\n");
    for (int i = 0; i < 2; i++) {
        tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
        tls_send(&f, &server, OK);
        tls_expect_exactly(&f, &client, &server, &client, OK);
        tls_send(&f, &client, GET "\r\n");
    }
    tls_expect(&f, &client, &server, &server, "/v1/a");
    close_both(&f, &client, &server);
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
    open_inside(&f, &client);
    tls_send(&f, &client, row->sent);
    tls_expect(&f, &client, NULL, &client, row->answer);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 0);
    assert_int_equal(f.denied, row->is_denial);
    close_both(&f, &client, NULL);
}

static void a_url_of_https_is_accepted_as_the_target(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    open_both(&f, &client, &server, "GET https://localhost:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n");
    tls_expect_exactly(&f, &client, &server, &server, GET "\r\n");
    close_both(&f, &client, &server);
}

static void an_upgrade_to_websocket_is_a_tunnel_inside_tls(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    open_both(&f, &client, &server,
              "GET /chat HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    tls_expect(&f, &client, &server, &server, "\r\n\r\n");
    tls_send(&f, &server,
             "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
             "Upgrade: websocket\r\n\r\n");
    tls_expect(&f, &client, &server, &client, "HTTP/1.1 101 ");
    tls_send(&f, &client, "from the client");
    tls_send(&f, &server, "from the server");
    tls_expect_exactly(&f, &client, &server, &server, "from the client");
    tls_expect_exactly(&f, &client, &server, &client, "from the server");
    close_both(&f, &client, &server);
}

static void large_bodies_pass_both_ways(void **state)
{
    enum { PIECES = 64, PIECE = 16000 };
    static char piece[PIECE + 1];
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    memset(piece, 'x', PIECE);
    open_both(&f, &client, &server,
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
    close_both(&f, &client, &server);
}

/* ---- which connections are terminated ---- */

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
    close_both(&f, &client, NULL);
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
    close_both(&f, &client, &server);
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
    close_both(&f, &client, &server);
}

/* ---- servers that are not trusted ---- */

typedef struct untrusted {
    const char *name;
    const char *certificate, *key; /* NULL: the test's own, of which the authority is not trusted */
    const char *answer;
} untrusted;

static const untrusted untrusted_rows[] = {
    {"an expired certificate", test_tls_files.expired, test_tls_files.expired_key, "has expired"},
    {"a certificate of another host", test_tls_files.wrong_name, test_tls_files.wrong_name_key,
     "hostname mismatch"},
    {"a certificate of an unknown authority", NULL, NULL, "unable to get local issuer"},
};

static void is_not_trusted(void **state)
{
    const untrusted *row = *state;
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    arcp_error err = {0};
    open_inside(&f, &client);
    if (row->certificate == NULL) {
        arcp__tls_context_free(f.egress->tls);
        check_ok(arcp__tls_context_new_client(test_tls_files.other_ca, &f.egress->tls, &err), &err);
    }
    tls_send(&f, &client, "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\nsecret");
    tls_server(&server, &f,
               row->certificate == NULL ? test_tls_files.certificate : row->certificate,
               row->certificate == NULL ? test_tls_files.key : row->key);
    tls_expect(&f, &client, &server, &client, row->answer);
    assert_int_equal(server.received.size, 0);
    assert_int_equal(arcp__egress_count(f.egress).failed, 1);
    close_both(&f, &client, &server);
}

static void a_server_that_does_not_shake_hands_is_given_up(void **state)
{
    egress_fixture f;
    tls_peer client;
    open_inside(&f, &client);
    f.egress->dial_ms = 30;
    tls_send(&f, &client, GET "\r\n");
    egress_fixture_accept(&f);
    egress_fixture_pass_ms(&f, 60);
    tls_expect(&f, &client, NULL, &client, "in time");
    close_both(&f, &client, NULL);
}

static void a_server_that_does_not_speak_tls_is_not_sent_the_request(void **state)
{
    egress_fixture f;
    tls_peer client;
    open_inside(&f, &client);
    tls_send(&f, &client, GET "\r\n");
    egress_fixture_accept(&f);
    raw_peer_send_text(&f.server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    tls_expect(&f, &client, NULL, &client, "502 ");
    raw_peer_poll(&f.server);
    assert_true(f.server.received.size > 0); /* a hello */
    assert_null(memmem(f.server.received.data, f.server.received.size, "/v1/a", 5));
    close_both(&f, &client, NULL);
}

/* ---- clients that do not shake hands ---- */

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
    close_both(&f, &client, NULL);
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
        close_both(&f, &client, NULL);
    }
}

static void a_handshake_that_is_not_completed_ends_in_time(void **state)
{
    egress_fixture f;
    egress_fixture_open_tls(&f, LEASE, 40);
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    egress_send_hello(&f.client, "localhost");
    raw_peer_expect_end(&f.client);
    assert_true(f.client.received.size > 100);
    assert_int_equal(arcp__egress_count(f.egress).connections, 0);
    egress_fixture_close(&f);
}

static void a_job_that_closes_in_a_report_ends_the_connection(void **state)
{
    egress_fixture f;
    tls_peer client;
    open_inside(&f, &client);
    f.closes_on_denial = true;
    tls_send(&f, &client, "GET /v2 HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect_end(&f.client);
    assert_int_equal(client.received.size, 0);
    assert_int_equal(arcp__egress_count(f.egress).connections, 0);
    close_both(&f, &client, NULL);
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
    open_inside(&f, &client);
    tls_send(&f, &client, GET "\r\n");
    egress_fixture_accept(&f);
    raw_peer_receive(&f.server, 5);
    close_both(&f, &client, NULL);
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
        cmocka_unit_test(a_host_that_is_wholly_granted_stays_a_tunnel),
        cmocka_unit_test(a_host_that_is_not_granted_at_all_is_denied_before_any_certificate),
        cmocka_unit_test(the_server_name_must_be_the_name_connected_to),
        cmocka_unit_test(without_a_server_name_the_address_counts),
        cmocka_unit_test(after_connect_tls_is_terminated_too),
        cmocka_unit_test(after_connect_another_server_name_is_denied),
        cmocka_unit_test(a_plain_connection_is_not_used_for_tls),
        cmocka_unit_test(a_server_that_does_not_shake_hands_is_given_up),
        cmocka_unit_test(a_server_that_does_not_speak_tls_is_not_sent_the_request),
        cmocka_unit_test(a_program_that_does_not_trust_the_authority_is_reported),
        cmocka_unit_test(a_client_that_offers_only_http_2_gets_an_alert),
        cmocka_unit_test(a_handshake_that_is_not_completed_ends_in_time),
        cmocka_unit_test(a_job_that_closes_in_a_report_ends_the_connection),
        cmocka_unit_test(a_job_can_close_during_each_handshake),
    };
    tls_files_make(&test_tls_files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL) +
                       run_rows(refused_rows, sizeof refused_rows / sizeof refused_rows[0],
                                sizeof refused_rows[0], is_refused) +
                       run_rows(untrusted_rows, sizeof untrusted_rows / sizeof untrusted_rows[0],
                                sizeof untrusted_rows[0], is_not_trusted);
    tls_files_remove(&test_tls_files);
    return failed;
}
