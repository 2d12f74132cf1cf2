/* Budgets of delegation trees: whatever the jobs of a tree do together, in whatever order, what
 * they spend is at most what the root was given and one metric for each job that ran; no child gets
 * more than its parent has. Agents in the process call the gate and then spend, with calls of other
 * agents between the two (docs/protocol.md, Authority). */
#include "engine/play.h"

#include <arcp/lease_subset.h>

#include "support/check.h"

#include "base/alloc.h"

#define DEPTH    5
#define SIBLINGS 100

static const char delegate[] =
    "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\",\"lease_request\":{"
    "\"tool.call\":[\"web.*\"],\"agent.delegate\":[\"**\"]%s}}}";

static play *begin(uint64_t seed, const char *budget)
{
    play *p = arcp__alloc(sizeof *p);
    assert_non_null(p);
    arcp_settings settings;
    char frame[512];
    arcp__settings_default(&settings);
    settings.limits_children_per_job = SIBLINGS;
    settings.limits_delegation_depth = DEPTH;
    play_begin_calm(p, seed, &settings, "engine_delegation_test");
    assert_true(play_client_begins(p, 0));
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                   "\"echo\",\"lease_request\":{\"tool.call\":[\"web.*\"],\"agent.delegate\":["
                   "\"**\"],\"cost.budget\":[\"USD:%s\"]}}}",
                   budget);
    rig_send(&p->rig, play_client(p, 0), frame);
    play_look(p);
    assert_int_equal(p->rig.agent_count, 1);
    return p;
}

static void end(play *p)
{
    play_end(p);
    arcp__free(p);
}

static const arcp_authority *authority(const play *p, size_t index)
{
    return p->rig.agents[index].job->live->authority;
}

/* The child's number, or 0 when it was refused. */
static size_t delegate_from(play *p, size_t parent, const char *budget)
{
    char line[512];
    const size_t before = p->rig.agent_count;
    (void)snprintf(line, sizeof line, delegate, budget);
    rig_agent_writes(&p->rig, &p->rig.agents[parent], line);
    play_look(p);
    return p->rig.agent_count > before ? before : 0;
}

static arcp_decimal amount(const char *text)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    assert_int_equal(arcp_decimal_parse(arcp_span_cstr(text), &value, NULL), ARCP_OK);
    return value;
}

/* ---- agents that ask, wait, and spend ---- */

typedef struct spender {
    bool may_spend;
    size_t spends;
} spender;

static bool asks(play *p, size_t index)
{
    arcp_target_scratch scratch;
    arcp_decision decision;
    return arcp_authorize(authority(p, index), p->rig.now, ARCP_SPAN_LITERAL("tool.call"),
                          ARCP_SPAN_LITERAL("web.get"), &scratch, &decision);
}

static void spends(play *p, size_t index, const char *value)
{
    arcp_budget_report reports[80];
    char body[128];
    (void)snprintf(body, sizeof body, "{\"name\":\"cost.x\",\"value\":%s,\"unit\":\"USD\"}", value);
    const size_t count = arcp_budget_spend(arcp_authority_budget(authority(p, index)),
                                           ARCP_SPAN_LITERAL("USD"), amount(value), reports, 80);
    arcp__job_message event = {.kind = ARCP_EVENT_METRIC,
                               .kind_text = ARCP_SPAN_LITERAL("metric"),
                               .body = arcp_span_cstr(body),
                               .reports = reports,
                               .report_count = count,
                               .is_spent = true};
    arcp__engine_agent_message(p->rig.engine, p->rig.now, p->rig.agents[index].job, &event);
    rig_run(&p->rig);
}

/* A process sends a line and reads the reply. */
static bool process_asks(play *p, size_t index)
{
    rig_agent *agent = &p->rig.agents[index];
    rig_agent_writes(
        &p->rig, agent,
        "{\"type\":\"authorize\",\"id\":\"a\",\"payload\":{\"capability\":\"tool.call\","
        "\"target\":\"web.get\"}}");
    bool allowed = false;
    for (char *line = rig_agent_take(agent); line != NULL; line = rig_agent_take(agent)) {
        allowed = allowed || strstr(line, "\"allow\":true") != NULL;
        arcp__free(line);
    }
    return allowed;
}

static void process_spends(play *p, size_t index, const char *value)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
                   "\"cost.x\",\"value\":%s,\"unit\":\"USD\"}}}",
                   value);
    rig_agent_writes(&p->rig, &p->rig.agents[index], line);
}

/* All of them, in any order, until every operation is denied. */
static size_t spend_all(play *p, spender *spenders, const char *value)
{
    const size_t count = p->rig.agent_count;
    size_t total = 0;
    for (size_t refused = 0; refused < 20 * count;) {
        const size_t index = play_pick(p, (unsigned)count);
        const bool is_process = index % 2 == 0;
        if (spenders[index].may_spend) {
            spenders[index].may_spend = false;
            spenders[index].spends++;
            total++;
            (is_process ? process_spends : spends)(p, index, value);
        } else {
            spenders[index].may_spend = (is_process ? process_asks : asks)(p, index);
            refused = spenders[index].may_spend ? 0 : refused + 1;
        }
        play_look(p);
    }
    return total;
}

/* `total` metrics of a tenth: at least the budget, at most one more for each job. */
static void check_total(const play *p, size_t total, size_t budget_tenths)
{
    const arcp_budget *root = arcp_authority_budget(authority(p, 0));
    char text[32];
    (void)snprintf(text, sizeof text, "%zu.%zu", total / 10, total % 10);
    assert_int_equal(arcp_decimal_compare(arcp_budget_spent(root, 0), amount(text)), 0);
    assert_true(total >= budget_tenths);
    assert_true(total < budget_tenths + p->rig.agent_count);
}

/* ---- */

static void a_chain_of_five_never_spends_more_than_its_root_has(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        play *p = begin(seed, "5");
        spender spenders[RIG_AGENTS_MAX] = {0};
        /* Every second one requests its own budget, which those of its ancestors still limit. */
        for (size_t i = 0; i < DEPTH; i++) {
            assert_int_equal(delegate_from(p, i, i % 2 == 0 ? "" : ",\"cost.budget\":[\"USD:4\"]"),
                             i + 1);
        }
        assert_int_equal(delegate_from(p, DEPTH, ""), 0);
        const size_t total = spend_all(p, spenders, "0.1");
        check_total(p, total, 50);
        end(p);
    }
}

static void a_hundred_siblings_together_never_spend_more_than_their_parent_has(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        play *p = begin(seed, "30");
        spender spenders[RIG_AGENTS_MAX] = {0};
        /* Each is granted all of it: together a hundred times the amount. */
        for (size_t i = 0; i < SIBLINGS; i++) {
            assert_int_equal(delegate_from(p, 0, ",\"cost.budget\":[\"USD:30\"]"), i + 1);
        }
        assert_int_equal(delegate_from(p, 0, ""), 0);
        const size_t total = spend_all(p, spenders, "0.1");
        check_total(p, total, 300);
        end(p);
    }
}

/* All hundred are allowed while one tenth is left, and then all of them spend. */
static void the_worst_order_costs_one_metric_for_each_running_job(void **state)
{
    (void)state;
    play *p = begin(1, "10");
    for (size_t i = 0; i < SIBLINGS; i++) {
        assert_int_equal(delegate_from(p, 0, ""), i + 1);
    }
    spends(p, 1, "9.9");
    for (size_t i = 1; i <= SIBLINGS; i++) {
        assert_true(asks(p, i));
    }
    for (size_t i = 1; i <= SIBLINGS; i++) {
        spends(p, i, "1");
    }
    const arcp_budget *root = arcp_authority_budget(authority(p, 0));
    assert_int_equal(arcp_decimal_compare(arcp_budget_spent(root, 0), amount("109.9")), 0);
    for (size_t i = 0; i <= SIBLINGS; i++) {
        assert_false(asks(p, i));
        assert_false(process_asks(p, i));
    }
    end(p);
}

static void a_child_cannot_be_given_more_than_is_left(void **state)
{
    (void)state;
    play *p = begin(1, "5");
    spends(p, 0, "2");
    assert_int_equal(delegate_from(p, 0, ",\"cost.budget\":[\"USD:3.01\"]"), 0);
    assert_int_equal(delegate_from(p, 0, ",\"cost.budget\":[\"USD:3\"]"), 1);
    spends(p, 1, "1");
    assert_int_equal(delegate_from(p, 0, ",\"cost.budget\":[\"USD:2.01\"]"), 0);
    assert_int_equal(delegate_from(p, 1, ",\"cost.budget\":[\"USD:2.01\"]"), 0);
    assert_int_equal(delegate_from(p, 1, ",\"cost.budget\":[\"USD:2\"]"), 2);
    end(p);
}

/* In a tree whose budget is used up every operation is denied, also of a job whose own counter is
 * untouched. */
static void a_used_up_root_closes_the_whole_tree(void **state)
{
    (void)state;
    play *p = begin(1, "5");
    for (size_t i = 0; i < DEPTH; i++) {
        assert_int_equal(delegate_from(p, i, ",\"cost.budget\":[\"USD:1\"]"), i + 1);
    }
    assert_true(asks(p, DEPTH));
    spends(p, 0, "5");
    for (size_t i = 0; i <= DEPTH; i++) {
        assert_false(asks(p, i));
        assert_false(process_asks(p, i));
    }
    assert_int_equal(delegate_from(p, 0, ""), 0);
    end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_five_never_spends_more_than_its_root_has),
        cmocka_unit_test(a_hundred_siblings_together_never_spend_more_than_their_parent_has),
        cmocka_unit_test(the_worst_order_costs_one_metric_for_each_running_job),
        cmocka_unit_test(a_child_cannot_be_given_more_than_is_left),
        cmocka_unit_test(a_used_up_root_closes_the_whole_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
