/* Tokens and keys for tests, made with OpenSSL alone, without code of this library. */
#ifndef ARCP_TESTS_JWT_MAKER_H
#define ARCP_TESTS_JWT_MAKER_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>

#include <arcp/token.h>

#define JWT_SECRET "0123456789abcdef0123456789abcdef" /* 32 bytes */

/* Strings are the caller's: free(). */
char *jwt_base64url(const void *bytes, size_t size);
EVP_PKEY *jwt_rsa_key(unsigned bits);
EVP_PKEY *jwt_ec_key(const char *curve);
char *jwt_public_pem(EVP_PKEY *key);
char *jwt_private_pem(EVP_PKEY *key);
char *jwt_certificate_pem(EVP_PKEY *key);

/* Signatures over text, in their base64url form. */
char *jwt_sign_hs256(const char *text, const char *secret, size_t secret_size);
char *jwt_sign_rs256(const char *text, EVP_PKEY *key);
/* r || s of 32 bytes each, as tokens have it, or OpenSSL's DER. */
char *jwt_sign_es256(const char *text, EVP_PKEY *key, bool as_der);

/* header.claims, encoded; then with the point and a signature (freed here). */
char *jwt_text(const char *header, const char *claims);
char *jwt_join(char *text, char *signature);

/* {"alg":"HS256"} and the claims, signed with JWT_SECRET. */
char *jwt_hs256(const char *claims);

#endif
