/* What a decision says to people and to programs. */
#include <arcp/gate.h>

#include <arcp/json.h>

#include "base/utf8.h"
#include "core/authority.h"
#include "core/lease.h"
#include "json/json_put.h"

/* How much of a target a message quotes, and how many patterns the details list. */
#define SHOWN_BYTES_MAX      200
#define GRANTED_PATTERNS_MAX 32

static const struct {
    const char *name;
    const char *text;
} reasons[ARCP_DENY_REASON_COUNT] = {
    [ARCP_DENY_NONE] = {"NONE", "allowed"},
#define ARCP_DENY(name, text) [ARCP_DENY_##name] = {#name, text},
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

static void write_granted(const arcp_authority *authority, arcp_span name, arcp_json_writer *writer)
{
    const arcp__lease_capability *granted =
        arcp__lease_find(authority->lease, arcp__capability_from_name(name), name);
    const size_t count = granted == NULL ? 0 : granted->count;
    arcp__put_array(writer, "granted");
    for (size_t i = 0; i < count && i < GRANTED_PATTERNS_MAX; i++) {
        arcp_json_write_string(writer, granted->patterns[i]);
    }
    arcp_json_end_array(writer);
    if (count > GRANTED_PATTERNS_MAX) {
        arcp__put_u64(writer, "granted_count", count);
    }
}

void arcp_decision_format_details(const arcp_authority *authority, const arcp_decision *decision,
                                  arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "capability", decision->capability);
    arcp__put_string(&writer, "target", decision->target);
    if (decision->canonical.size > 0) {
        arcp__put_string(&writer, "canonical", decision->canonical);
    }
    write_granted(authority, decision->capability, &writer);
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
