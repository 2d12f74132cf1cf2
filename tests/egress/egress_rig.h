/* Leases and authorities of net.fetch for the tests of this folder. What fails, fails the test. */
#ifndef ARCP_TESTS_EGRESS_EGRESS_RIG_H
#define ARCP_TESTS_EGRESS_EGRESS_RIG_H

#include <arcp/gate.h>

#include "egress/egress_names.h"
#include "egress/egress_policy.h"
#include "support/check.h"

/* A lease of up to two patterns of net.fetch; NULL: none. The caller unrefs it. */
static inline arcp_lease *lease_of(const char *first, const char *second)
{
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    const char *const patterns[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        if (patterns[i] != NULL) {
            arcp_lease_allow(builder, "net.fetch", patterns[i]);
        }
    }
    arcp_lease *lease = NULL;
    arcp_error err;
    check_ok(arcp_lease_build(builder, &lease, &err), &err);
    return lease;
}

static inline arcp__egress_names *names_of(const arcp_lease *lease)
{
    arcp__egress_names *names = NULL;
    arcp_error err;
    check_ok(arcp__egress_names_new(lease, &names, &err), &err);
    return names;
}

/* Takes over the lease. */
static inline arcp__egress_policy *policy_of(arcp_lease *lease)
{
    arcp_authority *authority = NULL;
    arcp__egress_policy *policy = NULL;
    arcp_error err;
    check_ok(arcp_authority_new(lease, NULL, &authority, &err), &err);
    check_ok(arcp__egress_policy_new(authority, &policy, &err), &err);
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
    return policy;
}

#endif
