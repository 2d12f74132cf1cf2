/* The inside of an authority. Immutable, except for the budget's counters and those of uses. */
#ifndef ARCP_CORE_AUTHORITY_H
#define ARCP_CORE_AUTHORITY_H

#include <stdatomic.h>

#include <arcp/gate.h>

#include "core/lease.h"

/* How often a line of the lease has allowed something, and when it last did. Threads that ask at
 * the same time may lose a count: it is for people, and costs the gate two stores. */
typedef struct arcp__line_use {
    atomic_uint_fast64_t count;
    atomic_int_fast64_t last_wall_ns;
} arcp__line_use;

struct arcp_authority {
    atomic_size_t references;
    const arcp_lease *lease;  /* a reference is held */
    arcp_budget *budget;      /* a reference is held; NULL when nothing is counted */
    int64_t deadline_mono_ns; /* ARCP_TIME_NEVER without expiry */
    int64_t deadline_wall_ns; /* the same on the wall clock */
    bool model_use_required;
    arcp__line_use *uses; /* one for each pattern of the lease; they follow the struct */
    arcp_span cwd;        /* its bytes follow these */
};

/* How often this pattern of a capability of the authority's lease was used. */
uint64_t arcp__authority_uses(const arcp_authority *authority,
                              const arcp__lease_capability *capability, size_t pattern,
                              int64_t *last_wall_ns);

/* arcp_authority_is_expired, for the gate. [arcp:14-4] [arcp:14-5] */
static inline bool arcp__authority_is_expired(const arcp_authority *authority, arcp_time now)
{
    return now.mono_ns >= authority->deadline_mono_ns || now.wall_ns >= authority->deadline_wall_ns;
}

/* The monotonic time of the expiry, provided that the wall clock is not set before. */
static inline int64_t arcp__authority_due_mono_ns(const arcp_authority *authority, arcp_time now)
{
    int64_t due_ns = authority->deadline_wall_ns;
    if (due_ns == ARCP_TIME_NEVER || __builtin_sub_overflow(due_ns, now.wall_ns, &due_ns) ||
        __builtin_add_overflow(due_ns, now.mono_ns, &due_ns) ||
        due_ns > authority->deadline_mono_ns) {
        return authority->deadline_mono_ns;
    }
    return due_ns;
}

#endif
