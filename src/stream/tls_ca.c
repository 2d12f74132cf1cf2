#include "stream/tls_ca.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "stream/tls_parts.h"

#define DAY_SEC 86400
#define SUBJECT "ARCP sandbox authority" /* changes ARCP__TLS_CA_LINK */
/* Not the host: a client may take a common name for one of DNS. */
#define LEAF_SUBJECT "ARCP sandbox"
#define SERIAL_BITS  127 /* RFC 5280 section 4.1.2.2: at most 20 bytes */

/* A certificate that was made for a host. */
typedef struct leaf {
    char host[256];
    arcp__tls_context *context;
    uint64_t used; /* when it was asked for last, as a count */
} leaf;

struct arcp__tls_ca {
    EVP_PKEY *key;
    EVP_PKEY *leaf_key; /* of all its hosts */
    X509 *certificate;
    char *text;
    int64_t begin_sec, end_sec;
    uint64_t uses;
    size_t count;
    leaf leaves[ARCP__TLS_CA_HOSTS_MAX];
};

/* ---- certificates ---- */

static bool add(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    const bool is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

/* The name that clients compare: of an address, or of DNS. */
static bool add_host(X509 *certificate, const char *host)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    ASN1_IA5STRING *text = address == NULL ? ASN1_IA5STRING_new() : NULL;
    bool is_added = names != NULL && name != NULL;
    ERR_clear_error(); /* of a host that is no address */
    if (is_added && address != NULL) {
        GENERAL_NAME_set0_value(name, GEN_IPADD, address);
        address = NULL;
    } else if (is_added && text != NULL && ASN1_STRING_set(text, host, -1) == 1) {
        GENERAL_NAME_set0_value(name, GEN_DNS, text);
        text = NULL;
    } else {
        is_added = false;
    }
    is_added = is_added && sk_GENERAL_NAME_push(names, name) > 0;
    if (is_added) {
        name = NULL;
        is_added =
            X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
    }
    ASN1_OCTET_STRING_free(address);
    ASN1_IA5STRING_free(text);
    GENERAL_NAME_free(name);
    GENERAL_NAMES_free(names);
    return is_added;
}

static bool set_serial(X509 *certificate)
{
    BIGNUM *number = BN_new();
    const bool is_set = number != NULL &&
                        BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
                        BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return is_set;
}

/* All that certificates of the authority have in common, its own too. NULL when OpenSSL refuses. */
static X509 *certificate_new(const arcp__tls_ca *ca, const char *subject, EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    if (certificate == NULL || X509_set_version(certificate, X509_VERSION_3) != 1 ||
        !set_serial(certificate) ||
        ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)ca->begin_sec) == NULL ||
        ASN1_TIME_set(X509_getm_notAfter(certificate), (time_t)ca->end_sec) == NULL ||
        X509_set_pubkey(certificate, key) != 1 ||
        X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                   (const unsigned char *)subject, -1, -1, 0) != 1) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

static X509 *leaf_certificate(const arcp__tls_ca *ca, const char *host)
{
    X509 *issuer = ca->certificate;
    X509 *certificate = certificate_new(ca, LEAF_SUBJECT, ca->leaf_key);
    if (certificate == NULL ||
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
        !add(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
        !add(certificate, issuer, NID_key_usage, "critical,digitalSignature") ||
        !add(certificate, issuer, NID_ext_key_usage, "serverAuth") ||
        !add(certificate, issuer, NID_subject_key_identifier, "hash") ||
        !add(certificate, issuer, NID_authority_key_identifier, "keyid") ||
        !add_host(certificate, host) || X509_sign(certificate, ca->key, EVP_sha256()) <= 0) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

static bool make_own(arcp__tls_ca *ca)
{
    ca->key = EVP_EC_gen("P-256");
    ca->leaf_key = EVP_EC_gen("P-256");
    X509 *own =
        ca->key == NULL || ca->leaf_key == NULL ? NULL : certificate_new(ca, SUBJECT, ca->key);
    ca->certificate = own;
    return own != NULL && X509_set_issuer_name(own, X509_get_subject_name(own)) == 1 &&
           add(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add(own, own, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add(own, own, NID_subject_key_identifier, "hash") &&
           X509_sign(own, ca->key, EVP_sha256()) > 0;
}

static bool make_text(arcp__tls_ca *ca)
{
    char *data = NULL;
    BIO *out = BIO_new(BIO_s_mem());
    if (out != NULL && PEM_write_bio_X509(out, ca->certificate) == 1) {
        const long size = BIO_get_mem_data(out, &data);
        ca->text = arcp__copy_cstr(data, (size_t)size);
    }
    BIO_free(out);
    return ca->text != NULL;
}

/* ---- the authority ---- */

arcp_status arcp__tls_ca_new(int64_t now_sec, int64_t end_sec, arcp__tls_ca **out, arcp_error *err)
{
    const int64_t latest_sec = now_sec + (int64_t)ARCP__TLS_CA_DAYS_MAX * DAY_SEC;
    arcp__tls_ca *ca = arcp__alloc(sizeof *ca);
    if (ca == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    ca->begin_sec = now_sec - DAY_SEC;
    ca->end_sec = end_sec < latest_sec ? end_sec : latest_sec;
    ERR_clear_error();
    if (!make_own(ca)) {
        arcp__tls_ca_free(ca);
        return arcp_error_set(err, ARCP_E_IO, "OpenSSL cannot make a certificate authority: %s",
                              arcp__tls_error_text("out of memory"));
    }
    if (!make_text(ca)) {
        arcp__tls_ca_free(ca);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    *out = ca;
    return ARCP_OK;
}

void arcp__tls_ca_free(arcp__tls_ca *ca)
{
    if (ca == NULL) {
        return;
    }
    for (size_t i = 0; i < ca->count; i++) {
        arcp__tls_context_free(ca->leaves[i].context);
    }
    EVP_PKEY_free(ca->key);
    EVP_PKEY_free(ca->leaf_key);
    X509_free(ca->certificate);
    arcp__free(ca->text);
    arcp__free(ca);
}

const char *arcp__tls_ca_certificate(const arcp__tls_ca *ca)
{
    return ca->text;
}

/* ---- hosts ---- */

/* A client that offers protocols, but not this one, would not understand us: the handshake ends
 * with the alert no_application_protocol (RFC 7301 section 3.2). */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                           const unsigned char *offered, unsigned offered_size, void *user)
{
    const arcp_span wanted = ARCP_SPAN_LITERAL("http/1.1");
    for (unsigned i = 0; i < offered_size; i += 1u + offered[i]) {
        if (offered[i] == wanted.size && memcmp(offered + i + 1, wanted.data, wanted.size) == 0) {
            *out = offered + i + 1;
            *out_size = offered[i];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Makes the certificate of a host, and lets the context use it. ARCP_E_IO. */
static arcp_status use_leaf(const arcp__tls_ca *ca, const char *host, SSL_CTX *ssl, arcp_error *err)
{
    ERR_clear_error();
    X509 *certificate = leaf_certificate(ca, host);
    const bool is_used = certificate != NULL && SSL_CTX_use_certificate(ssl, certificate) == 1 &&
                         SSL_CTX_use_PrivateKey(ssl, ca->leaf_key) == 1;
    X509_free(certificate);
    return is_used ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_IO, "OpenSSL cannot make a certificate: %s",
                                    arcp__tls_error_text("out of memory"));
}

static arcp__tls_context *context_new(const arcp__tls_ca *ca, const char *host, arcp_error *err)
{
    arcp__tls_context *context = arcp__alloc(sizeof *context);
    SSL_CTX *ssl = context == NULL ? NULL : arcp__tls_context_base(TLS_server_method());
    if (ssl == NULL) {
        arcp__free(context);
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
        return NULL;
    }
    arcp_status status = arcp__tls_context_serve(ssl, err);
    if (status == ARCP_OK) {
        status = use_leaf(ca, host, ssl, err);
    }
    if (status != ARCP_OK) {
        SSL_CTX_free(ssl);
        arcp__free(context);
        return NULL;
    }
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
    context->is_server = true;
    context->ssl = ssl;
    return context;
}

/* The place of a host: its own, a free one, or that of the host that was not asked for longest. */
static leaf *place_of(arcp__tls_ca *ca, const char *host)
{
    leaf *oldest = &ca->leaves[0];
    for (size_t i = 0; i < ca->count; i++) {
        leaf *one = &ca->leaves[i];
        if (strcmp(one->host, host) == 0) {
            return one;
        }
        oldest = one->used < oldest->used ? one : oldest;
    }
    return ca->count < ARCP__TLS_CA_HOSTS_MAX ? &ca->leaves[ca->count++] : oldest;
}

const arcp__tls_context *arcp__tls_ca_serve(arcp__tls_ca *ca, const char *host, arcp_error *err)
{
    if (strlen(host) >= sizeof ca->leaves[0].host) {
        (void)arcp_error_set(err, ARCP_E_IO, "the name of a host is too long");
        return NULL;
    }
    leaf *place = place_of(ca, host);
    if (strcmp(place->host, host) != 0 || place->context == NULL) {
        arcp__tls_context_free(place->context);
        place->context = context_new(ca, host, err);
        (void)snprintf(place->host, sizeof place->host, "%s", host);
    }
    place->used = ++ca->uses;
    return place->context;
}
