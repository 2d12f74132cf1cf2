/* One currency's counter: initial - spent - reserved, changed by any thread without a
 * lock. docs/leases.md, Budgets.
 *
 * A counter is three words that are swapped one at a time, never together:
 *
 *   spent     only grows, so it has no ABA; a spend is one compare-and-swap.
 *   reserved  what is held for calls that are under way.
 *   reported  what was spent when the counter was last reported; only grows.
 *
 * Order of accesses, on which everything below rests:
 *   - A settlement adds to spent before it takes from reserved. In between the amount
 *     counts twice: a reader may see too little left, never too much.
 *   - A reader loads reserved before spent. Whatever happened between the two loads, the
 *     result is at most what was left at the first load, because spent only grows.
 *   - A reservation checks what is left, swaps reserved, and checks again with a fresh
 *     spent: the first check may have been overtaken by a settlement and another
 *     reservation of the same size. If the second check fails it takes its hold back.
 *   - A crossing is reported by the one thread whose swap of reported succeeds.
 *
 * Bounds: 0 <= initial, reserved <= initial, spent <= DECIMAL_MAX (it saturates), so
 * initial - reserved - spent never leaves the range and a saturated counter can never
 * become positive again. */
#ifndef ARCP_CORE_BUDGET_COUNTER_H
#define ARCP_CORE_BUDGET_COUNTER_H

#include <stdbool.h>

#include <arcp/decimal.h>

typedef struct arcp__counter {
    arcp_decimal_units spent;
    arcp_decimal_units reserved;
    arcp_decimal_units reported; /* -1: never */
    arcp_decimal_units initial;  /* fixed */
} arcp__counter;

/* `spent` is what is known to be spent already (after a restart); >= 0. */
void arcp__counter_init(arcp__counter *counter, arcp_decimal initial, arcp_decimal spent);

arcp_decimal arcp__counter_remaining(const arcp__counter *counter);
arcp_decimal arcp__counter_spent(const arcp__counter *counter);

/* remaining > 0. */
bool arcp__counter_is_open(const arcp__counter *counter);

/* Adds `amount` (>= 0) to spent, saturating; returns spent as this call left it. */
arcp_decimal arcp__counter_spend(arcp__counter *counter, arcp_decimal amount);

/* Holds `amount` (>= 0) when that much remains. */
ARCP_MUST_CHECK bool arcp__counter_reserve(arcp__counter *counter, arcp_decimal amount);

/* Gives up to `held` back; never more than is held. */
void arcp__counter_release(arcp__counter *counter, arcp_decimal held);

/* Whether the spend that brought spent to `spent` has to be reported, by the rule of
 * arcp_budget_report; true for exactly one caller per crossing, which gets what remained
 * after that spend. */
bool arcp__counter_claim_report(arcp__counter *counter, arcp_decimal spent,
                                arcp_decimal *remaining);

#endif
