#include "egress/egress_names.h"

#include "base/alloc.h"

struct arcp__egress_names {
    arcp_lease *lease;
};

arcp_status arcp__egress_names_new(const arcp_lease *lease, arcp__egress_names **out,
                                   arcp_error *err)
{
    arcp__egress_names *names = arcp__alloc(sizeof *names);
    if (names == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    names->lease = arcp_lease_ref(lease);
    *out = names;
    return ARCP_OK;
}

void arcp__egress_names_free(arcp__egress_names *names)
{
    if (names != NULL) {
        arcp_lease_unref(names->lease);
        arcp__free(names);
    }
}

bool arcp__egress_name_canonical(arcp_span name, char out[ARCP__EGRESS_NAME_MAX + 1])
{
    (void)name;
    out[0] = '\0';
    return false;
}

bool arcp__egress_names_may_reach(const arcp__egress_names *names, arcp_span name)
{
    (void)names;
    (void)name;
    return false;
}

uint32_t arcp__egress_names_address(arcp__egress_names *names, arcp_span name)
{
    (void)names;
    (void)name;
    return 0;
}

arcp_span arcp__egress_names_find(const arcp__egress_names *names, uint32_t address)
{
    (void)names;
    (void)address;
    return arcp_span_make(NULL, 0);
}
