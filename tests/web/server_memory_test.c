/* Bodies over TLS; and each allocation for an exchange, plain and over TLS, may fail. */
#include "support/failing_alloc.h"
#include "web/server_fixture.h"

#include <openssl/ssl.h>

/* A TLS client on the peer's socket. */
typedef struct tls_client {
    SSL_CTX *context;
    SSL *ssl;
} tls_client;

static void tls_client_open(tls_client *client, web_fixture *f, const raw_peer *peer)
{
    client->context = SSL_CTX_new(TLS_client_method());
    client->ssl = SSL_new(client->context);
    SSL_set_fd(client->ssl, peer->fd);
    while (SSL_connect(client->ssl) != 1) {
        uv_run(&f->test.loop, UV_RUN_NOWAIT);
    }
}

static void tls_client_close(tls_client *client)
{
    SSL_free(client->ssl);
    SSL_CTX_free(client->context);
}

static void bodies_are_exchanged_over_tls_too(void **state)
{
    web_fixture f;
    tls_files files;
    tls_client client;
    char text[512];
    tls_files_make(&files);
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, &files);
    tls_client_open(&client, &f, &f.peer);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(SSL_write(client.ssl, echo_requests[i], (int)strlen(echo_requests[i])),
                         strlen(echo_requests[i]));
        memset(text, 0, sizeof text);
        for (int size = 0; strstr(text, "\r\n\r\nhello") == NULL;) {
            const int got = SSL_read(client.ssl, text + size, (int)sizeof text - 1 - size);
            size += got > 0 ? got : 0;
            uv_run(&f.test.loop, UV_RUN_NOWAIT);
        }
    }
    tls_client_close(&client);
    web_fixture_close(&f);
    tls_files_remove(&files);
}

/* Sends a request while the n-th allocation of the server fails (0: none does), and reads until the
 * response has `part` (true) or the connection ends (false). */
static bool send_failing(web_fixture *f, const char *text, const char *part, size_t n,
                         failing_alloc_mode mode)
{
    raw_peer peer;
    bool found = false;
    raw_peer_connect(&peer, &f->test, f->url);
    assert_true(arcp_buf_reserve(&peer.received, (PIECES + 16) * PIECE_SIZE));
    if (n > 0) {
        failing_alloc_arm(n, mode);
    }
    raw_peer_send_text(&peer, text);
    while (!found && !peer.ended) {
        raw_peer_receive(&peer, peer.received.size + 1);
        found = peer.received.size > 0 &&
                memmem(peer.received.data, peer.received.size, part, strlen(part)) != NULL;
    }
    raw_peer_fini(&peer);
    test_loop_settle(&f->test);
    return found;
}

static void each_allocation_of_an_exchange_may_fail(void **state)
{
    static const struct {
        const char *request, *part;
    } rows[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Connection: close\r\nExpect: 100-continue\r\n"
         "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         "\r\n\r\nhello"},
        {"GET /echo HTTP/1.1\r\n" HOST "\r\nGET /stream HTTP/1.1\r\n" HOST "\r\n", "\r\n0\r\n\r\n"},
        {"GET /nothing HTTP/1.1\r\n" HOST "\r\n", " 404 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 2; i++) {
        web_fixture f;
        size_t failed = 0;
        web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
        for (size_t n = 1; failed == n - 1 && n <= 40; n++) {
            const bool found =
                send_failing(&f, rows[i / 2].request, rows[i / 2].part, n,
                             i % 2 == 0 ? FAILING_ALLOC_ONE : FAILING_ALLOC_ALL_AFTER);
            failed += failing_alloc_disarm();
            assert_true(found || failed == n);
        }
        assert_true(failed > 3);
        /* The server still works. */
        assert_true(send_failing(&f, rows[i / 2].request, rows[i / 2].part, 0, FAILING_ALLOC_ONE));
        web_fixture_close(&f);
    }
}

/* Requests /stream over TLS while the n-th allocation fails. OpenSSL, in the client, has its own
 * allocator, so none of its allocations fails. */
static void stream_failing_over_tls(web_fixture *f, size_t n)
{
    static char bytes[PIECE_SIZE];
    raw_peer peer;
    tls_client client;
    raw_peer_connect(&peer, &f->test, f->url);
    tls_client_open(&client, f, &peer);
    test_loop_settle(&f->test);
    failing_alloc_arm(n, FAILING_ALLOC_ONE);
    assert_true(SSL_write(client.ssl, "GET /stream HTTP/1.0\r\n" HOST "\r\n", 41) == 41);
    for (;;) {
        const int size = SSL_read(client.ssl, bytes, sizeof bytes);
        if (size <= 0 && SSL_get_error(client.ssl, size) != SSL_ERROR_WANT_READ) {
            break;
        }
        uv_run(&f->test.loop, UV_RUN_NOWAIT);
    }
    tls_client_close(&client);
    raw_peer_fini(&peer);
    test_loop_settle(&f->test);
}

static void each_allocation_of_a_streamed_response_over_tls_may_fail(void **state)
{
    web_fixture f;
    tls_files files;
    size_t failed = 0;
    tls_files_make(&files);
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, &files);
    for (size_t n = 1; failed == n - 1 && n <= 40; n++) {
        stream_failing_over_tls(&f, n);
        failed += failing_alloc_disarm();
    }
    assert_true(failed > 3);
    web_fixture_close(&f);
    tls_files_remove(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_exchanged_over_tls_too),
        cmocka_unit_test(each_allocation_of_an_exchange_may_fail),
        cmocka_unit_test(each_allocation_of_a_streamed_response_over_tls_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
