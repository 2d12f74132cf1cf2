/* Is a child's lease within its parent's? Sound, and complete over canonical targets;
 * derivation of the child's effective lease; narrowing by a ceiling. docs/leases.md, Subsets,
 * draft §9.4 and §10. Pure; any thread. */
#ifndef ARCP_LEASE_SUBSET_H
#define ARCP_LEASE_SUBSET_H

#include <arcp/budget.h>
#include <arcp/gate.h>
#include <arcp/lease.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What made the answer "no". Filled only then. Free with _fini; zero-initialise. Spans
 * borrow from the child's lease. */
typedef struct arcp_subset_violation {
    arcp_span capability;    /* in the child; "expires_at" for the constraint */
    arcp_span child_pattern; /* the child's pattern, first entry of the currency, or instant */
    arcp_buf witness;        /* what the child allows and the parent does not: a canonical
                                target, an amount ("USD:10"), an instant */
    arcp_deny_reason code;   /* NO_MATCH, BUDGET, EXPIRED; TOO_COMPLEX: no witness */
    char reason[ARCP_ERROR_MESSAGE_MAX]; /* one line */
} arcp_subset_violation;

static inline arcp_subset_violation arcp_subset_violation_init(void)
{
    arcp_subset_violation violation;
    memset(&violation, 0, sizeof violation);
    return violation;
}
ARCP_API void arcp_subset_violation_fini(arcp_subset_violation *violation);
/* Appends the details of a LEASE_SUBSET_VIOLATION: {capability, child_pattern, witness,
 * reason}; witness is left out for TOO_COMPLEX. */
ARCP_API void arcp_subset_violation_format_details(const arcp_subset_violation *violation,
                                                   arcp_buf *out);

/* Whether everything `child` allows is allowed by `parent`, both as written: patterns,
 * totals per currency (which the parent must name), expiry when the child names one. An
 * equal lease is a subset; a member that the child leaves out is within whatever the
 * parent has. `violation` may be NULL; it is the first in the child's order. ARCP_OK and
 * *is_subset, or ARCP_E_NO_MEMORY with *is_subset false. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_is_subset(const arcp_lease *child,
                                                          const arcp_lease *parent, bool *is_subset,
                                                          arcp_subset_violation *violation);

/* The guides' assert subset: ARCP_OK, or ARCP_E_LEASE_SUBSET_VIOLATION with the details
 * {capability, child_pattern, witness, reason} (arcp_error_details). */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_assert_subset(const arcp_lease *child,
                                                              const arcp_lease *parent,
                                                              arcp_error *err);

/* The effective lease of a delegated job (§9.4): checks `request` against what `parent`
 * holds now and yields the lease that the child's authority is made of; the caller unrefs
 * it. ARCP_E_LEASE_SUBSET_VIOLATION with details as above.
 *
 *  - Patterns must be within the parent's.
 *  - A currency must be one that the parent's lease names (when that lease has no
 *    cost.budget at all: one that an ancestor counts), and its total at most what can
 *    still be spent there: the least that remains at the parent and its ancestors.
 *  - An expiry must not be later than the parent's; without one the child has the parent's.
 *  - Without cost.budget the child has no counters of its own and spends from its
 *    ancestors' only.
 *  - Without model.use under a parent that names it, the child gets "model.use": [], and so
 *    no model. Under a parent that does not name it and is free to use any
 *    (model_use_required is false) the child may name any.
 *
 * What the child may ask its parent for is not decided here: agent.delegate is the gate's. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_derive(const arcp_authority *parent,
                                                       const arcp_lease *request, arcp_lease **out,
                                                       arcp_error *err);

/* The request narrowed by a ceiling (policy): never wider than either. The caller unrefs
 * *out. ARCP_E_NO_MEMORY.
 *
 *  - A pattern within the ceiling stays. Another is replaced by the ceiling's patterns
 *    within it, and by intersections that can be written as patterns; what is left of it
 *    falls away. A capability that falls away entirely is present as [].
 *  - A capability the ceiling does not name is not narrowed when `absent_is_open`, else it
 *    falls away.
 *  - Budgets and expiry are limits, not grants: every currency that either names is in the
 *    result, with the smaller total; the earlier expiry wins.
 *  - When the ceiling names model.use and the request does not, the result has
 *    "model.use": [], because a runtime may let an absent one stand for every model.
 *
 * Appends to `dropped` (may be NULL) a JSON array of {capability, pattern, narrowed_to:
 * [...]}: one per pattern that did not stay as it was, and one without `pattern` for each
 * limit that the request did not name; [] when nothing changed. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_narrow(const arcp_lease *request,
                                                       const arcp_lease *ceiling,
                                                       bool absent_is_open, arcp_lease **out,
                                                       arcp_buf *dropped, arcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
