/* One counter: exact between threads, reported once per crossing (docs/leases.md, Budgets). */
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <arcp/budget.h>

#include "core/amount.h"
#include "core/decimal.h"

#define USD ARCP_SPAN_LITERAL("USD")

static const arcp_decimal nothing = ARCP_DECIMAL_ZERO;

/* A budget of one counter. */
static arcp_budget *counter_of(const char *initial)
{
    char text[128];
    (void)snprintf(text, sizeof text, "{\"cost.budget\":[\"USD:%s\"]}", initial);
    arcp_lease *lease = NULL;
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_parse(arcp_span_cstr(text), ARCP_SPAN_LITERAL(""), NULL, &lease, &err),
             &err);
    check_ok(arcp_budget_new(lease, NULL, &budget, &err), &err);
    arcp_lease_unref(lease);
    return budget;
}

static arcp_decimal remaining(const arcp_budget *budget)
{
    return arcp_budget_remaining(budget, 0);
}

/* Spends; returns whether that has to be reported. */
static bool spend(arcp_budget *budget, const char *text)
{
    arcp_budget_report report;
    return arcp_budget_spend(budget, USD, amount(text), &report, 1) == 1;
}

static bool reserve(arcp_budget *budget, const char *text)
{
    return arcp_budget_reserve(budget, USD, amount(text));
}

static void release(arcp_budget *budget, const char *text)
{
    arcp_budget_report report;
    assert_int_equal(arcp_budget_settle(budget, USD, amount(text), nothing, &report, 1), 0);
}

static bool is_open(const arcp_budget *budget)
{
    const bool is_open = arcp_budget_is_open(budget, NULL);
    assert_true(is_open == (arcp__decimal_units(remaining(budget)) > 0));
    return is_open;
}

static void a_million_decrements_of_a_millionth_leave_exactly_zero(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("1.00");
    const arcp_decimal millionth = amount("0.000001");
    for (int i = 0; i < 999999; i++) {
        (void)arcp_budget_spend(counter, USD, millionth, NULL, 0);
    }
    assert_true(is_open(counter));
    check_amount(remaining(counter), "0.000001");
    (void)arcp_budget_spend(counter, USD, millionth, NULL, 0);
    assert_false(is_open(counter));
    check_amount(remaining(counter), "0");
    arcp_budget_unref(counter);
}

static void three_tenths_less_three_times_a_tenth_are_used_up(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("0.30");
    (void)spend(counter, "0.1");
    (void)spend(counter, "0.1");
    assert_true(is_open(counter));
    (void)spend(counter, "0.1");
    assert_false(is_open(counter));
    check_amount(remaining(counter), "0");
    arcp_budget_unref(counter);
}

static void an_overspend_is_counted_and_shows_as_a_negative_remaining(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("1");
    (void)spend(counter, "1.5");
    check_amount(remaining(counter), "-0.5");
    check_amount(arcp_budget_spent(counter, 0), "1.5");
    assert_false(is_open(counter));
    arcp_budget_unref(counter);
}

static void a_saturated_counter_never_opens_again(void **state)
{
    (void)state;
    const char *const max = "170141183460469231731.687303715884105727";
    arcp_budget *counter = counter_of(max);
    assert_true(reserve(counter, max));
    (void)spend(counter, max);
    (void)spend(counter, max);
    check_amount(remaining(counter), "-170141183460469231731.687303715884105727");
    release(counter, max);
    check_amount(remaining(counter), "0");
    assert_false(is_open(counter));
    arcp_budget_unref(counter);
}

static void a_hold_needs_its_amount_to_be_available(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("2");
    assert_true(reserve(counter, "1.5"));
    check_amount(remaining(counter), "0.5");
    assert_false(reserve(counter, "0.500000000000000001"));
    assert_true(reserve(counter, "0.5"));
    assert_false(is_open(counter));
    release(counter, "2");
    check_amount(remaining(counter), "2");
    arcp_budget_unref(counter);
}

static void more_cannot_be_released_than_is_held(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("2");
    assert_true(reserve(counter, "1"));
    release(counter, "100");
    check_amount(remaining(counter), "2");
    arcp_budget_unref(counter);
}

static void the_first_decrement_is_reported_however_small(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("100");
    assert_true(spend(counter, "0.000000000000000001"));
    assert_false(spend(counter, "0.000000000000000001"));
    arcp_budget_unref(counter);
}

/* [arcp:LA-19] */
static void a_twentieth_since_the_last_report_is_reported_and_less_is_not(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("100");
    assert_true(spend(counter, "1"));
    assert_false(spend(counter, "4.999999999999999999"));
    assert_true(spend(counter, "0.000000000000000001"));
    assert_false(spend(counter, "4"));
    assert_true(spend(counter, "1"));
    arcp_budget_unref(counter);
}

static void a_twentieth_that_is_no_whole_step_is_rounded_up(void **state)
{
    (void)state;
    /* A twentieth of 21 steps is 1.05 steps: one step is less than it, two are not. */
    arcp_budget *counter = counter_of("0.000000000000000021");
    assert_true(spend(counter, "0.000000000000000001"));
    assert_false(spend(counter, "0.000000000000000001"));
    assert_true(spend(counter, "0.000000000000000001"));
    arcp_budget_unref(counter);
}

static void reaching_zero_is_reported_even_when_little_was_spent_since_the_last_report(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("100");
    assert_true(spend(counter, "99"));
    assert_true(spend(counter, "1"));
    assert_false(spend(counter, "1"));
    assert_true(spend(counter, "4"));
    arcp_budget_unref(counter);
}

static void a_budget_of_zero_is_closed_at_once_and_reported_once(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("0");
    assert_false(is_open(counter));
    assert_true(spend(counter, "1"));
    assert_false(spend(counter, "1"));
    assert_false(spend(counter, "1000"));
    arcp_budget_unref(counter);
}

static void a_restored_counter_goes_on_where_it_stood(void **state)
{
    (void)state;
    arcp_budget *counter = counter_of("10");
    arcp_budget_restore(counter, 0, amount("9.75"));
    check_amount(remaining(counter), "0.25");
    assert_false(spend(counter, "0.1"));
    assert_true(spend(counter, "0.15"));
    assert_false(is_open(counter));
    arcp_budget_unref(counter);
}

enum { THREADS = 4, ROUNDS = 20000 };

typedef struct shared_counter {
    arcp_budget *counter;
    pthread_barrier_t start;
    arcp_decimal step;
    atomic_size_t reports;
    atomic_size_t crossings_of_zero;
    atomic_size_t holds;
    atomic_bool done;
    atomic_size_t violations;
} shared_counter;

static void run_threads(shared_counter *shared, void *(*body)(void *))
{
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&shared->start, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, body, shared), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    (void)pthread_barrier_destroy(&shared->start);
}

static void *spend_many_times(void *user)
{
    shared_counter *shared = user;
    (void)pthread_barrier_wait(&shared->start);
    for (int i = 0; i < ROUNDS; i++) {
        arcp_budget_report report;
        if (arcp_budget_spend(shared->counter, USD, shared->step, &report, 1) == 1) {
            atomic_fetch_add(&shared->reports, 1);
            if (report.exhausted) {
                assert_true(arcp__decimal_units(report.remaining) <= 0);
                atomic_fetch_add(&shared->crossings_of_zero, 1);
            }
        }
    }
    return NULL;
}

/* [arcp:LB-8] */
static void no_decrement_is_lost_between_threads_and_zero_is_reported_once(void **state)
{
    (void)state;
    shared_counter shared = {.counter = counter_of("800"), .step = amount("0.01")};
    run_threads(&shared, spend_many_times);
    check_amount(arcp_budget_spent(shared.counter, 0), "800");
    check_amount(remaining(shared.counter), "0");
    assert_int_equal(atomic_load(&shared.crossings_of_zero), 1);
    /* The first, at most one per twentieth, and zero. */
    assert_in_range(atomic_load(&shared.reports), 2, 22);
    arcp_budget_unref(shared.counter);
}

static void *hold_and_settle(void *user)
{
    shared_counter *shared = user;
    (void)pthread_barrier_wait(&shared->start);
    for (int i = 0; i < ROUNDS; i++) {
        if (!arcp_budget_reserve(shared->counter, USD, shared->step)) {
            continue;
        }
        const bool spends = i % 3 != 0;
        (void)arcp_budget_settle(shared->counter, USD, shared->step,
                                 spends ? shared->step : nothing, NULL, 0);
        atomic_fetch_add(&shared->holds, spends);
    }
    return NULL;
}

static void holds_of_several_threads_never_exceed_the_budget(void **state)
{
    (void)state;
    shared_counter shared = {.counter = counter_of("100"), .step = amount("1")};
    run_threads(&shared, hold_and_settle);
    assert_int_equal(atomic_load(&shared.holds), 100);
    check_amount(arcp_budget_spent(shared.counter, 0), "100");
    check_amount(remaining(shared.counter), "0");
    arcp_budget_unref(shared.counter);
}

static void *watch_or_settle(void *user)
{
    shared_counter *shared = user;
    if (pthread_barrier_wait(&shared->start) != 0) {
        /* One of the threads is the watcher. Every settlement spends exactly what it held, so what
         * remains never grows, and a reader must never see more than really remains. */
        while (!atomic_load(&shared->done)) {
            if (arcp__decimal_units(remaining(shared->counter)) >
                arcp__decimal_units(arcp_budget_initial(shared->counter, 0))) {
                atomic_fetch_add(&shared->violations, 1);
            }
        }
        return NULL;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (arcp_budget_reserve(shared->counter, USD, shared->step)) {
            (void)arcp_budget_settle(shared->counter, USD, shared->step, shared->step, NULL, 0);
            const arcp_decimal spent = arcp_budget_spent(shared->counter, 0);
            if (arcp__decimal_units(remaining(shared->counter)) >
                arcp__decimal_units(arcp_budget_initial(shared->counter, 0)) -
                    arcp__decimal_units(spent)) {
                atomic_fetch_add(&shared->violations, 1);
            }
            atomic_fetch_add(&shared->holds, 1);
        }
    }
    atomic_store(&shared->done, true);
    return NULL;
}

static void a_reader_never_sees_more_than_is_left(void **state)
{
    (void)state;
    shared_counter shared = {.counter = counter_of("1000000"), .step = amount("1")};
    run_threads(&shared, watch_or_settle);
    assert_int_equal(atomic_load(&shared.violations), 0);
    assert_int_equal(atomic_load(&shared.holds), (THREADS - 1) * ROUNDS);
    arcp_budget_unref(shared.counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_decrements_of_a_millionth_leave_exactly_zero),
        cmocka_unit_test(three_tenths_less_three_times_a_tenth_are_used_up),
        cmocka_unit_test(an_overspend_is_counted_and_shows_as_a_negative_remaining),
        cmocka_unit_test(a_saturated_counter_never_opens_again),
        cmocka_unit_test(a_hold_needs_its_amount_to_be_available),
        cmocka_unit_test(more_cannot_be_released_than_is_held),
        cmocka_unit_test(the_first_decrement_is_reported_however_small),
        cmocka_unit_test(a_twentieth_since_the_last_report_is_reported_and_less_is_not),
        cmocka_unit_test(a_twentieth_that_is_no_whole_step_is_rounded_up),
        cmocka_unit_test(
            reaching_zero_is_reported_even_when_little_was_spent_since_the_last_report),
        cmocka_unit_test(a_budget_of_zero_is_closed_at_once_and_reported_once),
        cmocka_unit_test(a_restored_counter_goes_on_where_it_stood),
        cmocka_unit_test(no_decrement_is_lost_between_threads_and_zero_is_reported_once),
        cmocka_unit_test(holds_of_several_threads_never_exceed_the_budget),
        cmocka_unit_test(a_reader_never_sees_more_than_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
