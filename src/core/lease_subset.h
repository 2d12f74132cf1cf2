/* The parts of the subset check, shared by subset, derivation and diff. */
#ifndef ARCP_CORE_LEASE_SUBSET_H
#define ARCP_CORE_LEASE_SUBSET_H

#include <arcp/lease_subset.h>

#include "core/lease.h"
#include "core/lease_work.h"

/* What a child is compared with: a lease as written, or what a job holds now. */
typedef struct arcp__subset_parent {
    const arcp_lease *lease;
    const arcp_authority *holder; /* NULL: as written */
    arcp__lease_work *work;       /* the steps that the request may still take; NULL: unbounded */
} arcp__subset_parent;

/* Checks one part of a child: a capability by its index or, if `part` is their number, its expiry.
 * ARCP_OK: it is within; ARCP_E_LEASE_SUBSET_VIOLATION with `violation` (never NULL) filled;
 * ARCP_E_NO_MEMORY; ARCP_E_LIMIT when parent.work did not suffice. */
ARCP_MUST_CHECK arcp_status arcp__subset_check_part(const arcp_lease *child, size_t part,
                                                    arcp__subset_parent parent,
                                                    arcp_subset_violation *violation);

/* Checks all parts. ARCP_E_LEASE_SUBSET_VIOLATION with the details (may be NULL) of the first
 * violation. */
ARCP_MUST_CHECK arcp_status arcp__subset_assert(const arcp_lease *child, arcp__subset_parent parent,
                                                arcp_buf *details, arcp_error *err);

/* arcp_lease_derive with `work` (may be NULL). */
ARCP_MUST_CHECK arcp_status arcp__lease_derive(const arcp_authority *parent,
                                               const arcp_lease *request, arcp__lease_work *work,
                                               arcp_lease **out, arcp_buf *details,
                                               arcp_error *err);

/* The ceiling that a request is narrowed by. */
typedef struct arcp__ceiling {
    const arcp_lease *lease;
    bool absent_is_open;
    bool closes_models;     /* a request that does not name model.use always gets [] */
    arcp__lease_work *work; /* may be NULL */
} arcp__ceiling;

/* arcp_lease_narrow; ARCP_E_LIMIT when the ceiling's `work` did not suffice. */
ARCP_MUST_CHECK arcp_status arcp__lease_narrow(const arcp_lease *request,
                                               const arcp__ceiling *ceiling, arcp_lease **out,
                                               arcp_buf *dropped, arcp_error *err);

#endif
