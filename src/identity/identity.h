/* Authentication: the authenticator passes a token to the configured verifiers (arcp/token.h), one
 * after the other, and takes their responses from any thread. The only header of this folder for
 * others. */
#ifndef ARCP_IDENTITY_IDENTITY_H
#define ARCP_IDENTITY_IDENTITY_H

#include <arcp/token.h>

#include "core/origin.h"

/* ---- the authenticator ---- */

typedef struct arcp__authenticator arcp__authenticator;

/* Whose token it is; empty unless the token is valid. */
typedef struct arcp__identity {
    arcp_span principal;
    bool is_anonymous;
    arcp_role role;
    arcp__origin origin;
} arcp__identity;

/* The owner of an authenticator. */
typedef struct arcp__authenticator_owner {
    /* The result for a token. Called on the loop's thread, from inside verify or take. */
    void (*answered)(void *user, uint64_t auth_id, arcp_status status,
                     const arcp__identity *identity);
    /* Called before `answered` for a token that was refused or could not be verified: `why` is for
     * the operator. `is_trouble`: it is not known whether the token is valid. */
    void (*refused)(void *user, const char *peer, const char *why, bool is_trouble);
    /* A response is ready for take. Called on any thread, not after close. */
    void (*wake)(void *user);
    void *user;
} arcp__authenticator_owner;

/* `requests_max`: requests that may be open at the same time. NULL when out of memory. Requests
 * may outlive the authenticator. */
arcp__authenticator *arcp__authenticator_new(const arcp__authenticator_owner *owner,
                                             size_t requests_max);

/* Closes the authenticator and frees the verifiers; later responses are ignored. NULL is accepted.
 */
void arcp__authenticator_close(arcp__authenticator *authenticator);

/* Takes over the verifiers, also when out of memory, but not with ARCP_E_USAGE. Previous verifiers
 * are freed when their last request is answered. */
ARCP_MUST_CHECK arcp_status arcp__authenticator_set(arcp__authenticator *authenticator,
                                                    arcp_token_verifier *const *verifiers,
                                                    size_t count, arcp_error *err);

/* Whether one of the verifiers would still accept what has this origin, for this principal and
 * role. Those of the embedding program cannot be asked. */
bool arcp__authenticator_knows(const arcp__authenticator *authenticator, const arcp__origin *origin,
                               const char *principal, arcp_role role);

/* Starts to verify a token, as of `wall_ns`. `peer` is for the log. */
void arcp__authenticator_verify(arcp__authenticator *authenticator, uint64_t auth_id,
                                arcp_span token, const char *peer, int64_t wall_ns);

/* Handles the responses that have come: reports results to the owner, or passes tokens to the next
 * verifier. True when there were any. On the loop's thread. */
bool arcp__authenticator_take(arcp__authenticator *authenticator);

/* A request without an authenticator, for tests of verifiers: `answered` is called from inside
 * arcp_token_request_respond. NULL when out of memory. */
arcp_token_request *arcp__token_request_new(arcp_span token, int64_t wall_ns,
                                            void (*answered)(void *user,
                                                             const arcp_token_response *response),
                                            void *user);

/* ---- configured tokens ---- */

/* The role with this name: viewer or operator; ARCP_ROLE_NONE for all others. */
arcp_role arcp__role_from_name(arcp_span name);

/* Cuts " role=ROLE" off the end of TOKEN=PRINCIPAL, if it is there. False: ROLE is neither viewer
 * nor operator. */
ARCP_MUST_CHECK bool arcp__token_take_role(arcp_span *line, arcp_role *role);

typedef struct arcp__token_row {
    const char *token, *principal; /* not empty */
    arcp_role role;
} arcp__token_row;

/* arcp_token_verifier_new_table, with roles. */
ARCP_MUST_CHECK arcp_status arcp__token_table_new(const arcp__token_row *rows, size_t count,
                                                  arcp_token_verifier **out, arcp_error *err);

/* ---- tokens of workers ---- */

typedef struct arcp__worker_token_row {
    const char *token, *name;  /* not empty; name is a glob */
    const char *const *agents; /* globs; none: all */
    size_t agent_count;
    uint64_t max_jobs; /* of one worker; 0: as many as it takes */
} arcp__worker_token_row;

typedef struct arcp__worker_token {
    uint8_t hash[32]; /* SHA-256 */
    char *name, **agents;
    size_t agent_count;
    uint64_t max_jobs;
} arcp__worker_token;

typedef struct arcp__worker_tokens arcp__worker_tokens;

/* Copies the rows. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_tokens_new(const arcp__worker_token_row *rows,
                                                    size_t count, arcp__worker_tokens **out,
                                                    arcp_error *err);
void arcp__worker_tokens_free(arcp__worker_tokens *tokens); /* NULL is accepted */
/* The row of a token, or of its hash, which lives as long as the tokens; NULL: there is none. The
 * time does not depend on which bytes differ. NULL is accepted for no tokens. */
const arcp__worker_token *arcp__worker_tokens_find(const arcp__worker_tokens *tokens,
                                                   arcp_span token);
const arcp__worker_token *arcp__worker_tokens_by_hash(const arcp__worker_tokens *tokens,
                                                      const uint8_t hash[32]);

/* ---- origins ---- */

/* Of a token that the verifier has accepted; unknown for other verifiers than these. */
bool arcp__token_table_origin(const arcp_token_verifier *verifier, arcp_span token,
                              uint8_t out[32]);
bool arcp__token_table_knows(const arcp_token_verifier *verifier, const uint8_t hash[32],
                             const char *principal, arcp_role role);
/* The rules of a verifier of JSON Web Tokens: their hash, false for other verifiers. */
bool arcp__jwt_origin(const arcp_token_verifier *verifier, uint8_t out[32]);

/* ---- facts about configured tokens, for warnings to the operator ---- */

typedef struct arcp__token_facts {
    size_t token_bytes_min;    /* of the shortest token; SIZE_MAX: there is none */
    const char *principal;     /* of the first token; lives as long as its verifier; NULL: none */
    bool has_other_principals; /* other than `principal` */
} arcp__token_facts;

/* Adds the facts of a verifier from arcp_token_verifier_new_table or _new_file; nothing for other
 * verifiers. */
void arcp__token_table_look(const arcp_token_verifier *verifier, arcp__token_facts *facts);

#endif
