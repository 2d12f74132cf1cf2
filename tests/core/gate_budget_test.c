/* The gate and the counters: a budget that is used up denies everything (draft §9.6). */
#include "core/gate_rig.h"

#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>

/* [arcp:9.6-6] */
static void a_used_up_budget_denies_every_capability(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of(
        "{\"fs.read\":[\"/a\"],\"tool.call\":[\"**\"],\"cost.budget\":[\"USD:1\",\"EUR:1\"]}", "");
    assert_true(ask(authority, "tool.call", "search").allowed);
    spend(authority, "EUR", "1");
    const arcp_decision decision = ask(authority, "tool.call", "search");
    assert_int_equal(decision.code, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(decision.reason, ARCP_DENY_BUDGET);
    check_span(decision.currency, "EUR");
    assert_int_equal(ask(authority, "fs.read", "/a").code, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(ask(authority, "fs.read", "/not/granted").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(authority);
}

static void a_check_of_the_budget_capability_is_not_denied_by_the_budget(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"cost.budget\":[\"USD:0\"]}", "");
    const arcp_decision decision = ask(authority, "cost.budget", "USD:0");
    assert_int_equal(decision.code, ARCP_E_PERMISSION_DENIED);
    assert_int_equal(decision.reason, ARCP_DENY_UNKNOWN_CAPABILITY);
    assert_int_equal(ask(authority, "fs.read", "/a").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(authority);
}

static void an_ancestors_budget_denies_too(void **state)
{
    (void)state;
    const arcp_authority *parent = authority_of("{\"cost.budget\":[\"USD:1\"]}", "");
    const arcp_lease *lease = lease_of("{\"tool.call\":[\"t\"],\"cost.budget\":[\"USD:1\"]}", "");
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    check_ok(arcp_budget_new(lease, arcp_authority_budget(parent), &budget, &err), &err);
    arcp_authority_options options = arcp_authority_options_init();
    options.budget = budget;
    arcp_authority *child = NULL;
    check_ok(arcp_authority_new(lease, &options, &child, &err), &err);
    arcp_budget_unref(budget);
    arcp_lease_unref(lease);
    assert_true(ask(child, "tool.call", "t").allowed);
    spend(parent, "USD", "1");
    assert_int_equal(ask(child, "tool.call", "t").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(parent);
    arcp_authority_unref(child);
}

static void a_child_is_never_without_its_parents_counters(void **state)
{
    (void)state;
    static const char *const leases[] = {"{\"tool.call\":[\"t\"]}",
                                         "{\"tool.call\":[\"t\"],\"cost.budget\":[\"USD:1\"]}"};
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        const arcp_authority *parent = authority_of("{\"cost.budget\":[\"USD:1\"]}", "");
        const arcp_authority *child = child_of(parent, leases[i], true);
        assert_true(ask(child, "tool.call", "t").allowed);
        spend(child, "USD", "1");
        assert_int_equal(ask(child, "tool.call", "t").code, ARCP_E_BUDGET_EXHAUSTED);
        assert_int_equal(ask(parent, "tool.call", "t").code, ARCP_E_BUDGET_EXHAUSTED);
        arcp_authority_unref(child);
        arcp_authority_unref(parent);
    }
}

static void a_lease_with_a_budget_is_never_without_counters(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"cost.budget\":[\"USD:1\"]}", "");
    assert_non_null(arcp_authority_budget(authority));
    arcp_authority_unref(authority);
    authority = authority_of("{\"tool.call\":[\"t\"]}", "");
    assert_null(arcp_authority_budget(authority));
    arcp_authority_unref(authority);
}

enum { THREADS = 4, ROUNDS = 5000 };

typedef struct shared_gate {
    const arcp_authority *authority;
    atomic_size_t allowed;
    atomic_size_t wrong;
} shared_gate;

static void *ask_and_spend(void *user)
{
    shared_gate *shared = user;
    arcp_target_scratch *own = malloc(sizeof *own);
    if (own == NULL) {
        return NULL;
    }
    const arcp_decimal step = {10000000000000000, 0}; /* 0.01 */
    for (int i = 0; i < ROUNDS; i++) {
        arcp_decision decision;
        if (arcp_authorize(shared->authority, at_zero, SPAN("fs.read"), SPAN("/data/./x"), own,
                           &decision)) {
            atomic_fetch_add(&shared->allowed, 1);
            (void)arcp_budget_spend(arcp_authority_budget(shared->authority), SPAN("USD"), step,
                                    NULL, 0);
        } else if (decision.code != ARCP_E_BUDGET_EXHAUSTED) {
            atomic_fetch_add(&shared->wrong, 1);
        }
        if (arcp_authorize(shared->authority, at_zero, SPAN("fs.read"), SPAN("/data/../x"), own,
                           &decision)) {
            atomic_fetch_add(&shared->wrong, 1);
        }
    }
    free(own);
    return NULL;
}

static void threads_may_ask_one_authority_at_the_same_time(void **state)
{
    (void)state;
    const arcp_authority *authority =
        authority_of("{\"fs.read\":[\"/data/**\"],\"cost.budget\":[\"USD:100\"]}", "");
    shared_gate shared = {.authority = authority};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_spend, &shared), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    /* 100 / 0.01 checks pass, and at most one more per other thread that was in between. */
    assert_int_equal(atomic_load(&shared.wrong), 0);
    assert_in_range(atomic_load(&shared.allowed), 10000, 10000 + THREADS - 1);
    arcp_authority_unref(authority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_used_up_budget_denies_every_capability),
        cmocka_unit_test(a_check_of_the_budget_capability_is_not_denied_by_the_budget),
        cmocka_unit_test(an_ancestors_budget_denies_too),
        cmocka_unit_test(a_child_is_never_without_its_parents_counters),
        cmocka_unit_test(a_lease_with_a_budget_is_never_without_counters),
        cmocka_unit_test(threads_may_ask_one_authority_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
