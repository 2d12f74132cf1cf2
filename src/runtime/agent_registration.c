/* The registration of process agents. */
#include "base/alloc.h"
#include "base/options.h"
#include "runtime/confinement.h"
#include "runtime/runtime_state.h"
#include "runtime/served_agent.h"

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

static arcp_status fill(arcp__process_agent *agent, arcp_runtime *runtime,
                        const arcp_process_agent *from, arcp_error *err)
{
    bool failed = false;
    agent->runtime = runtime;
    agent->env = copy_texts(agent, from->env, &failed);
    agent->cwd = copy_text(agent, from->cwd, &failed);
    agent->stderr_in_errors = from->stderr_in_errors;
    agent->max_jobs = from->max_jobs;
    agent->without_queue = from->without_queue;
    agent->without_gateways = from->without_gateways;
    arcp_span limits = {NULL, 0};
    if (from->limit_count != 0) {
        limits = arcp__arena_copy(
            &agent->arena,
            arcp_span_make((const char *)from->limits, from->limit_count * sizeof *from->limits));
        failed = failed || limits.data == NULL;
    }
    agent->spec = (arcp__process_spec){
        .argv = copy_texts(agent, from->command, &failed),
        .user = copy_text(agent, from->user, &failed),
        .limits = (const arcp_launch_limit *)(const void *)limits.data,
        .limit_count = from->limit_count,
        .is_plain = from->is_plain,
    };
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

void arcp__process_agent_fini(arcp__process_agent *agent)
{
    arcp__process_pool_free(agent->pool);
    arcp__served_agent_free(agent->served);
    arcp__warm_free(agent->warm);
    arcp__environment_fini(&agent->warm_environment);
    arcp__agent_sandbox_fini(&agent->confinement.sandbox);
    arcp__arena_fini(&agent->arena);
    *agent = (arcp__process_agent){.runtime = NULL};
}

/* ---- warm processes ---- */

static void report_warm(void *user, bool is_error, const char *text)
{
    const arcp__process_agent *agent = user;
    arcp__runtime_log(agent->runtime, NULL, is_error ? ARCP_LOG_ERROR : ARCP_LOG_WARN, "%s", text);
}

static void log_warm(void *user, arcp_span line)
{
    const arcp__process_agent *agent = user;
    const arcp_span shown = arcp_span_first(line, 400);
    arcp__runtime_log(agent->runtime, NULL, ARCP_LOG_INFO, "%s: %.*s", agent->spec.argv[0],
                      (int)shown.size, shown.data);
}

/* Warm processes get the environment that does not depend on a job; the rest is in job.start. */
static arcp_status keep_warm(arcp__process_agent *agent, size_t size, bool is_confined,
                             arcp_error *err)
{
    const arcp_runtime *runtime = agent->runtime;
    arcp__environment *environment = &agent->warm_environment;
    arcp__environment_base(environment, agent->spec.user);
    arcp__environment_pass(environment, agent->env);
    if (environment->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    agent->warm_spec = agent->spec;
    agent->warm_spec.env = (const char *const *)environment->pairs;
    agent->warm_spec.line_bytes_max = runtime->settings_agent_line_bytes;
    const char *directory = arcp__process_table_directory(runtime->processes);
    agent->warm_spec.makes_cwd = agent->cwd == NULL && directory != NULL;
    agent->warm_spec.cwd = agent->cwd != NULL ? agent->cwd : directory;
    arcp__process_pool_options options = {
        .table = runtime->processes,
        .size = size,
        .spec = &agent->warm_spec,
        .report = report_warm,
        .log = log_warm,
        .user = agent,
    };
    const arcp_status status = is_confined ? arcp__warm_new(agent, &options, err) : ARCP_OK;
    return status == ARCP_OK ? arcp__process_pool_new(&options, &agent->pool, err) : status;
}

/* Whether the agent can have warm processes; says so where it cannot, though it should. */
static bool can_be_warm(arcp_runtime *runtime, const arcp_process_agent *from, bool is_confined)
{
    if (from->warm == 0 || from->is_plain || from->processes != 0) {
        return false;
    }
    if (!is_confined) {
        return true;
    }
    const bool can = runtime->confinement->level != ARCP__SANDBOX_LEVEL_NONE &&
                     arcp__sandbox_has_broker(&runtime->confinement->abilities);
    if (!can) {
        arcp__runtime_log(
            runtime, NULL, ARCP_LOG_WARN,
            "agent \"%s\": without a broker (arcp doctor) a confined agent has no warm "
            "processes; each is started for its job",
            from->name);
    }
    return can;
}

/* ---- served processes ---- */

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

/* ---- registering ---- */

arcp_status arcp_runtime_register_process(arcp_runtime *runtime, const arcp_process_agent *given,
                                          arcp_error *err)
{
    arcp_process_agent from = arcp_process_agent_init();
    arcp_status status = arcp__options_take(&from, given, sizeof from, "arcp_process_agent", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (from.command == NULL || from.command[0] == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty",
                              from.name == NULL ? "" : from.name);
    }
    arcp__agent_entry *entry = arcp__alloc(sizeof *entry);
    if (entry == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__process_agent *agent = &entry->process;
    entry->ops = &arcp__agent_worker_host;
    status = fill(agent, runtime, &from, err);
    if (status == ARCP_OK) {
        status = arcp__confinement_register(agent, &from, err);
    }
    const bool is_confined = runtime->confinement != NULL && from.confine;
    if (status == ARCP_OK && is_confined &&
        runtime->confinement->level == ARCP__SANDBOX_LEVEL_FULL) {
        arcp__confinement_warm_etc(runtime, agent->spec.user);
    }
    if (status == ARCP_OK && from.processes != 0) {
        status = arcp__served_agent_new(agent, &from, &agent->served, err);
    }
    if (status == ARCP_OK && can_be_warm(runtime, &from, is_confined)) {
        /* The pool reports a program that fails. */
        status = keep_warm(agent, from.warm, is_confined, err);
    } else if (status == ARCP_OK && runtime->options.launcher == NULL) {
        /* Warn of a missing program or user now, and not only when the first job fails. The agent
         * is offered anyway, because it may be installed later. */
        arcp_error why = {0};
        status = arcp__process_check(agent->spec.argv, agent->env, agent->spec.user, &why);
        if (status == ARCP_E_NO_MEMORY) {
            (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        } else if (status != ARCP_OK) {
            arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN, "agent \"%s\": %s; its jobs will fail",
                              from.name, why.message);
            status = ARCP_OK;
        }
    }
    if (status != ARCP_OK) {
        arcp__process_agent_fini(agent);
        arcp__free(entry);
        return status;
    }
    arcp__agent_entry *same = find_same(runtime, agent->served);
    if (same != NULL) {
        arcp__process_agent_fini(agent);
        arcp__free(entry);
        return arcp__runtime_offer_again(runtime, same, from.is_default, err);
    }
    /* This takes ownership of the entry, even on failure. */
    return arcp__runtime_add_entry(runtime, entry, from.name, from.version, from.is_default,
                                   from.cwd, err);
}
