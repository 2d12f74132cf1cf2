/* The rows of `agents`: programs that run jobs. */
#include <stdio.h>
#include <string.h>

#include "config/config_rows.h"
#include "launch/launch.h"
#include "setup/setup.h"

static bool same_text(const char *a, const char *b)
{
    return arcp_span_equal(arcp_span_cstr(a), arcp_span_cstr(b));
}

static const char *const modes[] = {"arcp", "plain", "serve", NULL};

static bool is_served(const void *owner)
{
    return ((const arcp__setup_agent *)owner)->mode == ARCP__SETUP_MODE_SERVE;
}

static arcp_status accept_cwd(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp__setup_agent *agent = owner;
    return agent->cwd != NULL && agent->cwd[0] != '/'
               ? arcp__yaml_refuse(r, "must be an absolute path, or null for a fresh directory")
               : ARCP_OK;
}

static arcp_status accept_variable(arcp__yaml_reader *r, const char *name, const char *text)
{
    return name[0] == '\0' || strchr(name, '=') != NULL
               ? arcp__yaml_refuse(r, "a variable needs a name without '='")
               : ARCP_OK;
}

static arcp_status accept_limit(arcp__yaml_reader *r, const char *name, const char *text)
{
    arcp_launch_limit ignored;
    arcp_error why = {0};
    const arcp_status status =
        arcp__launch_limit_parse(name, text == NULL ? "" : text, &ignored, &why);
    return status == ARCP_OK ? ARCP_OK : arcp__yaml_refuse(r, "%s", why.message);
}

static const char *const yes_or_no[] = {"true", "false", NULL};
/* In the order of arcp_protect, arcp_enforce_min and arcp_enforce_tls. */
static const char *const protects[] = {"true", "strict", "false", NULL};
static const char *const minimums[] = {"null", "exact", "under", "advisory", NULL};
static const char *const tls_kinds[] = {"null", "tunnel", "terminate", NULL};

static const arcp__config_row agent_rows[] = {
    {ROW("name", text, arcp__setup_agent, name)},
    {ROW("version", text, arcp__setup_agent, version)},
    {ROW("default", flag, arcp__setup_agent, is_default)},
    {ROW("mode", word, arcp__setup_agent, mode), .words = modes},
    {ROW("processes", number, arcp__setup_agent, processes), .initial = 1, .minimum = 1,
     .maximum = ARCP__SERVED_PROCESSES_MAX, .applies = is_served},
    {ROW("concurrency", number, arcp__setup_agent, concurrency), .initial = ARCP__SETUP_CONCURRENCY,
     .minimum = 1, .maximum = ARCP__SERVED_CONCURRENCY_MAX, .applies = is_served},
    {ROW("jobs_per_process", number, arcp__setup_agent, jobs_per_process), .applies = is_served},
    {ROW("process_memory_bytes", number, arcp__setup_agent, process_memory_bytes),
     .applies = is_served},
    {ROW("lease", lease, arcp__setup_agent, lease), .applies = is_served},
    {ROW("warm", number, arcp__setup_agent, warm), .maximum = ARCP__PROCESS_POOL_MAX},
    {TEXTS("command", arcp__setup_agent, command.items, command.count)},
    {ROW("cwd", text, arcp__setup_agent, cwd), .accept = accept_cwd},
    {ROW("user", text, arcp__setup_agent, user)},
    {ROW("stderr_in_errors", flag, arcp__setup_agent, stderr_in_errors)},
    {ROW("max_jobs", number, arcp__setup_agent, max_jobs)},
    {ROW("queue", word, arcp__setup_agent, has_no_queue), .words = yes_or_no},
    {PAIRS("env", arcp__setup_agent, env.items, env.count, secret), .flags = NAMES,
     .separator = "=", .accept_pair = accept_variable},
    {PAIRS("rlimits", arcp__setup_agent, rlimits.items, rlimits.count, text), .separator = "=",
     .accept_pair = accept_limit},
    {ROW("confine", word, arcp__setup_agent, is_unconfined), .words = yes_or_no},
    {TEXTS("base", arcp__setup_agent, base.items, base.count), .accept = arcp__config_accept_paths},
    {ROW("protect", word, arcp__setup_agent, protect), .words = protects},
    {ROW("min", word, arcp__setup_agent, min), .words = minimums},
    {ROW("tls", word, arcp__setup_agent, tls), .words = tls_kinds},
    {ROW("pids", number, arcp__setup_agent, pids), .maximum = 4194304},
    {ROW("memory_bytes", number, arcp__setup_agent, memory_bytes)},
    {ROW("cpu_percent", number, arcp__setup_agent, cpu_percent), .maximum = 1000000},
    {ROW("gateways", word, arcp__setup_agent, has_no_gateways), .words = yes_or_no},
};

/* Two entries for the same agent are refused, because one of them would have no effect. */
static arcp_status check_agent(arcp__yaml_reader *r, void *owner)
{
    const arcp__setup *setup = r->root;
    const arcp__setup_agent *agent = owner;
    if (agent->name == NULL || agent->command.count == 0) {
        return arcp__yaml_refuse(r, "needs name and command (a list of words)");
    }
    for (const arcp__setup_agent *other = setup->agents; other < agent; other++) {
        if (!same_text(agent->name, other->name)) {
            continue;
        }
        if (same_text(agent->version, other->version)) {
            return arcp__yaml_refuse(r, "an entry above has the same name and version");
        }
        if (agent->is_default && other->is_default) {
            return arcp__yaml_refuse(r, "an entry above is already the default for this name");
        }
    }
    return ARCP_OK;
}

const arcp__config_row arcp__setup_agent_item = {
    ITEM(arcp__setup_agent, ROWS(agent_rows), .check = check_agent)};

arcp_status arcp__setup_agent_limits(const arcp__setup_agent *agent, const arcp_launch_limit *files,
                                     arcp_launch_limit out[ARCP__SETUP_LIMITS_MAX], size_t *count,
                                     arcp_error *err)
{
    *count = 0;
    out[(*count)++] = *files;
    for (size_t i = 0; i < agent->rlimits.count && *count < ARCP__SETUP_LIMITS_MAX; i++) {
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
