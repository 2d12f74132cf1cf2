/* Where questions about tokens are put to the runtime's verifiers, and their answers come
 * in from whatever thread. A runtime has one; questions may outlive it. */
#ifndef ARCP_RUNTIME_TOKEN_DESK_H
#define ARCP_RUNTIME_TOKEN_DESK_H

#include <arcp/runtime.h>

typedef struct arcp__token_desk arcp__token_desk;

/* `questions_max`: open at the same time. NULL when out of memory. */
arcp__token_desk *arcp__token_desk_new(arcp_runtime *runtime, size_t questions_max);

/* Answers that come after this are thrown away; frees the verifiers. NULL is accepted. */
void arcp__token_desk_close(arcp__token_desk *desk);

/* Takes the verifiers over, also on failure. Those that were there before are freed when
 * their last question is answered. */
ARCP_MUST_CHECK arcp_status arcp__token_desk_set(arcp__token_desk *desk,
                                                 arcp_token_verifier *const *verifiers,
                                                 size_t count, arcp_error *err);

/* Asks about a token; the engine hears of the answer as `auth_id`. `peer` is for the log. */
void arcp__token_desk_ask(arcp__token_desk *desk, uint64_t auth_id, arcp_span token,
                          const char *peer);

/* Hands the answers that have come to the engine, or asks the next verifier. True when
 * there were any. The loop's thread. */
bool arcp__token_desk_take(arcp__token_desk *desk);

/* A question without a runtime, for tests of verifiers and the fuzzer: `answered` gets the
 * answer from inside arcp_token_question_answer. NULL when out of memory. */
arcp_token_question *
arcp__token_question_new(arcp_span token, int64_t wall_ns,
                         void (*answered)(void *user, const arcp_token_answer *answer), void *user);

#endif
