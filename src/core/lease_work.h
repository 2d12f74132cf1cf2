/* How much work the leases of one request may cause: narrowing by policy, subset and
 * delegation together.
 *
 * It is counted in steps, not in time, so that the same request gets the same answer on every
 * machine. Each question about patterns has a bound of its own (glob_subset.h), but one request
 * can cause thousands of them: they all take from one arcp__lease_work. One thread at a time. */
#ifndef ARCP_CORE_LEASE_WORK_H
#define ARCP_CORE_LEASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/span.h>

/* A step is a word of states that is looked at, a pattern that is compared with another one, and
 * the like: 3 to 15 nanoseconds. A thousand ordinary patterns that are narrowed by several ceilings
 * take up to 500 000. */
typedef struct arcp__lease_work {
    uint64_t left; /* steps */
} arcp__lease_work;

/* Takes steps; false when fewer were left, and then none are. NULL is without bound. */
static inline bool arcp__lease_work_take(arcp__lease_work *work, uint64_t steps)
{
    if (work == NULL) {
        return true;
    }
    const bool is_enough = steps <= work->left;
    work->left = is_enough ? work->left - steps : 0;
    return is_enough;
}

/* The steps of comparing the bytes of one pattern with those of so many others. */
static inline uint64_t arcp__lease_work_pairs(arcp_span pattern, size_t count)
{
    return 1 + count * (1 + pattern.size / 64) / 2;
}

#endif
