#include "core/name_glob.h"
#include "mcp/mcp_rule.h"

/* A reservation may be refused because of another thread's that will be refused as well. */
#define RESERVE_TRIES 8

const arcp__mcp_price *arcp__mcp_price_find(const arcp__mcp_price *prices, size_t count,
                                            arcp_span tool)
{
    for (size_t i = 0; i < count; i++) {
        if (arcp__name_glob_matches(prices[i].tools, tool)) {
            return &prices[i];
        }
    }
    return NULL;
}

/* Whether the job or one of its ancestors counts anything. */
static bool is_counted(const arcp_budget *budget)
{
    while (budget != NULL && arcp_budget_count(budget) == 0) {
        budget = arcp_budget_parent(budget);
    }
    return budget != NULL;
}

arcp__mcp_hold arcp__mcp_price_hold(const arcp__mcp_price *price, const arcp_authority *authority,
                                    arcp_span target, arcp_decision *decision)
{
    arcp_budget *budget = arcp_authority_budget(authority);
    arcp_decimal left = ARCP_DECIMAL_ZERO;
    if (price == NULL || !is_counted(budget)) {
        return ARCP__MCP_HOLD_NOTHING;
    }
    if (!arcp_budget_counts(budget, price->currency)) {
        return ARCP__MCP_HOLD_NO_CURRENCY;
    }
    for (int i = 0; i < RESERVE_TRIES && arcp_budget_available(budget, price->currency, &left) &&
                    arcp_decimal_compare(left, price->amount) >= 0;
         i++) {
        if (arcp_budget_reserve(budget, price->currency, price->amount)) {
            return ARCP__MCP_HOLD_RESERVED;
        }
    }
    *decision = (arcp_decision){.code = ARCP_E_BUDGET_EXHAUSTED,
                                .reason = ARCP_DENY_BUDGET,
                                .capability = ARCP_SPAN_LITERAL("tool.call"),
                                .target = target,
                                .canonical = target,
                                .currency = price->currency};
    return ARCP__MCP_HOLD_EXHAUSTED;
}

size_t arcp__mcp_price_settle(const arcp__mcp_price *price, const arcp_authority *authority,
                              bool was_sent, arcp_budget_report *reports, size_t reports_max)
{
    arcp_budget *budget = arcp_authority_budget(authority);
    if (!was_sent) {
        arcp_budget_unreserve(budget, price->currency, price->amount);
        return 0;
    }
    return arcp_budget_settle(budget, price->currency, price->amount, price->amount, reports,
                              reports_max);
}
