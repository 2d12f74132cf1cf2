/* A share: how much each of several owners has of one resource, and which has most. Changing an
 * amount costs as much as moving a timer. */
#ifndef ARCP_BASE_SHARE_H
#define ARCP_BASE_SHARE_H

#include "base/timer_heap.h"

/* Zero-initialised is empty. */
typedef struct arcp__share {
    uint64_t total;
    arcp__timer_heap order; /* the parts that are not 0 (share.c) */
} arcp__share;

void arcp__share_fini(arcp__share *share);
/* Sets what an owner has. `part` lives in the owner and is zero at first. False when out of memory;
 * nothing changed. */
ARCP_MUST_CHECK bool arcp__share_set(arcp__share *share, arcp__timer *part, uint64_t amount);
uint64_t arcp__share_of(const arcp__timer *part);
/* The part of the owner that has most; of equal ones the one that was set first. NULL: none has
 * any. */
const arcp__timer *arcp__share_most(const arcp__share *share);

#endif
