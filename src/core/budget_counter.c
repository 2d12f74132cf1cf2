#include "core/budget_counter.h"

#include "core/budget_word.h"

#define UNITS_MAX ((arcp_decimal_units)(~(wide)0 >> 1))
#define NEVER     ((arcp_decimal_units)-1)

/* A report is due when one part in this many of the initial amount has gone. */
#define REPORT_PARTS 20

__extension__ typedef unsigned __int128 wide;

void arcp__counter_init(arcp__counter *counter, arcp_decimal initial, arcp_decimal spent)
{
    counter->initial = initial.units;
    counter->spent = spent.units;
    counter->reserved = 0;
    /* What was spent before a restart was reported before it, or is not worth a report
     * by itself. */
    counter->reported = spent.units == 0 ? NEVER : spent.units;
}

static arcp_decimal_units left(const arcp__counter *counter)
{
    const arcp_decimal_units reserved = word_load(&counter->reserved);
    const arcp_decimal_units spent = word_load(&counter->spent);
    return counter->initial - reserved - spent;
}

arcp_decimal arcp__counter_remaining(const arcp__counter *counter)
{
    const arcp_decimal remaining = {left(counter)};
    return remaining;
}

arcp_decimal arcp__counter_spent(const arcp__counter *counter)
{
    const arcp_decimal spent = {word_load(&counter->spent)};
    return spent;
}

bool arcp__counter_is_open(const arcp__counter *counter)
{
    return left(counter) > 0;
}

/* [arcp:LB-8] */
arcp_decimal arcp__counter_spend(arcp__counter *counter, arcp_decimal amount)
{
    arcp_decimal_units before = word_load(&counter->spent);
    arcp_decimal after;
    do {
        after.units = amount.units > UNITS_MAX - before ? UNITS_MAX : before + amount.units;
    } while (!word_swap(&counter->spent, &before, after.units));
    return after;
}

bool arcp__counter_reserve(arcp__counter *counter, arcp_decimal amount)
{
    for (;;) {
        arcp_decimal_units reserved = word_load(&counter->reserved);
        const arcp_decimal_units free_before = counter->initial - reserved;
        if (free_before - word_load(&counter->spent) < amount.units) {
            return false;
        }
        if (!word_swap(&counter->reserved, &reserved, reserved + amount.units)) {
            continue;
        }
        if (free_before - word_load(&counter->spent) >= amount.units) {
            return true;
        }
        arcp__counter_release(counter, amount);
    }
}

void arcp__counter_release(arcp__counter *counter, arcp_decimal held)
{
    arcp_decimal_units before = word_load(&counter->reserved);
    arcp_decimal_units after = 0;
    do {
        after = before > held.units ? before - held.units : 0;
    } while (!word_swap(&counter->reserved, &before, after));
}

/* Whether going from `reported` to `spent` is worth a report. [arcp:LA-19] */
static bool is_report_due(arcp_decimal_units initial, arcp_decimal_units reported,
                          arcp_decimal_units spent)
{
    if (spent <= reported) {
        return false;
    }
    if (reported == NEVER || (spent >= initial && reported < initial)) {
        return true;
    }
    /* A budget of zero is at zero from the start: one report, not one per spend. */
    const arcp_decimal_units step = initial / REPORT_PARTS + (initial % REPORT_PARTS != 0);
    return step > 0 && spent - reported >= step;
}

bool arcp__counter_claim_report(arcp__counter *counter, arcp_decimal spent, arcp_decimal *remaining)
{
    arcp_decimal_units reported = word_load(&counter->reported);
    while (is_report_due(counter->initial, reported, spent.units)) {
        if (word_swap(&counter->reported, &reported, spent.units)) {
            remaining->units = counter->initial - word_load(&counter->reserved) - spent.units;
            return true;
        }
    }
    return false;
}
