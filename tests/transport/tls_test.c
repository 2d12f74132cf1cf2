/* wss://: which certificates are trusted, what is refused, and new certificates without a restart.
 */
#include "transport/dial.h"
#include "transport/raw_peer.h"
#include "transport/server.h"
#include "transport/tls_files.h"

#include "stream/stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/ssl.h>

static arcp_listen_options serving(const char *certificate, const char *key)
{
    arcp_listen_options options = arcp_listen_options_init();
    options.certificate_file = certificate;
    options.key_file = key;
    options.admission = server_admission((arcp_admission_limits){0});
    return options;
}

static arcp_connect_options trusting(const char *ca_file)
{
    arcp_connect_options options = arcp_connect_options_init();
    options.ca_file = ca_file;
    options.timeout_ms = 2 * TEST_PATIENCE_MS;
    return options;
}

/* ---- trusted certificates ---- */

typedef struct trust_row {
    const char *name;
    const char *certificate;
    const char *key;
    const char *ca;      /* NULL: the system's */
    const char *host;    /* in the URL of the client */
    const char *message; /* NULL: it connects */
} trust_row;

static void only_a_certificate_for_the_host_from_a_trusted_authority_is_accepted(void **state)
{
    const trust_row rows[] = {
        {"by address", test_tls_files.certificate, test_tls_files.key, test_tls_files.ca,
         "127.0.0.1", NULL},
        {"by name", test_tls_files.certificate, test_tls_files.key, test_tls_files.ca, "localhost",
         NULL},
        {"for another name", test_tls_files.wrong_name, test_tls_files.wrong_name_key,
         test_tls_files.ca, "localhost", "TLS: the certificate was refused: hostname mismatch"},
        {"for no address", test_tls_files.wrong_name, test_tls_files.wrong_name_key,
         test_tls_files.ca, "127.0.0.1", "TLS: the certificate was refused: IP address mismatch"},
        {"of another authority", test_tls_files.certificate, test_tls_files.key,
         test_tls_files.other_ca, "localhost", "TLS: the certificate was refused: "},
        {"of no authority that the system knows", test_tls_files.certificate, test_tls_files.key,
         NULL, "localhost", "TLS: the certificate was refused: "},
        {"expired", test_tls_files.expired, test_tls_files.expired_key, test_tls_files.ca,
         "localhost", "TLS: the certificate was refused: certificate has expired"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        server s;
        dial d;
        char url[128];
        server_open(&s, "wss://127.0.0.1:0/arcp", serving(rows[i].certificate, rows[i].key));
        snprintf(url, sizeof url, "wss://%s:%s", rows[i].host, strrchr(s.url, ':') + 1);
        arcp_connect_options options = trusting(rows[i].ca);
        dial_begin(&d, &s.test, url, &options);
        if (rows[i].message == NULL) {
            dial_wait(&d, &s.test);
            if (!d.connected) {
                fail_msg("%s: %s", rows[i].name, d.err.message);
            }
        } else {
            dial_expect_failure(&d, &s.test, ARCP_E_IO, rows[i].message);
            run_until(&s.test, s.refused == 1); /* the server gets the reason, too */
            assert_int_equal(s.accepted, 0);
        }
        dial_fini(&d);
        server_fini(&s);
    }
}

static void a_plain_server_is_refused_by_a_tls_client(void **state)
{
    server s;
    dial d;
    char url[128];
    server_open(&s, NULL, serving(NULL, NULL));
    snprintf(url, sizeof url, "wss://127.0.0.1:%s", strrchr(s.url, ':') + 1);
    arcp_connect_options options = trusting(test_tls_files.ca);
    dial_begin(&d, &s.test, url, &options);
    dial_expect_failure(&d, &s.test, ARCP_E_IO, "TLS: ");
    dial_fini(&d);
    server_fini(&s);
}

static void a_plain_client_gets_nothing_from_a_tls_server(void **state)
{
    server s;
    raw_peer peer;
    server_open(&s, "wss://127.0.0.1:0/arcp",
                serving(test_tls_files.certificate, test_tls_files.key));
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_send_text(&peer, raw_upgrade);
    raw_peer_expect_end(&peer);
    assert_true(peer.received.size == 0 ||
                memmem(peer.received.data, peer.received.size, "HTTP", 4) == NULL);
    run_until(&s.test, s.refused == 1);
    assert_int_equal(s.refused_status, 0);
    assert_memory_equal(s.refused_why, "TLS: ", 5);
    assert_int_equal(s.accepted, 0);
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_silent_peer_is_dropped_over_tls_too(void **state)
{
    server s;
    raw_peer peer;
    arcp_listen_options options = serving(test_tls_files.certificate, test_tls_files.key);
    arcp_admission_unref(options.admission);
    options.admission = server_admission((arcp_admission_limits){.pending_timeout_ms = 30});
    server_open(&s, "wss://127.0.0.1:0/arcp", options);
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_expect_end(&peer);
    assert_string_equal(s.refused_why, "the request was not complete in time");
    raw_peer_fini(&peer);
    server_fini(&s);
}

/* ---- versions ---- */

/* A plain OpenSSL client with a highest TLS version. */
static int handshake_as(server *s, int highest, const char *ciphers, char *version, size_t size)
{
    raw_peer peer;
    raw_peer_connect(&peer, &s->test, s->url);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, highest);
    SSL_CTX_set_security_level(context, 0);
    assert_int_equal(SSL_CTX_set_cipher_list(context, ciphers), 1);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, peer.fd);
    int result = 0;
    while ((result = SSL_connect(ssl)) != 1) {
        const int reason = SSL_get_error(ssl, result);
        if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) {
            break;
        }
        uv_run(&s->test.loop, UV_RUN_NOWAIT);
    }
    snprintf(version, size, "%s", SSL_get_version(ssl));
    SSL_free(ssl);
    SSL_CTX_free(context);
    raw_peer_fini(&peer);
    return result;
}

static int handshake_with(server *s, int highest, char *version, size_t size)
{
    return handshake_as(s, highest, "ALL", version, size);
}

/* Forward secrecy and authenticated records, each refused without the other. */
static void tls_1_2_has_modern_cipher_suites_only(void **state)
{
    static const struct {
        const char *ciphers;
        bool is_taken;
    } rows[] = {
        {"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256", true},
        {"ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384", true},
        {"ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-CHACHA20-POLY1305", true},
        {"AES128-SHA:AES256-SHA", false},
        {"AES128-GCM-SHA256:AES256-GCM-SHA384", false},
        {"ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA", false},
        {"ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256", false},
        {"DHE-RSA-AES128-SHA", false},
    };
    server s;
    char version[32];
    server_open(&s, "wss://127.0.0.1:0/arcp",
                serving(test_tls_files.certificate, test_tls_files.key));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int result =
            handshake_as(&s, TLS1_2_VERSION, rows[i].ciphers, version, sizeof version);
        if ((result == 1) != rows[i].is_taken) {
            fail_msg("%s: %d", rows[i].ciphers, result);
        }
    }
    server_fini(&s);
}

static void only_tls_1_2_and_newer_are_accepted(void **state)
{
    server s;
    char version[32];
    server_open(&s, "wss://127.0.0.1:0/arcp",
                serving(test_tls_files.certificate, test_tls_files.key));
    assert_int_equal(handshake_with(&s, TLS1_3_VERSION, version, sizeof version), 1);
    assert_string_equal(version, "TLSv1.3");
    assert_int_equal(handshake_with(&s, TLS1_2_VERSION, version, sizeof version), 1);
    assert_string_equal(version, "TLSv1.2");
    assert_true(handshake_with(&s, TLS1_1_VERSION, version, sizeof version) != 1);
    server_fini(&s);
}

/* ---- files ---- */

static void expect_no_context(const char *certificate, const char *key, const char *message)
{
    arcp__tls_context *context = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__tls_context_new_server(certificate, key, &context, &err), ARCP_E_USAGE);
    assert_null(context);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    }
}

static void unusable_files_are_named(void **state)
{
    char other[128];
    snprintf(other, sizeof other, "%s/encrypted.key", test_tls_files.directory);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *file = fopen(other, "we");
    assert_non_null(file);
    PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), (const unsigned char *)"pass", 4, NULL,
                         NULL);
    fclose(file);
    EVP_PKEY_free(key);
    expect_no_context("/nonexistent/a.pem", test_tls_files.key,
                      "cannot read the certificate /nonexistent/a.pem: No such file");
    expect_no_context(test_tls_files.certificate, "/nonexistent/a.key",
                      "cannot read the key /nonexistent/a.key: No such file");
    expect_no_context(test_tls_files.key, test_tls_files.key, "is not a usable PEM certificate");
    expect_no_context(test_tls_files.certificate, test_tls_files.certificate,
                      "is not a usable PEM key");
    expect_no_context(test_tls_files.certificate, other, "is not a usable PEM key");
    expect_no_context(test_tls_files.certificate, test_tls_files.wrong_name_key, "");
    unlink(other);

    arcp__tls_context *context = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__tls_context_new_client("/nonexistent/ca.pem", &context, &err),
                     ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "cannot read the CA file /nonexistent/ca.pem"));
    assert_int_equal(arcp__tls_context_new_client(test_tls_files.key, &context, &err),
                     ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "has no usable PEM certificate"));
}

/* ---- reload ---- */

static long serial_of_peer(server *s)
{
    raw_peer peer;
    raw_peer_connect(&peer, &s->test, s->url);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, peer.fd);
    while (SSL_connect(ssl) != 1) {
        uv_run(&s->test.loop, UV_RUN_NOWAIT);
    }
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    assert_non_null(certificate);
    const long serial = ASN1_INTEGER_get(X509_get_serialNumber(certificate));
    X509_free(certificate);
    SSL_free(ssl);
    SSL_CTX_free(context);
    raw_peer_fini(&peer);
    return serial;
}

static void a_reload_applies_to_new_connections_and_keeps_old_ones(void **state)
{
    server s;
    dial d;
    arcp_error err = {0};
    server_open(&s, "wss://127.0.0.1:0/arcp",
                serving(test_tls_files.certificate, test_tls_files.key));
    const long before = serial_of_peer(&s);
    arcp_connect_options options = trusting(test_tls_files.ca);
    dial_begin(&d, &s.test, s.url, &options);
    dial_wait(&d, &s.test);
    run_until(&s.test, s.accepted == 1);

    tls_files_renew(&test_tls_files, 77);
    assert_int_equal(serial_of_peer(&s), before);
    check_ok(s.listener->ops->reload(s.listener, &err), &err);
    assert_int_equal(serial_of_peer(&s), 77);
    owner_send_text(&d.owner, "still here");
    run_until(&s.test, s.owners[0].messages == 1);
    dial_fini(&d);
    server_fini(&s);
}

static void a_failed_reload_keeps_the_old_certificate(void **state)
{
    server s;
    arcp_error err = {0};
    server_open(&s, "wss://127.0.0.1:0/arcp",
                serving(test_tls_files.certificate, test_tls_files.key));
    const long before = serial_of_peer(&s);
    const int fd = open(test_tls_files.certificate, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(s.listener->ops->reload(s.listener, &err), ARCP_E_USAGE);
    assert_non_null(strstr(err.message, test_tls_files.certificate));
    assert_int_equal(serial_of_peer(&s), before);
    tls_files_renew(&test_tls_files, before);
    server_fini(&s);
}

static void a_reload_without_tls_does_nothing(void **state)
{
    server s;
    arcp_error err = {0};
    server_open(&s, NULL, serving(NULL, NULL));
    check_ok(s.listener->ops->reload(s.listener, &err), &err);
    server_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_certificate_for_the_host_from_a_trusted_authority_is_accepted),
        cmocka_unit_test(a_plain_server_is_refused_by_a_tls_client),
        cmocka_unit_test(a_plain_client_gets_nothing_from_a_tls_server),
        cmocka_unit_test(a_silent_peer_is_dropped_over_tls_too),
        cmocka_unit_test(only_tls_1_2_and_newer_are_accepted),
        cmocka_unit_test(tls_1_2_has_modern_cipher_suites_only),
        cmocka_unit_test(unusable_files_are_named),
        cmocka_unit_test(a_reload_applies_to_new_connections_and_keeps_old_ones),
        cmocka_unit_test(a_failed_reload_keeps_the_old_certificate),
        cmocka_unit_test(a_reload_without_tls_does_nothing),
    };
    return cmocka_run_group_tests(tests, tls_files_setup, tls_files_teardown);
}
