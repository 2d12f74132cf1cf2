/* Patterns that are within two others: the intersections that can be written as one. */
#ifndef ARCP_CORE_LEASE_MEET_H
#define ARCP_CORE_LEASE_MEET_H

#include <arcp/buf.h>

#include "core/capability.h"
#include "core/lease_work.h"

/* Appends a pattern within both `a` and `b`, as wide as simple forms allow, and sets
 * *found; appends nothing when none is known. `a` is one that the caller knows not to be
 * within `b`. Every candidate is proven by the subset check before it is used, so a pattern
 * that comes out is never wider than either; that one is missed is possible. ARCP_OK;
 * ARCP_E_NO_MEMORY; ARCP_E_LIMIT when `work` (may be NULL) did not suffice. Pure; any thread. */
ARCP_MUST_CHECK arcp_status arcp__pattern_meet(arcp__capability capability, arcp_span a,
                                               arcp_span b, arcp__lease_work *work, bool *found,
                                               arcp_buf *out);

#endif
