/* A share: of one thing that has several owners, how much each of them has, and who has most.
 * Changing an amount costs as much as moving a timer. */
#ifndef ARCP_BASE_SHARE_H
#define ARCP_BASE_SHARE_H

#include "base/timer_heap.h"

/* Zero-initialised is empty. */
typedef struct arcp__share {
    uint64_t total;
    arcp__timer_heap order; /* of the parts that are not 0: see share.c */
} arcp__share;

void arcp__share_fini(arcp__share *share);
/* `part` is what the owner has, which stands in the owner; zero at first. False when out of memory:
 * nothing happened. */
ARCP_MUST_CHECK bool arcp__share_set(arcp__share *share, arcp__timer *part, uint64_t amount);
uint64_t arcp__share_of(const arcp__timer *part);
/* The part of the owner that has most; of several the one that changed first. NULL: none has any.
 */
const arcp__timer *arcp__share_most(const arcp__share *share);

#endif
