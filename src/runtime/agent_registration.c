#include "runtime/agent_registration.h"

#include "base/alloc.h"
#include "base/options.h"
#include "runtime/runtime_state.h"

/* ---- copying what was registered ---- */

static void free_texts(char **texts)
{
    for (size_t at = 0; texts != NULL && texts[at] != NULL; at++) {
        arcp__free(texts[at]);
    }
    arcp__free(texts);
}

static bool copy_texts(const char *const *texts, char ***out)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    *out = arcp__alloc_array(count + 1, sizeof(**out));
    for (size_t at = 0; *out != NULL && at < count; at++) {
        (*out)[at] = arcp__copy_cstr(texts[at], strlen(texts[at]));
        if ((*out)[at] == NULL) {
            return false;
        }
    }
    return *out != NULL;
}

static bool copy_optional(const char *text, char **out)
{
    *out = text == NULL ? NULL : arcp__copy_cstr(text, strlen(text));
    return text == NULL || *out != NULL;
}

static bool copy_limits(arcp__process_agent *agent, const arcp_process_agent *from)
{
    if (from->limit_count == 0) {
        return true;
    }
    agent->limits = arcp__alloc_array(from->limit_count, sizeof(*agent->limits));
    if (agent->limits == NULL) {
        return false;
    }
    memcpy(agent->limits, from->limits, from->limit_count * sizeof(*agent->limits));
    agent->limit_count = from->limit_count;
    return true;
}

static bool copy(arcp__process_agent *agent, const arcp_process_agent *from)
{
    if (!copy_texts(from->command, &agent->command) || !copy_texts(from->env, &agent->env) ||
        !copy_optional(from->cwd, &agent->cwd) || !copy_optional(from->user, &agent->user) ||
        !copy_limits(agent, from)) {
        return false;
    }
    agent->is_plain = from->is_plain;
    agent->stderr_in_errors = from->stderr_in_errors;
    agent->max_jobs = from->max_jobs;
    agent->spec = (arcp__process_spec){
        .argv = (const char *const *)agent->command,
        .user = agent->user,
        .limits = agent->limits,
        .limit_count = agent->limit_count,
        .is_plain = agent->is_plain,
    };
    return true;
}

void arcp__process_agent_free(arcp__process_agent *agent)
{
    if (agent == NULL) {
        return;
    }
    arcp__process_pool_free(agent->pool);
    arcp__environment_fini(&agent->warm_environment);
    free_texts(agent->command);
    free_texts(agent->env);
    arcp__free(agent->cwd);
    arcp__free(agent->user);
    arcp__free(agent->limits);
    arcp__free(agent);
}

/* ---- processes that wait ---- */

static void warm_say(void *user, bool is_error, const char *text)
{
    const arcp__process_agent *agent = user;
    arcp__runtime_log(agent->runtime, is_error ? ARCP_LOG_ERROR : ARCP_LOG_WARN, "%s", text);
}

static void warm_log(void *user, arcp_span line)
{
    const arcp__process_agent *agent = user;
    arcp_span shown = arcp_span_first(line, 400);
    arcp__runtime_log(agent->runtime, ARCP_LOG_INFO, "%s: %.*s", agent->command[0], (int)shown.size,
                      shown.data);
}

/* They get what does not depend on a job; the rest comes in job.start. */
static arcp_status keep_warm(arcp__process_agent *agent, size_t size, arcp_error *err)
{
    arcp_runtime *runtime = agent->runtime;
    arcp__environment *environment = &agent->warm_environment;
    arcp__environment_base(environment, agent->user);
    arcp__environment_pass(environment, (const char *const *)agent->env);
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
        .loop = runtime->loop,
        .size = size,
        .spec = &agent->warm_spec,
        .say = warm_say,
        .log = warm_log,
        .user = agent,
    };
    return arcp__process_pool_new(&options, &agent->pool, err);
}

/* ---- registering ---- */

/* A program or user that is missing is told now, not by the first job's failure. It may come
 * later: the agent is offered all the same. */
static arcp_status warn_if_missing(const arcp__process_agent *agent, const char *name,
                                   arcp_error *err)
{
    arcp_error why = {0};
    arcp_status status = arcp__process_check((const char *const *)agent->command,
                                             (const char *const *)agent->env, agent->user, &why);
    if (status == ARCP_E_NO_MEMORY) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status != ARCP_OK) {
        arcp__runtime_log(agent->runtime, ARCP_LOG_WARN, "agent \"%s\": %s; its jobs will fail",
                          name, why.message);
    }
    return ARCP_OK;
}

arcp_status arcp_runtime_register_process(arcp_runtime *runtime, const arcp_process_agent *from,
                                          arcp_error *err)
{
    arcp_status status = arcp__options_check(from, sizeof(*from), "ARCP_PROCESS_AGENT_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__agent_entry *entry = arcp__alloc(sizeof(*entry));
    arcp__process_agent *agent = arcp__alloc(sizeof(*agent));
    if (agent != NULL) {
        agent->runtime = runtime;
    }
    if (entry == NULL || agent == NULL || !copy(agent, from)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (agent->command[0] == NULL) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty", from->name);
    } else if (from->warm != 0 && !from->is_plain) {
        status = keep_warm(agent, from->warm, err); /* which says what cannot be started */
    } else if (runtime->launches_here) {
        status = warn_if_missing(agent, from->name, err);
    }
    if (entry == NULL || status != ARCP_OK) {
        arcp__free(entry);
        arcp__process_agent_free(agent);
        return status;
    }
    entry->ops = &arcp__agent_process_host;
    entry->process = agent;
    /* Takes the entry in any case. */
    status = arcp__runtime_add_entry(runtime, entry, from->name, from->version, from->is_default,
                                     from->cwd, err);
    if (status != ARCP_OK) {
        arcp__process_agent_free(agent);
    }
    return status;
}
