/* Decides whether the parent's patterns match every canonical target that the child's match.
 *
 * Sound and complete for canonical targets, and bounded in work and memory: beyond the bound the
 * answer is "no" with too_complex set. docs/leases.md, Subsets. Pure; any thread. */
#ifndef ARCP_CORE_GLOB_SUBSET_H
#define ARCP_CORE_GLOB_SUBSET_H

#include <arcp/buf.h>

#include "core/capability.h"
#include "core/lease_work.h"

/* The most nodes that the exact search may use for one child pattern (docs/leases.md, Subsets). */
#define ARCP__GLOB_SUBSET_NODES_MAX 20000u

/* Zero-initialise; release the witness with arcp_buf_fini. */
typedef struct arcp__glob_verdict {
    bool is_subset;     /* false unless proven */
    bool too_complex;   /* "no" because a bound was reached: there is no witness */
    size_t child_index; /* of the first pattern that is not within; valid for "no" */
    arcp_buf witness;   /* a canonical target that this pattern matches and no pattern of
                           the parent does; a shortest one */
} arcp__glob_verdict;

/* A question about one glob capability. The patterns must be valid; either array may be empty. */
typedef struct arcp__glob_question {
    arcp__capability capability;
    const arcp_span *child;
    size_t child_count;
    const arcp_span *parent;
    size_t parent_count;
    bool skips_witness; /* only yes or no is needed, which makes a "no" cheaper */
} arcp__glob_question;

/* Decides a question. The work for all patterns of the child together is bounded, too (a few tenths
 * of a second at the limits of leases), and by `work`, from which the steps are taken (NULL: only
 * by the question's own bound). ARCP_OK and *verdict; or a verdict of "no" and ARCP_E_NO_MEMORY, or
 * ARCP_E_LIMIT when `work` did not suffice. The witness of an earlier call is overwritten. */
ARCP_MUST_CHECK arcp_status arcp__glob_ask(const arcp__glob_question *asked, arcp__lease_work *work,
                                           arcp__glob_verdict *verdict);

/* Decides whether one pattern is within others, without a witness. `work` and errors as above. */
ARCP_MUST_CHECK arcp_status arcp__glob_is_within(arcp__capability capability, arcp_span pattern,
                                                 const arcp_span *parents, size_t count,
                                                 arcp__lease_work *work, bool *is_within);

/* Decides whether no canonical target matches the pattern (lint's "dead": targets never have its
 * form, such as `/a/../b` or `HTTPS://h/`). If some do, a shortest one is appended to `example`
 * (may be NULL). `work` and errors as above. */
ARCP_MUST_CHECK arcp_status arcp__glob_is_dead(arcp__capability capability, arcp_span pattern,
                                               arcp__lease_work *work, bool *is_dead,
                                               arcp_buf *example);

#endif
