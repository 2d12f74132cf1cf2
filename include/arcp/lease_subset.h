/* Is a child's lease within its parent's? Sound, and complete over canonical targets;
 * derivation of the child's effective lease; narrowing by a ceiling. LEASES §4,
 * draft §9.4 and §10. Pure; any thread. */
#ifndef ARCP_LEASE_SUBSET_H
#define ARCP_LEASE_SUBSET_H

#include <arcp/budget.h>
#include <arcp/gate.h>
#include <arcp/lease.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What made the answer "no". Filled only then. Free with _fini; zero-initialise. */
typedef struct arcp_subset_violation {
    arcp_span capability;    /* in the child; "expires_at" for the constraint; borrowed */
    arcp_span child_pattern; /* the child's pattern, amount or instant; borrowed */
    arcp_buf witness;        /* a canonical target the child allows and the parent does not */
    bool too_complex;        /* the bound was reached: "no" without a witness */
    char reason[160];        /* one line */
} arcp_subset_violation;
#define ARCP_SUBSET_VIOLATION_INIT                                                                 \
    {                                                                                              \
        {NULL, 0}, {NULL, 0}, ARCP_BUF_INIT, false,                                                \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
ARCP_API void arcp_subset_violation_fini(arcp_subset_violation *violation);
/* Appends the details of a LEASE_SUBSET_VIOLATION: {capability, child_pattern, witness?,
 * reason}; reason is TOO_COMPLEX when the bound was reached. */
ARCP_API void arcp_subset_violation_format_details(const arcp_subset_violation *violation,
                                                   arcp_buf *out);

/* Whether everything `child` allows is allowed by `parent`: patterns, totals per
 * currency (against the parent's amounts as written), explicit expiry, model.use.
 * `violation` may be NULL. ARCP_OK and *is_subset, or ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_is_subset(const arcp_lease *child,
                                                          const arcp_lease *parent, bool *is_subset,
                                                          arcp_subset_violation *violation);

/* The guides' assert subset: ARCP_OK, or ARCP_E_LEASE_SUBSET_VIOLATION with the error's
 * details appended to `details` ({capability, child_pattern, witness, reason}; may be
 * NULL). */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_assert_subset(const arcp_lease *child,
                                                              const arcp_lease *parent,
                                                              arcp_buf *details, arcp_error *err);

/* The effective lease of a delegated job (§9.4): checks `request` against what `parent`
 * holds now (patterns; budgets against the remaining of the parent and its ancestors),
 * inherits the expiry, and yields a new lease the caller unrefs.
 * ARCP_E_LEASE_SUBSET_VIOLATION with details as above. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_derive(const arcp_authority *parent,
                                                       const arcp_lease *request, arcp_lease **out,
                                                       arcp_buf *details, arcp_error *err);

/* The request narrowed by a ceiling (policy): never wider than either. Capabilities that
 * fall away entirely are present as []. Appends to `dropped` (may be NULL) a JSON array
 * of {capability, pattern, narrowed_to: [...]} . A ceiling that does not name a
 * capability does not narrow it when `absent_is_open`, else drops it. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_narrow(const arcp_lease *request,
                                                       const arcp_lease *ceiling,
                                                       bool absent_is_open, arcp_lease **out,
                                                       arcp_buf *dropped, arcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
