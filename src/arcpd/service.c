#include "arcpd/arcpd.h"

#include <stdio.h>

#include "launch/launch.h"
#include "runtime/runtime_gateway.h"
#include "runtime/runtime_worker.h"

/* What principals may spend on calls to models on a day. */
static arcp_status offer_spends(arcp_runtime *runtime, const arcp__config *config, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < config->setup.spend_count; i++) {
        const char *principal = config->setup.spends[i].principal;
        arcp_lease *amounts = NULL;
        status = arcp__setup_read_spend(&config->setup, i, &amounts, err);
        if (status == ARCP_OK) {
            status =
                arcp__runtime_add_spend(runtime, principal == NULL ? "*" : principal, amounts, err);
        }
        arcp_lease_unref(amounts);
    }
    return status;
}

static arcp_status offer_agent(arcp_runtime *runtime, const arcp__setup_agent *from,
                               const arcp_launch_limit *files, arcp_error *err)
{
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_launch_limit limits[ARCP__SETUP_LIMITS_MAX];
    agent.name = from->name;
    agent.version = from->version;
    agent.is_default = from->is_default;
    agent.command = (const char *const *)from->command.items;
    agent.is_plain = from->mode == ARCP__SETUP_MODE_PLAIN;
    agent.processes = from->mode == ARCP__SETUP_MODE_SERVE ? (size_t)from->processes : 0;
    agent.concurrency = (size_t)from->concurrency;
    agent.jobs_per_process = from->jobs_per_process;
    agent.process_memory_bytes = from->process_memory_bytes;
    agent.lease = from->lease;
    agent.warm = (size_t)from->warm;
    agent.env = (const char *const *)from->env.items;
    agent.cwd = from->cwd;
    agent.user = from->user;
    agent.stderr_in_errors = from->stderr_in_errors;
    agent.max_jobs = (size_t)from->max_jobs;
    agent.without_queue = from->has_no_queue;
    agent.limits = limits;
    agent.confine = !from->is_unconfined;
    agent.base = (const char *const *)from->base.items;
    agent.protect = (arcp_protect)from->protect;
    agent.min = (arcp_enforce_min)from->min;
    agent.tls = (arcp_enforce_tls)from->tls;
    agent.pids = (uint32_t)from->pids;
    agent.memory_bytes = from->memory_bytes;
    agent.cpu_percent = (uint32_t)from->cpu_percent;
    agent.without_gateways = from->has_no_gateways;
    const arcp_status status =
        arcp__setup_agent_limits(from, files, limits, &agent.limit_count, err);
    return status != ARCP_OK ? status : arcp_runtime_register_process(runtime, &agent, err);
}

static arcp_status offer_policies(arcp_runtime *runtime, const arcp__config *config,
                                  arcp_error *err)
{
    arcp_status status = ARCP_OK;
    arcp_runtime_clear_policies(runtime);
    for (size_t i = 0; status == ARCP_OK && i < config->policy_count; i++) {
        arcp_policy policy = config->policies[i];
        policy.struct_size = sizeof policy;
        policy.principal_glob = policy.principal_glob == NULL ? "*" : policy.principal_glob;
        policy.agent_glob = policy.agent_glob == NULL ? "*" : policy.agent_glob;
        status = arcp_runtime_add_policy(runtime, &policy, err);
    }
    return status;
}

static arcp_status offer_profiles(arcp_runtime *runtime, const arcp__config *config,
                                  arcp_error *err)
{
    arcp_status status = ARCP_OK;
    arcp_runtime_clear_peer_profiles(runtime);
    for (size_t i = 0; status == ARCP_OK && i < config->profile_count; i++) {
        const arcp__config_profile *rule = &config->profiles[i];
        status = arcp_runtime_add_peer_profile(runtime, rule->client, rule->principal,
                                               rule->profile, err);
    }
    return status;
}

arcp_status arcp__service_offer(arcp_runtime *runtime, const arcp__config *config,
                                const arcp_launch_limit *files, arcp_error *err)
{
    /* Before the agents: what has gateways is no agent of a worker. */
    arcp_status status = arcp__gateways_apply(runtime, config, err);
    if (status == ARCP_OK) {
        arcp_runtime_clear_agents(runtime);
    }
    for (size_t i = 0; status == ARCP_OK && i < config->setup.agent_count; i++) {
        status = offer_agent(runtime, &config->setup.agents[i], files, err);
    }
    if (status == ARCP_OK) {
        status = offer_policies(runtime, config, err);
    }
    if (status == ARCP_OK) {
        status = offer_spends(runtime, config, err);
    }
    if (status == ARCP_OK) {
        status = offer_profiles(runtime, config, err);
    }
    if (status == ARCP_OK) {
        status = arcp__runtime_set_worker_tokens(runtime, config->worker_tokens,
                                                 config->worker_token_count, err);
    }
    if (status == ARCP_OK) {
        status = arcp__schedules_apply(runtime, config, err);
    }
    return status;
}
