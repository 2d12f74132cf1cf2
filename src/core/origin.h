/* What a principal was authenticated by, so that a later configuration can be asked whether it is
 * still valid: a configured token, or the rules that accepted a signed one. */
#ifndef ARCP_CORE_ORIGIN_H
#define ARCP_CORE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct arcp__origin {
    /* SHA-256 of the token or the rules; all zero: not known, so that nothing that stands for it
     * may outlive the verifiers of now. */
    uint8_t hash[32];
    int64_t expires_wall_ns; /* of a signed token; 0: never, or not known */
} arcp__origin;

/* The transport itself has given the principal (arcp_serve_options). No token has this hash. */
static inline arcp__origin arcp__origin_of_transport(void)
{
    arcp__origin origin = {.expires_wall_ns = 0};
    memset(origin.hash, 0xff, sizeof origin.hash);
    return origin;
}

static inline bool arcp__origin_equals(const arcp__origin *a, const arcp__origin *b)
{
    return memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

#endif
