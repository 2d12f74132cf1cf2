/* The registration of agents that are programs, and the end of what they share. */
#include <string.h>

#include "hosting/confinement.h"
#include "hosting/served_agent.h"

/* ---- copying the registration ---- */

static const char *copy_text(arcp__process_agent *agent, const char *text, bool *failed)
{
    arcp_span copy = {NULL, 0};
    if (text != NULL) {
        copy = arcp__arena_copy(&agent->arena, arcp_span_make(text, strlen(text) + 1));
        *failed = *failed || copy.data == NULL;
    }
    return copy.data;
}

/* Returns a NULL-terminated copy; NULL only on failure. */
static const char *const *copy_texts(arcp__process_agent *agent, const char *const *texts,
                                     bool *failed)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    const char **copy = arcp__arena_take(&agent->arena, (count + 1) * sizeof *copy);
    *failed = *failed || copy == NULL;
    for (size_t i = 0; copy != NULL && i <= count; i++) {
        copy[i] = i == count ? NULL : copy_text(agent, texts[i], failed);
    }
    return copy;
}

static arcp_status fill(arcp__process_agent *agent, const arcp__agent_row *row, arcp_error *err)
{
    bool failed = false;
    agent->env = copy_texts(agent, row->env, &failed);
    agent->env_is_all = row->env_is_all;
    agent->cwd = copy_text(agent, row->cwd, &failed);
    agent->stderr_in_errors = row->stderr_in_errors;
    agent->without_gateways = row->without_gateways;
    arcp_span limits = {NULL, 0};
    if (row->limit_count != 0) {
        limits =
            arcp__arena_copy(&agent->arena, arcp_span_make((const char *)row->limits,
                                                           row->limit_count * sizeof *row->limits));
        failed = failed || limits.data == NULL;
    }
    agent->spec = (arcp__process_spec){
        .argv = copy_texts(agent, row->command, &failed),
        .user = copy_text(agent, row->user, &failed),
        .limits = (const arcp_launch_limit *)(const void *)limits.data,
        .limit_count = row->limit_count,
        .is_plain = row->is_plain,
    };
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__process_agent_init(arcp__process_agent *agent, arcp__hosting *hosting,
                                     const arcp__agent_row *row, arcp_error *err)
{
    *agent = (arcp__process_agent){.hosting = hosting};
    arcp_status status = fill(agent, row, err);
    if (status == ARCP_OK) {
        status = arcp__confinement_register(agent, row, err);
    }
    if (status == ARCP_OK && row->processes != 0) {
        status = arcp__served_agent_new(agent, row, &agent->served, err);
    }
    if (status != ARCP_OK) {
        arcp__process_agent_fini(agent);
    }
    return status;
}

void arcp__process_agent_cool(arcp__process_agent *agent)
{
    arcp__process_pool_free(agent->pool);
    agent->pool = NULL;
}

void arcp__process_agent_fini(arcp__process_agent *agent)
{
    arcp__process_agent_cool(agent);
    arcp__served_agent_free(agent->served);
    arcp__warm_free(agent->warm);
    arcp__environment_fini(&agent->warm_environment);
    arcp__agent_sandbox_fini(&agent->confinement.sandbox);
    arcp__arena_fini(&agent->arena);
    *agent = (arcp__process_agent){.hosting = NULL};
}

/* ---- warm processes ---- */

static void report_warm(void *user, bool is_error, const char *text)
{
    const arcp__process_agent *agent = user;
    arcp__hosting_log(agent->hosting, is_error ? ARCP__HOSTING_ERROR : ARCP__HOSTING_WARN, "%s",
                      text);
}

static void log_warm(void *user, arcp_span line)
{
    const arcp__process_agent *agent = user;
    const arcp_span shown = arcp_span_first(line, 400);
    arcp__hosting_log(agent->hosting, ARCP__HOSTING_INFO, "%s: %.*s", agent->spec.argv[0],
                      (int)shown.size, shown.data);
}

/* Warm processes get the environment that does not depend on a job; the rest is in job.start. */
static arcp_status keep_warm(arcp__process_agent *agent, size_t size, arcp_error *err)
{
    const arcp__hosting *hosting = agent->hosting;
    arcp__environment *environment = &agent->warm_environment;
    arcp__process_agent_environment(agent, environment);
    if (environment->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    agent->warm_spec = agent->spec;
    agent->warm_spec.env = (const char *const *)environment->pairs;
    agent->warm_spec.line_bytes_max = hosting->line_bytes_max;
    const char *directory = arcp__process_table_directory(hosting->processes);
    agent->warm_spec.makes_cwd = agent->cwd == NULL && directory != NULL;
    agent->warm_spec.cwd = agent->cwd != NULL ? agent->cwd : directory;
    arcp__process_pool_options options = {
        .table = hosting->processes,
        .size = size,
        .spec = &agent->warm_spec,
        .report = report_warm,
        .log = log_warm,
        .user = agent,
    };
    const arcp_status status =
        arcp__process_agent_is_confined(agent) ? arcp__warm_new(agent, &options, err) : ARCP_OK;
    return status == ARCP_OK ? arcp__process_pool_new(&options, &agent->pool, err) : status;
}

/* Whether the agent can have warm processes; says so where it cannot, though it should. */
static bool can_be_warm(const arcp__process_agent *agent, const char *name, size_t count)
{
    const arcp__hosting *hosting = agent->hosting;
    if (count == 0 || agent->spec.is_plain || agent->served != NULL) {
        return false;
    }
    if (!arcp__process_agent_is_confined(agent)) {
        return true;
    }
    const bool can = hosting->confinement->level != ARCP__SANDBOX_LEVEL_NONE &&
                     arcp__sandbox_has_broker(&hosting->confinement->abilities);
    if (!can) {
        arcp__hosting_log(
            hosting, ARCP__HOSTING_WARN,
            "agent \"%s\": without a broker (arcp doctor) a confined agent has no warm "
            "processes; each is started for its job",
            name);
    }
    return can;
}

arcp_status arcp__process_agent_warm(arcp__process_agent *agent, const char *name, size_t count,
                                     arcp_error *err)
{
    if (arcp__process_agent_is_confined(agent) &&
        agent->hosting->confinement->level == ARCP__SANDBOX_LEVEL_FULL) {
        arcp__confinement_warm_etc(agent->hosting, agent->spec.user);
    }
    return can_be_warm(agent, name, count) ? keep_warm(agent, count, err) : ARCP_OK;
}

/* ---- the hosting ---- */

void arcp__hosting_end_network(arcp__hosting *hosting)
{
    arcp__agent_network_free(hosting->network);
    hosting->network = NULL;
}

void arcp__hosting_fini(arcp__hosting *hosting)
{
    arcp__hosting_end_network(hosting);
    arcp__confinement_free(hosting->confinement);
    arcp__prepared_etcs_free(hosting);
    hosting->confinement = NULL;
}
