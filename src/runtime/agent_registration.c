/* The registration of process agents. */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/options.h"
#include "hosting/confinement.h"
#include "hosting/served_agent.h"
#include "runtime/local_worker.h"

_Static_assert(ARCP_SERVED_PROCESSES_MAX == ARCP__SERVED_PROCESSES_MAX &&
                   ARCP_SERVED_CONCURRENCY_MAX == ARCP__SERVED_CONCURRENCY_MAX,
               "programs and configuration files have the same limits");

/* An entry that was offered with the same registration, and whose processes go on with new jobs;
 * NULL: none. */
static arcp__agent_entry *find_same(const arcp_runtime *runtime, const arcp__served_agent *served)
{
    arcp__agent_entry *entry = runtime->agents;
    while (entry != NULL &&
           (entry->is_offered || !arcp__served_agent_equals(entry->process.served, served))) {
        entry = entry->next;
    }
    return entry;
}

static arcp_status check(const arcp_process_agent *from, arcp_error *err)
{
    if (from->command == NULL || from->command[0] == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty",
                              from->name == NULL ? "" : from->name);
    }
    if (from->warm > ARCP__PROCESS_POOL_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "agent \"%s\": warm must be at most %u",
                              from->name, ARCP__PROCESS_POOL_MAX);
    }
    if (from->processes != 0 && from->is_plain) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "agent \"%s\": a plain program runs one job, and cannot be served",
                              from->name);
    }
    if (from->processes != 0 &&
        (from->processes > ARCP_SERVED_PROCESSES_MAX || from->concurrency == 0 ||
         from->concurrency > ARCP_SERVED_CONCURRENCY_MAX)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "agent \"%s\": processes must be from 1 to %d, concurrency from 1 to "
                              "%d",
                              from->name, ARCP_SERVED_PROCESSES_MAX, ARCP_SERVED_CONCURRENCY_MAX);
    }
    return ARCP_OK;
}

static arcp__agent_row row_of(const arcp_process_agent *from)
{
    return (arcp__agent_row){.name = from->name,
                             .version = from->version,
                             .command = from->command,
                             .env = from->env,
                             .cwd = from->cwd,
                             .user = from->user,
                             .limits = from->limits,
                             .limit_count = from->limit_count,
                             .is_plain = from->is_plain,
                             .stderr_in_errors = from->stderr_in_errors,
                             .warm = from->warm,
                             .without_gateways = from->without_gateways,
                             .confine = from->confine,
                             .base = from->base,
                             .protect = from->protect,
                             .min = from->min,
                             .tls = from->tls,
                             .pids = from->pids,
                             .cpu_percent = from->cpu_percent,
                             .memory_bytes = from->memory_bytes,
                             .processes = from->processes,
                             .concurrency = from->concurrency,
                             .jobs_per_process = from->jobs_per_process,
                             .process_memory_bytes = from->process_memory_bytes,
                             .lease = from->lease};
}

static size_t max_jobs_of(const arcp_process_agent *from)
{
    const size_t most = from->processes * from->concurrency;
    return from->processes != 0 && (from->max_jobs == 0 || from->max_jobs > most) ? most
                                                                                  : from->max_jobs;
}

/* Warns of a missing program or user now, and not only when the first job fails. The agent is
 * offered anyway, because it may be installed later. */
static arcp_status look_for_program(arcp_runtime *runtime, const arcp__process_agent *agent,
                                    const char *name, arcp_error *err)
{
    arcp_error why = {0};
    const arcp_status status =
        arcp__process_check(agent->spec.argv, agent->env, agent->spec.user, &why);
    if (status == ARCP_E_NO_MEMORY) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status != ARCP_OK) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN, "agent \"%s\": %s; its jobs will fail",
                          name, why.message);
    }
    return ARCP_OK;
}

static arcp_status open_agent(arcp_runtime *runtime, const arcp_process_agent *from,
                              arcp__agent_entry *entry, arcp_error *err)
{
    arcp__process_agent *agent = &entry->process;
    const arcp__agent_row row = row_of(from);
    arcp_status status = arcp__process_agent_init(agent, &runtime->hosting, &row, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (arcp__local_worker_takes(runtime, agent)) {
        status = arcp__local_worker_register(&row, entry, err);
    } else {
        status = arcp__process_agent_warm(agent, from->name, from->warm, err);
    }
    /* The pool reports a program that fails. */
    if (status == ARCP_OK && agent->pool == NULL && runtime->options.launcher == NULL) {
        status = look_for_program(runtime, agent, from->name, err);
    }
    if (status != ARCP_OK) {
        arcp__process_agent_fini(agent);
        arcp_buf_fini(&entry->row);
    }
    return status;
}

arcp_status arcp_runtime_register_process(arcp_runtime *runtime, const arcp_process_agent *given,
                                          arcp_error *err)
{
    arcp_process_agent from = arcp_process_agent_init();
    arcp_status status = arcp__options_take(&from, given, sizeof from, "arcp_process_agent", err);
    if (status == ARCP_OK) {
        status = check(&from, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__agent_entry *entry = arcp__alloc(sizeof *entry);
    if (entry == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    entry->ops = &arcp__agent_worker_host;
    status = open_agent(runtime, &from, entry, err);
    if (status != ARCP_OK) {
        arcp__free(entry);
        return status;
    }
    arcp__agent_entry *same = find_same(runtime, entry->process.served);
    if (same != NULL) {
        arcp__process_agent_fini(&entry->process);
        arcp_buf_fini(&entry->row);
        arcp__free(entry);
        entry = same;
    }
    entry->max_jobs = max_jobs_of(&from);
    entry->without_queue = from.without_queue;
    if (same != NULL) {
        return arcp__runtime_offer_again(runtime, same, from.is_default, err);
    }
    /* This takes ownership of the entry, even on failure. */
    return arcp__runtime_add_entry(runtime, entry, from.name, from.version, from.is_default,
                                   from.cwd, err);
}

void arcp__runtime_retire_agents(arcp_runtime *runtime)
{
    arcp__agent_entry *entry = NULL;
    runtime->has_withdrawn_agents = false;
    arcp__local_worker_list_agents(runtime);
    LL_FOREACH (runtime->agents, entry) {
        if (!entry->is_offered) {
            arcp__served_agent_retire(entry->process.served);
        }
    }
}
