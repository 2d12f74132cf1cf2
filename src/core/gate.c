#include <arcp/gate.h>

#include "base/utf8.h"
#include "core/authority.h"
#include "core/lease.h"
#include "core/target.h"
#include "json/json_put.h"

/* Bytes of a target that a message quotes, and patterns that the details list. */
#define SHOWN_BYTES_MAX      200
#define GRANTED_PATTERNS_MAX 32

/* The decision is zeroed, and so denied already. */
static bool deny(arcp_decision *decision, arcp_status code, arcp_deny_reason reason)
{
    decision->code = code;
    decision->reason = reason;
    return false;
}

/* Checks expiry and budgets first, which do not depend on the target. Then makes the target
 * canonical, matches it, and returns the canonical form, so that the caller acts on exactly what
 * was matched. [arcp:7.1-4] [arcp:9.1-1] [arcp:9.3-2] [arcp:9.5-4] [arcp:9.5-5] [arcp:9.6-6]
 * [arcp:9.6-7] [arcp:9.7-1] [arcp:9.7-4] [arcp:9.7-5] [arcp:9.8.3-5] */
bool arcp_authorize(const arcp_authority *authority, arcp_time now, arcp_span capability,
                    arcp_span target, arcp_target_scratch *scratch, arcp_decision *decision)
{
    memset(decision, 0, sizeof *decision);
    decision->capability = capability;
    decision->target = target;
    const arcp__capability kind = arcp__capability_from_name(capability);
    if (arcp__authority_is_expired(authority, now)) {
        return deny(decision, ARCP_E_LEASE_EXPIRED, ARCP_DENY_EXPIRED);
    }
    /* cost.budget itself can be checked when it is used up. */
    if (authority->budget != NULL && kind != ARCP__CAPABILITY_COST_BUDGET &&
        !arcp_budget_is_open(authority->budget, &decision->currency)) {
        return deny(decision, ARCP_E_BUDGET_EXHAUSTED, ARCP_DENY_BUDGET);
    }
    const arcp_deny_reason reason =
        arcp__target_canonicalise(kind, authority->cwd, target, scratch, &decision->canonical);
    if (reason != ARCP_DENY_NONE) {
        return deny(decision, ARCP_E_PERMISSION_DENIED, reason);
    }
    const arcp__lease_capability *granted = arcp__lease_find(authority->lease, kind, capability);
    size_t index = 0;
    if (granted != NULL && arcp__glob_set_match(granted->set, decision->canonical, &index)) {
        arcp__line_use *use = &authority->uses[granted->first + index];
        const uint64_t count = atomic_load_explicit(&use->count, memory_order_relaxed);
        atomic_store_explicit(&use->count, count + 1, memory_order_relaxed);
        atomic_store_explicit(&use->last_wall_ns, now.wall_ns, memory_order_relaxed);
        decision->pattern = granted->patterns[index];
    } else if (granted != NULL || kind != ARCP__CAPABILITY_MODEL_USE ||
               authority->model_use_required) {
        return deny(decision, ARCP_E_PERMISSION_DENIED, ARCP_DENY_NO_MATCH);
    }
    decision->allowed = true;
    return true;
}

/* [arcp:LB-11] */
bool arcp_authorize_model(const arcp_authority *authority, arcp_time now, arcp_span model,
                          arcp_target_scratch *scratch, arcp_decision *decision)
{
    return arcp_authorize(authority, now, ARCP_SPAN_LITERAL("model.use"), model, scratch, decision);
}

/* [arcp:LB-12] */
bool arcp_authorize_delegate(const arcp_authority *authority, arcp_time now, arcp_span name,
                             arcp_span version, arcp_target_scratch *scratch,
                             arcp_decision *decision)
{
    const arcp_span capability = ARCP_SPAN_LITERAL("agent.delegate");
    /* All three spellings are prefixes of name@version. Names are matched in place, so the scratch
     * can hold them. One that is too long for a target is truncated so that it is still too
     * long. */
    const arcp_span parts[] = {name, ARCP_SPAN_LITERAL("@"), version};
    arcp_span full = arcp_span_make(scratch->bytes, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const arcp_span part = arcp_span_first(parts[i], ARCP_TARGET_BYTES_MAX + 1 - full.size);
        if (part.size > 0) {
            memcpy(scratch->bytes + full.size, part.data, part.size);
            full.size += part.size;
        }
    }
    const arcp_span spellings[] = {full, arcp_span_first(full, name.size),
                                   arcp_span_first(full, name.size + 1)};
    /* Without a version the first spelling equals the third. */
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

/* ---- decisions as text and as JSON ---- */

static const struct {
    const char *name;
    const char *text;
} reasons[ARCP_DENY_REASON_COUNT] = {
    [ARCP_DENY_NONE] = {"NONE", "allowed"},
#define ARCP_DENY(name, number, text) [ARCP_DENY_##name] = {#name, text},
#include <arcp/deny_reason.def>
#undef ARCP_DENY
};

const char *arcp_deny_reason_name(arcp_deny_reason reason)
{
    return (unsigned)reason < ARCP_DENY_REASON_COUNT ? reasons[reason].name : "NONE";
}

const char *arcp_deny_reason_text(arcp_deny_reason reason)
{
    return (unsigned)reason < ARCP_DENY_REASON_COUNT ? reasons[reason].text : "";
}

void arcp_decision_format_details(const arcp_authority *authority, const arcp_decision *decision,
                                  arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "capability", decision->capability);
    arcp__put_string(&writer, "target", decision->target);
    arcp__put_text(&writer, "canonical", decision->canonical);
    const arcp__lease_capability *granted = arcp__lease_find(
        authority->lease, arcp__capability_from_name(decision->capability), decision->capability);
    const size_t count = granted == NULL ? 0 : granted->count;
    arcp__put_array(&writer, "granted");
    for (size_t i = 0; i < count && i < GRANTED_PATTERNS_MAX; i++) {
        arcp_json_write_string(&writer, granted->patterns[i]);
    }
    arcp_json_end_array(&writer);
    if (count > GRANTED_PATTERNS_MAX) {
        arcp__put_u64(&writer, "granted_count", count);
    }
    arcp__put_cstr(&writer, "reason", arcp_deny_reason_name(decision->reason));
    if (decision->reason == ARCP_DENY_BUDGET) {
        arcp__put_string(&writer, "currency", decision->currency);
    }
    if (decision->reason == ARCP_DENY_EXPIRED && arcp_lease_has_expiry(authority->lease)) {
        arcp__put_string(&writer, "expires_at", authority->lease->expires_text);
    }
    arcp_json_end_object(&writer);
}

static void quote_shortened(arcp_span text, arcp_buf *out)
{
    arcp_json_quote(arcp_span_first(text, arcp__utf8_cut(text, SHOWN_BYTES_MAX)), out);
    if (text.size > SHOWN_BYTES_MAX) {
        arcp_buf_append_cstr(out, "...");
    }
}

void arcp_decision_format_message(const arcp_decision *decision, arcp_buf *out)
{
    if (arcp_capability_is_valid(decision->capability)) {
        arcp_buf_append(out, decision->capability);
    } else {
        quote_shortened(decision->capability, out);
    }
    arcp_buf_append_cstr(out, " of ");
    quote_shortened(decision->target, out);
    if (decision->allowed) {
        arcp_buf_append_cstr(out, " is allowed");
    } else if (decision->reason == ARCP_DENY_NO_MATCH) {
        arcp_buf_append_cstr(out, " is not covered by the lease");
    } else if (decision->reason == ARCP_DENY_BUDGET) {
        arcp_buf_append_cstr(out, " is refused: the budget of ");
        quote_shortened(decision->currency, out);
        arcp_buf_append_cstr(out, " is used up");
    } else {
        arcp_buf_append_cstr(out, " is refused: ");
        arcp_buf_append_cstr(out, arcp_deny_reason_text(decision->reason));
    }
}
