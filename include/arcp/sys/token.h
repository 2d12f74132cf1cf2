/* For implementers of a token verifier, which finds the principal of a token.
 *
 * A verifier gets a question and returns it with an answer, at once or later, so that it may query
 * another service first. A runtime calls its verifiers one after the other until one of them
 * accepts; a token that none accepts is refused.
 *
 * A question belongs to the verifier from `ask` until arcp_token_question_answer, which must be
 * called exactly once for each: from inside `ask` or later, on any thread, even after `free`. It
 * takes effect on the loop, never inside the call. The answer is discarded if the peer has
 * disconnected, or limits.hello_timeout_sec has passed.
 *
 * examples/custom-auth has one; draft §6.1. */
#ifndef ARCP_SYS_TOKEN_H
#define ARCP_SYS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ARCP_PRINCIPAL_BYTES_MAX 256u

typedef struct arcp_token_verifier arcp_token_verifier;
typedef struct arcp_token_question arcp_token_question;

typedef struct arcp_token_answer {
    size_t struct_size;
    /* ARCP_OK; ARCP_E_UNAUTHENTICATED: the token is not valid; ARCP_E_INTERNAL_ERROR: it cannot be
     * verified now, and the peer may retry later. Any other status refuses with UNAUTHENTICATED. */
    arcp_status status;
    /* With ARCP_OK: 1 to ARCP_PRINCIPAL_BYTES_MAX bytes of UTF-8 without control characters;
     * anything else refuses. Copied. */
    arcp_span principal;
    bool is_anonymous; /* the principal is for this session only */
    /* The reason of a refusal, for the operator's log; it is never sent to the peer. It must not
     * have any part of the token. Copied; may be NULL. */
    const char *why;
} arcp_token_answer;

/* Refuses. */
static inline arcp_token_answer arcp_token_answer_init(void)
{
    arcp_token_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.struct_size = sizeof answer;
    answer.status = ARCP_E_UNAUTHENTICATED;
    return answer;
}

/* The token as the peer sent it: any UTF-8, possibly empty. It is a secret and must not be logged;
 * it lives as long as the question. Any thread. */
ARCP_API arcp_span arcp_token_question_token(const arcp_token_question *question);

/* The wall clock when the question was made, in ns since 1970. Any thread. */
ARCP_API int64_t arcp_token_question_wall_ns(const arcp_token_question *question);

/* Returns the question; it must not be used afterwards. Any thread, also after the runtime was
 * freed. An answer whose struct_size is not valid refuses. */
ARCP_API void arcp_token_question_answer(arcp_token_question *question,
                                         const arcp_token_answer *answer);

typedef struct arcp_token_verifier_ops {
    size_t struct_size;
    const char *name; /* a word for logs; static */
    /* Takes the question. On the loop's thread; must not block. The answer to every failure must be
     * a refusal. */
    void (*ask)(arcp_token_verifier *verifier, arcp_token_question *question);
    /* No more questions follow. On the loop's thread. */
    void (*free)(arcp_token_verifier *verifier);
} arcp_token_verifier_ops;

/* A verifier's own struct begins with this one. */
struct arcp_token_verifier {
    const arcp_token_verifier_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
