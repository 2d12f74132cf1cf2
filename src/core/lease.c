#include "core/lease.h"

#include <assert.h>
#include <stdlib.h>

#include <arcp/time.h>

#include "base/alloc.h"

arcp_lease *arcp_lease_ref(const arcp_lease *lease)
{
    arcp_lease *counted = (arcp_lease *)lease;
    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
    return counted;
}

void arcp_lease_unref(const arcp_lease *lease)
{
    arcp_lease *counted = (arcp_lease *)lease;
    if (counted == NULL ||
        atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < counted->count; i++) {
        arcp__glob_set_free(counted->capabilities[i].set);
    }
    arcp__free(counted);
}

/* [arcp:7.1-3] */
bool arcp_lease_has_expiry(const arcp_lease *lease)
{
    return lease->has_expiry;
}

int64_t arcp_lease_expires_wall_ns(const arcp_lease *lease)
{
    return lease->has_expiry ? lease->expires.wall_ns : ARCP_TIME_NEVER;
}

size_t arcp_lease_capability_count(const arcp_lease *lease)
{
    return lease->count;
}

arcp_span arcp_lease_capability_name(const arcp_lease *lease, size_t capability)
{
    assert(capability < lease->count);
    return lease->capabilities[capability].name;
}

size_t arcp_lease_pattern_count(const arcp_lease *lease, size_t capability)
{
    assert(capability < lease->count);
    return lease->capabilities[capability].count;
}

arcp_span arcp_lease_pattern(const arcp_lease *lease, size_t capability, size_t pattern)
{
    assert(capability < lease->count && pattern < lease->capabilities[capability].count);
    return lease->capabilities[capability].patterns[pattern];
}

int arcp__lease_compare_vendors(const void *left, const void *right)
{
    const arcp_span a = (*(const arcp__lease_capability *const *)left)->name;
    const arcp_span b = (*(const arcp__lease_capability *const *)right)->name;
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* [arcp:LB-1] */
const arcp__lease_capability *arcp__lease_find_vendor(const arcp_lease *lease, arcp_span name)
{
    const arcp__lease_capability wanted = {.name = name};
    const arcp__lease_capability *key = &wanted;
    const arcp__lease_capability **found =
        bsearch(&key, lease->vendors, lease->vendor_count, sizeof key, arcp__lease_compare_vendors);
    return found == NULL ? NULL : *found;
}

bool arcp_lease_names(const arcp_lease *lease, arcp_span capability)
{
    return arcp__lease_find(lease, arcp__capability_from_name(capability), capability) != NULL;
}

const arcp__lease_amount *arcp__lease_find_amount(const arcp_lease *lease, arcp_span currency)
{
    for (size_t i = 0; i < lease->amount_count; i++) {
        if (arcp_span_equal(lease->amounts[i].currency, currency)) {
            return &lease->amounts[i];
        }
    }
    return NULL;
}
