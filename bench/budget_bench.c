/* Budgets: spending along a chain of counters, and converting decimals to and from text. */
#include <stdlib.h>

#include <arcp/budget.h>

#include "core/decimal.h"
#include "harness.h"

enum { DEPTH_MAX = 5 };

typedef struct budget_state {
    arcp_budget *nodes[DEPTH_MAX]; /* root first */
    arcp_decimal amount;
} budget_state;

static arcp_lease *parse(const char *text)
{
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    if (arcp_lease_parse(arcp_span_cstr(text), arcp_span_make("", 0), NULL, &lease, &err) !=
        ARCP_OK) {
        abort();
    }
    return lease;
}

static void run_spend(budget_state *state, size_t depth, uint64_t iterations)
{
    arcp_budget *leaf = state->nodes[depth - 1];
    arcp_budget_report reports[DEPTH_MAX];
    size_t count = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        count +=
            arcp_budget_spend(leaf, ARCP_SPAN_LITERAL("USD"), state->amount, reports, DEPTH_MAX);
    }
    bench_keep(count);
}

static void spend_chain_of_1(void *state, uint64_t iterations)
{
    run_spend(state, 1, iterations);
}

static void spend_chain_of_5(void *state, uint64_t iterations)
{
    run_spend(state, DEPTH_MAX, iterations);
}

static void reserve_and_settle(void *user, uint64_t iterations)
{
    const budget_state *state = user;
    arcp_budget_report report;
    size_t count = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        if (arcp_budget_reserve(state->nodes[0], ARCP_SPAN_LITERAL("USD"), state->amount)) {
            count += arcp_budget_settle(state->nodes[0], ARCP_SPAN_LITERAL("USD"), state->amount,
                                        state->amount, &report, 1);
        }
    }
    bench_keep(count);
}

static void is_open_chain_of_5(void *user, uint64_t iterations)
{
    const budget_state *state = user;
    uint64_t open = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        open += arcp_budget_is_open(state->nodes[DEPTH_MAX - 1], NULL);
    }
    bench_keep(open);
}

static void parse_amount(void *state, uint64_t iterations)
{
    (void)state;
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    for (uint64_t i = 0; i < iterations; i++) {
        if (arcp_decimal_parse(ARCP_SPAN_LITERAL("12345.678901"), &value, NULL) != ARCP_OK) {
            abort();
        }
        bench_keep(arcp__decimal_units(value) != 0);
    }
}

static void parse_spend(void *state, uint64_t iterations)
{
    (void)state;
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    for (uint64_t i = 0; i < iterations; i++) {
        if (arcp_decimal_parse_spend(ARCP_SPAN_LITERAL("2.34e-2"), &value, NULL) != ARCP_OK) {
            abort();
        }
        bench_keep(arcp__decimal_units(value) != 0);
    }
}

static void format_amount(void *state, uint64_t iterations)
{
    (void)state;
    const arcp_decimal value = arcp__decimal_of((arcp__units)12345678901 * 1000000000000);
    char text[ARCP_DECIMAL_TEXT_MAX];
    for (uint64_t i = 0; i < iterations; i++) {
        bench_keep(arcp_decimal_format(value, text));
    }
}

int main(int argc, char **argv)
{
    budget_state state = {.amount = arcp__decimal_of(1)};
    const arcp_lease *lease = parse("{\"cost.budget\":[\"USD:100000000000000000000\"]}");
    for (size_t i = 0; i < DEPTH_MAX; i++) {
        arcp_error err = {0};
        if (arcp_budget_new(lease, i == 0 ? NULL : state.nodes[i - 1], &state.nodes[i], &err) !=
            ARCP_OK) {
            abort();
        }
    }
    const bench_case cases[] = {
        {"budget/spend/chain of 1", NULL, spend_chain_of_1, &state, 0, NULL, 0},
        {"budget/spend/chain of 5", "budget/spend/chain of 1", spend_chain_of_5, &state, 0, NULL,
         0},
        {"budget/reserve and settle", "budget/spend/chain of 1", reserve_and_settle, &state, 0,
         NULL, 0},
        {"budget/is open/chain of 5", NULL, is_open_chain_of_5, &state, 0, NULL, 0},
        {"decimal/parse amount", NULL, parse_amount, NULL, 0, NULL, 0},
        {"decimal/parse spend", NULL, parse_spend, NULL, 0, NULL, 0},
        {"decimal/format", NULL, format_amount, NULL, 0, NULL, 0},
    };
    const int status = bench_main(argc, argv, "budget", cases, sizeof cases / sizeof *cases);
    for (size_t i = 0; i < DEPTH_MAX; i++) {
        arcp_budget_unref(state.nodes[i]);
    }
    arcp_lease_unref(lease);
    return status;
}
