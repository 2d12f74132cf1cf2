#include "egress/egress_policy.h"

#include "base/alloc.h"

struct arcp__egress_policy {
    arcp_authority *authority;
};

arcp_status arcp__egress_policy_new(const arcp_authority *authority, arcp__egress_policy **out,
                                    arcp_error *err)
{
    arcp__egress_policy *policy = arcp__alloc(sizeof *policy);
    if (policy == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    policy->authority = arcp_authority_ref(authority);
    *out = policy;
    return ARCP_OK;
}

void arcp__egress_policy_free(arcp__egress_policy *policy)
{
    if (policy != NULL) {
        arcp_authority_unref(policy->authority);
        arcp__free(policy);
    }
}

static bool deny(arcp__egress_decision *out)
{
    memset(out, 0, sizeof *out);
    out->reason = "no pattern of the lease matches";
    return false;
}

bool arcp__egress_decide_request(arcp__egress_policy *policy, arcp_time now,
                                 const arcp__egress_target *at, const arcp__egress_request *request,
                                 arcp__egress_decision *out)
{
    (void)policy;
    (void)now;
    (void)at;
    (void)request;
    return deny(out);
}

bool arcp__egress_decide_tunnel(arcp__egress_policy *policy, arcp_time now,
                                const arcp__egress_target *at, arcp__egress_decision *out)
{
    (void)policy;
    (void)now;
    (void)at;
    return deny(out);
}

bool arcp__egress_decide_opaque(arcp__egress_policy *policy, arcp_time now,
                                const arcp__egress_target *at, arcp__egress_decision *out)
{
    (void)policy;
    (void)now;
    (void)at;
    return deny(out);
}
