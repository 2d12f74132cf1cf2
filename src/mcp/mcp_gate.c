#include "mcp/mcp_parts.h"

bool arcp__mcp_decide(const arcp_authority *authority, arcp_time now, arcp_span target,
                      arcp_target_scratch *scratch, arcp_decision *decision)
{
    if (!arcp_authorize(authority, now, ARCP_SPAN_LITERAL("tool.call"), target, scratch,
                        decision)) {
        return false;
    }
    if (!arcp_span_equal(decision->canonical, target)) {
        /* The name that the server gets would not be the one that was matched. Names are their own
         * canonical form, so this does not happen. */
        decision->allowed = false;
        decision->code = ARCP_E_PERMISSION_DENIED;
        decision->reason = ARCP_DENY_NO_MATCH;
        return false;
    }
    return true;
}
