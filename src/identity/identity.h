/* Whose token is this? The authenticator puts the question to the verifiers (arcp/token.h) that it
 * was given, one after the other, and takes their answers from whatever thread. The one header of
 * this folder for others. */
#ifndef ARCP_IDENTITY_IDENTITY_H
#define ARCP_IDENTITY_IDENTITY_H

#include <arcp/token.h>

/* ---- the authenticator ---- */

typedef struct arcp__authenticator arcp__authenticator;

/* Who asks. */
typedef struct arcp__authenticator_owner {
    /* The answer to a question. On the loop's thread, from inside ask or take. */
    void (*answered)(void *user, uint64_t auth_id, arcp_status status, arcp_span principal,
                     bool is_anonymous);
    /* Before `answered`, of a token that a verifier refused or that could not be asked about: `why`
     * is for the operator. `is_trouble`: it is not known whether it is good. */
    void (*refused)(void *user, const char *peer, const char *why, bool is_trouble);
    /* An answer waits for take. Any thread, not after close. */
    void (*wake)(void *user);
    void *user;
} arcp__authenticator_owner;

/* `questions_max`: open at the same time. NULL when out of memory. Questions may outlive it. */
arcp__authenticator *arcp__authenticator_new(const arcp__authenticator_owner *owner,
                                             size_t questions_max);

/* Answers that come after this are thrown away; frees the verifiers. NULL is accepted. */
void arcp__authenticator_close(arcp__authenticator *authenticator);

/* Takes the verifiers over, also on failure. Those that were there before are freed when
 * their last question is answered. */
ARCP_MUST_CHECK arcp_status arcp__authenticator_set(arcp__authenticator *authenticator,
                                                    arcp_token_verifier *const *verifiers,
                                                    size_t count, arcp_error *err);

/* Asks about a token at a time of the wall clock. `peer` is for the log. */
void arcp__authenticator_ask(arcp__authenticator *authenticator, uint64_t auth_id, arcp_span token,
                             const char *peer, int64_t wall_ns);

/* Tells the owner the answers that have come, or asks the next verifier. True when
 * there were any. The loop's thread. */
bool arcp__authenticator_take(arcp__authenticator *authenticator);

/* A question without an authenticator, for tests of verifiers and the fuzzer: `answered` gets the
 * answer from inside arcp_token_question_answer. NULL when out of memory. */
arcp_token_question *
arcp__token_question_new(arcp_span token, int64_t wall_ns,
                         void (*answered)(void *user, const arcp_token_answer *answer), void *user);

/* ---- what an operator is warned of about tokens that are known beforehand ---- */

typedef struct arcp__token_facts {
    size_t token_bytes_min;    /* of the shortest token; SIZE_MAX: there is none */
    const char *principal;     /* of the first token; lives with its verifier; NULL: none */
    bool has_other_principals; /* than that one */
} arcp__token_facts;

/* Adds what a verifier of arcp_token_verifier_new_table or _new_file has; nothing for another. */
void arcp__token_table_look(const arcp_token_verifier *verifier, arcp__token_facts *facts);

#endif
