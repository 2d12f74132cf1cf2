#include "egress/egress_tls_fixture.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#define WAIT_MS 10000

unsigned char tls_server_secret[80];
int tls_server_version;

void tls_peer_open(tls_peer *peer, raw_peer *raw, SSL_CTX *context)
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

void tls_client(tls_peer *peer, egress_fixture *f, const char *name)
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

void tls_server(tls_peer *peer, egress_fixture *f, const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(context, tls_server_version), 1);
    assert_int_equal(
        SSL_CTX_set_tlsext_ticket_keys(context, tls_server_secret, sizeof tls_server_secret), 1);
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

void tls_receive(egress_fixture *f, tls_peer *client, tls_peer *server, const tls_peer *peer,
                 size_t size)
{
    const uint64_t begun_ms = uv_now(&f->test.loop);
    while (peer->received.size < size) {
        tls_turn(f, client, server, begun_ms);
    }
}

void tls_shake(egress_fixture *f, tls_peer *client)
{
    const uint64_t begun_ms = uv_now(&f->test.loop);
    while (!client->is_secured && !client->has_failed) {
        tls_turn(f, client, NULL, begun_ms);
    }
}

void tls_send(egress_fixture *f, tls_peer *peer, const char *text)
{
    size_t written = 0;
    arcp_buf bytes = egress_fixture_text(f, text);
    assert_int_equal(SSL_write_ex(peer->ssl, bytes.data, bytes.size, &written), 1);
    tls_peer_flush(peer);
    arcp_buf_fini(&bytes);
}

void tls_expect(egress_fixture *f, tls_peer *client, tls_peer *server, tls_peer *peer,
                const char *text)
{
    const uint64_t begun_ms = uv_now(&f->test.loop);
    while (peer->received.size == 0 ||
           memmem(peer->received.data, peer->received.size, text, strlen(text)) == NULL) {
        tls_turn(f, client, server, begun_ms);
    }
    arcp_buf_clear(&peer->received);
}

void tls_expect_exactly(egress_fixture *f, tls_peer *client, tls_peer *server, tls_peer *peer,
                        const char *text)
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

void tls_open_inside(egress_fixture *f, tls_peer *client)
{
    egress_fixture_open_tls(f, LEASE, 0);
    egress_fixture_connect(f, &f->client, "127.0.0.1", f->port);
    tls_client(client, f, "localhost");
    tls_shake(f, client);
    assert_true(client->is_secured);
}

void tls_open_both(egress_fixture *f, tls_peer *client, tls_peer *server, const char *request)
{
    tls_open_inside(f, client);
    tls_send(f, client, request);
    tls_server(server, f, test_tls_files.certificate, test_tls_files.key);
}

bool tls_exchange(egress_fixture *f)
{
    tls_peer client;
    tls_peer server;
    egress_fixture_connect(f, &f->client, "127.0.0.1", f->port);
    tls_client(&client, f, "localhost");
    tls_shake(f, &client);
    tls_send(f, &client, GET "\r\n");
    tls_server(&server, f, test_tls_files.certificate, test_tls_files.key);
    tls_expect_exactly(f, &client, &server, &server, GET "\r\n");
    const bool is_reused = SSL_session_reused(server.ssl) == 1;
    tls_send(f, &server, OK);
    tls_expect_exactly(f, &client, &server, &client, OK);
    tls_peer_fini(&client);
    tls_peer_fini(&server);
    raw_peer_fini(&f->client);
    return is_reused;
}

void tls_close_both(egress_fixture *f, tls_peer *client, tls_peer *server)
{
    tls_peer_fini(client);
    if (server != NULL) {
        tls_peer_fini(server);
    }
    egress_fixture_close(f);
}
