#include "arcp_worker/agents.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "hosting/served_agent.h"

typedef arcp__known_agents known_agents;
typedef arcp__known_agent known_agent;

static void free_agent(known_agents *agents, known_agent *agent)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): utlist knows its neighbours */
    DL_DELETE(agents->first, agent);
    arcp__process_agent_fini(&agent->agent);
    arcp_buf_fini(&agent->text);
    arcp__free(agent);
}

static known_agent *find(const known_agents *agents, arcp_span text)
{
    known_agent *agent = agents->first;
    while (agent != NULL && !arcp_span_equal(arcp_buf_span(&agent->text), text)) {
        agent = agent->next;
    }
    return agent;
}

static arcp_status make(known_agents *agents, arcp_span text, known_agent **out, arcp_error *err)
{
    arcp__arena arena = {0};
    arcp__agent_row row;
    known_agent *agent = arcp__alloc(sizeof *agent);
    if (agent == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    agent->text = arcp_buf_secret_init();
    arcp_buf_append(&agent->text, text);
    DL_APPEND(agents->first, agent);
    arcp_status status = arcp__agent_row_read(text, &arena, &row, err);
    if (status == ARCP_OK) {
        status = arcp__process_agent_init(&agent->agent, agents->hosting, &row, err);
    }
    if (status == ARCP_OK && agent->text.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_lease_unref(row.lease);
    arcp__arena_fini(&arena);
    if (status != ARCP_OK) {
        free_agent(agents, agent);
        return status;
    }
    *out = agent;
    return ARCP_OK;
}

arcp_status arcp__known_agents_set_host(known_agents *agents, arcp_span text, arcp_error *err)
{
    if (arcp_span_equal(arcp_buf_span(&agents->host), text)) {
        return ARCP_OK;
    }
    arcp_buf_clear(&agents->host);
    const arcp_status status = arcp__hosting_read(agents->hosting, text, err);
    if (status == ARCP_OK) {
        arcp_buf_append(&agents->host, text); /* out of memory: it is set again */
    }
    return status;
}

/* Sets the hosting, and finds or makes the agent. */
static arcp_status get(known_agents *agents, const arcp__start_row *row, known_agent **out,
                       arcp_error *err)
{
    const arcp_status status = arcp__known_agents_set_host(agents, row->host, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = find(agents, row->agent);
    return *out == NULL ? make(agents, row->agent, out, err) : ARCP_OK;
}

arcp_status arcp__known_agents_take(known_agents *agents, const arcp__start_row *row,
                                    known_agent **out, arcp_error *err)
{
    const arcp_status status = get(agents, row, out, err);
    if (status == ARCP_OK) {
        assert(*out != NULL);
        (*out)->jobs++;
    }
    return status;
}

/* Frees those that nothing needs. */
static void sweep(known_agents *agents)
{
    known_agent *agent = NULL;
    known_agent *next = NULL;
    DL_FOREACH_SAFE (agents->first, agent, next) {
        if (agent->is_listed || agent->jobs != 0) {
            continue;
        }
        arcp__served_agent_retire(agent->agent.served);
        if (arcp__served_agent_is_idle(agent->agent.served)) {
            free_agent(agents, agent);
        }
    }
}

void arcp__known_agents_release(known_agents *agents, known_agent *agent)
{
    agent->jobs--;
    sweep(agents);
}

/* ---- the runtime's list ---- */

static void add(known_agents *agents, arcp_span text)
{
    arcp__arena arena = {0};
    arcp__agent_row registered = {.warm = 0};
    arcp__start_row row;
    arcp_error error = {0};
    known_agent *agent = NULL;
    arcp_status status = arcp__start_row_read(text, &arena, &row, &error);
    if (status == ARCP_OK) {
        status = get(agents, &row, &agent, &error);
    }
    if (status == ARCP_OK) {
        agent->is_listed = true;
        status = arcp__agent_row_read(row.agent, &arena, &registered, &error);
    }
    if (status == ARCP_OK && agent->agent.pool == NULL) {
        status = arcp__process_agent_warm(&agent->agent, registered.name, registered.warm, &error);
    }
    if (status != ARCP_OK) {
        arcp__hosting_log(agents->hosting, ARCP__HOSTING_ERROR, "an agent cannot be hosted: %s",
                          error.message);
    }
    arcp_lease_unref(registered.lease);
    arcp__arena_fini(&arena);
}

void arcp__known_agents_list(known_agents *agents, arcp_span rows)
{
    known_agent *agent = NULL;
    DL_FOREACH (agents->first, agent) {
        agent->is_listed = false;
    }
    while (rows.size != 0) { /* each has its line feed */
        const char *end = memchr(rows.data, '\n', rows.size);
        const size_t size = end == NULL ? rows.size : (size_t)(end - rows.data);
        add(agents, arcp_span_first(rows, size));
        rows = arcp_span_from(rows, end == NULL ? size : size + 1);
    }
    DL_FOREACH (agents->first, agent) {
        if (!agent->is_listed) {
            arcp__process_agent_cool(&agent->agent);
        }
    }
    sweep(agents);
}

void arcp__known_agents_fini(known_agents *agents)
{
    while (agents->first != NULL) {
        free_agent(agents, agents->first);
    }
    arcp_buf_fini(&agents->host);
}
