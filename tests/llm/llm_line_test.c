/* The line in which model calls wait for their holds. llm_line_simulation_test.c has
 * random interleavings. */
#include "support/check.h"

#include "core/amount.h"
#include "llm/llm_line.h"

#define USD    ARCP_SPAN_LITERAL("USD")
#define EUR    ARCP_SPAN_LITERAL("EUR")
#define TOKENS ARCP_SPAN_LITERAL("tokens")
#define MINUTE 60000

static arcp_budget *node(const char *amounts, arcp_budget *parent)
{
    char text[256];
    arcp_lease *lease = NULL;
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    (void)snprintf(text, sizeof text, amounts[0] == 0 ? "{}%s" : "{\"cost.budget\":[%s]}", amounts);
    check_ok(arcp_lease_parse(arcp_span_cstr(text), ARCP_SPAN_LITERAL(""), NULL, &lease, &err),
             &err);
    check_ok(arcp_budget_new(lease, parent, &budget, &err), &err);
    arcp_lease_unref(lease);
    return budget;
}

#define CALLS 64

typedef struct rig {
    arcp__llm_lines *lines;
    arcp_budget *budget;
    arcp__llm_caller caller;
    arcp__llm_hold holds[CALLS];
    uint64_t now_ms;
} rig;

static void start(rig *r, const char *budget)
{
    arcp_error err = {0};
    *r = (rig){.budget = node(budget, NULL)};
    check_ok(arcp__llm_lines_new(&r->lines, &err), &err);
}

static void stop(rig *r)
{
    for (size_t i = 0; i < CALLS; i++) {
        arcp__llm_hold_cancel(r->lines, &r->holds[i], r->now_ms);
    }
    assert_null(arcp__llm_lines_take(r->lines));
    assert_int_equal(arcp__llm_lines_count(r->lines), 0);
    assert_int_equal(arcp__llm_lines_waiting(r->lines), 0);
    assert_int_equal(r->caller.under_way, 0);
    arcp__llm_lines_free(r->lines);
    arcp_budget_unref(r->budget);
}

static arcp__llm_ask usual_ask(rig *r, arcp__llm_demand *demand)
{
    *demand = (arcp__llm_demand){USD, amount("0.5"), amount("0.000025")};
    return (arcp__llm_ask){.budget = r->budget,
                           .caller = &r->caller,
                           .demands = demand,
                           .demand_count = 1,
                           .limit = 64000, /* 1.60 */
                           .limit_min = 256,
                           .calls_max = 32,
                           .wait_ms = MINUTE};
}

static void ask(rig *r, size_t call, uint64_t limit)
{
    arcp__llm_demand demand;
    arcp__llm_ask what = usual_ask(r, &demand);
    what.limit = limit;
    what.limit_min = limit < what.limit_min ? limit : what.limit_min;
    arcp__llm_hold_ask(r->lines, &r->holds[call], &what, r->now_ms);
}

static void settle(rig *r, size_t call, const char *cost)
{
    const arcp_decimal costs[1] = {amount(cost)};
    arcp_budget_report reports[8];
    (void)arcp__llm_hold_settle(r->lines, &r->holds[call], costs, reports, 8, r->now_ms);
}

static void check_spent(const rig *r, const char *spent, const char *remaining)
{
    check_amount(arcp_budget_spent(r->budget, 0), spent);
    check_amount(arcp_budget_remaining(r->budget, 0), remaining);
}

static void check_refused(rig *r, size_t call, arcp__llm_line_reason reason)
{
    assert_int_equal(r->holds[call].state, ARCP__LLM_HOLD_REFUSED);
    assert_int_equal(r->holds[call].reason, reason);
}

static void eight_calls_at_once_with_high_limits_all_succeed(void **state)
{
    (void)state;
    rig r;
    size_t settled = 0;
    start(&r, "\"USD:5\"");
    for (size_t i = 0; i < 8; i++) {
        ask(&r, i, 64000); /* each holds 2.10 of 5 */
    }
    assert_int_equal(arcp__llm_lines_waiting(r.lines), 6);
    for (arcp__llm_hold *hold; (hold = arcp__llm_lines_take(r.lines)) != NULL; settled++) {
        assert_int_equal(hold->state, ARCP__LLM_HOLD_HELD);
        assert_true(hold == &r.holds[settled]);
        assert_int_equal(hold->limit, 64000);
        settle(&r, settled, "0.10");
    }
    assert_int_equal(settled, 8);
    check_spent(&r, "0.8", "4.2");
    stop(&r);
}

static void a_budget_is_spent_to_within_the_least_call(void **state)
{
    (void)state;
    rig r;
    size_t calls = 0;
    start(&r, "\"USD:5\"");
    /* The input costs 0.5, and each call uses all that it may. */
    for (;; calls++) {
        ask(&r, 0, 64000);
        assert_true(arcp__llm_lines_take(r.lines) == &r.holds[0]);
        if (r.holds[0].state != ARCP__LLM_HOLD_HELD) {
            break;
        }
        char cost[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(r.holds[0].held[0], cost);
        settle(&r, 0, cost);
    }
    /* 2.10, 2.10, and then 0.80 with a limit that was set. */
    assert_int_equal(calls, 3);
    check_refused(&r, 0, ARCP__LLM_LINE_EXHAUSTED);
    check_spent(&r, "5", "0");
    stop(&r);
}

static void the_limit_is_set_to_what_remains_down_to_the_least(void **state)
{
    (void)state;
    static const struct {
        const char *budget;
        uint64_t limit; /* 0: refused */
    } cases[] = {{"\"USD:2.1\"", 64000},
                 {"\"USD:2.099999\"", 63999},
                 {"\"USD:0.5064\"", 256},
                 {"\"USD:0.506399999999999999\"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r;
        start(&r, cases[i].budget);
        ask(&r, 0, 64000);
        if (cases[i].limit == 0) {
            check_refused(&r, 0, ARCP__LLM_LINE_EXHAUSTED);
            check_span(r.holds[0].currency, "USD");
        } else {
            assert_int_equal(r.holds[0].state, ARCP__LLM_HOLD_HELD);
            assert_int_equal(r.holds[0].limit, cases[i].limit);
        }
        stop(&r);
    }
}

static void a_call_with_a_limit_below_the_least_needs_its_own_limit_only(void **state)
{
    (void)state;
    rig r;
    start(&r, "\"USD:0.50025\"");
    ask(&r, 0, 11);
    check_refused(&r, 0, ARCP__LLM_LINE_EXHAUSTED);
    arcp__llm_hold_cancel(r.lines, &r.holds[0], 0);
    ask(&r, 0, 10);
    assert_int_equal(r.holds[0].state, ARCP__LLM_HOLD_HELD);
    stop(&r);
}

static void a_call_waits_rather_than_have_its_limit_lowered_by_the_holds_of_others(void **state)
{
    (void)state;
    rig r;
    start(&r, "\"USD:3\"");
    ask(&r, 0, 64000);
    ask(&r, 1, 64000);
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_WAITING);
    settle(&r, 0, "0.10");
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_HELD);
    assert_int_equal(r.holds[1].limit, 64000);
    stop(&r);
}

static void calls_are_served_in_their_order_also_when_a_later_one_is_small(void **state)
{
    (void)state;
    rig r;
    start(&r, "\"USD:3\"");
    ask(&r, 0, 64000);
    ask(&r, 1, 64000);
    ask(&r, 2, 100); /* would fit */
    assert_int_equal(r.holds[2].state, ARCP__LLM_HOLD_WAITING);
    settle(&r, 0, "0.10");
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_HELD);
    assert_int_equal(r.holds[2].state, ARCP__LLM_HOLD_HELD);
    stop(&r);
}

static void a_wait_ends_at_its_limit(void **state)
{
    (void)state;
    rig r;
    start(&r, "\"USD:3\"");
    ask(&r, 0, 64000);
    r.now_ms = 1000;
    ask(&r, 1, 64000);
    arcp__llm_lines_tick(r.lines, 1000 + MINUTE - 1);
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_WAITING);
    assert_int_equal(arcp__llm_lines_due_ms(r.lines), 1000 + MINUTE);
    arcp__llm_lines_tick(r.lines, 1000 + MINUTE);
    check_refused(&r, 1, ARCP__LLM_LINE_BUSY);
    check_span(r.holds[1].currency, "USD");
    assert_true(arcp__llm_lines_due_ms(r.lines) == UINT64_MAX);
    check_spent(&r, "0", "0.9");
    stop(&r);
}

static void what_holds_of_others_never_give_back_is_refused_at_once(void **state)
{
    (void)state;
    rig r;
    start(&r, "\"USD:2.5\"");
    ask(&r, 0, 64000);
    ask(&r, 1, 64000);
    (void)arcp_budget_spend(r.budget, USD, amount("2"), NULL, 0);
    /* 0.5 would remain without the hold: less than the least call. */
    ask(&r, 2, 64000);
    check_refused(&r, 2, ARCP__LLM_LINE_EXHAUSTED);
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_REFUSED);
    stop(&r);
}

static void sixty_four_calls_for_the_money_of_one(void **state)
{
    (void)state;
    rig r;
    size_t decided = 0;
    start(&r, "\"USD:2.1\"");
    for (size_t i = 0; i < CALLS; i++) {
        ask(&r, i, 64000);
    }
    assert_true(arcp__llm_lines_take(r.lines) == &r.holds[0]);
    assert_null(arcp__llm_lines_take(r.lines));
    settle(&r, 0, "2.1");
    for (arcp__llm_hold *hold; (hold = arcp__llm_lines_take(r.lines)) != NULL; decided++) {
        check_refused(&r, (size_t)(hold - r.holds), ARCP__LLM_LINE_EXHAUSTED);
    }
    assert_int_equal(decided, CALLS - 1);
    check_spent(&r, "2.1", "0");
    stop(&r);
}

static void calls_over_those_of_the_job_wait_and_others_pass_them(void **state)
{
    (void)state;
    rig r;
    arcp__llm_demand demand;
    arcp__llm_caller other = {0};
    start(&r, "\"USD:500\"");
    for (size_t i = 0; i < 33; i++) {
        ask(&r, i, 64000);
    }
    assert_int_equal(r.holds[31].state, ARCP__LLM_HOLD_HELD);
    assert_int_equal(r.holds[32].state, ARCP__LLM_HOLD_WAITING);
    arcp__llm_ask what = usual_ask(&r, &demand);
    what.caller = &other;
    arcp__llm_hold_ask(r.lines, &r.holds[33], &what, 0);
    assert_int_equal(r.holds[33].state, ARCP__LLM_HOLD_HELD);
    settle(&r, 5, "0");
    assert_int_equal(r.holds[32].state, ARCP__LLM_HOLD_HELD);
    stop(&r);
    assert_int_equal(other.under_way, 0);
}

static void jobs_under_one_topmost_budget_have_one_line(void **state)
{
    (void)state;
    rig r;
    arcp__llm_demand demand;
    arcp__llm_caller others[2] = {0};
    start(&r, "\"USD:3\"");
    arcp_budget *children[2] = {node("\"USD:3\"", r.budget), node("", r.budget)};
    for (size_t i = 0; i < 2; i++) {
        arcp__llm_ask what = usual_ask(&r, &demand);
        what.budget = children[i];
        what.caller = &others[i];
        arcp__llm_hold_ask(r.lines, &r.holds[i], &what, 0);
    }
    ask(&r, 2, 100); /* would fit, but the second child waits before it */
    assert_int_equal(arcp__llm_lines_count(r.lines), 1);
    assert_int_equal(arcp__llm_lines_waiting(r.lines), 2);
    settle(&r, 0, "0.10");
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_HELD);
    assert_int_equal(r.holds[2].state, ARCP__LLM_HOLD_HELD);
    stop(&r);
    arcp_budget_unref(children[0]);
    arcp_budget_unref(children[1]);
}

static void a_job_without_a_budget_holds_nothing(void **state)
{
    (void)state;
    rig r;
    arcp__llm_demand demand;
    start(&r, "\"USD:1\"");
    arcp__llm_ask what = usual_ask(&r, &demand);
    what.budget = NULL;
    arcp__llm_hold_ask(r.lines, &r.holds[0], &what, 0);
    assert_int_equal(r.holds[0].state, ARCP__LLM_HOLD_HELD);
    assert_int_equal(r.holds[0].demand_count, 0);
    check_spent(&r, "0", "1");
    stop(&r);
}

static void a_hold_is_in_every_currency_or_in_none(void **state)
{
    (void)state;
    rig r;
    const arcp__llm_demand demands[] = {{USD, amount("1"), amount("0.01")},
                                        {EUR, amount("0.9"), amount("0.009")},
                                        {ARCP_SPAN_LITERAL("GBP"), amount("9"), amount("9")},
                                        {TOKENS, amount("100"), amount("1")}};
    start(&r, "\"USD:5\",\"tokens:250\",\"EUR:5\"");
    arcp__llm_ask what = {.budget = r.budget,
                          .caller = &r.caller,
                          .demands = demands,
                          .demand_count = 4,
                          .limit = 100,
                          .limit_min = 10,
                          .calls_max = 9,
                          .wait_ms = MINUTE};
    arcp__llm_hold_ask(r.lines, &r.holds[0], &what, 0);
    assert_int_equal(r.holds[0].demand_count, 3);
    check_amount(arcp_budget_remaining(r.budget, 0), "3");
    check_amount(arcp_budget_remaining(r.budget, 1), "50");
    check_amount(arcp_budget_remaining(r.budget, 2), "3.2");
    arcp__llm_hold_ask(r.lines, &r.holds[1], &what, 0); /* 50 tokens remain */
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_WAITING);
    check_amount(arcp_budget_remaining(r.budget, 0), "3");
    arcp_budget_report reports[8];
    const arcp_decimal costs[] = {amount("0.5"), amount("0.45"), amount("80")};
    (void)arcp__llm_hold_settle(r.lines, &r.holds[0], costs, reports, 8, 0);
    /* 170 tokens pay for a limit of 70. */
    assert_int_equal(r.holds[1].state, ARCP__LLM_HOLD_HELD);
    assert_int_equal(r.holds[1].limit, 70);
    check_amount(arcp_budget_remaining(r.budget, 0), "2.8");
    stop(&r);
}

static void a_hold_of_another_part_of_the_program_is_waited_for(void **state)
{
    (void)state;
    rig r;
    start(&r, "\"USD:3\"");
    assert_true(arcp_budget_reserve(r.budget, USD, amount("1")));
    ask(&r, 0, 64000);
    assert_int_equal(r.holds[0].state, ARCP__LLM_HOLD_WAITING);
    assert_int_equal(arcp__llm_lines_due_ms(r.lines), ARCP__LLM_LINE_RETRY_MS);
    arcp_budget_unreserve(r.budget, USD, amount("1"));
    arcp__llm_lines_tick(r.lines, ARCP__LLM_LINE_RETRY_MS);
    assert_int_equal(r.holds[0].state, ARCP__LLM_HOLD_HELD);
    stop(&r);
}

static void a_price_that_is_out_of_range_is_refused(void **state)
{
    (void)state;
    rig r;
    arcp__llm_demand demand;
    start(&r, "\"USD:5\"");
    arcp__llm_ask what = usual_ask(&r, &demand);
    demand.per_token = amount("100000000000000000000");
    what.limit_min = what.limit;
    arcp__llm_hold_ask(r.lines, &r.holds[0], &what, 0);
    check_refused(&r, 0, ARCP__LLM_LINE_EXHAUSTED);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_calls_at_once_with_high_limits_all_succeed),
        cmocka_unit_test(a_budget_is_spent_to_within_the_least_call),
        cmocka_unit_test(the_limit_is_set_to_what_remains_down_to_the_least),
        cmocka_unit_test(a_call_with_a_limit_below_the_least_needs_its_own_limit_only),
        cmocka_unit_test(a_call_waits_rather_than_have_its_limit_lowered_by_the_holds_of_others),
        cmocka_unit_test(calls_are_served_in_their_order_also_when_a_later_one_is_small),
        cmocka_unit_test(a_wait_ends_at_its_limit),
        cmocka_unit_test(what_holds_of_others_never_give_back_is_refused_at_once),
        cmocka_unit_test(sixty_four_calls_for_the_money_of_one),
        cmocka_unit_test(calls_over_those_of_the_job_wait_and_others_pass_them),
        cmocka_unit_test(jobs_under_one_topmost_budget_have_one_line),
        cmocka_unit_test(a_job_without_a_budget_holds_nothing),
        cmocka_unit_test(a_hold_is_in_every_currency_or_in_none),
        cmocka_unit_test(a_hold_of_another_part_of_the_program_is_waited_for),
        cmocka_unit_test(a_price_that_is_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
