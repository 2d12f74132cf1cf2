/* The algorithm belongs to the key and is never taken from a token, so a public key cannot be used
 * as a secret, and "none" is never accepted (RFC 8725 §3.1, §3.2). */
#include "identity/jwt.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "file/private_file.h"

#define SECRET_BYTES_MIN   32u /* RFC 7518 §3.2: as long as the hash */
#define RSA_BITS_MIN       2048
#define KEY_FILE_BYTES_MAX 65536u
#define P256_BYTES         32u

struct arcp__jwt_key {
    arcp_jwt_algorithm algorithm;
    arcp_secret *secret; /* HS256 */
    EVP_PKEY *public_key;
    uint8_t hash[SHA256_DIGEST_LENGTH];
};

static const char *const names[] = {"HS256", "RS256", "ES256"};
#define NAME_COUNT (sizeof names / sizeof names[0])

void arcp__jwt_key_free(arcp__jwt_key *key)
{
    if (key != NULL) {
        arcp_secret_free(key->secret);
        EVP_PKEY_free(key->public_key);
        arcp__free(key);
    }
}

const char *arcp__jwt_key_algorithm(const arcp__jwt_key *key)
{
    return names[key->algorithm];
}

const uint8_t *arcp__jwt_key_hash(const arcp__jwt_key *key)
{
    return key->hash;
}

/* ---- making a key ---- */

static arcp_status take_secret(arcp__jwt_key *key, arcp_span bytes, arcp_error *err)
{
    if (bytes.size != 0 && memmem(bytes.data, bytes.size, "-----BEGIN", 10) != NULL) {
        return arcp_error_set(
            err, ARCP_E_USAGE,
            "HS256 needs a shared secret, but this is a PEM file: for a public key use "
            "RS256 or ES256");
    }
    if (bytes.size < SECRET_BYTES_MIN) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "HS256 needs a secret of at least %u bytes, this one has %zu",
                              SECRET_BYTES_MIN, bytes.size);
    }
    key->secret = arcp_secret_new(bytes);
    return key->secret == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* Reads a public key, or that of a certificate; never a private key: a verifier must not be able to
 * sign. */
static EVP_PKEY *read_public(arcp_span pem)
{
    BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.size);
    EVP_PKEY *found = bio == NULL ? NULL : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    BIO_free(bio);
    if (found == NULL) {
        bio = BIO_new_mem_buf(pem.data, (int)pem.size);
        X509 *certificate = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, NULL, NULL);
        found = certificate == NULL ? NULL : X509_get_pubkey(certificate);
        X509_free(certificate);
        BIO_free(bio);
    }
    ERR_clear_error();
    return found;
}

static arcp_status take_public(arcp__jwt_key *key, arcp_span bytes, arcp_error *err)
{
    if (memmem(bytes.data, bytes.size, "PRIVATE KEY-----", 16) != NULL) {
        return arcp_error_set(
            err, ARCP_E_USAGE,
            "this file has a private key, but a verifier must not be able to sign: use "
            "the public key (openssl pkey -pubout)");
    }
    EVP_PKEY *found = key->public_key = read_public(bytes);
    if (found == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s needs a public key or certificate in PEM, which this is not",
                              names[key->algorithm]);
    }
    if (key->algorithm == ARCP_JWT_RS256) {
        if (EVP_PKEY_get_base_id(found) != EVP_PKEY_RSA) {
            return arcp_error_set(err, ARCP_E_USAGE, "RS256 needs an RSA key, which this is not");
        }
        if (EVP_PKEY_get_bits(found) < RSA_BITS_MIN) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "RS256 needs an RSA key of at least %d bits, this one has %d",
                                  RSA_BITS_MIN, EVP_PKEY_get_bits(found));
        }
        return ARCP_OK;
    }
    char group[64] = {0};
    if (EVP_PKEY_get_base_id(found) != EVP_PKEY_EC ||
        EVP_PKEY_get_group_name(found, group, sizeof group, NULL) != 1 ||
        strcmp(group, "prime256v1") != 0) {
        ERR_clear_error();
        return arcp_error_set(err, ARCP_E_USAGE,
                              "ES256 needs a key on the curve P-256, which this is not");
    }
    return ARCP_OK;
}

arcp_status arcp__jwt_key_new(arcp_jwt_algorithm algorithm, arcp_span bytes, arcp__jwt_key **out,
                              arcp_error *err)
{
    if ((unsigned)algorithm >= NAME_COUNT) {
        return arcp_error_set(err, ARCP_E_USAGE, "the algorithm must be HS256, RS256 or ES256");
    }
    if (bytes.size > KEY_FILE_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "the key has more than %u bytes",
                              KEY_FILE_BYTES_MAX);
    }
    arcp__jwt_key *key = arcp__alloc(sizeof *key);
    if (key == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    key->algorithm = algorithm;
    (void)SHA256((const unsigned char *)bytes.data, bytes.size, key->hash);
    const arcp_status status =
        algorithm == ARCP_JWT_HS256 ? take_secret(key, bytes, err) : take_public(key, bytes, err);
    if (status != ARCP_OK) {
        arcp__jwt_key_free(key);
        return status;
    }
    *out = key;
    return ARCP_OK;
}

/* ---- from a file ---- */

arcp_status arcp__jwt_key_read(arcp_jwt_algorithm algorithm, const char *path, arcp__jwt_key **out,
                               arcp_error *err)
{
    const arcp__private_file file = {.what = "key file",
                                     .path = path,
                                     .bytes_max = KEY_FILE_BYTES_MAX + 1,
                                     .closed_to = algorithm == ARCP_JWT_HS256 ? 07 : 0,
                                     .may_be_link = true};
    arcp_error why = {0};
    arcp_buf bytes = arcp_buf_secret_init();
    arcp_status status = arcp__private_file_read(&file, &bytes, &why);
    if (status == ARCP_E_NO_MEMORY) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (status != ARCP_OK) {
        status = arcp_error_set(err, ARCP_E_USAGE, "%s", why.message);
    } else {
        arcp_span key = arcp_buf_span(&bytes); /* without its final line feed */
        key.size -= arcp_span_ends_with(key, ARCP_SPAN_LITERAL("\r\n")) ? 2
                    : arcp_span_ends_with(key, ARCP_SPAN_LITERAL("\n")) ? 1
                                                                        : 0;
        status = arcp__jwt_key_new(algorithm, key, out, &why);
        if (status != ARCP_OK) {
            status = arcp_error_set(err, status, "key file %s: %s", path, why.message);
        }
    }
    arcp_buf_fini(&bytes);
    return status;
}

/* ---- signatures ---- */

static bool verify_digest(EVP_PKEY *public_key, arcp_span text, const unsigned char *signature,
                          size_t size)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool is_right =
        context != NULL &&
        EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, public_key) == 1 &&
        EVP_DigestVerify(context, signature, size, (const unsigned char *)text.data, text.size) ==
            1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return is_right;
}

/* A token has r and s, 32 bytes each (RFC 7518 §3.4); OpenSSL wants them in DER. */
static bool verify_ecdsa(EVP_PKEY *public_key, arcp_span text, arcp_span signature)
{
    if (signature.size != 2 * (size_t)P256_BYTES) {
        return false;
    }
    const unsigned char *bytes = (const unsigned char *)signature.data;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes, P256_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(bytes + P256_BYTES, P256_BYTES, NULL);
    if (pair == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(pair, r, s) != 1) {
        ECDSA_SIG_free(pair);
        BN_free(r);
        BN_free(s);
        return false;
    }
    unsigned char *der = NULL;
    const int size = i2d_ECDSA_SIG(pair, &der);
    ECDSA_SIG_free(pair);
    const bool is_right = size > 0 && verify_digest(public_key, text, der, (size_t)size);
    OPENSSL_free(der);
    return is_right;
}

bool arcp__jwt_key_verify(const arcp__jwt_key *key, arcp_span text, arcp_span signature)
{
    if (key->algorithm == ARCP_JWT_RS256) {
        return verify_digest(key->public_key, text, (const unsigned char *)signature.data,
                             signature.size);
    }
    if (key->algorithm == ARCP_JWT_ES256) {
        return verify_ecdsa(key->public_key, text, signature);
    }
    unsigned char mac[SHA256_DIGEST_LENGTH];
    unsigned size = 0;
    const arcp_span secret = arcp_secret_reveal(key->secret);
    if (HMAC(EVP_sha256(), secret.data, (int)secret.size, (const unsigned char *)text.data,
             text.size, mac, &size) == NULL) {
        ERR_clear_error();
        return false;
    }
    const bool is_same =
        arcp_bytes_equal_constant_time(arcp_span_make((const char *)mac, size), signature);
    arcp_wipe(mac, sizeof mac);
    return is_same;
}
