#include "arcpd/arcpd.h"

#include <stdio.h>
#include <sys/resource.h>

#include "launch/launch.h"
#include "runtime/runtime_gateway.h"

#define LIMITS_MAX 16u /* more than there are resources */

/* The agent's own limits, after `files`, which they can replace. */
static arcp_status limits_of(const arcp__config_agent *agent, const arcp_launch_limit *files,
                             arcp_launch_limit out[LIMITS_MAX], size_t *count, arcp_error *err)
{
    *count = 0;
    out[(*count)++] = *files;
    for (size_t i = 0; i < agent->rlimits.count && *count < LIMITS_MAX; i++) {
        const char *pair = agent->rlimits.items[i];
        const char *value = strchr(pair, '=') + 1;
        char name[16] = "";
        arcp_launch_limit limit;
        (void)snprintf(name, sizeof name, "%.*s", (int)(value - 1 - pair), pair);
        const arcp_status status = arcp__launch_limit_parse(name, value, &limit, err);
        if (status != ARCP_OK) {
            return status;
        }
        if (limit.resource == files->resource) {
            out[0] = limit;
        } else {
            out[(*count)++] = limit;
        }
    }
    return ARCP_OK;
}

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

arcp_status arcp__service_offer(arcp_runtime *runtime, const arcp__config *config,
                                const arcp_launch_limit *files, arcp_error *err)
{
    /* Before the agents: what has gateways is no agent of a worker. */
    arcp_status status = arcp__gateways_apply(runtime, config, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_runtime_clear_agents(runtime);
    for (size_t i = 0; status == ARCP_OK && i < config->agent_count; i++) {
        const arcp__config_agent *from = &config->agents[i];
        arcp_process_agent agent = arcp_process_agent_init();
        arcp_launch_limit limits[LIMITS_MAX];
        agent.name = from->name;
        agent.version = from->version;
        agent.is_default = from->is_default;
        agent.command = (const char *const *)from->command.items;
        agent.is_plain = from->mode == ARCP__CONFIG_MODE_PLAIN;
        agent.processes = from->mode == ARCP__CONFIG_MODE_SERVE ? (size_t)from->processes : 0;
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
        status = limits_of(from, files, limits, &agent.limit_count, err);
        if (status == ARCP_OK) {
            status = arcp_runtime_register_process(runtime, &agent, err);
        }
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp_runtime_clear_policies(runtime);
    for (size_t i = 0; status == ARCP_OK && i < config->policy_count; i++) {
        arcp_policy policy = config->policies[i];
        policy.struct_size = sizeof policy;
        policy.principal_glob = policy.principal_glob == NULL ? "*" : policy.principal_glob;
        policy.agent_glob = policy.agent_glob == NULL ? "*" : policy.agent_glob;
        status = arcp_runtime_add_policy(runtime, &policy, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    status = offer_spends(runtime, config, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_runtime_clear_peer_profiles(runtime);
    for (size_t i = 0; status == ARCP_OK && i < config->profile_count; i++) {
        const arcp__config_profile *rule = &config->profiles[i];
        status = arcp_runtime_add_peer_profile(runtime, rule->client, rule->principal,
                                               rule->profile, err);
    }
    return status == ARCP_OK ? arcp__schedules_apply(runtime, config, err) : status;
}

void arcp__service_raise_file_limit(arcp_launch_limit *original)
{
    struct rlimit files = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    const bool is_known = getrlimit(RLIMIT_NOFILE, &files) == 0;
    *original = (arcp_launch_limit){
        .resource = RLIMIT_NOFILE,
        .soft = files.rlim_cur == RLIM_INFINITY ? ARCP_LAUNCH_NO_LIMIT : (uint64_t)files.rlim_cur,
        .hard = files.rlim_max == RLIM_INFINITY ? ARCP_LAUNCH_NO_LIMIT : (uint64_t)files.rlim_max};
    if (is_known) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* if this fails, the limit stays as it was */
    }
}
