#include "arcpd/arcpd.h"

#include <stdio.h>

#include "launch/launch.h"

#define LIMITS_MAX 16u /* more than there are resources */

/* The agent's own limits, the last ones of a resource to count, behind `files`. */
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

static arcp_status register_agents(arcp_runtime *runtime, const arcp__config *config,
                                   const arcp_launch_limit *files, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < config->agent_count; at++) {
        const arcp__config_agent *from = &config->agents[at];
        arcp_process_agent agent = ARCP_PROCESS_AGENT_INIT;
        arcp_launch_limit limits[LIMITS_MAX];
        agent.name = from->name;
        agent.version = from->version;
        agent.is_default = from->is_default;
        agent.command = (const char *const *)from->command.items;
        agent.is_plain = from->is_plain;
        agent.warm = (size_t)from->warm;
        agent.env = (const char *const *)from->env.items;
        agent.cwd = from->cwd;
        agent.user = from->user;
        agent.stderr_in_errors = from->stderr_in_errors;
        agent.max_jobs = (size_t)from->max_jobs;
        agent.limits = limits;
        status = limits_of(from, files, limits, &agent.limit_count, err);
        if (status == ARCP_OK) {
            status = arcp_runtime_register_process(runtime, &agent, err);
        }
    }
    return status;
}

static arcp_status apply_policies(arcp_runtime *runtime, const arcp__config *config,
                                  arcp_error *err)
{
    arcp_status status = ARCP_OK;
    arcp_runtime_clear_policies(runtime);
    for (size_t at = 0; status == ARCP_OK && at < config->policy_count; at++) {
        const arcp__config_policy *from = &config->policies[at];
        arcp_policy policy = ARCP_POLICY_INIT;
        policy.principal_glob = from->principal;
        policy.agent_glob = from->agent;
        policy.ceiling = from->ceiling;
        policy.leaves_others_open = !from->has_lease;
        policy.max_lifetime_sec = from->max_lifetime_sec;
        status = arcp_runtime_add_policy(runtime, &policy, err);
    }
    return status;
}

static arcp_status apply_peer_profiles(arcp_runtime *runtime, const arcp__config *config,
                                       arcp_error *err)
{
    arcp_status status = ARCP_OK;
    arcp_runtime_clear_peer_profiles(runtime);
    for (size_t at = 0; status == ARCP_OK && at < config->profile_count; at++) {
        const arcp__config_profile *rule = &config->profiles[at];
        status = arcp_runtime_add_peer_profile(runtime, rule->client, rule->principal,
                                               rule->profile, err);
    }
    return status;
}

arcp_status arcp__service_offer(arcp_runtime *runtime, const arcp__config *config,
                                const arcp_launch_limit *files, arcp_error *err)
{
    arcp_runtime_clear_agents(runtime);
    arcp_status status = register_agents(runtime, config, files, err);
    if (status == ARCP_OK) {
        status = apply_policies(runtime, config, err);
    }
    return status == ARCP_OK ? apply_peer_profiles(runtime, config, err) : status;
}
