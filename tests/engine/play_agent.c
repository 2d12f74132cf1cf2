/* What agents do. Some are processes, which write lines and use the runtime's gate; others are in
 * the same process, and call the gate and spend from the budget themselves, as
 * src/runtime/agent_call.c does. An agent spends only after the gate has allowed the operation. */
#include "engine/play.h"

#include <arcp/lease_subset.h>

#include "support/check.h"

#include "base/alloc.h"

#define SPEND_TENTHS 3u /* the cost of one metric, in tenths of a USD */

/* clang-format off: one line each */
static const char *const lines[] = {
    "plain words",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"info\","
    "\"message\":\"hi\"}}}",
    "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"progress\",\"body\":{\"current\":"
    "1,\"total\":2}}}",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"depth\","
    "\"value\":0.3,\"unit\":\"m\"}}}",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"tool_call\",\"body\":{\"tool\":\"web.get\","
    "\"args\":{},\"call_id\":\"c\"}}}",
    "{\"type\":\"authorize\",\"id\":\"2\",\"payload\":{\"capability\":\"fs.read\",\"target\":\"/"
    "srv/a\"}}",
    "{\"type\":\"delegate\",\"id\":\"3\",\"payload\":{\"agent\":\"work\",\"input\":1}}",
    "{\"type\":\"delegate\",\"id\":\"4\",\"payload\":{\"agent\":\"echo\",\"lease_request\":{\"cost."
    "budget\":[\"USD:0.4\"],\"tool.call\":[\"web.get\"],\"agent.delegate\":[\"**\"]},\"wait\":"
    "true}}",
    "{\"type\":\"delegate\",\"id\":\"5\",\"payload\":{\"agent\":\"work\",\"lease_request\":{\"tool."
    "call\":[\"web.*\"],\"agent.delegate\":[\"work\"]}}}",
    "{\"type\":\"delegate\",\"id\":\"6\",\"payload\":{\"agent\":\"work\",\"lease_request\":{\"fs."
    "read\":[\"/**\"],\"cost.budget\":[\"USD:100\"]}}}",
    "{\"type\":\"result.chunk\",\"id\":\"7\",\"payload\":{\"data\":\"x\",\"encoding\":\"utf8\","
    "\"more\":true}}",
    "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"AAEC\",\"encoding\":\"base64\",\"more\":"
    "false}}",
    "{\"type\":\"job.result\",\"payload\":{\"result\":{\"ok\":true}}}",
    "{\"type\":\"job.result\",\"payload\":{\"summary\":\"s\"}}",
    "{\"type\":\"job.error\",\"payload\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"no\"}}",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"status\",\"body\":{\"phase\":\"half\"}}}",
};
/* clang-format on */
#define LINES (sizeof lines / sizeof lines[0])

static const char ask_line[] =
    "{\"type\":\"authorize\",\"id\":\"spend\",\"payload\":{\"capability\":\"tool.call\","
    "\"target\":\"web.get\"}}";
static const char metric_body[] = "{\"name\":\"cost.x\",\"value\":0.3,\"unit\":\"USD\"}";
static const char metric_line[] =
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"cost.x\","
    "\"value\":0.3,\"unit\":\"USD\"}}}";

static play_agent *of(play *p, const rig_agent *agent)
{
    return &p->agents[agent - p->rig.agents];
}

/* ---- the budget ---- */

static const arcp_budget *root_of(const arcp_budget *budget)
{
    while (budget != NULL && arcp_budget_parent(budget) != NULL) {
        budget = arcp_budget_parent(budget);
    }
    return budget;
}

static const arcp_budget *budget_of(const rig_agent *agent)
{
    return agent->forgotten ? NULL : arcp_authority_budget(agent->job->live->authority);
}

/* A new job joins its tree. */
static void join(play *p, const rig_agent *agent)
{
    const arcp_budget *root = root_of(budget_of(agent));
    play_agent *joined = of(p, agent);
    *joined = (play_agent){.root = root};
    /* What a callback decides is not in a trace (src/record). */
    joined->is_callback = p->data == NULL && p->prepare == NULL && (agent - p->rig.agents) % 3 == 2;
    unsigned count = 0;
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        count += budget_of(&p->rig.agents[i]) != NULL && p->agents[i].root == root ? 1 : 0;
    }
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        if (p->agents[i].root == root && p->agents[i].tree_max < count) {
            p->agents[i].tree_max = count;
        }
    }
}

/* No counter above the agent is below zero by more than one metric for each job that could
 * spend from it at the same time. */
static void check_budget(play *p, const rig_agent *agent)
{
    const unsigned spenders = of(p, agent)->tree_max;
    char text[32];
    arcp_decimal least = ARCP_DECIMAL_ZERO;
    (void)snprintf(text, sizeof text, "%u.%u", spenders * SPEND_TENTHS / 10,
                   spenders * SPEND_TENTHS % 10);
    assert_int_equal(arcp_decimal_parse(arcp_span_cstr(text), &least, NULL), ARCP_OK);
    for (const arcp_budget *budget = budget_of(agent); budget != NULL;
         budget = arcp_budget_parent(budget)) {
        for (size_t index = 0; index < arcp_budget_count(budget); index++) {
            arcp_decimal bound = ARCP_DECIMAL_ZERO;
            if (!arcp_decimal_add(arcp_budget_initial(budget, index), least, &bound) ||
                arcp_decimal_compare(arcp_budget_spent(budget, index), bound) > 0) {
                watch_fail(&p->watch, "more was spent than the lease and one metric per job",
                           agent->job_id);
            }
        }
    }
}

/* ---- leases of children ---- */

static const rig_agent *live_agent(const play *p, arcp_span job_id)
{
    for (size_t i = p->rig.agent_count; i > 0; i--) {
        const rig_agent *agent = &p->rig.agents[i - 1];
        if (!agent->forgotten && arcp_span_equal_cstr(job_id, agent->job_id)) {
            return agent;
        }
    }
    return NULL;
}

static const struct {
    const char *capability, *target;
} samples[] = {
    {"tool.call", "web.get"},  {"tool.call", "web.put"},     {"tool.call", "mail.send"},
    {"fs.read", "/srv/a/b"},   {"fs.read", "/etc/passwd"},   {"agent.delegate", "work"},
    {"agent.delegate", "x@1"}, {"net.fetch", "example.com"}, {"model.use", "m/1"},
};

/* What it allows now: nothing if it has expired or its budget is used up, and the same holds for
 * its children. */
static bool allows(const arcp_authority *authority, arcp_time now, size_t sample)
{
    arcp_target_scratch scratch;
    arcp_decision decision;
    return arcp_authorize(authority, now, arcp_span_cstr(samples[sample].capability),
                          arcp_span_cstr(samples[sample].target), &scratch, &decision);
}

void play_agent_check_start(play *p, const arcp__effect *effect)
{
    static const char mark[] = "\"parent_job_id\":\"";
    const char *found = memmem(effect->text.data, effect->text.size, mark, sizeof mark - 1);
    if (found == NULL) {
        return;
    }
    p->children++;
    const rig_agent *parent = live_agent(p, arcp_span_make(found + sizeof mark - 1, 30));
    if (parent == NULL) {
        return;
    }
    const arcp_authority *above = parent->job->live->authority;
    const arcp_authority *below = effect->job->live->authority;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        if (allows(below, p->rig.now, i) && !allows(above, p->rig.now, i)) {
            watch_fail(&p->watch, "a child may do what its parent may not", samples[i].target);
        }
    }
    arcp_subset_violation violation = arcp_subset_violation_init();
    bool is_subset = false;
    /* A parent without a budget of its own passes on a part of an ancestor's: as written that is
     * more than it has, and check_budget checks the result. */
    const arcp_span budget = ARCP_SPAN_LITERAL("cost.budget");
    const bool is_handed_on = arcp_lease_names(arcp_authority_lease(below), budget) &&
                              !arcp_lease_names(arcp_authority_lease(above), budget);
    if (is_handed_on) {
        return;
    }
    const arcp_status status = arcp_lease_is_subset(
        arcp_authority_lease(below), arcp_authority_lease(above), &is_subset, &violation);
    if (status != ARCP_E_NO_MEMORY && (status != ARCP_OK || !is_subset)) {
        watch_fail(&p->watch, "a child's lease is wider than its parent's", parent->job_id);
    }
}

/* ---- callback agents ---- */

static void report_denial(play *p, rig_agent *agent, const arcp_decision *decision)
{
    arcp__job_message denial = {.is_decided = true, .decision = *decision};
    arcp__engine_agent_message(p->rig.engine, p->rig.now, agent->job, &denial);
    rig_run(&p->rig);
}

static void callback_spends(play *p, rig_agent *agent)
{
    const arcp_authority *authority = agent->job->live->authority;
    arcp_budget_report reports[80];
    arcp_target_scratch scratch;
    arcp_decision decision;
    arcp_decimal amount = ARCP_DECIMAL_ZERO;
    if (!arcp_authorize(authority, p->rig.now, ARCP_SPAN_LITERAL("tool.call"),
                        ARCP_SPAN_LITERAL("web.get"), &scratch, &decision)) {
        report_denial(p, agent, &decision);
        return;
    }
    assert_int_equal(arcp_decimal_parse(ARCP_SPAN_LITERAL("0.3"), &amount, NULL), ARCP_OK);
    arcp_budget *budget = arcp_authority_budget(authority);
    const size_t count =
        budget == NULL ? 0
                       : arcp_budget_spend(budget, ARCP_SPAN_LITERAL("USD"), amount, reports, 80);
    arcp__job_message event = {.kind = ARCP_EVENT_METRIC,
                               .kind_text = ARCP_SPAN_LITERAL("metric"),
                               .body = arcp_span_cstr(metric_body),
                               .reports = reports,
                               .report_count = count,
                               .is_spent = true};
    p->spends++;
    check_budget(p, agent);
    arcp__engine_agent_message(p->rig.engine, p->rig.now, agent->job, &event);
    rig_run(&p->rig);
}

/* ---- processes ---- */

static void process_spends(play *p, rig_agent *agent)
{
    if (!of(p, agent)->may_spend) {
        rig_agent_writes(&p->rig, agent, ask_line);
        return;
    }
    of(p, agent)->may_spend = false;
    p->spends++;
    rig_agent_writes(&p->rig, agent, metric_line);
    check_budget(p, agent);
}

static void writes_a_lot(play *p, rig_agent *agent)
{
    static char text[16384];
    memset(text, 'x', sizeof text - 1);
    for (unsigned left = 1 + play_pick(p, 40); left > 0 && !agent->paused; left--) {
        rig_agent_writes(&p->rig, agent, text);
    }
}

static void write_anything(play *p, rig_agent *agent)
{
    char text[1024];
    const unsigned choice = play_pick(p, 24);
    if (choice == 0) {
        rig_agent_exits(&p->rig, agent, play_one_in(p, 2), (int)play_pick(p, 3));
    } else if (choice == 1) {
        play_literal(p, text, sizeof text);
        rig_agent_writes(&p->rig, agent, text);
    } else if (choice == 2) {
        (void)snprintf(text, sizeof text, "%s", lines[play_pick(p, LINES)]);
        play_mutate(p, text);
        rig_agent_writes(&p->rig, agent, text);
    } else if (choice < 10 && of(p, agent)->is_callback) {
        callback_spends(p, agent);
    } else if (choice < 10) {
        process_spends(p, agent);
    } else if (choice < 12 && p->temper.bulky) {
        writes_a_lot(p, agent);
    } else {
        rig_agent_writes(&p->rig, agent, lines[play_pick(p, LINES)]);
    }
}

void play_agent_acts(play *p)
{
    const size_t count = p->rig.agent_count;
    if (count == 0) {
        play_client_acts(p);
        return;
    }
    const size_t back = play_pick(p, 10);
    rig_agent *agent = &p->rig.agents[back < count ? count - 1 - back : count - 1];
    play_trace(p, "acts", agent->job_id);
    if (play_host_acts(p, agent) || play_purse_acts(p, agent)) {
        return;
    }
    if (agent->starting &&
        !play_one_in(p, 8)) { /* else its output comes before the host reports the start */
        rig_agent_started(&p->rig, agent);
    } else if (agent->paused && !agent->forgotten) {
        /* Its output is not read, but it may exit. */
        rig_agent_exits(&p->rig, agent, play_one_in(p, 2), (int)play_pick(p, 3));
    } else if (!agent->forgotten) {
        write_anything(p, agent);
    }
}

/* ---- checks ---- */

void play_agents_look(play *p)
{
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        rig_agent *agent = &p->rig.agents[i];
        for (char *line = rig_agent_take(agent); line != NULL; line = rig_agent_take(agent)) {
            play_trace(p, agent->job_id, line);
            if (strstr(line, "\"re\":\"spend\"") != NULL) {
                p->agents[i].may_spend = strstr(line, "\"allow\":true") != NULL;
            } else if (strstr(line, "\"type\":\"job.start\"") != NULL) {
                join(p, agent);
            } else if (strncmp(line, "call_", 5) == 0) {
                play_purse_stored(p, line);
            }
            arcp__free(line);
        }
        if (agent->cancels > 1 || agent->kills > 1 || agent->forgets > 1 || agent->revokes > 1) {
            watch_fail(&p->watch, "the agent was cancelled, killed, revoked or released twice",
                       agent->job_id);
        }
    }
}

void play_agents_reap(play *p)
{
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        rig_agent *agent = &p->rig.agents[i];
        if (agent->killed && !agent->forgotten && !agent->starting) {
            rig_agent_exits(&p->rig, agent, true, 9);
        }
    }
}
