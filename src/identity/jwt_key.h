/* A key of one algorithm, and whether a signature is its (RFC 7515, RFC 7518). */
#ifndef ARCP_IDENTITY_JWT_KEY_H
#define ARCP_IDENTITY_JWT_KEY_H

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/token.h>

typedef struct arcp__jwt_key arcp__jwt_key;

/* "HS256": as it stands in a token's header. */
const char *arcp__jwt_algorithm_name(arcp_jwt_algorithm algorithm);

/* HS256: the secret; else a public key or certificate in PEM. ARCP_E_USAGE says what is
 * wrong with it, without showing any of it. */
ARCP_MUST_CHECK arcp_status arcp__jwt_key_new(arcp_jwt_algorithm algorithm, arcp_span bytes,
                                              arcp__jwt_key **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__jwt_key_read(arcp_jwt_algorithm algorithm, const char *path,
                                               arcp__jwt_key **out, arcp_error *err);
void arcp__jwt_key_free(arcp__jwt_key *key); /* NULL is accepted */

arcp_jwt_algorithm arcp__jwt_key_algorithm(const arcp__jwt_key *key);

/* Whether `signature`, as a token has it, was made over `text` by this key's owner. False
 * for everything that goes wrong. */
bool arcp__jwt_key_verify(const arcp__jwt_key *key, arcp_span text, arcp_span signature);

#endif
