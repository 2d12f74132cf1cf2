/* For implementers of a token verifier: whose token is this?
 *
 * A verifier gets a question and returns it with an answer, at once or later, so that it can ask
 * another service first. A runtime asks its verifiers one after the other until one of them
 * accepts; a token that none of them accepts is refused.
 *
 * A question belongs to the verifier from `ask` until arcp_token_question_answer, which
 * must be called exactly once for each: from inside `ask` or later, on any thread, even
 * after `free`. It takes effect on the loop, never inside the call. What becomes of it is
 * not the verifier's concern: when the peer has gone, or limits.hello_timeout_sec has
 * passed, the answer is thrown away.
 *
 * docs/protocol.md, Sessions; draft §6.1. */
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
    /* ARCP_OK; ARCP_E_UNAUTHENTICATED: not a token of ours; ARCP_E_INTERNAL_ERROR: the
     * answer is not known now, and the peer may try again later. Anything else refuses as
     * UNAUTHENTICATED. */
    arcp_status status;
    /* With ARCP_OK: 1 to ARCP_PRINCIPAL_BYTES_MAX bytes of UTF-8 without control characters;
     * anything else refuses. Copied. */
    arcp_span principal;
    bool is_anonymous; /* the principal was made for this session only */
    /* Of a refusal: why, for the operator's log. The peer is never told. No part of the
     * token may be in it. Copied; may be NULL. */
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

/* The token, as the peer sent it: any bytes of UTF-8, possibly none. A secret: it must not
 * be logged, and lives as long as the question. Any thread. */
ARCP_API arcp_span arcp_token_question_token(const arcp_token_question *question);

/* The wall clock when it was asked, in ns since 1970. Any thread. */
ARCP_API int64_t arcp_token_question_wall_ns(const arcp_token_question *question);

/* Gives the question back; it must not be used afterwards. Any thread, also after the
 * runtime is gone. An answer whose struct_size cannot be refuses. */
ARCP_API void arcp_token_question_answer(arcp_token_question *question,
                                         const arcp_token_answer *answer);

typedef struct arcp_token_verifier_ops {
    size_t struct_size;
    const char *name; /* a word for logs; static */
    /* Takes the question. On the loop's thread; must not block. Deny is the answer to
     * everything that goes wrong. */
    void (*ask)(arcp_token_verifier *verifier, arcp_token_question *question);
    /* There are no further questions. On the loop's thread. */
    void (*free)(arcp_token_verifier *verifier);
} arcp_token_verifier_ops;

/* Verifiers put theirs behind it. */
struct arcp_token_verifier {
    const arcp_token_verifier_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
