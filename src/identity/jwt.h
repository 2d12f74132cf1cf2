/* Verifies JSON Web Tokens in compact form and reads their principal. No clock. */
#ifndef ARCP_IDENTITY_JWT_H
#define ARCP_IDENTITY_JWT_H

#include <arcp/buf.h>
#include <arcp/token.h>

/* A key for one algorithm, to verify signatures (RFC 7515, RFC 7518). */
typedef struct arcp__jwt_key arcp__jwt_key;

/* `bytes`: the secret for HS256, else a public key or certificate in PEM. ARCP_E_USAGE says what is
 * wrong with the key, without showing any of it. */
ARCP_MUST_CHECK arcp_status arcp__jwt_key_new(arcp_jwt_algorithm algorithm, arcp_span bytes,
                                              arcp__jwt_key **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__jwt_key_read(arcp_jwt_algorithm algorithm, const char *path,
                                               arcp__jwt_key **out, arcp_error *err);
void arcp__jwt_key_free(arcp__jwt_key *key); /* NULL is accepted */

/* The algorithm as in a token's header, for example "HS256". */
const char *arcp__jwt_key_algorithm(const arcp__jwt_key *key);

/* The SHA-256 of the bytes that the key was made from. */
const uint8_t *arcp__jwt_key_hash(const arcp__jwt_key *key);

/* Whether `signature`, in the form of a token, is a valid signature of `text` by this key. False
 * for any error. */
bool arcp__jwt_key_verify(const arcp__jwt_key *key, arcp_span text, arcp_span signature);

/* Strings are owned; see arcp_jwt_options. */
typedef struct arcp__jwt_rules {
    arcp__jwt_key *key;
    char *key_id;
    char *issuer;
    char *audience;
    char *principal_claim;
    uint64_t leeway_sec;
} arcp__jwt_rules;

ARCP_MUST_CHECK arcp_status arcp__jwt_rules_init(arcp__jwt_rules *rules,
                                                 const arcp_jwt_options *options, arcp_error *err);
void arcp__jwt_rules_fini(arcp__jwt_rules *rules);

/* Of a valid token. */
typedef struct arcp__jwt_identity {
    arcp_buf principal;
    arcp_role role;
    int64_t expires_wall_ns; /* with the leeway; 0: beyond what can be expressed */
} arcp__jwt_identity;

/* On ARCP_OK appends the principal's name to out->principal and sets the role.
 * ARCP_E_UNAUTHENTICATED says in `err` which part is wrong, for the operator only, and shows
 * nothing of the token. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__jwt_check(const arcp__jwt_rules *rules, arcp_span token,
                                            int64_t now_wall_ns, arcp__jwt_identity *out,
                                            arcp_error *err);

#endif
