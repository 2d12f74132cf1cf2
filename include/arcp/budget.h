/* Budgets: exact counters per currency, in a tree.
 *
 * A node holds one counter per currency of its lease's cost.budget (repeated entries
 * added up). What is spent at a node is taken from every ancestor that has a counter of
 * that currency, so that children together cannot spend more than their parent had
 * (docs/leases.md, Budgets, draft §9.6). A counter's remaining is initial - spent - reserved.
 *
 * Threads: everything may be called from any thread on a node that is shared, but
 * arcp_budget_restore. Each counter has a lock of its own, held for some additions. A chain is not
 * one transaction: while a call is on its way up, an observer may see a child's counter moved and
 * its parent's not yet. Whatever is seen in between is never more than is really left. */
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

/* The node's own counters, in the order the lease names them. A currency is a piece of the lease's
 * text: no NUL follows it. */
ARCP_API size_t arcp_budget_count(const arcp_budget *budget);
ARCP_API arcp_span arcp_budget_currency(const arcp_budget *budget, size_t index);
ARCP_API arcp_decimal arcp_budget_initial(const arcp_budget *budget, size_t index);
ARCP_API arcp_decimal arcp_budget_spent(const arcp_budget *budget, size_t index);
/* initial - spent - reserved; negative after an overspend. */
ARCP_API arcp_decimal arcp_budget_remaining(const arcp_budget *budget, size_t index);

/* Sets what the node's own counter had spent before a restart (>= 0); its ancestors' are
 * restored one by one. Nothing is held afterwards, and the next report comes a twentieth
 * later. Before the node is shared between threads. */
ARCP_API void arcp_budget_restore(arcp_budget *budget, size_t index, arcp_decimal spent);

/* Whether the node or an ancestor counts this currency. NULL counts nothing. */
ARCP_API bool arcp_budget_counts(const arcp_budget *budget, arcp_span currency);

/* What can still be spent of a currency at this node: the least that remains there or at
 * any ancestor that counts it. False (and *remaining untouched) when none of them does. */
ARCP_API ARCP_MUST_CHECK bool arcp_budget_available(const arcp_budget *budget, arcp_span currency,
                                                    arcp_decimal *remaining);

/* Whether every counter of the node and of its ancestors is above zero; when not,
 * `currency` (may be NULL) names the first that is not (borrowed from the node). */
ARCP_API bool arcp_budget_is_open(const arcp_budget *budget, arcp_span *currency);

/* A counter that should be reported as cost.budget.remaining after a spend: the first
 * decrement, then each time a twentieth of the initial amount was spent since the last
 * report, and once when what was spent reaches the initial amount (a budget of zero is
 * reported once). Each of these comes out of exactly one call, also when several threads
 * spend. */
typedef struct arcp_budget_report {
    const arcp_budget *budget; /* whose counter; borrowed */
    arcp_span currency;        /* borrowed from that node */
    arcp_decimal remaining;    /* after this spend, holds taken off */
    bool exhausted;            /* used up by what was spent, without any holds */
} arcp_budget_report;

/* Takes `amount` from the node's and every ancestor's counter of `currency`; what it
 * overdraws is taken too (the cost was real), and past the largest number the counter
 * stays used up. Writes at most `reports_max` reports, nearest node first, and returns
 * how many there were; a crossing that finds no room comes with the next spend. A
 * currency without a counter, and an amount of zero or below, change nothing and return 0. */
ARCP_API size_t arcp_budget_spend(arcp_budget *budget, arcp_span currency, arcp_decimal amount,
                                  arcp_budget_report *reports, size_t reports_max);

/* Holds `amount` at the node and all its ancestors, all or nothing: false when any of
 * them has less remaining (or, rarely, while another thread's hold that will be refused
 * is in the way), and for negative amounts. True for a currency without a counter.
 *
 * Every successful reserve is ended by exactly one of: settle, which turns the held
 * amount into a spend of `actual` (may be smaller or larger), and unreserve, which gives it
 * back. `held` must be the amount reserved. */
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
