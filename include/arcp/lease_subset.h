/* Whether a child's lease is a subset of its parent's, decided exactly over all canonical targets;
 * derivation of the child's effective lease; narrowing by a ceiling. docs/leases.md, Subsets, draft
 * §9.4 and §10. Pure; any thread. */
#ifndef ARCP_LEASE_SUBSET_H
#define ARCP_LEASE_SUBSET_H

#include <arcp/budget.h>
#include <arcp/gate.h>
#include <arcp/lease.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a lease is not a subset; filled only in that case. Its spans borrow from the child's
 * lease. */
typedef struct arcp_subset_violation {
    arcp_span capability;    /* in the child; "expires_at" for the constraint */
    arcp_span child_pattern; /* the child's pattern, first entry of the currency, or instant */
    arcp_buf witness;        /* something that the child allows and the parent does not: a canonical
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
/* Appends the details of a LEASE_SUBSET_VIOLATION: {capability, child_pattern, witness, reason};
 * the witness is omitted for TOO_COMPLEX. */
ARCP_API void arcp_subset_violation_format_details(const arcp_subset_violation *violation,
                                                   arcp_buf *out);

/* Whether `parent` allows everything that `child` allows, both as written: patterns, totals per
 * currency (which the parent must name), and the expiry if the child has one. An equal lease is a
 * subset; a member that the child omits is within any of the parent's. `violation` may be NULL; it
 * is the first in the child's order. ARCP_OK and *is_subset, or ARCP_E_NO_MEMORY with *is_subset
 * false. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_is_subset(const arcp_lease *child,
                                                          const arcp_lease *parent, bool *is_subset,
                                                          arcp_subset_violation *violation);

/* ARCP_OK when the child is a subset, else ARCP_E_LEASE_SUBSET_VIOLATION with the details
 * {capability, child_pattern, witness, reason} (arcp_error_details). */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_assert_subset(const arcp_lease *child,
                                                              const arcp_lease *parent,
                                                              arcp_error *err);

/* The effective lease of a delegated job (§9.4): checks `request` against the present authority of
 * `parent` and returns the lease for the child's authority; the caller unrefs it.
 * ARCP_E_LEASE_SUBSET_VIOLATION with details as above.
 *
 *  - Patterns must be within the parent's.
 *  - A currency must be one that the parent's lease names (if that lease has no cost.budget at
 *    all: one that an ancestor counts), and its total must be at most the smallest amount that
 *    remains at the parent and its ancestors.
 *  - An expiry must not be later than the parent's; without one the child has the parent's.
 *  - Without cost.budget the child has no counters of its own and spends from its ancestors'
 *    only.
 *  - Without model.use under a parent that names it, the child gets "model.use": [], and so no
 *    model. Under a parent that does not name it and may use any model (model_use_required is
 *    false) the child may name any.
 *
 * Whether the parent may delegate to this agent is not decided here: the gate checks
 * agent.delegate. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_derive(const arcp_authority *parent,
                                                       const arcp_lease *request, arcp_lease **out,
                                                       arcp_error *err);

/* The request narrowed by a ceiling (policy): never wider than either. The caller unrefs
 * *out. ARCP_E_NO_MEMORY.
 *
 *  - A pattern within the ceiling is kept. Any other is replaced by the ceiling's patterns within
 *    it, and by intersections that patterns can express; the rest of it is removed. A capability
 *    that is removed entirely is present as [].
 *  - A capability that the ceiling does not name is kept if `absent_is_open`, else removed.
 *  - Budgets and expiry are limits, not grants: the result has every currency that either names,
 *    with the smaller total, and the earlier expiry.
 *  - When the ceiling names model.use and the request does not, the result has "model.use": [],
 *    because a runtime may allow every model without one.
 *
 * Appends to `dropped` (may be NULL) a JSON array of {capability, pattern, narrowed_to: [...]}: one
 * per changed pattern, and one without `pattern` for each limit that the request did not name; []
 * when nothing changed. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_narrow(const arcp_lease *request,
                                                       const arcp_lease *ceiling,
                                                       bool absent_is_open, arcp_lease **out,
                                                       arcp_buf *dropped, arcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
