#include <arcp/gate.h>

#include "core/authority.h"
#include "core/lease.h"
#include "core/target.h"

static bool deny(arcp_decision *decision, arcp_status code, arcp_deny_reason reason)
{
    decision->allowed = false;
    decision->code = code;
    decision->reason = reason;
    return false;
}

/* The first two questions, which concern no target in particular. [arcp:7.1-4] [arcp:9.5-4]
 * [arcp:9.5-5] [arcp:9.6-6] [arcp:9.6-7] */
static bool is_live(const arcp_authority *authority, arcp_time now, arcp__capability kind,
                    arcp_decision *decision)
{
    if (arcp__authority_is_expired(authority, now)) {
        return deny(decision, ARCP_E_LEASE_EXPIRED, ARCP_DENY_EXPIRED);
    }
    /* cost.budget itself can be asked about when it is used up. */
    if (authority->budget != NULL && kind != ARCP__CAPABILITY_COST_BUDGET &&
        !arcp_budget_is_open(authority->budget, &decision->currency)) {
        return deny(decision, ARCP_E_BUDGET_EXHAUSTED, ARCP_DENY_BUDGET);
    }
    return true;
}

/* The last one: is there a pattern for the target? Normalise, match, and hand back what
 * was matched, so that the caller acts on nothing else. [arcp:9.3-2] [arcp:9.7-1] [arcp:9.7-4]
 * [arcp:9.7-5] */
static bool is_granted(const arcp_authority *authority, arcp__capability kind,
                       arcp_target_scratch *scratch, arcp_decision *decision)
{
    const arcp_deny_reason reason = arcp__target_canonicalise(
        kind, authority->cwd, decision->target, scratch, &decision->canonical);
    if (reason != ARCP_DENY_NONE) {
        return deny(decision, ARCP_E_PERMISSION_DENIED, reason);
    }
    const arcp__lease_capability *granted =
        arcp__lease_find(authority->lease, kind, decision->capability);
    size_t index = 0;
    if (granted != NULL && arcp__glob_set_match(granted->set, decision->canonical, &index)) {
        decision->pattern = granted->patterns[index];
    } else if (granted != NULL || kind != ARCP__CAPABILITY_MODEL_USE ||
               authority->model_use_required) {
        return deny(decision, ARCP_E_PERMISSION_DENIED, ARCP_DENY_NO_MATCH);
    }
    decision->allowed = true;
    decision->code = ARCP_OK;
    decision->reason = ARCP_DENY_NONE;
    return true;
}

/* [arcp:9.1-1] [arcp:9.8.3-5] */
bool arcp_authorize(const arcp_authority *authority, arcp_time now, arcp_span capability,
                    arcp_span target, arcp_target_scratch *scratch, arcp_decision *decision)
{
    memset(decision, 0, sizeof *decision);
    decision->code = ARCP_E_PERMISSION_DENIED;
    decision->reason = ARCP_DENY_NO_MATCH;
    decision->capability = capability;
    decision->target = target;
    const arcp__capability kind = arcp__capability_from_name(capability);
    return is_live(authority, now, kind, decision) &&
           is_granted(authority, kind, scratch, decision);
}

/* [arcp:LB-11] */
bool arcp_authorize_model(const arcp_authority *authority, arcp_time now, arcp_span model,
                          arcp_target_scratch *scratch, arcp_decision *decision)
{
    return arcp_authorize(authority, now, ARCP_SPAN_LITERAL("model.use"), model, scratch, decision);
}

/* name@version in the scratch. One that is too long for a target is cut so that it still
 * is too long. */
static arcp_span join(arcp_span name, arcp_span version, arcp_target_scratch *scratch)
{
    const size_t max = ARCP_TARGET_BYTES_MAX + 1;
    const arcp_span parts[] = {name, ARCP_SPAN_LITERAL("@"), version};
    size_t size = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const arcp_span part = arcp_span_first(parts[i], max - size);
        if (part.size > 0) {
            memcpy(scratch->bytes + size, part.data, part.size);
            size += part.size;
        }
    }
    return arcp_span_make(scratch->bytes, size);
}

/* [arcp:LB-12] */
bool arcp_authorize_delegate(const arcp_authority *authority, arcp_time now, arcp_span name,
                             arcp_span version, arcp_target_scratch *scratch,
                             arcp_decision *decision)
{
    const arcp_span capability = ARCP_SPAN_LITERAL("agent.delegate");
    /* All three spellings are beginnings of name@version. Names are matched where they
     * stand, so the scratch is free to hold them. */
    const arcp_span full = join(name, version, scratch);
    const arcp_span spellings[] = {full, arcp_span_first(full, name.size),
                                   arcp_span_first(full, name.size + 1)};
    /* Without a version the first spelling is the third. */
    const size_t first = version.size == 0 ? 1 : 0;
    arcp_decision denial = {0};
    for (size_t i = first; i < sizeof spellings / sizeof *spellings; i++) {
        if (arcp_authorize(authority, now, capability, spellings[i], scratch, decision)) {
            return true;
        }
        if (i == first) {
            denial = *decision;
        }
        if (decision->reason != ARCP_DENY_NO_MATCH) {
            break;
        }
    }
    *decision = denial;
    return false;
}
