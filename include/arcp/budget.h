/* Budgets: exact counters per currency, in a tree.
 *
 * A node has one counter per currency of its lease's cost.budget (repeated entries are added up).
 * An amount spent at a node is also subtracted from every ancestor that has a counter of that
 * currency, so that children together cannot spend more than their parent had (docs/leases.md,
 * Budgets, draft §9.6). The remaining amount of a counter is initial - spent - reserved.
 *
 * All functions except arcp_budget_restore may be called from any thread on a shared node. Each
 * counter has its own lock, held for a few additions. A chain of ancestors is not one transaction:
 * during a call, another thread may see that a child's counter has changed and its parent's has
 * not. The amounts that it sees are never more than really remains. */
#ifndef ARCP_BUDGET_H
#define ARCP_BUDGET_H

#include <arcp/decimal.h>
#include <arcp/lease.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_budget arcp_budget;

/* A node with the counters of `lease` (none when it has no cost.budget) under `parent`
 * (borrowed, may be NULL; the node keeps a reference). The caller unrefs it. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_budget_new(const arcp_lease *lease, arcp_budget *parent,
                                                     arcp_budget **out, arcp_error *err);
ARCP_API arcp_budget *arcp_budget_ref(arcp_budget *budget);
ARCP_API void arcp_budget_unref(arcp_budget *budget); /* NULL is accepted */
ARCP_API arcp_budget *arcp_budget_parent(const arcp_budget *budget);

/* The node's own counters, in the order of the lease. A currency is a part of the lease's text: no
 * NUL follows it. */
ARCP_API size_t arcp_budget_count(const arcp_budget *budget);
ARCP_API arcp_span arcp_budget_currency(const arcp_budget *budget, size_t index);
ARCP_API arcp_decimal arcp_budget_initial(const arcp_budget *budget, size_t index);
ARCP_API arcp_decimal arcp_budget_spent(const arcp_budget *budget, size_t index);
/* initial - spent - reserved; negative after an overspend. */
ARCP_API arcp_decimal arcp_budget_remaining(const arcp_budget *budget, size_t index);

/* Sets the amount that the node's own counter had spent before a restart (>= 0); those of its
 * ancestors are restored separately. Nothing is reserved afterwards, and the next report is due a
 * twentieth later. To be called before the node is shared between threads. */
ARCP_API void arcp_budget_restore(arcp_budget *budget, size_t index, arcp_decimal spent);

/* Whether the node or an ancestor has a counter of this currency. False for NULL. */
ARCP_API bool arcp_budget_counts(const arcp_budget *budget, arcp_span currency);

/* The amount of a currency that can still be spent at this node: the smallest that remains there or
 * at any ancestor with a counter of it. False (and *remaining unchanged) when there is none. */
ARCP_API ARCP_MUST_CHECK bool arcp_budget_available(const arcp_budget *budget, arcp_span currency,
                                                    arcp_decimal *remaining);

/* Whether every counter of the node and of its ancestors is above zero; when not,
 * `currency` (may be NULL) names the first that is not (borrowed from the node). */
ARCP_API bool arcp_budget_is_open(const arcp_budget *budget, arcp_span *currency);

/* A counter that should be reported as cost.budget.remaining after a spend: the first time, then
 * each time a twentieth of the initial amount was spent since the last report, and once when the
 * spent amount reaches the initial amount (a budget of zero is reported once). Exactly one call
 * returns each of these, also when several threads spend. */
typedef struct arcp_budget_report {
    const arcp_budget *budget; /* whose counter; borrowed */
    arcp_span currency;        /* borrowed from that node */
    arcp_decimal remaining;    /* after this spend, less the reserved amounts */
    bool exhausted;            /* used up by the spent amount alone, without reservations */
} arcp_budget_report;

/* Subtracts `amount` from the node's and every ancestor's counter of `currency`, also beyond zero,
 * because the cost was real; beyond the largest number the counter stays used up. Writes at most
 * `reports_max` reports, nearest node first, and returns their number; a report that does not fit
 * is made by the next spend. A currency without a counter, and an amount of zero or below, change
 * nothing and return 0. */
ARCP_API size_t arcp_budget_spend(arcp_budget *budget, arcp_span currency, arcp_decimal amount,
                                  arcp_budget_report *reports, size_t reports_max);

/* Reserves `amount` at the node and all its ancestors, or at none: false if less remains at any of
 * them (or, rarely, while another thread makes a reservation that will be refused), and for
 * negative amounts. True for a currency without a counter.
 *
 * Every successful reservation must be ended by exactly one call: arcp_budget_settle replaces it
 * with a spend of `actual` (which may be smaller or larger), arcp_budget_unreserve releases it.
 * `held` must be the reserved amount. */
ARCP_API ARCP_MUST_CHECK bool arcp_budget_reserve(arcp_budget *budget, arcp_span currency,
                                                  arcp_decimal amount);
ARCP_API size_t arcp_budget_settle(arcp_budget *budget, arcp_span currency, arcp_decimal held,
                                   arcp_decimal actual, arcp_budget_report *reports,
                                   size_t reports_max);
ARCP_API void arcp_budget_unreserve(arcp_budget *budget, arcp_span currency, arcp_decimal held);

#ifdef __cplusplus
}
#endif
#endif
