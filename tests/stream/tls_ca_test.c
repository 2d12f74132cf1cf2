/* The authority of a sandbox: what its certificates say. */
#include <time.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "stream/tls_ca.h"
#include "stream/tls_parts.h"
#include "support/check.h"
#include "support/failing_alloc.h"

#define DAY INT64_C(86400)

static arcp__tls_ca *make(int64_t end_sec)
{
    arcp__tls_ca *ca = NULL;
    arcp_error err = {0};
    check_ok(arcp__tls_ca_new((int64_t)time(NULL), end_sec, &ca, &err), &err);
    return ca;
}

static X509 *own(const arcp__tls_ca *ca)
{
    BIO *in = BIO_new_mem_buf(arcp__tls_ca_certificate(ca), -1);
    X509 *certificate = PEM_read_bio_X509(in, NULL, NULL, NULL);
    assert_non_null(certificate);
    BIO_free(in);
    return certificate;
}

/* The certificate of a host; as long as its context. */
static X509 *leaf(arcp__tls_ca *ca, const char *host)
{
    arcp_error err = {0};
    const arcp__tls_context *context = arcp__tls_ca_serve(ca, host, &err);
    assert_non_null(context);
    return SSL_CTX_get0_certificate(context->ssl);
}

/* 0, or OpenSSL's reason, by its strict rules. */
static int verify(X509 *authority, X509 *certificate)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    assert_int_equal(X509_STORE_add_cert(store, authority), 1);
    X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT);
    X509_STORE_set_purpose(store, X509_PURPOSE_SSL_SERVER);
    assert_int_equal(X509_STORE_CTX_init(context, store, certificate, NULL), 1);
    (void)X509_verify_cert(context);
    const int error = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return error;
}

static void its_certificates_are_valid_for_their_host_alone(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    arcp__tls_ca *other = make(INT64_MAX);
    X509 *authority = own(ca);
    X509 *stranger = own(other);
    X509 *name = leaf(ca, "api_1.example.com");
    assert_int_equal(verify(authority, name), X509_V_OK);
    assert_int_not_equal(verify(stranger, name), X509_V_OK);
    assert_int_equal(X509_check_host(name, "api_1.example.com", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(name, "example.com", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ca(name), 0);
    X509 *four = leaf(ca, "198.51.100.7");
    assert_int_equal(X509_check_ip_asc(four, "198.51.100.7", 0), 1);
    assert_int_equal(X509_check_host(four, "198.51.100.7", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ip_asc(leaf(ca, "2001:db8::7"), "2001:db8::7", 0), 1);
    assert_int_equal(X509_check_ca(authority), 1);
    X509_free(authority);
    X509_free(stranger);
    arcp__tls_ca_free(ca);
    arcp__tls_ca_free(other);
}

/* What a certificate writes as a host cannot add another one. */
static void a_host_is_one_name_whatever_its_bytes(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    X509 *certificate = leaf(ca, "a,DNS:evil.example");
    assert_int_equal(X509_check_host(certificate, "evil.example", 0, 0, NULL), 0);
    arcp__tls_ca_free(ca);
}

static void a_host_name_may_be_longer_than_a_common_name(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    char host[254];
    memset(host, 'a', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    for (size_t i = 60; i < sizeof host - 1; i += 60) {
        host[i] = '.';
    }
    X509 *authority = own(ca);
    X509 *certificate = leaf(ca, host);
    assert_int_equal(verify(authority, certificate), X509_V_OK);
    assert_int_equal(X509_check_host(certificate, host, 0, 0, NULL), 1);
    X509_free(authority);
    arcp__tls_ca_free(ca);
}

static void check_validity(int64_t end_sec, int64_t wanted_end_sec)
{
    const time_t now = time(NULL);
    arcp__tls_ca *ca = make(end_sec);
    X509 *authority = own(ca);
    const X509 *const both[] = {authority, leaf(ca, "h")};
    for (size_t i = 0; i < 2; i++) {
        int days = 0;
        int seconds = 0;
        ASN1_TIME *reference = ASN1_TIME_set(NULL, now);
        assert_int_equal(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(both[i]), reference),
                         1);
        assert_int_equal(days, 1);
        assert_in_range(seconds, 0, 5);
        assert_int_equal(ASN1_TIME_diff(&days, &seconds, reference, X509_get0_notAfter(both[i])),
                         1);
        assert_in_range((int64_t)days * DAY + seconds + 5, wanted_end_sec - now,
                        wanted_end_sec - now + 10);
        ASN1_TIME_free(reference);
    }
    X509_free(authority);
    arcp__tls_ca_free(ca);
}

static void they_end_with_the_lease_or_after_seven_days(void **state)
{
    const int64_t now = (int64_t)time(NULL);
    check_validity(now + 3600, now + 3600);
    check_validity(now + 7 * DAY - 60, now + 7 * DAY - 60);
    check_validity(now + 7 * DAY + 60, now + 7 * DAY);
    check_validity(INT64_MAX, now + 7 * DAY);
}

static void serial_numbers_and_keys_differ(void **state)
{
    arcp__tls_ca *cas[] = {make(INT64_MAX), make(INT64_MAX)};
    X509 *certificates[] = {own(cas[0]), own(cas[1])};
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(certificates[0]),
                                          X509_get0_serialNumber(certificates[1])),
                         0);
    assert_int_not_equal(
        EVP_PKEY_eq(X509_get0_pubkey(certificates[0]), X509_get0_pubkey(certificates[1])), 1);
    X509 *a = leaf(cas[0], "a");
    X509 *b = leaf(cas[0], "b");
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(a), X509_get0_serialNumber(b)), 0);
    assert_int_not_equal(EVP_PKEY_eq(X509_get0_pubkey(a), X509_get0_pubkey(certificates[0])), 1);
    for (size_t i = 0; i < 2; i++) {
        assert_null(strstr(arcp__tls_ca_certificate(cas[i]), "PRIVATE"));
        X509_free(certificates[i]);
        arcp__tls_ca_free(cas[i]);
    }
}

static void openssl_finds_it_in_a_directory_by_the_name_of_the_link(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    X509 *certificate = own(ca);
    char name[32];
    (void)snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(certificate));
    assert_string_equal(name, ARCP__TLS_CA_LINK);
    X509_free(certificate);
    arcp__tls_ca_free(ca);
}

static void the_certificates_of_the_last_hosts_are_kept(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    arcp_error err = {0};
    const arcp__tls_context *first = arcp__tls_ca_serve(ca, "h0", &err);
    char name[16];
    for (int i = 1; i < ARCP__TLS_CA_HOSTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "h%d", i);
        assert_non_null(arcp__tls_ca_serve(ca, name, &err));
    }
    const ASN1_INTEGER *number = X509_get0_serialNumber(leaf(ca, "h0"));
    assert_ptr_equal(arcp__tls_ca_serve(ca, "h0", &err), first);
    ASN1_INTEGER *second = ASN1_INTEGER_dup(X509_get0_serialNumber(leaf(ca, "h1")));
    ASN1_INTEGER *kept = ASN1_INTEGER_dup(number);
    (void)leaf(ca, "h1");
    (void)leaf(ca, "h0");
    (void)leaf(ca, "another"); /* in place of h2 */
    assert_int_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(leaf(ca, "h0")), kept), 0);
    assert_int_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(leaf(ca, "h1")), second), 0);
    for (int i = 0; i < ARCP__TLS_CA_HOSTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "more%d", i);
        assert_non_null(arcp__tls_ca_serve(ca, name, &err));
    }
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(leaf(ca, "h0")), kept), 0);
    ASN1_INTEGER_free(kept);
    ASN1_INTEGER_free(second);
    arcp__tls_ca_free(ca);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    arcp_error err = {0};
    char host[257];
    memset(host, 'a', sizeof host - 1);
    host[256] = '\0';
    assert_null(arcp__tls_ca_serve(ca, host, &err));
    host[255] = '\0';
    assert_non_null(arcp__tls_ca_serve(ca, host, &err));
    arcp__tls_ca_free(ca);
    arcp__tls_ca_free(NULL);
}

static void without_memory_a_host_gets_no_context_and_the_error_says_so(void **state)
{
    arcp__tls_ca *ca = make(INT64_MAX);
    arcp_error err = {0};
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    assert_null(arcp__tls_ca_serve(ca, "a.example", &err));
    assert_true(failing_alloc_disarm());
    assert_int_equal(err.status, ARCP_E_NO_MEMORY);
    assert_non_null(arcp__tls_ca_serve(ca, "a.example", &err));
    arcp__tls_ca_free(ca);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_certificates_are_valid_for_their_host_alone),
        cmocka_unit_test(a_host_is_one_name_whatever_its_bytes),
        cmocka_unit_test(a_host_name_may_be_longer_than_a_common_name),
        cmocka_unit_test(they_end_with_the_lease_or_after_seven_days),
        cmocka_unit_test(serial_numbers_and_keys_differ),
        cmocka_unit_test(openssl_finds_it_in_a_directory_by_the_name_of_the_link),
        cmocka_unit_test(the_certificates_of_the_last_hosts_are_kept),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(without_memory_a_host_gets_no_context_and_the_error_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
