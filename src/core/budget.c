#include <arcp/budget.h>

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "core/decimal.h"
#include "core/lease.h"

#define UNITS_MAX ((arcp__units)(~(wide)0 >> 1))
#define NEVER     ((arcp__units)-1)

/* A report is due each time that 1/REPORT_PARTS of the initial amount has been spent. */
#define REPORT_PARTS 20

__extension__ typedef unsigned __int128 wide;

/* One currency's counter: initial - spent - reserved, changed by any thread under its own lock.
 * docs/leases.md, Budgets. */
typedef struct node_counter {
    atomic_bool is_open;   /* something remains; read without the lock */
    atomic_flag is_locked; /* guards the next three */
    arcp__units spent;     /* only grows; it saturates at the largest amount */
    arcp__units reserved;  /* reserved for calls under way */
    arcp__units reported;  /* `spent` at the last report; only grows; NEVER: no report yet */
    arcp__units initial;   /* fixed */
    arcp_span currency;    /* borrowed from the node's lease */
    struct arcp_budget *owner;
    struct node_counter *up; /* the next counter of the currency, in an ancestor; NULL at the top */
} node_counter;

struct arcp_budget {
    atomic_size_t references;
    arcp_budget *parent;     /* a reference is held; NULL at the root */
    const arcp_lease *lease; /* a reference is held: owner of the currencies' names */
    size_t count;
    node_counter *counters; /* owned */
};

static const arcp_decimal nothing = ARCP_DECIMAL_ZERO;

static arcp__units left(const node_counter *counter)
{
    return counter->initial - counter->reserved - counter->spent;
}

/* A spin lock: it is held for a few additions only, so waiting is short unless its holder was
 * preempted. */
static void lock(node_counter *counter)
{
    while (atomic_flag_test_and_set_explicit(&counter->is_locked, memory_order_acquire)) {
        (void)sched_yield();
    }
}

static void unlock(node_counter *counter)
{
    atomic_store_explicit(&counter->is_open, left(counter) > 0, memory_order_release);
    atomic_flag_clear_explicit(&counter->is_locked, memory_order_release);
}

/* `spent` (>= 0) is what was spent before a restart. */
static void start_counter(node_counter *counter, arcp_decimal initial, arcp_decimal spent)
{
    atomic_flag_clear(&counter->is_locked);
    counter->initial = arcp__decimal_units(initial);
    counter->spent = arcp__decimal_units(spent);
    counter->reserved = 0;
    /* What was spent before a restart was reported then, or was too little for a report. */
    counter->reported = arcp__decimal_units(spent) == 0 ? NEVER : arcp__decimal_units(spent);
    atomic_init(&counter->is_open, left(counter) > 0);
}

static arcp_decimal remaining_of(node_counter *counter)
{
    lock(counter);
    const arcp_decimal remaining = arcp__decimal_of(left(counter));
    unlock(counter);
    return remaining;
}

/* Whether a report is due. [arcp:LA-19] */
static bool is_report_due(const node_counter *counter)
{
    if (counter->spent <= counter->reported) {
        return false;
    }
    if (counter->reported == NEVER ||
        (counter->spent >= counter->initial && counter->reported < counter->initial)) {
        return true;
    }
    /* A budget of zero is at zero from the start: one report, not one per spend. */
    const arcp__units step =
        counter->initial / REPORT_PARTS + (counter->initial % REPORT_PARTS != 0);
    return step > 0 && counter->spent - counter->reported >= step;
}

/* The counter of `currency` at the node or at the nearest ancestor that has one. */
static node_counter *find_counter(const arcp_budget *budget, arcp_span currency)
{
    for (; budget != NULL; budget = budget->parent) {
        for (size_t i = 0; i < budget->count; i++) {
            if (arcp_span_equal(budget->counters[i].currency, currency)) {
                return &budget->counters[i];
            }
        }
    }
    return NULL;
}

/* [arcp:9.6-2] */
arcp_status arcp_budget_new(const arcp_lease *lease, arcp_budget *parent, arcp_budget **out,
                            arcp_error *err)
{
    const size_t count = lease->amount_count;
    arcp_budget *budget = arcp__alloc(sizeof *budget);
    node_counter *counters = count == 0 ? NULL : arcp__alloc_array(count, sizeof *counters);
    if (budget == NULL || (count > 0 && counters == NULL)) {
        arcp__free(budget);
        arcp__free(counters);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a budget");
    }
    atomic_init(&budget->references, 1);
    budget->parent = parent == NULL ? NULL : arcp_budget_ref(parent);
    budget->lease = arcp_lease_ref(lease);
    budget->count = count;
    budget->counters = counters;
    for (size_t i = 0; i < count; i++) {
        const arcp__lease_amount *amount = &lease->amounts[i];
        start_counter(&counters[i], amount->total, nothing);
        counters[i].currency = amount->currency;
        counters[i].owner = budget;
        counters[i].up = find_counter(parent, amount->currency);
    }
    *out = budget;
    return ARCP_OK;
}

arcp_budget *arcp_budget_ref(arcp_budget *budget)
{
    atomic_fetch_add_explicit(&budget->references, 1, memory_order_relaxed);
    return budget;
}

void arcp_budget_unref(arcp_budget *budget)
{
    /* A loop instead of recursion, because the caller chooses how deep the chain is. */
    while (budget != NULL &&
           atomic_fetch_sub_explicit(&budget->references, 1, memory_order_acq_rel) == 1) {
        arcp_budget *parent = budget->parent;
        arcp_lease_unref(budget->lease);
        arcp__free(budget->counters);
        arcp__free(budget);
        budget = parent;
    }
}

arcp_budget *arcp_budget_parent(const arcp_budget *budget)
{
    return budget->parent;
}

size_t arcp_budget_count(const arcp_budget *budget)
{
    return budget->count;
}

arcp_span arcp_budget_currency(const arcp_budget *budget, size_t index)
{
    assert(index < budget->count);
    return budget->counters[index].currency;
}

arcp_decimal arcp_budget_initial(const arcp_budget *budget, size_t index)
{
    assert(index < budget->count);
    const arcp_decimal initial = arcp__decimal_of(budget->counters[index].initial);
    return initial;
}

arcp_decimal arcp_budget_spent(const arcp_budget *budget, size_t index)
{
    assert(index < budget->count);
    node_counter *counter = &budget->counters[index];
    lock(counter);
    const arcp_decimal spent = arcp__decimal_of(counter->spent);
    unlock(counter);
    return spent;
}

arcp_decimal arcp_budget_remaining(const arcp_budget *budget, size_t index)
{
    assert(index < budget->count);
    return remaining_of(&budget->counters[index]);
}

void arcp_budget_restore(arcp_budget *budget, size_t index, arcp_decimal spent)
{
    assert(index < budget->count && arcp__decimal_units(spent) >= 0);
    start_counter(&budget->counters[index], arcp_budget_initial(budget, index), spent);
}

bool arcp_budget_counts(const arcp_budget *budget, arcp_span currency)
{
    return find_counter(budget, currency) != NULL;
}

bool arcp_budget_available(const arcp_budget *budget, arcp_span currency, arcp_decimal *remaining)
{
    node_counter *counter = find_counter(budget, currency);
    if (counter == NULL) {
        return false;
    }
    arcp_decimal least = remaining_of(counter);
    for (counter = counter->up; counter != NULL; counter = counter->up) {
        const arcp_decimal here = remaining_of(counter);
        least = arcp_decimal_compare(here, least) < 0 ? here : least;
    }
    *remaining = least;
    return true;
}

bool arcp_budget_is_open(const arcp_budget *budget, arcp_span *currency)
{
    for (; budget != NULL; budget = budget->parent) {
        for (size_t i = 0; i < budget->count; i++) {
            if (!atomic_load_explicit(&budget->counters[i].is_open, memory_order_acquire)) {
                if (currency != NULL) {
                    *currency = budget->counters[i].currency;
                }
                return false;
            }
        }
    }
    return true;
}

/* Releases `held`, at most what is reserved, and adds `actual` to what is spent, in the counters
 * from `first` up to, but not including, `end`. Returns the number of reports written. Each due
 * report is written for exactly one caller; a caller without space for it leaves it to the next.
 * [arcp:LB-8] */
static size_t settle(node_counter *first, const node_counter *end, arcp__units held,
                     arcp__units actual, arcp_budget_report *reports, size_t reports_max)
{
    size_t count = 0;
    held = held > 0 ? held : 0;
    actual = actual > 0 ? actual : 0;
    for (node_counter *node = first; node != end; node = node->up) {
        lock(node);
        node->reserved -= held < node->reserved ? held : node->reserved;
        node->spent = actual > UNITS_MAX - node->spent ? UNITS_MAX : node->spent + actual;
        if (reports != NULL && count < reports_max && actual > 0 && is_report_due(node)) {
            node->reported = node->spent;
            reports[count++] =
                (arcp_budget_report){node->owner, node->currency, arcp__decimal_of(left(node)),
                                     node->spent >= node->initial};
        }
        unlock(node);
    }
    return count;
}

size_t arcp_budget_settle(arcp_budget *budget, arcp_span currency, arcp_decimal held,
                          arcp_decimal actual, arcp_budget_report *reports, size_t reports_max)
{
    return settle(find_counter(budget, currency), NULL, arcp__decimal_units(held),
                  arcp__decimal_units(actual), reports, reports_max);
}

/* [arcp:9.6-4] */
size_t arcp_budget_spend(arcp_budget *budget, arcp_span currency, arcp_decimal amount,
                         arcp_budget_report *reports, size_t reports_max)
{
    return arcp_budget_settle(budget, currency, nothing, amount, reports, reports_max);
}

bool arcp_budget_reserve(arcp_budget *budget, arcp_span currency, arcp_decimal amount)
{
    const arcp__units held = arcp__decimal_units(amount);
    if (held < 0) {
        return false;
    }
    node_counter *first = find_counter(budget, currency);
    for (node_counter *counter = first; counter != NULL; counter = counter->up) {
        lock(counter);
        const bool fits = left(counter) >= held;
        counter->reserved += fits ? held : 0;
        unlock(counter);
        if (!fits) {
            (void)settle(first, counter, held, 0, NULL, 0);
            return false;
        }
    }
    return true;
}

void arcp_budget_unreserve(arcp_budget *budget, arcp_span currency, arcp_decimal held)
{
    (void)arcp_budget_settle(budget, currency, held, nothing, NULL, 0);
}
