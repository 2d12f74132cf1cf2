/* The registration of an agent that is a program. */
#include "base/alloc.h"
#include "base/options.h"
#include "runtime/runtime_state.h"

/* ---- copying what was registered ---- */

static const char *copy_text(arcp__process_agent *agent, const char *text, bool *failed)
{
    arcp_span copy = {NULL, 0};
    if (text != NULL) {
        copy = arcp__arena_copy(&agent->arena, arcp_span_make(text, strlen(text) + 1));
        *failed = *failed || copy.data == NULL;
    }
    return copy.data;
}

/* NULL-terminated, never NULL unless it failed. */
static const char *const *copy_texts(arcp__process_agent *agent, const char *const *texts,
                                     bool *failed)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    const char **copy = arcp__arena_take(&agent->arena, (count + 1) * sizeof(*copy));
    *failed = *failed || copy == NULL;
    for (size_t i = 0; copy != NULL && i <= count; i++) {
        copy[i] = i == count ? NULL : copy_text(agent, texts[i], failed);
    }
    return copy;
}

/* The count of what is registered under the same name and version, or a new one. */
static arcp__running *find_running(const arcp_runtime *runtime, const char *name,
                                   const char *version)
{
    for (const arcp__agent_entry *at = runtime->agents; at != NULL; at = at->next) {
        if (at->process != NULL && arcp_span_equal_cstr(arcp_span_cstr(name), at->name) &&
            arcp_span_equal_cstr(arcp_span_cstr(version), at->version)) {
            return at->process->running;
        }
    }
    return arcp__alloc(sizeof(arcp__running));
}

static arcp__process_agent *agent_new(arcp_runtime *runtime, const arcp_process_agent *from)
{
    arcp__process_agent *agent = arcp__alloc(sizeof(*agent));
    bool failed = false;
    if (agent == NULL) {
        return NULL;
    }
    agent->runtime = runtime;
    agent->env = copy_texts(agent, from->env, &failed);
    agent->cwd = copy_text(agent, from->cwd, &failed);
    agent->stderr_in_errors = from->stderr_in_errors;
    agent->max_jobs = from->max_jobs;
    arcp_span limits = {NULL, 0};
    if (from->limit_count != 0) {
        limits = arcp__arena_copy(
            &agent->arena,
            arcp_span_make((const char *)from->limits, from->limit_count * sizeof(*from->limits)));
        failed = failed || limits.data == NULL;
    }
    agent->spec = (arcp__process_spec){
        .argv = copy_texts(agent, from->command, &failed),
        .user = copy_text(agent, from->user, &failed),
        .limits = (const arcp_launch_limit *)(const void *)limits.data,
        .limit_count = from->limit_count,
        .is_plain = from->is_plain,
    };
    agent->running = find_running(runtime, from->name, from->version);
    if (agent->running != NULL) {
        agent->running->refs++;
    }
    if (failed || agent->running == NULL) {
        arcp__process_agent_free(agent);
        return NULL;
    }
    return agent;
}

void arcp__process_agent_free(arcp__process_agent *agent)
{
    if (agent == NULL) {
        return;
    }
    arcp__process_pool_free(agent->pool);
    arcp__environment_fini(&agent->warm_environment);
    if (agent->running != NULL && --agent->running->refs == 0) {
        arcp__free(agent->running);
    }
    arcp__arena_fini(&agent->arena);
    arcp__free(agent);
}

/* ---- processes that wait ---- */

static void warm_say(void *user, bool is_error, const char *text)
{
    const arcp__process_agent *agent = user;
    arcp__runtime_log(agent->runtime, NULL, is_error ? ARCP_LOG_ERROR : ARCP_LOG_WARN, "%s", text);
}

static void warm_log(void *user, arcp_span line)
{
    const arcp__process_agent *agent = user;
    arcp_span shown = arcp_span_first(line, 400);
    arcp__runtime_log(agent->runtime, NULL, ARCP_LOG_INFO, "%s: %.*s", agent->spec.argv[0],
                      (int)shown.size, shown.data);
}

/* They get what does not depend on a job; the rest comes in job.start. */
static arcp_status keep_warm(arcp__process_agent *agent, size_t size, arcp_error *err)
{
    arcp_runtime *runtime = agent->runtime;
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
        .say = warm_say,
        .log = warm_log,
        .user = agent,
    };
    return arcp__process_pool_new(&options, &agent->pool, err);
}

/* ---- registering ---- */

arcp_status arcp_runtime_register_process(arcp_runtime *runtime, const arcp_process_agent *from,
                                          arcp_error *err)
{
    arcp_status status = arcp__options_check(from, sizeof(*from), "ARCP_PROCESS_AGENT_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (from->command == NULL || from->command[0] == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty",
                              from->name);
    }
    arcp__agent_entry *entry = arcp__alloc(sizeof(*entry));
    arcp__process_agent *agent = agent_new(runtime, from);
    if (entry == NULL || agent == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (from->warm != 0 && !from->is_plain) {
        status = keep_warm(agent, from->warm, err); /* which says what cannot be started */
    } else if (runtime->launches_here) {
        /* A program or user that is missing is told now, not by the first job's failure. It may
         * come later: the agent is offered all the same. */
        arcp_error why = {0};
        arcp_status found =
            arcp__process_check(agent->spec.argv, agent->env, agent->spec.user, &why);
        if (found == ARCP_E_NO_MEMORY) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        } else if (found != ARCP_OK) {
            arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN, "agent \"%s\": %s; its jobs will fail",
                              from->name, why.message);
        }
    }
    if (entry == NULL || status != ARCP_OK) {
        arcp__free(entry);
        arcp__process_agent_free(agent);
        return status;
    }
    entry->ops = &arcp__agent_process_host;
    entry->process = agent;
    /* Takes the entry in any case. */
    return arcp__runtime_add_entry(runtime, entry, from->name, from->version, from->is_default,
                                   from->cwd, err);
}
