/* Budgets form a tree: what a child spends its ancestors spend too (docs/leases.md, Budgets). */
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>

#include <arcp/budget.h>

#include "core/amount.h"
#include "core/decimal.h"

#define USD     ARCP_SPAN_LITERAL("USD")
#define EUR     ARCP_SPAN_LITERAL("EUR")
#define CREDITS ARCP_SPAN_LITERAL("credits")

/* A node whose lease has this cost.budget (a JSON array); NULL: none. */
static arcp_budget *node(const char *amounts, arcp_budget *parent)
{
    char text[256];
    if (amounts == NULL) {
        (void)snprintf(text, sizeof text, "{}");
    } else {
        (void)snprintf(text, sizeof text, "{\"cost.budget\":%s}", amounts);
    }
    arcp_lease *lease = NULL;
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_parse(arcp_span_cstr(text), ARCP_SPAN_LITERAL(""), NULL, &lease, &err),
             &err);
    check_ok(arcp_budget_new(lease, parent, &budget, &err), &err);
    arcp_lease_unref(lease);
    return budget;
}

static size_t spend(arcp_budget *budget, arcp_span currency, const char *text)
{
    arcp_budget_report reports[4];
    return arcp_budget_spend(budget, currency, amount(text), reports, 4);
}

static void check_remaining(const arcp_budget *budget, size_t index, const char *want)
{
    check_amount(arcp_budget_remaining(budget, index), want);
}

/* [arcp:LA-18] */
static void entries_of_one_currency_add_up_and_currencies_keep_their_order(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1.5\",\"credits:10\",\"USD:0.5\"]", NULL);
    assert_int_equal(arcp_budget_count(budget), 2);
    check_span(arcp_budget_currency(budget, 0), "USD");
    check_span(arcp_budget_currency(budget, 1), "credits");
    check_amount(arcp_budget_initial(budget, 0), "2");
    check_remaining(budget, 0, "2");
    assert_null(arcp_budget_parent(budget));
    arcp_budget_unref(budget);
}

/* [arcp:9.6-2] */
static void currencies_are_independent_and_case_sensitive(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1\",\"usd:1\"]", NULL);
    (void)spend(budget, USD, "0.25");
    check_remaining(budget, 0, "0.75");
    check_remaining(budget, 1, "1");
    check_amount(arcp_budget_spent(budget, 0), "0.25");
    arcp_budget_unref(budget);
}

static void a_currency_without_a_counter_changes_nothing(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1\"]", NULL);
    assert_int_equal(spend(budget, EUR, "5"), 0);
    assert_false(arcp_budget_counts(budget, EUR));
    assert_true(arcp_budget_counts(budget, USD));
    assert_false(arcp_budget_counts(NULL, USD));
    assert_true(arcp_budget_reserve(budget, EUR, amount("5")));
    arcp_budget_unreserve(budget, EUR, amount("5"));
    assert_true(arcp_budget_is_open(budget, NULL));
    check_remaining(budget, 0, "1");
    arcp_budget_unref(budget);
}

static void a_spend_of_zero_or_less_changes_and_reports_nothing(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1\"]", NULL);
    arcp_budget_report report;
    const arcp_decimal negative = arcp__decimal_of(-1);
    assert_int_equal(spend(budget, USD, "0"), 0);
    assert_int_equal(arcp_budget_spend(budget, USD, negative, &report, 1), 0);
    assert_false(arcp_budget_reserve(budget, USD, negative));
    arcp_budget_unreserve(budget, USD, negative);
    check_remaining(budget, 0, "1");
    assert_int_equal(spend(budget, USD, "0.001"), 1);
    arcp_budget_unref(budget);
}

static void what_a_child_spends_is_taken_from_every_ancestor(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:5\"]", NULL);
    arcp_budget *parent = node("[\"USD:3\",\"EUR:1\"]", root);
    arcp_budget *child = node("[\"USD:2\"]", parent);
    (void)spend(child, USD, "1.25");
    (void)spend(child, EUR, "0.5");
    check_remaining(child, 0, "0.75");
    check_remaining(parent, 0, "1.75");
    check_remaining(parent, 1, "0.5");
    check_remaining(root, 0, "3.75");
    (void)spend(parent, USD, "1");
    check_remaining(child, 0, "0.75");
    check_remaining(parent, 0, "0.75");
    check_remaining(root, 0, "2.75");
    arcp_budget_unref(root);
    arcp_budget_unref(parent);
    arcp_budget_unref(child);
}

static void children_together_cannot_spend_more_than_their_parent_had(void **state)
{
    (void)state;
    arcp_budget *parent = node("[\"USD:2\"]", NULL);
    arcp_budget *first = node("[\"USD:1.5\"]", parent);
    arcp_budget *second = node("[\"USD:1.5\"]", parent);
    (void)spend(first, USD, "1.5");
    arcp_span currency = {NULL, 0};
    assert_false(arcp_budget_is_open(first, NULL));
    assert_true(arcp_budget_is_open(second, NULL));
    (void)spend(second, USD, "0.5");
    assert_false(arcp_budget_is_open(second, &currency));
    check_span(currency, "USD");
    check_remaining(second, 0, "1");
    arcp_budget_unref(parent);
    arcp_budget_unref(first);
    arcp_budget_unref(second);
}

static void a_node_without_counters_spends_from_its_ancestors(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:1\"]", NULL);
    arcp_budget *parent = node(NULL, root);
    arcp_budget *child = node("[\"credits:5\"]", parent);
    assert_int_equal(arcp_budget_count(parent), 0);
    (void)spend(child, USD, "1");
    check_remaining(root, 0, "0");
    assert_false(arcp_budget_is_open(child, NULL));
    assert_false(arcp_budget_is_open(parent, NULL));
    arcp_budget_unref(root);
    arcp_budget_unref(parent);
    arcp_budget_unref(child);
}

static void the_available_amount_is_the_least_of_all_ancestors(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:5\",\"EUR:7\"]", NULL);
    arcp_budget *parent = node("[\"USD:4\"]", root);
    arcp_budget *child = node("[\"USD:3\"]", parent);
    arcp_decimal left = {42, 0};
    assert_false(arcp_budget_available(child, CREDITS, &left));
    assert_true(arcp__decimal_units(left) == 42);
    assert_false(arcp_budget_available(NULL, USD, &left));
    assert_true(arcp_budget_available(child, USD, &left));
    check_amount(left, "3");
    (void)spend(root, USD, "2.5");
    assert_true(arcp_budget_available(child, USD, &left));
    check_amount(left, "2.5");
    assert_true(arcp_budget_available(child, EUR, &left));
    check_amount(left, "7");
    arcp_budget_unref(root);
    arcp_budget_unref(parent);
    arcp_budget_unref(child);
}

static void reports_come_nearest_first_each_by_its_own_twentieth(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:100\"]", NULL);
    arcp_budget *child = node("[\"USD:10\"]", root);
    arcp_budget_report reports[2];
    assert_int_equal(arcp_budget_spend(child, USD, amount("0.1"), reports, 2), 2);
    assert_ptr_equal(reports[0].budget, child);
    assert_ptr_equal(reports[1].budget, root);
    check_span(reports[0].currency, "USD");
    check_amount(reports[0].remaining, "9.9");
    check_amount(reports[1].remaining, "99.9");
    assert_false(reports[0].exhausted);
    assert_int_equal(arcp_budget_spend(child, USD, amount("0.5"), reports, 2), 1);
    assert_ptr_equal(reports[0].budget, child);
    assert_int_equal(arcp_budget_spend(child, USD, amount("9.4"), reports, 2), 2);
    check_amount(reports[0].remaining, "0");
    assert_true(reports[0].exhausted);
    assert_false(reports[1].exhausted);
    check_amount(reports[1].remaining, "90");
    arcp_budget_unref(root);
    arcp_budget_unref(child);
}

static void a_report_without_room_comes_with_the_next_spend(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:100\"]", NULL);
    arcp_budget *child = node("[\"USD:10\"]", root);
    arcp_budget_report reports[2];
    assert_int_equal(arcp_budget_spend(child, USD, amount("1"), reports, 1), 1);
    assert_ptr_equal(reports[0].budget, child);
    assert_int_equal(arcp_budget_spend(child, USD, amount("0.01"), reports, 2), 1);
    assert_ptr_equal(reports[0].budget, root);
    check_amount(reports[0].remaining, "98.99");
    assert_int_equal(arcp_budget_spend(child, USD, amount("8.99"), NULL, 0), 0);
    check_remaining(child, 0, "0");
    arcp_budget_unref(root);
    arcp_budget_unref(child);
}

static void ten_thousand_small_spends_make_at_most_21_reports(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1\"]", NULL);
    size_t count = 0;
    for (int i = 0; i < 10000; i++) {
        count += spend(budget, USD, "0.0001");
    }
    check_remaining(budget, 0, "0");
    assert_int_equal(count, 21);
    arcp_budget_unref(budget);
}

static void a_hold_is_all_or_nothing_along_the_chain(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:2\"]", NULL);
    arcp_budget *child = node("[\"USD:5\"]", root);
    assert_false(arcp_budget_reserve(child, USD, amount("3")));
    check_remaining(child, 0, "5");
    check_remaining(root, 0, "2");
    assert_true(arcp_budget_reserve(child, USD, amount("2")));
    check_remaining(child, 0, "3");
    check_remaining(root, 0, "0");
    arcp_budget_unreserve(child, USD, amount("2"));
    check_remaining(child, 0, "5");
    check_remaining(root, 0, "2");
    arcp_budget_unref(root);
    arcp_budget_unref(child);
}

static void a_settled_hold_becomes_what_was_really_spent(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:2\"]", NULL);
    arcp_budget *child = node("[\"USD:2\"]", root);
    arcp_budget_report reports[2];
    assert_true(arcp_budget_reserve(child, USD, amount("1.5")));
    assert_int_equal(arcp_budget_settle(child, USD, amount("1.5"), amount("0.25"), reports, 2), 2);
    check_amount(reports[0].remaining, "1.75");
    check_amount(reports[1].remaining, "1.75");
    check_remaining(root, 0, "1.75");
    assert_true(arcp_budget_reserve(child, USD, amount("1")));
    assert_int_equal(arcp_budget_settle(child, USD, amount("1"), amount("2"), reports, 2), 2);
    check_amount(reports[0].remaining, "-0.25");
    assert_true(reports[0].exhausted);
    check_amount(arcp_budget_spent(root, 0), "2.25");
    assert_true(arcp_budget_reserve(child, EUR, amount("1")));
    assert_int_equal(arcp_budget_settle(child, USD, amount("0"), amount("0"), reports, 2), 0);
    arcp_budget_unref(root);
    arcp_budget_unref(child);
}

static void a_hold_alone_closes_the_budget_but_does_not_use_it_up(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1\"]", NULL);
    arcp_budget_report report;
    assert_true(arcp_budget_reserve(budget, USD, amount("0.9")));
    assert_int_equal(arcp_budget_spend(budget, USD, amount("0.1"), &report, 1), 1);
    check_amount(report.remaining, "0");
    assert_false(report.exhausted);
    assert_false(arcp_budget_is_open(budget, NULL));
    arcp_budget_unreserve(budget, USD, amount("0.9"));
    assert_true(arcp_budget_is_open(budget, NULL));
    arcp_budget_unref(budget);
}

static void a_restored_node_goes_on_where_it_stood(void **state)
{
    (void)state;
    arcp_budget *budget = node("[\"USD:1\",\"credits:10\"]", NULL);
    arcp_budget_restore(budget, 1, amount("9.5"));
    check_remaining(budget, 0, "1");
    check_remaining(budget, 1, "0.5");
    check_amount(arcp_budget_spent(budget, 1), "9.5");
    assert_int_equal(spend(budget, CREDITS, "0.4"), 0);
    assert_int_equal(spend(budget, CREDITS, "0.1"), 1);
    assert_false(arcp_budget_is_open(budget, NULL));
    arcp_budget_unref(budget);
}

static void a_child_keeps_its_ancestors_alive(void **state)
{
    (void)state;
    arcp_budget *root = node("[\"USD:1\"]", NULL);
    arcp_budget *child = node(NULL, root);
    arcp_budget_unref(root);
    assert_ptr_equal(arcp_budget_parent(child), root);
    (void)spend(child, USD, "0.5");
    check_remaining(arcp_budget_parent(child), 0, "0.5");
    arcp_budget *again = arcp_budget_ref(child);
    arcp_budget_unref(child);
    arcp_budget_unref(again);
    arcp_budget_unref(NULL);
}

enum { THREADS = 8, ROUNDS = 5000 };

typedef struct shared_tree {
    arcp_budget *root;
    arcp_budget *children[THREADS];
    atomic_size_t next;
    atomic_size_t exhausted_reports;
    atomic_size_t reports;
} shared_tree;

static void *spend_as_child(void *user)
{
    shared_tree *tree = user;
    arcp_budget *child = tree->children[atomic_fetch_add(&tree->next, 1)];
    const arcp_decimal cent = {10000000000000000, 0};
    for (int i = 0; i < ROUNDS; i++) {
        arcp_budget_report reports[2];
        const size_t count = arcp_budget_spend(child, USD, cent, reports, 2);
        for (size_t k = 0; k < count; k++) {
            if (reports[k].budget == tree->root) {
                atomic_fetch_add(&tree->reports, 1);
                atomic_fetch_add(&tree->exhausted_reports, reports[k].exhausted);
            }
        }
    }
    return NULL;
}

static void children_on_their_own_threads_add_up_exactly(void **state)
{
    (void)state;
    /* 8 x 5000 x 0.01 = 400. */
    shared_tree tree = {.root = node("[\"USD:400\"]", NULL)};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        tree.children[i] = node("[\"USD:50\"]", tree.root);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, spend_as_child, &tree), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    /* Only now: which thread took which child is not known. */
    for (size_t i = 0; i < THREADS; i++) {
        check_remaining(tree.children[i], 0, "0");
        arcp_budget_unref(tree.children[i]);
    }
    check_remaining(tree.root, 0, "0");
    assert_int_equal(atomic_load(&tree.exhausted_reports), 1);
    assert_in_range(atomic_load(&tree.reports), 2, 22);
    arcp_budget_unref(tree.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_one_currency_add_up_and_currencies_keep_their_order),
        cmocka_unit_test(currencies_are_independent_and_case_sensitive),
        cmocka_unit_test(a_currency_without_a_counter_changes_nothing),
        cmocka_unit_test(a_spend_of_zero_or_less_changes_and_reports_nothing),
        cmocka_unit_test(what_a_child_spends_is_taken_from_every_ancestor),
        cmocka_unit_test(children_together_cannot_spend_more_than_their_parent_had),
        cmocka_unit_test(a_node_without_counters_spends_from_its_ancestors),
        cmocka_unit_test(the_available_amount_is_the_least_of_all_ancestors),
        cmocka_unit_test(reports_come_nearest_first_each_by_its_own_twentieth),
        cmocka_unit_test(a_report_without_room_comes_with_the_next_spend),
        cmocka_unit_test(ten_thousand_small_spends_make_at_most_21_reports),
        cmocka_unit_test(a_hold_is_all_or_nothing_along_the_chain),
        cmocka_unit_test(a_settled_hold_becomes_what_was_really_spent),
        cmocka_unit_test(a_hold_alone_closes_the_budget_but_does_not_use_it_up),
        cmocka_unit_test(a_restored_node_goes_on_where_it_stood),
        cmocka_unit_test(a_child_keeps_its_ancestors_alive),
        cmocka_unit_test(children_on_their_own_threads_add_up_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
