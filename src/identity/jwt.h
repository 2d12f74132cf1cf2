/* JSON Web Tokens in compact form: is it one of ours, and whose? No I/O, no clock. */
#ifndef ARCP_IDENTITY_JWT_H
#define ARCP_IDENTITY_JWT_H

#include <arcp/buf.h>

#include "identity/jwt_key.h"

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

/* On ARCP_OK appends the principal's name to `principal`. ARCP_E_UNAUTHENTICATED says in
 * `err` which part is wrong, for the operator only, and shows nothing of the token.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__jwt_check(const arcp__jwt_rules *rules, arcp_span token,
                                            int64_t now_wall_ns, arcp_buf *principal,
                                            arcp_error *err);

#endif
