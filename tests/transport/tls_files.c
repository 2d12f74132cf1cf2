#include "transport/tls_files.h"

#include "support/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

tls_files test_tls_files;

typedef struct identity {
    EVP_PKEY *key;
    X509 *certificate;
} identity;

static void extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* `signer` NULL: self-signed, an authority. `names` NULL: not for a server. */
static identity identity_new(const char *name, const identity *signer, const char *names,
                             long serial, long valid_from, long valid_to)
{
    const identity id = {EVP_EC_gen("P-256"), X509_new()};
    assert_non_null(id.key);
    assert_non_null(id.certificate);
    X509_set_version(id.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(id.certificate), serial);
    X509_gmtime_adj(X509_getm_notBefore(id.certificate), valid_from);
    X509_gmtime_adj(X509_getm_notAfter(id.certificate), valid_to);
    X509_set_pubkey(id.certificate, id.key);
    X509_NAME *subject = X509_get_subject_name(id.certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509 *issuer = signer == NULL ? id.certificate : signer->certificate;
    X509_set_issuer_name(id.certificate, X509_get_subject_name(issuer));
    extend(id.certificate, issuer, NID_basic_constraints,
           signer == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (names != NULL) {
        extend(id.certificate, issuer, NID_subject_alt_name, names);
    }
    assert_true(X509_sign(id.certificate, signer == NULL ? id.key : signer->key, EVP_sha256()) > 0);
    return id;
}

static void identity_fini(identity *id)
{
    EVP_PKEY_free(id->key);
    X509_free(id->certificate);
}

static void write_certificate(const char *path, X509 *certificate)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    fclose(file);
}

static void write_key(const char *path, EVP_PKEY *key)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

#define DAY       86400L
#define OUR_NAMES "DNS:localhost,IP:127.0.0.1,IP:::1"

/* The authority, kept between make and renew. */
static identity authority;

static void write_server(const char *certificate, const char *key, const char *names, long serial,
                         long valid_to)
{
    identity server = identity_new("server", &authority, names, serial, -2 * DAY, valid_to);
    write_certificate(certificate, server.certificate);
    write_key(key, server.key);
    identity_fini(&server);
}

static void name_file(const tls_files *files, char *out, const char *name)
{
    snprintf(out, sizeof files->ca, "%s/%s", files->directory, name);
}

void tls_files_make(tls_files *files)
{
    memset(files, 0, sizeof *files);
    snprintf(files->directory, sizeof files->directory, "/tmp/arcp-tls-XXXXXX");
    assert_non_null(mkdtemp(files->directory));
    name_file(files, files->ca, "ca.pem");
    name_file(files, files->other_ca, "other-ca.pem");
    name_file(files, files->certificate, "server.pem");
    name_file(files, files->key, "server.key");
    name_file(files, files->wrong_name, "elsewhere.pem");
    name_file(files, files->wrong_name_key, "elsewhere.key");
    name_file(files, files->expired, "expired.pem");
    name_file(files, files->expired_key, "expired.key");
    authority = identity_new("test authority", NULL, NULL, 1, -3 * DAY, DAY);
    write_certificate(files->ca, authority.certificate);
    identity other = identity_new("other authority", NULL, NULL, 1, -3 * DAY, DAY);
    write_certificate(files->other_ca, other.certificate);
    identity_fini(&other);
    write_server(files->certificate, files->key, OUR_NAMES, 2, DAY);
    write_server(files->wrong_name, files->wrong_name_key, "DNS:elsewhere.example", 3, DAY);
    write_server(files->expired, files->expired_key, OUR_NAMES, 4, -DAY);
}

void tls_files_renew(tls_files *files, long serial)
{
    write_server(files->certificate, files->key, OUR_NAMES, serial, DAY);
}

void tls_files_remove(tls_files *files)
{
    unlink(files->ca);
    unlink(files->other_ca);
    unlink(files->certificate);
    unlink(files->key);
    unlink(files->wrong_name);
    unlink(files->wrong_name_key);
    unlink(files->expired);
    unlink(files->expired_key);
    assert_int_equal(rmdir(files->directory), 0);
    identity_fini(&authority);
}

int tls_files_setup(void **state)
{
    tls_files_make(&test_tls_files);
    return 0;
}

int tls_files_teardown(void **state)
{
    tls_files_remove(&test_tls_files);
    return 0;
}
