/* The work that the leases of one request may cause, in narrowing by policies, subset checks and
 * delegation together.
 *
 * Work is counted in steps instead of time, so that the same request gets the same result on every
 * machine. Each question about patterns has its own bound (glob_subset.h), but one request can
 * cause thousands of questions: all of them take steps from one arcp__lease_work. One thread at a
 * time. */
#ifndef ARCP_CORE_LEASE_WORK_H
#define ARCP_CORE_LEASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/span.h>

/* A step is the check of one word of states, the comparison of two patterns, or the like: 3 to 15
 * nanoseconds. Narrowing a thousand ordinary patterns by several ceilings takes up to 500 000. */
typedef struct arcp__lease_work {
    uint64_t left; /* steps */
} arcp__lease_work;

/* Takes steps; false when fewer were left, and then all are gone. NULL: unbounded. */
static inline bool arcp__lease_work_take(arcp__lease_work *work, uint64_t steps)
{
    if (work == NULL) {
        return true;
    }
    const bool is_enough = steps <= work->left;
    work->left = is_enough ? work->left - steps : 0;
    return is_enough;
}

/* The steps for comparing the bytes of one pattern with those of `count` others. */
static inline uint64_t arcp__lease_work_pairs(arcp_span pattern, size_t count)
{
    return 1 + count * (1 + pattern.size / 64) / 2;
}

#endif
