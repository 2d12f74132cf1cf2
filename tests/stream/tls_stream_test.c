/* TLS over a lower stream that the test implements, with an OpenSSL peer: how much the stream keeps
 * for a peer that does not read, or that sends faster than its records are read. */
#include "transport/loop_support.h"
#include "transport/tls_files.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

#include "stream/stream.h"

typedef struct fixture {
    arcp__stream lower; /* first: the operations get a pointer to it */
    test_loop test;
    arcp__loop_share *share;
    arcp__tls_context *context;
    arcp__stream *tls;
    SSL_CTX *peer_context;
    SSL *peer;
    bool is_wanted;     /* the TLS stream reads from the lower one */
    bool is_stuck;      /* the lower stream writes nothing immediately */
    bool is_broken;     /* the lower stream cannot be written */
    arcp_buf kept;      /* not written yet */
    bool stops_on_read; /* the owner, at each piece */
    size_t received;
    size_t written;
    size_t ended;
    arcp_error why;
} fixture;

/* ---- the lower stream ---- */

static void lower_start(arcp__stream *lower)
{
    ((fixture *)lower)->is_wanted = true;
}

static void lower_stop(arcp__stream *lower)
{
    ((fixture *)lower)->is_wanted = false;
}

static void to_peer(fixture *f, arcp_buf *bytes)
{
    assert_int_equal(BIO_write(SSL_get_rbio(f->peer), bytes->data, (int)bytes->size), bytes->size);
    arcp_buf_fini(bytes);
}

static bool lower_write(arcp__stream *lower, arcp_buf *bytes, size_t *written)
{
    fixture *f = (fixture *)lower;
    assert_int_equal(f->kept.size, 0);
    *written = 0;
    if (f->is_stuck || f->is_broken) {
        f->kept = *bytes;
        *bytes = arcp_buf_init();
        return !f->is_broken;
    }
    *written = bytes->size;
    to_peer(f, bytes);
    return true;
}

/* Writes what was kept. */
static void lower_drain(fixture *f)
{
    const size_t size = f->kept.size;
    arcp_buf bytes = f->kept;
    f->kept = arcp_buf_init();
    to_peer(f, &bytes);
    f->lower.events.written(f->lower.events.user, size);
}

static void lower_end(arcp__stream *lower)
{
}

static const arcp__stream_ops lower_ops = {lower_start, lower_stop, lower_write, lower_end,
                                           lower_end};

/* ---- the owner ---- */

static void on_bytes(void *user, arcp_span bytes)
{
    fixture *f = user;
    f->received += bytes.size;
    if (f->stops_on_read) {
        f->tls->ops->stop(f->tls);
    }
}

static void on_ended(void *user, const arcp_error *why)
{
    fixture *f = user;
    f->ended++;
    if (why != NULL) {
        f->why = *why;
    }
}

static void on_written(void *user, size_t size)
{
    ((fixture *)user)->written += size;
}

static bool owner_write(fixture *f, const char *text)
{
    arcp_buf bytes = arcp_buf_init();
    size_t written = 0;
    arcp_buf_append_cstr(&bytes, text);
    const bool took = f->tls->ops->write(f->tls, &bytes, &written);
    f->written += written;
    return took;
}

/* ---- the peer ---- */

/* Delivers what the peer wrote. */
static void from_peer(fixture *f)
{
    char *data = NULL;
    const long size = BIO_get_mem_data(SSL_get_wbio(f->peer), &data);
    if (size > 0) {
        arcp_buf bytes = arcp_buf_init();
        arcp_buf_append(&bytes, arcp_span_make(data, (size_t)size));
        (void)BIO_reset(SSL_get_wbio(f->peer));
        f->lower.events.bytes(f->lower.events.user, arcp_buf_span(&bytes));
        arcp_buf_fini(&bytes);
    }
}

static void peer_write(fixture *f, const char *text)
{
    assert_int_equal(SSL_write(f->peer, text, (int)strlen(text)), strlen(text));
}

static void peer_read(fixture *f, const char *text)
{
    char got[64] = "";
    assert_int_equal(SSL_read(f->peer, got, sizeof got - 1), strlen(text));
    assert_string_equal(got, text);
}

#define GCM_KEY  16
#define GCM_SALT 4
#define GCM_TAG  16

/* The key and the salt that the peer writes with in TLS 1.2 with AES-128-GCM (RFC 5246 section 6.3,
 * RFC 5288 section 3). */
static void client_keys(const SSL *ssl, unsigned char key[GCM_KEY], unsigned char salt[GCM_SALT])
{
    unsigned char secret[SSL_MAX_MASTER_KEY_LENGTH];
    unsigned char seed[13 + 2 * SSL3_RANDOM_SIZE] = "key expansion";
    unsigned char block[2 * GCM_KEY + 2 * GCM_SALT];
    const size_t size = SSL_SESSION_get_master_key(SSL_get_session(ssl), secret, sizeof secret);
    (void)SSL_get_server_random(ssl, seed + 13, SSL3_RANDOM_SIZE);
    (void)SSL_get_client_random(ssl, seed + 13 + SSL3_RANDOM_SIZE, SSL3_RANDOM_SIZE);
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, secret, size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof seed),
        OSSL_PARAM_construct_end(),
    };
    assert_int_equal(EVP_KDF_derive(context, block, sizeof block, params), 1);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    memcpy(key, block, GCM_KEY);
    memcpy(salt, block + (size_t)2 * GCM_KEY, GCM_SALT);
}

/* A ClientHello inside the session, as the peer's record number `number`: OpenSSL's own client
 * sends one only, and waits. The server's OpenSSL refuses each with a record of its own. */
static void send_client_hello(fixture *f, uint16_t number)
{
    enum { HEAD = 5, NONCE = 8, HELLO = 4 };
    unsigned char key[GCM_KEY];
    unsigned char nonce[GCM_SALT + NONCE] = {0};
    unsigned char record[HEAD + NONCE + HELLO + GCM_TAG] = {22, 3, 3, 0, NONCE + HELLO + GCM_TAG};
    unsigned char about[13] = {0, 0, 0, 0, 0, 0, 0, 0, 22, 3, 3, 0, HELLO};
    static const unsigned char hello[HELLO] = {1, 0, 0, 0};
    int size = 0;
    client_keys(f->peer, key, nonce);
    about[6] = nonce[GCM_SALT + 6] = (unsigned char)(number >> 8);
    about[7] = nonce[GCM_SALT + 7] = (unsigned char)number;
    memcpy(record + HEAD, nonce + GCM_SALT, NONCE);
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    assert_int_equal(EVP_EncryptInit(cipher, EVP_aes_128_gcm(), key, nonce), 1);
    assert_int_equal(EVP_EncryptUpdate(cipher, NULL, &size, about, sizeof about), 1);
    assert_int_equal(EVP_EncryptUpdate(cipher, record + HEAD + NONCE, &size, hello, HELLO), 1);
    assert_int_equal(EVP_EncryptFinal(cipher, record + sizeof record, &size), 1);
    assert_int_equal(
        EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, GCM_TAG, record + HEAD + NONCE + HELLO),
        1);
    EVP_CIPHER_CTX_free(cipher);
    f->lower.events.bytes(f->lower.events.user,
                          arcp_span_make((const char *)record, sizeof record));
}

/* ---- fixture ---- */

static void fixture_open(fixture *f, int version)
{
    arcp_error err = {0};
    memset(f, 0, sizeof *f);
    test_loop_init(&f->test);
    f->share = arcp__loop_share_new(&f->test.loop);
    check_ok(arcp__tls_context_new_server(test_tls_files.certificate, test_tls_files.key,
                                          &f->context, &err),
             &err);
    f->lower.ops = &lower_ops;
    check_ok(arcp__tls_stream_new(f->share, f->context, NULL, &f->lower, &f->tls, &err), &err);
    f->tls->events = (arcp__stream_events){on_bytes, on_ended, on_written, f};
    f->peer_context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(f->peer_context, version);
    assert_int_equal(SSL_CTX_set_cipher_list(f->peer_context, "ECDHE+AES128+AESGCM"), 1);
    f->peer = SSL_new(f->peer_context);
    SSL_set_bio(f->peer, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(f->peer), -1);
    SSL_set_connect_state(f->peer);
    f->tls->ops->start(f->tls);
    while (SSL_do_handshake(f->peer) != 1) {
        test_loop_settle(&f->test);
        from_peer(f);
    }
    from_peer(f);
    test_loop_settle(&f->test);
    assert_true(f->is_wanted);
    assert_int_equal(f->ended, 0);
}

static void fixture_close(fixture *f)
{
    arcp__stream_close(&f->tls);
    SSL_free(f->peer);
    SSL_CTX_free(f->peer_context);
    arcp__tls_context_free(f->context);
    arcp__loop_share_unref(f->share);
    arcp_buf_fini(&f->kept);
    test_loop_fini(&f->test);
}

/* ---- peers that make OpenSSL respond ---- */

static void bytes_that_tls_sends_itself_do_not_count_as_written(void **state)
{
    fixture f;
    fixture_open(&f, TLS1_2_VERSION);
    f.is_stuck = true;
    assert_true(owner_write(&f, "first"));
    assert_int_equal(f.written, 0);
    send_client_hello(&f, 1);
    lower_drain(&f); /* the response follows, and is kept in turn */
    assert_int_equal(f.written, strlen("first"));
    assert_true(f.kept.size > 0);
    assert_true(owner_write(&f, "second")); /* the owner was notified that it may */
    lower_drain(&f);
    lower_drain(&f);
    assert_int_equal(f.written, strlen("first") + strlen("second"));
    peer_read(&f, "first");
    fixture_close(&f);
}

static void a_peer_that_makes_tls_respond_and_does_not_read_is_dropped(void **state)
{
    fixture f;
    uint16_t count = 0;
    fixture_open(&f, TLS1_2_VERSION);
    f.is_stuck = true;
    assert_true(owner_write(&f, "first"));
    while (count < 10000 && f.ended == 0) {
        send_client_hello(&f, ++count);
    }
    assert_int_equal(f.ended, 1);
    assert_string_equal(f.why.message, "TLS: the peer does not read");
    assert_true(count > 1000); /* a peer that is only slow is not dropped */
    fixture_close(&f);
}

static void a_peer_that_reads_may_make_tls_respond_without_limit(void **state)
{
    fixture f;
    fixture_open(&f, TLS1_3_VERSION);
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(SSL_key_update(f.peer, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(f.peer), 1);
        from_peer(&f);
    }
    assert_true(owner_write(&f, "still here"));
    peer_read(&f, "still here");
    assert_int_equal(f.ended, 0);
    fixture_close(&f);
}

/* ---- peers that send faster than they are read ---- */

static void nothing_more_is_read_while_received_records_wait(void **state)
{
    fixture f;
    fixture_open(&f, TLS1_3_VERSION);
    f.stops_on_read = true;
    for (size_t i = 0; i < 100; i++) {
        peer_write(&f, "x");
    }
    from_peer(&f); /* in one piece; the owner takes one record and stops */
    while (f.received < 100) {
        const size_t before = f.received;
        f.tls->ops->start(f.tls);
        assert_false(f.is_wanted); /* records already received come first */
        run_until(&f.test, f.received > before);
        assert_int_equal(f.received, before + 1);
        assert_false(f.is_wanted);
    }
    f.tls->ops->start(f.tls);
    run_until(&f.test, f.is_wanted);
    fixture_close(&f);
}

static void nothing_is_read_after_the_end(void **state)
{
    fixture f;
    fixture_open(&f, TLS1_3_VERSION);
    SSL_shutdown(f.peer);
    from_peer(&f);
    test_loop_settle(&f.test);
    assert_int_equal(f.ended, 1);
    assert_false(f.is_wanted);
    assert_true(owner_write(&f, "still heard"));
    peer_read(&f, "still heard");
    fixture_close(&f);
}

/* ---- writes that fail ---- */

static void after_a_failed_write_all_writes_fail(void **state)
{
    fixture f;
    fixture_open(&f, TLS1_3_VERSION);
    f.is_broken = true;
    assert_false(owner_write(&f, "lost"));
    f.is_broken = false;
    arcp_buf_fini(&f.kept);
    assert_false(owner_write(&f, "second")); /* a record is missing before it */
    assert_int_equal(f.written, 0);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_tls_sends_itself_do_not_count_as_written),
        cmocka_unit_test(a_peer_that_makes_tls_respond_and_does_not_read_is_dropped),
        cmocka_unit_test(a_peer_that_reads_may_make_tls_respond_without_limit),
        cmocka_unit_test(nothing_more_is_read_while_received_records_wait),
        cmocka_unit_test(nothing_is_read_after_the_end),
        cmocka_unit_test(after_a_failed_write_all_writes_fail),
    };
    return cmocka_run_group_tests(tests, tls_files_setup, tls_files_teardown);
}
