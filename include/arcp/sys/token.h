/* For implementers of a token verifier, which finds the principal of a token.
 *
 * A verifier gets a request and responds at once or later, so that it may query another service
 * first. A runtime calls its verifiers one after the other until one of them accepts; a token that
 * none accepts is refused.
 *
 * A request belongs to the verifier from `verify` until arcp_token_request_respond, which must be
 * called exactly once for each: from inside `verify` or later, on any thread, even after `free`. It
 * takes effect on the loop, never inside the call. The response is discarded if the peer has
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
#include <arcp/role.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ARCP_PRINCIPAL_BYTES_MAX 256u

typedef struct arcp_token_verifier arcp_token_verifier;
typedef struct arcp_token_request arcp_token_request;

typedef struct arcp_token_response {
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
    /* Of the session, until it is resumed with another response. Any other value refuses. */
    arcp_role role;
    /* When the token expires, in ns since 1970; 0: never, or not known. A key that a browser got
     * for the token ends then. An open session goes on. */
    int64_t expires_wall_ns;
} arcp_token_response;

/* Refuses. */
static inline arcp_token_response arcp_token_response_init(void)
{
    arcp_token_response response;
    memset(&response, 0, sizeof response);
    response.struct_size = sizeof response;
    response.status = ARCP_E_UNAUTHENTICATED;
    return response;
}

/* The token as the peer sent it: any UTF-8, possibly empty. It is a secret and must not be logged;
 * it lives as long as the request. Any thread. */
ARCP_API arcp_span arcp_token_request_token(const arcp_token_request *request);

/* The wall clock when the request was made, in ns since 1970. Any thread. */
ARCP_API int64_t arcp_token_request_wall_ns(const arcp_token_request *request);

/* Ends the request; it must not be used afterwards. Copies the response. Any thread, also after the
 * runtime was freed. A response whose struct_size is not valid refuses. */
ARCP_API void arcp_token_request_respond(arcp_token_request *request,
                                         const arcp_token_response *response);

typedef struct arcp_token_verifier_ops {
    size_t struct_size;
    const char *name; /* a word for logs; static */
    /* Takes the request. On the loop's thread; must not block. The response to every failure must
     * be a refusal. */
    void (*verify)(arcp_token_verifier *verifier, arcp_token_request *request);
    /* No more requests follow. On the loop's thread. */
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
