/* The subset check's parts, shared by subset, derivation and diff. */
#ifndef ARCP_CORE_LEASE_SUBSET_H
#define ARCP_CORE_LEASE_SUBSET_H

#include <arcp/lease_subset.h>

#include "core/lease.h"
#include "core/lease_work.h"

/* What a child is measured against: a lease as it is written, or what a job holds now. */
typedef struct arcp__subset_parent {
    const arcp_lease *lease;
    const arcp_authority *holder; /* NULL: as written */
    arcp__lease_work *work;       /* what the request may still cost; NULL: no bound of a request */
} arcp__subset_parent;

/* One capability of a child. ARCP_OK and *is_subset, with `violation` (never NULL) filled
 * when that is false; ARCP_E_NO_MEMORY; ARCP_E_LIMIT when parent.work did not suffice. */
ARCP_MUST_CHECK arcp_status arcp__subset_check_capability(const arcp__lease_capability *capability,
                                                          const arcp_lease *child,
                                                          arcp__subset_parent parent,
                                                          bool *is_subset,
                                                          arcp_subset_violation *violation);

/* The child's expiry, as above. */
ARCP_MUST_CHECK arcp_status arcp__subset_check_expiry(const arcp_lease *child,
                                                      arcp__subset_parent parent, bool *is_subset,
                                                      arcp_subset_violation *violation);

/* All of it, first violation first. */
ARCP_MUST_CHECK arcp_status arcp__subset_check(const arcp_lease *child, arcp__subset_parent parent,
                                               bool *is_subset, arcp_subset_violation *violation);

/* As an error: ARCP_E_LEASE_SUBSET_VIOLATION and its details (may be NULL). */
ARCP_MUST_CHECK arcp_status arcp__subset_assert(const arcp_lease *child, arcp__subset_parent parent,
                                                arcp_buf *details, arcp_error *err);

/* arcp_lease_derive with `work` (may be NULL). */
ARCP_MUST_CHECK arcp_status arcp__lease_derive(const arcp_authority *parent,
                                               const arcp_lease *request, arcp__lease_work *work,
                                               arcp_lease **out, arcp_buf *details,
                                               arcp_error *err);

/* What a request is narrowed by. */
typedef struct arcp__ceiling {
    const arcp_lease *lease;
    bool absent_is_open;
    bool closes_models;     /* a request that does not name model.use gets [] in any case */
    arcp__lease_work *work; /* may be NULL */
} arcp__ceiling;

/* arcp_lease_narrow; ARCP_E_LIMIT when the ceiling's `work` did not suffice. */
ARCP_MUST_CHECK arcp_status arcp__lease_narrow(const arcp_lease *request,
                                               const arcp__ceiling *ceiling, arcp_lease **out,
                                               arcp_buf *dropped, arcp_error *err);

#endif
