/* Agents that are programs: one process a job, started when the job does or waiting for it
 * (warm). */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "runtime/agent_process.h"
#include "runtime/runtime_state.h"
#include "runtime/work_directory.h"

#define WARM_PAUSE_MIN_MS 100u
#define WARM_PAUSE_MAX_MS 10000u

typedef struct warm_process {
    struct warm_process *next;
    struct arcp__process_agent *agent;
    arcp__agent_process *process;
} warm_process;

/* A registration of a program. */
typedef struct arcp__process_agent {
    arcp_runtime *runtime;
    char **command, **env; /* owned, NULL-terminated */
    char *cwd, *user;      /* owned or NULL */
    bool is_plain;
    bool stderr_in_errors;
    bool is_retired;
    size_t warm_wanted;
    size_t max_jobs;
    size_t running;
    warm_process *warm; /* waiting */
    size_t warm_count;
    uv_timer_t timer; /* fills the pool again after a pause */
    unsigned pause_ms;
} arcp__process_agent;

/* One job. */
typedef struct arcp__process_job {
    struct arcp__process_job *previous, *next; /* all of the runtime */
    arcp_runtime *runtime;
    arcp__process_agent *agent;
    arcp__job *job; /* NULL once forgotten */
    arcp__agent_process *process;
    char *cwd; /* owned; to be removed afterwards; NULL: not ours */
} process_job;

/* ---- environment ---- */

static bool add_pair(char **env, size_t *count, const char *name, const char *value)
{
    arcp_buf pair = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&pair, name);
    arcp_buf_append_byte(&pair, '=');
    arcp_buf_append_cstr(&pair, value);
    env[*count] = arcp_buf_take_cstr(&pair);
    arcp_buf_fini(&pair);
    return env[(*count)++] != NULL;
}

static void free_texts(char **texts)
{
    for (size_t at = 0; texts != NULL && texts[at] != NULL; at++) {
        arcp__free(texts[at]);
    }
    arcp__free(texts);
}

static size_t count_texts(const char *const *texts)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    return count;
}

static bool copy_texts(const char *const *texts, char ***out)
{
    size_t count = count_texts(texts);
    *out = arcp__alloc_array(count + 1, sizeof(**out));
    for (size_t at = 0; *out != NULL && at < count; at++) {
        (*out)[at] = arcp__copy_cstr(texts[at], strlen(texts[at]));
        if ((*out)[at] == NULL) {
            return false;
        }
    }
    return *out != NULL;
}

/* Clean: what programs need to run, what says which job this is, and what the
 * registration passes. `job` is NULL for a process that waits. */
static char **make_env(const arcp__process_agent *agent, const arcp__job *job, arcp_span start)
{
    static const char *const passed[] = {"PATH", "HOME", "LANG", "TZ"};
    size_t capacity = 4 + 4 + count_texts((const char *const *)agent->env) + 1;
    char **env = arcp__alloc_array(capacity, sizeof(*env));
    size_t count = 0;
    bool done = env != NULL;
    for (size_t at = 0; done && at < 4; at++) {
        const char *value = getenv(passed[at]);
        if (value == NULL && at == 0) {
            value = "/usr/local/bin:/usr/bin:/bin";
        }
        done = value == NULL || add_pair(env, &count, passed[at], value);
    }
    for (size_t at = 0; done && agent->env[at] != NULL; at++) {
        const char *given = agent->env[at];
        const char *value = strchr(given, '=') == NULL ? getenv(given) : NULL;
        if (strchr(given, '=') != NULL) {
            env[count] = arcp__copy_cstr(given, strlen(given));
            done = env[count++] != NULL;
        } else if (value != NULL) {
            done = add_pair(env, &count, given, value);
        }
    }
    if (done && job != NULL) {
        arcp_json json = ARCP_JSON_INIT;
        arcp_json_limits limits = {512, 1000000, SIZE_MAX};
        char text[128];
        done = arcp_json_scan(&json, start, &limits, NULL) == ARCP_OK;
        arcp_json_ref payload =
            done ? arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"))
                 : ARCP_JSON_ABSENT;
        const struct {
            const char *name;
            const char *member;
        } words[] = {{"ARCP_JOB_ID", "job_id"},
                     {"ARCP_AGENT", "agent"},
                     {"ARCP_TRACE_ID", "trace_id"},
                     {"TRACEPARENT", "traceparent"}};
        for (size_t at = 0; done && at < 4; at++) {
            arcp_buf scratch = ARCP_BUF_INIT;
            arcp_span value = arcp_json_string(
                &json, arcp_json_member(&json, payload, arcp_span_cstr(words[at].member)),
                &scratch);
            (void)snprintf(text, sizeof(text), "%.*s", (int)value.size,
                           value.size == 0 ? "" : value.data);
            done = add_pair(env, &count, words[at].name, text);
            arcp_buf_fini(&scratch);
        }
        arcp_json_fini(&json);
    }
    if (!done) {
        free_texts(env);
        return NULL;
    }
    return env;
}

static arcp_status start_program(arcp__process_agent *agent, const arcp__job *job, const char *cwd,
                                 arcp_span start, arcp__agent_process **out, arcp_error *err)
{
    char **env = make_env(agent, job, start);
    if (env == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__agent_spec spec = {
        .argv = (const char *const *)agent->command,
        .env = (const char *const *)env,
        .cwd = cwd,
        .user = agent->user,
        .line_bytes_max = agent->runtime->settings_agent_line_bytes,
        .is_plain = agent->is_plain,
    };
    arcp_status status = arcp__agent_process_start(agent->runtime->loop, &spec, out, err);
    free_texts(env);
    if (status == ARCP_OK && agent->runtime->work_directory != NULL) {
        arcp__process_note(agent->runtime->work_directory, arcp__agent_process_pid(*out));
    }
    return status;
}

static void forget_note(const arcp_runtime *runtime, const arcp__agent_process *process)
{
    if (runtime->work_directory != NULL) {
        arcp__process_forget(runtime->work_directory, arcp__agent_process_pid(process));
    }
}

/* ---- processes that wait ---- */

static void warm_line(void *user, arcp_span line)
{
    (void)user;
    (void)line; /* it was not asked anything yet */
}

static void warm_too_long(void *user)
{
    (void)user;
}

static void on_warm_timer(uv_timer_t *timer);

static void warm_exited(void *user, bool by_signal, int code, arcp_span tail)
{
    warm_process *warm = user;
    arcp__process_agent *agent = warm->agent;
    (void)tail;
    arcp__runtime_log(agent->runtime, ARCP_LOG_WARN,
                      "a waiting process of %s ended with %s %d before it got a job",
                      agent->command[0], by_signal ? "signal" : "status", code);
    LL_DELETE(agent->warm, warm);
    agent->warm_count--;
    forget_note(agent->runtime, warm->process);
    arcp__agent_process_free(warm->process);
    arcp__free(warm);
    agent->pause_ms = agent->pause_ms == 0 ? WARM_PAUSE_MIN_MS : agent->pause_ms * 2;
    if (agent->pause_ms > WARM_PAUSE_MAX_MS) {
        agent->pause_ms = WARM_PAUSE_MAX_MS;
    }
    if (!agent->is_retired) {
        (void)uv_timer_start(&agent->timer, on_warm_timer, agent->pause_ms, 0);
    }
}

static void warm_log(void *user, arcp_span line)
{
    warm_process *warm = user;
    arcp__runtime_log(warm->agent->runtime, ARCP_LOG_INFO, "%s: %.*s", warm->agent->command[0],
                      (int)arcp_span_first(line, 400).size, line.data);
}

static void fill_pool(arcp__process_agent *agent)
{
    while (!agent->is_retired && agent->warm_count < agent->warm_wanted) {
        warm_process *warm = arcp__alloc(sizeof(*warm));
        arcp_error error = {0};
        if (warm == NULL) {
            return;
        }
        warm->agent = agent;
        const char *cwd = agent->cwd != NULL ? agent->cwd : agent->runtime->work_directory;
        if (start_program(agent, NULL, cwd, arcp_span_make(NULL, 0), &warm->process, &error) !=
            ARCP_OK) {
            arcp__runtime_log(agent->runtime, ARCP_LOG_ERROR, "%s", error.message);
            arcp__free(warm);
            agent->pause_ms = WARM_PAUSE_MAX_MS;
            (void)uv_timer_start(&agent->timer, on_warm_timer, agent->pause_ms, 0);
            return;
        }
        arcp__agent_process_callbacks callbacks = {
            .line = warm_line,
            .line_too_long = warm_too_long,
            .log = warm_log,
            .exited = warm_exited,
            .user = warm,
        };
        arcp__agent_process_set_callbacks(warm->process, &callbacks);
        LL_APPEND(agent->warm, warm);
        agent->warm_count++;
    }
}

static void on_warm_timer(uv_timer_t *timer)
{
    fill_pool(timer->data);
}

static arcp__agent_process *take_warm(arcp__process_agent *agent)
{
    warm_process *warm = agent->warm;
    if (warm == NULL) {
        return NULL;
    }
    LL_DELETE(agent->warm, warm);
    agent->warm_count--;
    agent->pause_ms = 0;
    arcp__agent_process *process = warm->process;
    arcp__free(warm);
    (void)uv_timer_start(&agent->timer, on_warm_timer, 0, 0);
    return process;
}

/* ---- jobs ---- */

static void on_line(void *user, arcp_span line)
{
    process_job *pj = user;
    if (pj->job != NULL) {
        arcp__engine_agent_line(pj->runtime->engine, arcp__runtime_now(), pj->job, line);
        pj->runtime->is_dirty = true;
    }
}

static void on_line_too_long(void *user)
{
    process_job *pj = user;
    if (pj->job != NULL) {
        arcp__engine_agent_line_too_long(pj->runtime->engine, arcp__runtime_now(), pj->job);
        pj->runtime->is_dirty = true;
    }
}

static void on_output(void *user, arcp_span bytes)
{
    process_job *pj = user;
    if (pj->job != NULL) {
        arcp__engine_agent_output(pj->runtime->engine, arcp__runtime_now(), pj->job, bytes);
        pj->runtime->is_dirty = true;
    }
}

static void on_log(void *user, arcp_span line)
{
    process_job *pj = user;
    if (pj->job == NULL) {
        return;
    }
    if (pj->agent->is_plain) {
        arcp__engine_agent_log(pj->runtime->engine, arcp__runtime_now(), pj->job, "info", line);
        pj->runtime->is_dirty = true;
        return;
    }
    arcp_span id = arcp__job_id(pj->job);
    arcp_span shown = arcp_span_first(line, 400);
    arcp__runtime_log(pj->runtime, ARCP_LOG_INFO, "%.*s: %.*s", (int)id.size, id.data,
                      (int)shown.size, shown.data);
}

static void on_exited(void *user, bool by_signal, int code, arcp_span tail)
{
    process_job *pj = user;
    forget_note(pj->runtime, pj->process);
    if (pj->job != NULL) {
        arcp__agent_exit exit = {
            .by_signal = by_signal,
            .code = code,
            .stderr_tail = pj->agent->stderr_in_errors ? tail : arcp_span_make(NULL, 0),
        };
        arcp__engine_agent_exited(pj->runtime->engine, arcp__runtime_now(), pj->job, &exit);
        pj->runtime->is_dirty = true;
    }
}

/* plain: a string as it is, anything else as JSON; then the end of the input. */
static void write_plain_input(process_job *pj, arcp_span start)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    arcp_buf scratch = ARCP_BUF_INIT;
    if (arcp_json_scan(&json, start, &limits, NULL) == ARCP_OK) {
        arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        arcp_json_ref input = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("input"));
        arcp__agent_process_write_last(pj->process, arcp_json_is(&json, input, ARCP_JSON_STRING)
                                                        ? arcp_json_string(&json, input, &scratch)
                                                        : arcp_json_raw(&json, input));
    } else {
        arcp__agent_process_write_last(pj->process, arcp_span_make(NULL, 0));
    }
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
}

static arcp_status make_cwd(process_job *pj, arcp__job *job, arcp_error *err)
{
    if (!arcp__job_owns_cwd(job)) {
        return ARCP_OK;
    }
    arcp_span cwd = arcp__job_cwd(job);
    pj->cwd = arcp__copy_cstr(cwd.data, cwd.size);
    return pj->cwd == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                           : arcp__work_directory_make(pj->cwd, pj->agent->user, err);
}

static arcp_status begin(process_job *pj, arcp__job *job, arcp_span line, arcp_error *err)
{
    arcp__process_agent *agent = pj->agent;
    if (agent->max_jobs != 0 && agent->running >= agent->max_jobs) {
        return arcp_error_set(err, ARCP_E_LIMIT, "the agent runs as many jobs as max_jobs allows");
    }
    arcp_status status = make_cwd(pj, job, err);
    if (status != ARCP_OK) {
        return status;
    }
    pj->process = take_warm(agent);
    if (pj->process == NULL) {
        arcp_span cwd = arcp__job_cwd(job);
        status =
            start_program(agent, job, cwd.size == 0 ? NULL : cwd.data, line, &pj->process, err);
    }
    if (status == ARCP_OK) {
        agent->running++;
    }
    return status;
}

static void job_release(process_job *pj)
{
    DL_DELETE2(pj->runtime->process_jobs, pj, previous, next);
    if (pj->process != NULL) {
        forget_note(pj->runtime, pj->process);
        arcp__agent_process_free(pj->process);
        pj->agent->running--;
    }
    if (pj->cwd != NULL) {
        arcp__work_directory_remove(pj->cwd);
    }
    arcp__free(pj->cwd);
    arcp__free(pj);
}

static void start(arcp_runtime *runtime, struct arcp__agent_entry *entry, arcp__job *job,
                  arcp_span line)
{
    process_job *pj = arcp__alloc(sizeof(*pj));
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    runtime->is_dirty = true;
    if (pj == NULL) {
        status = arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory");
    } else {
        *pj = (process_job){.runtime = runtime, .agent = entry->process, .job = job};
        DL_APPEND2(runtime->process_jobs, pj, previous, next);
        arcp__job_set_user(job, pj);
        status = begin(pj, job, line, &error);
    }
    if (status == ARCP_OK) {
        arcp__agent_process_callbacks callbacks = {
            .line = on_line,
            .line_too_long = on_line_too_long,
            .output = on_output,
            .log = on_log,
            .exited = on_exited,
            .user = pj,
        };
        arcp__agent_process_set_callbacks(pj->process, &callbacks);
        if (entry->process->is_plain) {
            write_plain_input(pj, line);
        } else {
            arcp__agent_process_write(pj->process, line);
        }
    } else {
        arcp__runtime_log(runtime, ARCP_LOG_ERROR, "%s", error.message);
    }
    arcp__engine_agent_started(runtime->engine, arcp__runtime_now(), job, status,
                               status == ARCP_OK || status == ARCP_E_LIMIT
                                   ? arcp_span_cstr(error.message)
                                   : ARCP_SPAN_LITERAL("the agent's program cannot be started"));
}

static void send_line(arcp_runtime *runtime, arcp__job *job, arcp_span line)
{
    (void)runtime;
    process_job *pj = arcp__job_user(job);
    if (pj != NULL && pj->process != NULL && !pj->agent->is_plain) {
        arcp__agent_process_write(pj->process, line);
    }
}

static void kill_process(arcp_runtime *runtime, arcp__job *job)
{
    (void)runtime;
    process_job *pj = arcp__job_user(job);
    if (pj != NULL && pj->process != NULL) {
        arcp__agent_process_terminate(pj->process);
    }
}

static void cancel(arcp_runtime *runtime, arcp__job *job, arcp_span line, int64_t grace_ms)
{
    (void)grace_ms; /* the engine kills when it is over */
    process_job *pj = arcp__job_user(job);
    if (pj != NULL && pj->agent->is_plain) {
        kill_process(runtime, job); /* it reads no lines: the signal is how it is told */
    } else {
        send_line(runtime, job, line);
    }
}

static void pause_process(arcp_runtime *runtime, arcp__job *job, bool paused)
{
    (void)runtime;
    process_job *pj = arcp__job_user(job);
    if (pj != NULL && pj->process != NULL) {
        arcp__agent_process_pause(pj->process, paused);
    }
}

static void forget(arcp_runtime *runtime, arcp__job *job)
{
    (void)runtime;
    process_job *pj = arcp__job_user(job);
    if (pj != NULL) {
        arcp__job_set_user(job, NULL);
        pj->job = NULL;
        job_release(pj);
    }
}

void arcp__runtime_process_jobs_free(arcp_runtime *runtime)
{
    while (runtime->process_jobs != NULL) {
        job_release(runtime->process_jobs);
    }
}

/* ---- registration ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__process_agent *agent = handle->data;
    free_texts(agent->command);
    free_texts(agent->env);
    arcp__free(agent->cwd);
    arcp__free(agent->user);
    arcp__free(agent);
}

static void retire(arcp_runtime *runtime, struct arcp__agent_entry *entry)
{
    arcp__process_agent *agent = entry->process;
    if (agent == NULL) {
        return;
    }
    agent->is_retired = true;
    agent->warm_wanted = 0;
    while (agent->warm != NULL) {
        warm_process *warm = agent->warm;
        agent->warm = warm->next;
        forget_note(runtime, warm->process);
        arcp__agent_process_free(warm->process);
        arcp__free(warm);
    }
    agent->warm_count = 0;
    if (runtime->is_freeing) {
        entry->process = NULL;
        uv_close((uv_handle_t *)&agent->timer, on_timer_closed);
    } else {
        (void)uv_timer_stop(&agent->timer);
    }
}

static bool copy_optional(const char *text, char **out)
{
    *out = text == NULL ? NULL : arcp__copy_cstr(text, strlen(text));
    return text == NULL || *out != NULL;
}

arcp_status arcp_runtime_register_process(arcp_runtime *runtime, const arcp_process_agent *from,
                                          arcp_error *err)
{
    arcp__agent_entry *entry = arcp__alloc(sizeof(*entry));
    arcp__process_agent *agent = arcp__alloc(sizeof(*agent));
    if (entry == NULL || agent == NULL) {
        arcp__free(entry);
        arcp__free(agent);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    agent->runtime = runtime;
    agent->is_plain = from->is_plain;
    agent->stderr_in_errors = from->stderr_in_errors;
    agent->max_jobs = from->max_jobs;
    agent->warm_wanted = from->is_plain ? 0 : from->warm;
    bool copied = copy_texts(from->command, &agent->command) &&
                  copy_texts(from->env, &agent->env) && copy_optional(from->cwd, &agent->cwd) &&
                  copy_optional(from->user, &agent->user);
    (void)uv_timer_init(runtime->loop, &agent->timer);
    agent->timer.data = agent;
    uv_unref((uv_handle_t *)&agent->timer);
    entry->ops = &arcp__agent_process_host;
    entry->process = agent;
    arcp_status status = copied ? arcp__runtime_add_entry(runtime, entry, from->name, from->version,
                                                          from->is_default, from->cwd, err)
                                : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    if (status != ARCP_OK) {
        if (!copied) {
            arcp__free(entry);
        }
        uv_close((uv_handle_t *)&agent->timer, on_timer_closed);
        return status;
    }
    fill_pool(agent);
    return ARCP_OK;
}

const arcp__agent_host_ops arcp__agent_process_host = {
    .start = start,
    .line = send_line,
    .cancel = cancel,
    .kill = kill_process,
    .pause = pause_process,
    .forget = forget,
    .retire = retire,
};
