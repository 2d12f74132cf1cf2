#include "support/jwt_maker.h"

#include "support/check.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

char *jwt_base64url(const void *bytes, size_t size)
{
    char *text = malloc(4 * ((size + 2) / 3) + 1);
    assert_non_null(text);
    int length = EVP_EncodeBlock((unsigned char *)text, bytes, (int)size);
    while (length > 0 && text[length - 1] == '=') {
        length--;
    }
    text[length] = '\0';
    for (char *byte = text; *byte != '\0'; byte++) {
        if (*byte == '+') {
            *byte = '-';
        } else if (*byte == '/') {
            *byte = '_';
        }
    }
    return text;
}

EVP_PKEY *jwt_rsa_key(unsigned bits)
{
    EVP_PKEY *key = EVP_RSA_gen(bits);
    assert_non_null(key);
    return key;
}

EVP_PKEY *jwt_ec_key(const char *curve)
{
    EVP_PKEY *key = EVP_EC_gen(curve);
    assert_non_null(key);
    return key;
}

static char *take_bio(BIO *bio)
{
    char *data = NULL;
    const long size = BIO_get_mem_data(bio, &data);
    char *text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    memcpy(text, data, (size_t)size);
    BIO_free(bio);
    return text;
}

char *jwt_public_pem(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PUBKEY(bio, key), 1);
    return take_bio(bio);
}

char *jwt_private_pem(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    return take_bio(bio);
}

char *jwt_certificate_pem(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    BIO *bio = BIO_new(BIO_s_mem());
    assert_non_null(certificate);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)"issuer", -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio, certificate), 1);
    X509_free(certificate);
    return take_bio(bio);
}

char *jwt_sign_hs256(const char *text, const char *secret, size_t secret_size)
{
    unsigned char mac[32];
    unsigned size = 0;
    assert_non_null(HMAC(EVP_sha256(), secret, (int)secret_size, (const unsigned char *)text,
                         strlen(text), mac, &size));
    return jwt_base64url(mac, size);
}

static size_t sign(const char *text, EVP_PKEY *key, unsigned char *out, size_t room)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t size = room;
    assert_int_equal(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestSign(context, out, &size, (const unsigned char *)text, strlen(text)),
                     1);
    EVP_MD_CTX_free(context);
    return size;
}

char *jwt_sign_rs256(const char *text, EVP_PKEY *key)
{
    unsigned char signature[1024];
    return jwt_base64url(signature, sign(text, key, signature, sizeof signature));
}

char *jwt_sign_es256(const char *text, EVP_PKEY *key, bool as_der)
{
    unsigned char der[256];
    unsigned char raw[64];
    const size_t size = sign(text, key, der, sizeof der);
    if (as_der) {
        return jwt_base64url(der, size);
    }
    const unsigned char *next = der;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &next, (long)size);
    assert_non_null(pair);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32), 32);
    ECDSA_SIG_free(pair);
    return jwt_base64url(raw, sizeof raw);
}

char *jwt_text(const char *header, const char *claims)
{
    char *first = jwt_base64url(header, strlen(header));
    char *second = jwt_base64url(claims, strlen(claims));
    char *text = malloc(strlen(first) + strlen(second) + 2);
    assert_non_null(text);
    (void)sprintf(text, "%s.%s", first, second);
    free(first);
    free(second);
    return text;
}

char *jwt_join(char *text, char *signature)
{
    char *token = malloc(strlen(text) + strlen(signature) + 2);
    assert_non_null(token);
    (void)sprintf(token, "%s.%s", text, signature);
    free(text);
    free(signature);
    return token;
}

char *jwt_hs256(const char *claims)
{
    char *text = jwt_text("{\"alg\":\"HS256\"}", claims);
    return jwt_join(text, jwt_sign_hs256(text, JWT_SECRET, strlen(JWT_SECRET)));
}
