/* The lease of a delegated job (§9.4, §10). */
#include "core/authority.h"
#include "core/lease_draft.h"
#include "core/lease_subset.h"

static arcp_status copy_lease(const arcp_lease *lease, arcp__lease_draft *draft, arcp_error *err)
{
    for (size_t i = 0; i < lease->count; i++) {
        const arcp__lease_capability *from = &lease->capabilities[i];
        size_t at = 0;
        arcp_status status = arcp__lease_draft_capability(draft, from->name, &at, err);
        for (size_t k = 0; k < from->count && status == ARCP_OK; k++) {
            status = arcp__lease_draft_pattern(draft, at, from->patterns[k], err);
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

/* The request with what it inherits. [arcp:9.4-7] */
static arcp_status inherit(const arcp_lease *request, const arcp_lease *parent,
                           bool takes_no_models, arcp__lease_draft *draft, arcp_error *err)
{
    arcp_status status = copy_lease(request, draft, err);
    if (status == ARCP_OK && takes_no_models) {
        size_t at = 0;
        status = arcp__lease_draft_capability(draft, ARCP_SPAN_LITERAL("model.use"), &at, err);
    }
    if (status == ARCP_OK && request->has_expiry) {
        return arcp__lease_draft_expiry(draft, request->expires_text, err);
    }
    if (status == ARCP_OK && parent->has_expiry) {
        return arcp__lease_draft_expiry(draft, parent->expires_text, err);
    }
    return status;
}

/* [arcp:9.4-1] [arcp:10-2] [arcp:10-3] [arcp:10-4] */
arcp_status arcp__lease_derive(const arcp_authority *parent, const arcp_lease *request,
                               arcp__lease_work *work, arcp_lease **out, arcp_buf *details,
                               arcp_error *err)
{
    const arcp_lease *held = parent->lease;
    const arcp__subset_parent scope = {.lease = held, .holder = parent, .work = work};
    arcp_status status = arcp__subset_assert(request, scope, details, err);
    if (status != ARCP_OK) {
        return status;
    }
    const bool takes_no_models = request->reserved[ARCP__CAPABILITY_MODEL_USE] == NULL &&
                                 held->reserved[ARCP__CAPABILITY_MODEL_USE] != NULL;
    const bool takes_expiry = !request->has_expiry && held->has_expiry;
    if (!takes_no_models && !takes_expiry) {
        *out = arcp_lease_ref(request);
        return ARCP_OK;
    }
    arcp__lease_draft draft;
    arcp__lease_draft_init(&draft, &arcp__lease_unlimited);
    status = inherit(request, held, takes_no_models, &draft, err);
    if (status == ARCP_OK) {
        status = arcp__lease_draft_finish(&draft, out, err);
    }
    arcp__lease_draft_fini(&draft);
    return status;
}

arcp_status arcp_lease_derive(const arcp_authority *parent, const arcp_lease *request,
                              arcp_lease **out, arcp_buf *details, arcp_error *err)
{
    return arcp__lease_derive(parent, request, NULL, out, details, err);
}
