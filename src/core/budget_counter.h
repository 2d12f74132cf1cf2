/* One currency's counter: initial - spent - reserved, changed by any thread under a lock of its
 * own. docs/leases.md, Budgets.
 *
 *   spent     only grows; it saturates at the largest amount.
 *   reserved  what is held for calls that are under way.
 *   reported  what was spent when the counter was last reported; only grows. */
#ifndef ARCP_CORE_BUDGET_COUNTER_H
#define ARCP_CORE_BUDGET_COUNTER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <arcp/decimal.h>

typedef struct arcp__counter {
    atomic_bool is_open;   /* remaining > 0; read without the lock */
    atomic_flag is_locked; /* guards the members below */
    arcp_decimal_units spent;
    arcp_decimal_units reserved;
    arcp_decimal_units reported; /* -1: never */
    arcp_decimal_units initial;  /* fixed */
} arcp__counter;

typedef struct arcp__counter_report {
    arcp_decimal remaining;
    bool is_exhausted;
} arcp__counter_report;

/* `spent` is what is known to be spent already (after a restart); >= 0. */
void arcp__counter_init(arcp__counter *counter, arcp_decimal initial, arcp_decimal spent);

arcp_decimal arcp__counter_remaining(arcp__counter *counter);
arcp_decimal arcp__counter_spent(arcp__counter *counter);

/* Holds `amount` (>= 0) when that much remains. */
ARCP_MUST_CHECK bool arcp__counter_reserve(arcp__counter *counter, arcp_decimal amount);

/* Gives up to `held` (>= 0) back, never more than is held, and adds `actual` (>= 0) to spent.
 * Whether that has to be reported, by the rule of arcp_budget_report: true for exactly one caller
 * per crossing. One that has no room for a report (`may_report`) leaves the crossing to the next.
 */
bool arcp__counter_settle(arcp__counter *counter, arcp_decimal held, arcp_decimal actual,
                          bool may_report, arcp__counter_report *report);

#endif
