#include "core/budget_counter.h"

#include <sched.h>

#define UNITS_MAX ((arcp_decimal_units)(~(wide)0 >> 1))
#define NEVER     ((arcp_decimal_units)-1)

/* A report is due when one part in this many of the initial amount has gone. */
#define REPORT_PARTS 20

__extension__ typedef unsigned __int128 wide;

static arcp_decimal_units left(const arcp__counter *counter)
{
    return counter->initial - counter->reserved - counter->spent;
}

/* What is done with the lock takes some additions: whoever waits is there for that long, unless
 * the holder lost its processor. */
static void lock(arcp__counter *counter)
{
    while (atomic_flag_test_and_set_explicit(&counter->is_locked, memory_order_acquire)) {
        (void)sched_yield();
    }
}

static void unlock(arcp__counter *counter)
{
    atomic_store_explicit(&counter->is_open, left(counter) > 0, memory_order_release);
    atomic_flag_clear_explicit(&counter->is_locked, memory_order_release);
}

void arcp__counter_init(arcp__counter *counter, arcp_decimal initial, arcp_decimal spent)
{
    atomic_flag_clear(&counter->is_locked);
    counter->initial = initial.units;
    counter->spent = spent.units;
    counter->reserved = 0;
    /* What was spent before a restart was reported before it, or is not worth a report
     * by itself. */
    counter->reported = spent.units == 0 ? NEVER : spent.units;
    atomic_init(&counter->is_open, left(counter) > 0);
}

arcp_decimal arcp__counter_remaining(arcp__counter *counter)
{
    lock(counter);
    const arcp_decimal remaining = {left(counter)};
    unlock(counter);
    return remaining;
}

arcp_decimal arcp__counter_spent(arcp__counter *counter)
{
    lock(counter);
    const arcp_decimal spent = {counter->spent};
    unlock(counter);
    return spent;
}

bool arcp__counter_reserve(arcp__counter *counter, arcp_decimal amount)
{
    lock(counter);
    const bool fits = left(counter) >= amount.units;
    counter->reserved += fits ? amount.units : 0;
    unlock(counter);
    return fits;
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

/* [arcp:LB-8] */
bool arcp__counter_settle(arcp__counter *counter, arcp_decimal held, arcp_decimal actual,
                          bool may_report, arcp__counter_report *report)
{
    lock(counter);
    counter->reserved -= held.units < counter->reserved ? held.units : counter->reserved;
    counter->spent =
        actual.units > UNITS_MAX - counter->spent ? UNITS_MAX : counter->spent + actual.units;
    const bool is_due = may_report && actual.units > 0 &&
                        is_report_due(counter->initial, counter->reported, counter->spent);
    if (is_due) {
        counter->reported = counter->spent;
        report->remaining.units = left(counter);
        report->is_exhausted = counter->spent >= counter->initial;
    }
    unlock(counter);
    return is_due;
}
