/* Random interleavings of holds, waits, settlements, cancels, spends, expiries and other holds on a
 * tree of budgets; a model is checked after each step. A seed that fails is printed;
 * ARCP_LINE_SEED=N repeats it alone. */
#include "support/check.h"

#include <inttypes.h>

#include "core/decimal.h"
#include "llm/llm_line.h"

#define SEEDS      10000
#define STEPS      60
#define NODES      5 /* a purse, a root job, its child, a grandchild, and a job without a budget */
#define CALLS      12
#define CURRENCIES 3
#define CALLS_MAX  3
#define WAIT_MS    500

static const char *const currencies[CURRENCIES] = {"USD", "EUR", "tokens"};

typedef struct call {
    arcp__llm_hold hold;
    bool is_asked, is_decided;
    size_t node;
    uint64_t number; /* the order of asking */
    uint64_t deadline_ms, limit, limit_min;
    arcp__llm_demand demands[CURRENCIES];
} call;

typedef struct simulation {
    uint64_t random;
    arcp__llm_lines *lines;
    arcp_budget *nodes[NODES];
    size_t parents[NODES]; /* NODES: none */
    arcp__llm_caller callers[NODES];
    arcp__units spent[NODES][CURRENCIES];
    arcp__units foreign[CURRENCIES]; /* held at the grandchild by another part of the program */
    call calls[CALLS];
    uint64_t now_ms, asked;
    const char *problem;
} simulation;

static uint64_t draw(simulation *s, uint64_t below)
{
    uint64_t z = (s->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void expect(simulation *s, bool holds, const char *problem)
{
    if (!holds && s->problem == NULL) {
        s->problem = problem;
    }
}

#define GRANDCHILD 3
#define ALONE      4

static void open_nodes(simulation *s)
{
    for (size_t i = 0; i < NODES; i++) {
        char text[160] = "{\"cost.budget\":[";
        arcp_lease *lease = NULL;
        size_t count = 0;
        s->parents[i] = i == 0 || i == ALONE ? NODES : i - 1;
        for (size_t c = 0; c < CURRENCIES && i != ALONE; c++) {
            if (draw(s, 3) != 0) {
                (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                               "%s\"%s:%" PRIu64 "\"", count++ == 0 ? "" : ",", currencies[c],
                               draw(s, 200));
            }
        }
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
        const char *json = count == 0 ? "{}" : text;
        arcp_budget *parent = s->parents[i] == NODES ? NULL : s->nodes[s->parents[i]];
        assert_int_equal(
            arcp_lease_parse(arcp_span_cstr(json), arcp_span_cstr(""), NULL, &lease, NULL),
            ARCP_OK);
        if (i != ALONE) {
            assert_int_equal(arcp_budget_new(lease, parent, &s->nodes[i], NULL), ARCP_OK);
        }
        arcp_lease_unref(lease);
    }
}

/* ---- the model ---- */

/* Whether `top` is the node or one of its ancestors. */
static bool is_under(const simulation *s, size_t node, size_t top)
{
    while (node != NODES && node != top) {
        node = s->parents[node];
    }
    return node == top;
}

/* The amount of a currency in a node's own counter; -1: there is none. */
static arcp__units initial_of(const simulation *s, size_t node, size_t currency)
{
    const arcp_budget *budget = s->nodes[node];
    for (size_t i = 0; budget != NULL && i < arcp_budget_count(budget); i++) {
        if (arcp_span_equal_cstr(arcp_budget_currency(budget, i), currencies[currency])) {
            return arcp__decimal_units(arcp_budget_initial(budget, i));
        }
    }
    return -1;
}

static arcp__units cost_of(const call *c, size_t currency, uint64_t limit)
{
    return arcp__decimal_units(c->demands[currency].input) +
           arcp__decimal_units(c->demands[currency].per_token) * (arcp__units)limit;
}

/* What the calls under a node hold. */
static arcp__units held_at(const simulation *s, size_t node, size_t currency)
{
    arcp__units sum = is_under(s, GRANDCHILD, node) ? s->foreign[currency] : 0;
    for (size_t i = 0; i < CALLS; i++) {
        const call *c = &s->calls[i];
        if (c->hold.state == ARCP__LLM_HOLD_HELD && is_under(s, c->node, node)) {
            sum += cost_of(c, currency, c->hold.limit);
        }
    }
    return sum;
}

/* The least over the chain of what remains, with the holds or without them; -1: no counter. */
static arcp__units least_of(const simulation *s, size_t node, size_t currency, bool with_holds)
{
    arcp__units least = -1;
    bool is_found = false;
    for (; node != NODES; node = s->parents[node]) {
        const arcp__units initial = initial_of(s, node, currency);
        const arcp__units here =
            initial - s->spent[node][currency] - (with_holds ? held_at(s, node, currency) : 0);
        if (initial >= 0 && (!is_found || here < least)) {
            least = here;
            is_found = true;
        }
    }
    return least;
}

static bool fits(const simulation *s, const call *c, uint64_t limit, bool with_holds)
{
    for (size_t i = 0; i < CURRENCIES; i++) {
        const bool counts = s->nodes[c->node] != NULL &&
                            arcp_budget_counts(s->nodes[c->node], arcp_span_cstr(currencies[i]));
        if (counts && least_of(s, c->node, i, with_holds) < cost_of(c, i, limit)) {
            return false;
        }
    }
    return true;
}

/* The budgets agree with the model, and nothing is spent that was not there. */
static void check_budgets(simulation *s)
{
    for (size_t node = 0; node < ALONE; node++) {
        for (size_t i = 0; i < arcp_budget_count(s->nodes[node]); i++) {
            size_t c = 0;
            while (!arcp_span_equal_cstr(arcp_budget_currency(s->nodes[node], i), currencies[c])) {
                c++;
            }
            const arcp__units initial = initial_of(s, node, c);
            const arcp__units remaining =
                arcp__decimal_units(arcp_budget_remaining(s->nodes[node], i));
            expect(s, remaining >= 0, "more is held and spent than the budget has");
            expect(s,
                   arcp__decimal_units(arcp_budget_spent(s->nodes[node], i)) == s->spent[node][c],
                   "a node has not spent what its calls cost");
            expect(s, remaining == initial - s->spent[node][c] - held_at(s, node, c),
                   "what remains is not what the model says");
        }
    }
}

/* Whether a call that asked before, in the same line, waits for money. */
static bool waits_before(const simulation *s, const call *c)
{
    for (size_t i = 0; i < CALLS; i++) {
        const call *other = &s->calls[i];
        if (other->hold.state == ARCP__LLM_HOLD_WAITING && other->number < c->number &&
            (other->node == ALONE) == (c->node == ALONE) &&
            s->callers[other->node].under_way < CALLS_MAX) {
            return true;
        }
    }
    return false;
}

/* A decision that was just taken; nothing has happened since it was made. */
static void check_decision(simulation *s, call *c)
{
    const arcp__llm_hold *hold = &c->hold;
    expect(s, c->is_asked && !c->is_decided, "a call is decided twice");
    c->is_decided = true;
    if (hold->state == ARCP__LLM_HOLD_HELD) {
        expect(s, hold->limit >= c->limit_min && hold->limit <= c->limit, "a limit out of range");
        /* One more token would not have been paid for even if all holds were given back. */
        expect(s, hold->limit == c->limit || !fits(s, c, hold->limit + 1, false),
               "a limit is lower than it had to be");
        expect(s, s->callers[c->node].under_way <= CALLS_MAX, "too many calls of a job");
    } else {
        expect(s, hold->state == ARCP__LLM_HOLD_REFUSED, "neither held nor refused");
        if (hold->reason == ARCP__LLM_LINE_EXHAUSTED) {
            expect(s, !fits(s, c, c->limit_min, false), "a call that could be paid is refused");
        } else {
            expect(s, s->now_ms >= c->deadline_ms, "a call is refused before its time");
        }
    }
}

static void take_all(simulation *s)
{
    for (arcp__llm_hold *hold; (hold = arcp__llm_lines_take(s->lines)) != NULL;) {
        check_decision(s, hold->user);
    }
}

/* After a tick, no call waits that need not. */
static void check_waiting(simulation *s)
{
    size_t waiting = 0;
    for (size_t i = 0; i < CALLS; i++) {
        const call *c = &s->calls[i];
        if (c->hold.state != ARCP__LLM_HOLD_WAITING) {
            continue;
        }
        waiting++;
        expect(s, s->now_ms < c->deadline_ms, "a call waits for too long");
        expect(s,
               s->callers[c->node].under_way >= CALLS_MAX || waits_before(s, c) ||
                   !fits(s, c, c->limit, true),
               "a call waits that could go");
        expect(s, waits_before(s, c) || fits(s, c, c->limit_min, false),
               "a call waits that can never be paid");
    }
    expect(s, waiting == arcp__llm_lines_waiting(s->lines), "the number that waits is wrong");
}

/* ---- the steps ---- */

static arcp_decimal whole(uint64_t number)
{
    return arcp__decimal_of((arcp__units)number * 1000000000000000000);
}

static void ask(simulation *s, call *c)
{
    if (c->hold.state != ARCP__LLM_HOLD_NONE) {
        return;
    }
    *c = (call){.is_asked = true, .node = draw(s, NODES), .number = s->asked++};
    c->hold.user = c;
    c->limit = draw(s, 60);
    c->limit_min = c->limit == 0 ? 0 : draw(s, c->limit + 1);
    c->deadline_ms = s->now_ms + WAIT_MS;
    for (size_t i = 0; i < CURRENCIES; i++) {
        c->demands[i] =
            (arcp__llm_demand){arcp_span_cstr(currencies[i]), whole(draw(s, 30)),
                               arcp__decimal_of((arcp__units)draw(s, 3000) * 1000000000000001)};
    }
    const arcp__llm_ask what = {.budget = s->nodes[c->node],
                                .caller = &s->callers[c->node],
                                .demands = c->demands,
                                .demand_count = CURRENCIES,
                                .limit = c->limit,
                                .limit_min = c->limit_min,
                                .calls_max = CALLS_MAX,
                                .wait_ms = WAIT_MS};
    const bool could_ever = fits(s, c, c->limit_min, false);
    arcp__llm_hold_ask(s->lines, &c->hold, &what, s->now_ms);
    expect(s, could_ever || c->hold.state == ARCP__LLM_HOLD_REFUSED, "no refusal at once");
}

/* Adds what was spent to the node and its ancestors. */
static void add_spent(simulation *s, size_t node, size_t currency, arcp__units amount)
{
    const bool counts = s->nodes[node] != NULL &&
                        arcp_budget_counts(s->nodes[node], arcp_span_cstr(currencies[currency]));
    for (; counts && node != NODES; node = s->parents[node]) {
        s->spent[node][currency] += amount;
    }
}

/* With between nothing and all that it holds. */
static void settle(simulation *s, call *c)
{
    arcp_decimal costs[CURRENCIES];
    arcp_budget_report reports[64];
    if (c->hold.state != ARCP__LLM_HOLD_HELD || !c->is_decided) {
        return;
    }
    const uint64_t share = draw(s, 11);
    for (size_t i = 0; i < c->hold.demand_count; i++) {
        size_t currency = 0;
        while (!arcp_span_equal_cstr(c->hold.demands[i].currency, currencies[currency])) {
            currency++;
        }
        const arcp__units cost = cost_of(c, currency, c->hold.limit) * (arcp__units)share / 10;
        costs[i] = arcp__decimal_of(cost);
        add_spent(s, c->node, currency, cost);
    }
    (void)arcp__llm_hold_settle(s->lines, &c->hold, costs, reports, 64, s->now_ms);
}

/* The agent spends by itself, not more than remains. */
static void spend(simulation *s)
{
    const size_t node = draw(s, ALONE);
    const size_t currency = draw(s, CURRENCIES);
    const arcp__units most = least_of(s, node, currency, true);
    if (most > 0 && arcp_budget_counts(s->nodes[node], arcp_span_cstr(currencies[currency]))) {
        const arcp__units amount = most * (arcp__units)draw(s, 11) / 40;
        (void)arcp_budget_spend(s->nodes[node], arcp_span_cstr(currencies[currency]),
                                arcp__decimal_of(amount), NULL, 0);
        add_spent(s, node, currency, amount);
    }
}

/* Another part of the program holds something, or gives it back. */
static void hold_elsewhere(simulation *s)
{
    const size_t currency = draw(s, CURRENCIES);
    const arcp_span name = arcp_span_cstr(currencies[currency]);
    if (s->foreign[currency] != 0) {
        arcp_budget_unreserve(s->nodes[GRANDCHILD], name, arcp__decimal_of(s->foreign[currency]));
        s->foreign[currency] = 0;
    } else if (arcp_budget_counts(s->nodes[GRANDCHILD], name)) {
        const arcp_decimal amount = whole(1 + draw(s, 20));
        if (arcp_budget_reserve(s->nodes[GRANDCHILD], name, amount)) {
            s->foreign[currency] = arcp__decimal_units(amount);
        }
    }
}

static void step(simulation *s)
{
    call *c = &s->calls[draw(s, CALLS)];
    switch (draw(s, 10)) {
    case 0:
    case 1:
    case 2:
        ask(s, c);
        break;
    case 3:
    case 4:
    case 5:
        settle(s, c);
        break;
    case 6: /* the client has gone, or the provider has failed */
        arcp__llm_hold_cancel(s->lines, &c->hold, s->now_ms);
        break;
    case 7:
        spend(s);
        break;
    case 8:
        hold_elsewhere(s);
        break;
    default: { /* a job ends: so do its calls */
        const size_t node = draw(s, (uint64_t)4 * NODES);
        for (size_t i = 0; i < CALLS; i++) {
            if (s->calls[i].is_asked && s->calls[i].node == node) {
                arcp__llm_hold_cancel(s->lines, &s->calls[i].hold, s->now_ms);
                take_all(s);
            }
        }
        s->now_ms += draw(s, 200);
        break;
    }
    }
    /* Before anything else happens to the budgets. */
    take_all(s);
    check_budgets(s);
    arcp__llm_lines_tick(s->lines, s->now_ms);
    take_all(s);
    check_budgets(s);
    check_waiting(s);
}

static void finish(simulation *s)
{
    for (size_t i = 0; i < CURRENCIES; i++) {
        if (s->foreign[i] != 0) {
            arcp_budget_unreserve(s->nodes[GRANDCHILD], arcp_span_cstr(currencies[i]),
                                  arcp__decimal_of(s->foreign[i]));
            s->foreign[i] = 0;
        }
    }
    for (size_t i = 0; i < CALLS; i++) {
        arcp__llm_hold_cancel(s->lines, &s->calls[i].hold, s->now_ms);
    }
    check_budgets(s); /* nothing is held */
    expect(s, arcp__llm_lines_take(s->lines) == NULL, "a call that has ended is decided");
    expect(s, arcp__llm_lines_waiting(s->lines) == 0, "the line is not empty");
    expect(s, arcp__llm_lines_count(s->lines) == 0, "a line is left");
    for (size_t i = 0; i < NODES; i++) {
        expect(s, s->callers[i].under_way == 0, "a job has calls under way after all have ended");
    }
}

/* Returns NULL, or what is wrong. */
static const char *run(uint64_t seed, unsigned *step_number)
{
    static simulation s;
    s = (simulation){.random = seed * 0x2545f4914f6cdd1du + 1};
    assert_int_equal(arcp__llm_lines_new(&s.lines, NULL), ARCP_OK);
    open_nodes(&s);
    for (*step_number = 0; *step_number < STEPS && s.problem == NULL; ++*step_number) {
        step(&s);
    }
    const char *problem = s.problem;
    finish(&s);
    if (s.problem == NULL || problem != NULL) {
        s.problem = problem;
    }
    if (s.problem == NULL) {
        arcp__llm_lines_free(s.lines);
        for (size_t i = 0; i < NODES; i++) {
            arcp_budget_unref(s.nodes[i]);
        }
    }
    return s.problem;
}

static void the_ceiling_holds_in_every_interleaving(void **state)
{
    (void)state;
    const char *one = getenv("ARCP_LINE_SEED");
    const uint64_t first = one == NULL ? 0 : strtoull(one, NULL, 10);
    const uint64_t end = one == NULL ? SEEDS : first + 1;
    for (uint64_t seed = first; seed < end; seed += test_stride()) {
        unsigned at = 0;
        const char *problem = run(seed, &at);
        if (problem != NULL) {
            fail_msg("ARCP_LINE_SEED=%" PRIu64 ", step %u: %s", seed, at, problem);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ceiling_holds_in_every_interleaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
