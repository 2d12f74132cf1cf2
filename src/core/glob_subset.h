/* Is every canonical target that the child's patterns match matched by the parent's?
 *
 * Sound and complete over canonical targets, bounded in work and memory: beyond the bound
 * the answer is "no", and too_complex says why. docs/leases.md, Subsets. Pure; any thread. */
#ifndef ARCP_CORE_GLOB_SUBSET_H
#define ARCP_CORE_GLOB_SUBSET_H

#include <arcp/buf.h>

#include "core/capability.h"
#include "core/lease_work.h"

/* How many states of the exact search one child pattern may cost (docs/leases.md, Subsets). */
#define ARCP__GLOB_SUBSET_NODES_MAX 20000u

/* Zero-initialise; release the witness with arcp_buf_fini. */
typedef struct arcp__glob_verdict {
    bool is_subset;     /* false unless proven */
    bool too_complex;   /* "no" because the bound was reached: no witness */
    size_t child_index; /* of the first pattern that is not within; meaningful for "no" */
    arcp_buf witness;   /* a canonical target that this pattern matches and no pattern of
                           the parent does; a shortest one */
} arcp__glob_verdict;

/* Patterns of one glob capability; both arrays hold well-formed ones and either may be empty. */
typedef struct arcp__glob_question {
    arcp__capability capability;
    const arcp_span *child;
    size_t child_count;
    const arcp_span *parent;
    size_t parent_count;
    bool skips_witness; /* only yes or no is asked: a "no" is cheaper then */
} arcp__glob_question;

/* Decides. The work is bounded for all of the child's patterns together, too: some tenths of a
 * second at the limits of leases; and by `work`, which the steps are taken from (NULL: by the
 * question's own bound only). ARCP_OK and *verdict; or a verdict of "no" and ARCP_E_NO_MEMORY, or
 * ARCP_E_LIMIT when `work` did not suffice. What an earlier call left in verdict->witness is
 * overwritten. */
ARCP_MUST_CHECK arcp_status arcp__glob_ask(const arcp__glob_question *asked, arcp__lease_work *work,
                                           arcp__glob_verdict *verdict);

/* Whether one pattern is within others, and no witness. `work` and errors as above. */
ARCP_MUST_CHECK arcp_status arcp__glob_is_within(arcp__capability capability, arcp_span pattern,
                                                 const arcp_span *parents, size_t count,
                                                 arcp__lease_work *work, bool *is_within);

/* Whether no canonical target matches the pattern (lint's "dead": written in a form that
 * targets never have, such as `/a/../b` or `HTTPS://h/`). When some do, a shortest one is
 * appended to `example` (may be NULL). `work` and errors as above. */
ARCP_MUST_CHECK arcp_status arcp__glob_is_dead(arcp__capability capability, arcp_span pattern,
                                               arcp__lease_work *work, bool *is_dead,
                                               arcp_buf *example);

#endif
