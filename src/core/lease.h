/* The inside of a lease: one immutable block, and the compiled patterns. */
#ifndef ARCP_CORE_LEASE_H
#define ARCP_CORE_LEASE_H

#include <stdatomic.h>

#include <arcp/lease.h>

#include "base/timestamp.h"
#include "core/capability.h"
#include "core/glob_set.h"
#include "core/lease_amount.h"

/* One capability of a lease. */
typedef struct arcp__lease_capability {
    arcp_span name;
    arcp__capability kind;
    const arcp_span *patterns; /* as given; amounts for cost.budget */
    size_t count;
    size_t first;        /* the patterns of all capabilities before it */
    arcp__glob_set *set; /* owned; NULL for cost.budget and for no patterns */
} arcp__lease_capability;

/* Arrays and texts follow the struct in the same allocation. */
struct arcp_lease {
    atomic_size_t references;
    arcp__lease_capability *capabilities; /* in the order given */
    size_t count;
    /* Each reserved capability; NULL when the lease does not name it. */
    const arcp__lease_capability *reserved[ARCP__CAPABILITY_COUNT];
    const arcp__lease_capability **vendors; /* sorted by name */
    size_t vendor_count;
    size_t pattern_count; /* of all capabilities */
    size_t amount_count;
    bool has_expiry;
    arcp_span expires_text; /* as given */
    arcp__instant expires;
    arcp__lease_amount amounts[]; /* totals, in the order of first occurrence */
};

/* The order of arcp_lease.vendors, for qsort and bsearch. */
int arcp__lease_compare_vendors(const void *left, const void *right);

/* The vendor capability of this name, or NULL. */
const arcp__lease_capability *arcp__lease_find_vendor(const arcp_lease *lease, arcp_span name);

/* The capability of this name and kind, or NULL. */
static inline const arcp__lease_capability *arcp__lease_find(const arcp_lease *lease,
                                                             arcp__capability kind, arcp_span name)
{
    /* lease->reserved has no entries for the unknown and the vendor kind. */
    return kind == ARCP__CAPABILITY_VENDOR ? arcp__lease_find_vendor(lease, name)
                                           : lease->reserved[kind];
}

/* The total of a currency, or NULL. */
const arcp__lease_amount *arcp__lease_find_amount(const arcp_lease *lease, arcp_span currency);

#endif
