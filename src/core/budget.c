#include <arcp/budget.h>

#include <assert.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "core/budget_counter.h"
#include "core/lease.h"

/* A counter and the next one of its currency towards the root. */
typedef struct node_counter {
    arcp__counter value;
    arcp_span currency; /* borrowed from the node's lease */
    struct arcp_budget *owner;
    struct node_counter *up; /* in an ancestor; NULL at the top */
} node_counter;

struct arcp_budget {
    atomic_size_t references;
    arcp_budget *parent;     /* a reference is held; NULL at the root */
    const arcp_lease *lease; /* a reference is held: owner of the currencies' names */
    size_t count;
    node_counter *counters; /* owned */
};

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
        arcp__counter_init(&counters[i].value, amount->total, (arcp_decimal)ARCP_DECIMAL_ZERO);
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
    /* A loop, not a recursion: the chain is as deep as its caller made it. */
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
    const arcp_decimal initial = {budget->counters[index].value.initial};
    return initial;
}

arcp_decimal arcp_budget_spent(const arcp_budget *budget, size_t index)
{
    assert(index < budget->count);
    return arcp__counter_spent(&budget->counters[index].value);
}

arcp_decimal arcp_budget_remaining(const arcp_budget *budget, size_t index)
{
    assert(index < budget->count);
    return arcp__counter_remaining(&budget->counters[index].value);
}

void arcp_budget_restore(arcp_budget *budget, size_t index, arcp_decimal spent)
{
    assert(index < budget->count && spent.units >= 0);
    arcp__counter *counter = &budget->counters[index].value;
    arcp__counter_init(counter, arcp_budget_initial(budget, index), spent);
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
    arcp_decimal least = arcp__counter_remaining(&counter->value);
    for (counter = counter->up; counter != NULL; counter = counter->up) {
        const arcp_decimal here = arcp__counter_remaining(&counter->value);
        least = arcp_decimal_compare(here, least) < 0 ? here : least;
    }
    *remaining = least;
    return true;
}

bool arcp_budget_is_open(const arcp_budget *budget, arcp_span *currency)
{
    for (; budget != NULL; budget = budget->parent) {
        for (size_t i = 0; i < budget->count; i++) {
            if (!atomic_load_explicit(&budget->counters[i].value.is_open, memory_order_acquire)) {
                if (currency != NULL) {
                    *currency = budget->counters[i].currency;
                }
                return false;
            }
        }
    }
    return true;
}

/* [arcp:9.6-4] */
size_t arcp_budget_spend(arcp_budget *budget, arcp_span currency, arcp_decimal amount,
                         arcp_budget_report *reports, size_t reports_max)
{
    const arcp_decimal nothing = ARCP_DECIMAL_ZERO;
    return arcp_budget_settle(budget, currency, nothing, amount, reports, reports_max);
}

/* Settles from `first` up to, and without, `end`; returns how many reports were written. */
static size_t settle(node_counter *first, const node_counter *end, arcp_decimal held,
                     arcp_decimal actual, arcp_budget_report *reports, size_t reports_max)
{
    const arcp_decimal nothing = ARCP_DECIMAL_ZERO;
    size_t count = 0;
    held = held.units > 0 ? held : nothing;
    actual = actual.units > 0 ? actual : nothing;
    for (node_counter *at = first; at != end; at = at->up) {
        const bool has_room = reports != NULL && count < reports_max;
        arcp__counter_report report;
        if (arcp__counter_settle(&at->value, held, actual, has_room, &report) && has_room) {
            reports[count++] = (arcp_budget_report){at->owner, at->currency, report.remaining,
                                                    report.is_exhausted};
        }
    }
    return count;
}

bool arcp_budget_reserve(arcp_budget *budget, arcp_span currency, arcp_decimal amount)
{
    const arcp_decimal nothing = ARCP_DECIMAL_ZERO;
    if (amount.units < 0) {
        return false;
    }
    node_counter *first = find_counter(budget, currency);
    for (node_counter *counter = first; counter != NULL; counter = counter->up) {
        if (!arcp__counter_reserve(&counter->value, amount)) {
            (void)settle(first, counter, amount, nothing, NULL, 0);
            return false;
        }
    }
    return true;
}

size_t arcp_budget_settle(arcp_budget *budget, arcp_span currency, arcp_decimal held,
                          arcp_decimal actual, arcp_budget_report *reports, size_t reports_max)
{
    return settle(find_counter(budget, currency), NULL, held, actual, reports, reports_max);
}

void arcp_budget_release(arcp_budget *budget, arcp_span currency, arcp_decimal held)
{
    const arcp_decimal nothing = ARCP_DECIMAL_ZERO;
    (void)settle(find_counter(budget, currency), NULL, held, nothing, NULL, 0);
}
