/* Shares: of one thing that is bounded over all principals, how much each of them has, and who has
 * most. Adding and taking cost as much as moving a timer, and need no memory. */
#ifndef ARCP_ENGINE_SHARE_H
#define ARCP_ENGINE_SHARE_H

#include "base/timer_heap.h"

typedef struct arcp__principal arcp__principal;

/* What is shared among principals. */
typedef enum arcp__kept_what {
    ARCP__KEPT_JOBS,   /* that have ended */
    ARCP__KEPT_BYTES,  /* of their records and of what they were accepted with */
    ARCP__KEPT_LEASES, /* of the latter alone */
    ARCP__KEPT_COUNT
} arcp__kept_what;

typedef struct arcp__share {
    uint64_t total;
    arcp__timer_heap order; /* of the principals that have any: see share.c */
    arcp__kept_what what;
} arcp__share;

/* The principal's place in all of them: it has room there until it leaves. False when out of
 * memory. */
ARCP_MUST_CHECK bool arcp__shares_join(arcp__share shares[ARCP__KEPT_COUNT],
                                       arcp__principal *principal);
void arcp__shares_leave(arcp__share shares[ARCP__KEPT_COUNT], arcp__principal *principal);
void arcp__shares_init(arcp__share shares[ARCP__KEPT_COUNT]);
void arcp__shares_fini(arcp__share shares[ARCP__KEPT_COUNT]);

void arcp__share_add(arcp__share *share, arcp__principal *principal, uint64_t amount);
void arcp__share_take(arcp__share *share, arcp__principal *principal, uint64_t amount);
uint64_t arcp__share_of(const arcp__share *share, const arcp__principal *principal);
/* The principal that has most; of several the one whose amount changed first. NULL: none has
 * any. */
arcp__principal *arcp__share_most(const arcp__share *share);

#endif
