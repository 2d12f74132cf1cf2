/* The subset check's parts, shared by subset, derivation and diff. */
#ifndef ARCP_CORE_LEASE_SUBSET_H
#define ARCP_CORE_LEASE_SUBSET_H

#include <arcp/lease_subset.h>

#include "core/lease.h"

/* What a child is measured against: a lease as it is written, or what a job holds now. */
typedef struct arcp__subset_parent {
    const arcp_lease *lease;
    const arcp_authority *holder; /* NULL: as written */
} arcp__subset_parent;

/* One capability of a child. ARCP_OK and *is_subset, with `violation` (never NULL) filled
 * when that is false; ARCP_E_NO_MEMORY. */
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

#endif
