/* What the worker starts for a job: the rows of its own file, as arcpd of the same machine would
 * say them (hosting/agent_row.h). */
#include <stdio.h>
#include <string.h>

#include "arcp_worker/worker_config.h"
#include "core/decode.h"

static const arcp__setup_agent *find(const arcp__worker_config *config, arcp_span text)
{
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        const arcp__setup_agent *agent = &config->setup.agents[i];
        const arcp_span name = arcp_span_cstr(agent->name);
        const arcp_span rest = arcp_span_from(text, name.size);
        if (arcp_span_starts_with(text, name) &&
            (agent->version == NULL
                 ? rest.size == 0
                 : arcp_span_starts_with(rest, ARCP_SPAN_LITERAL("@")) &&
                       arcp_span_equal_cstr(arcp_span_from(rest, 1), agent->version))) {
            return agent;
        }
    }
    return NULL;
}

/* Sets variables that job.start has the values of. */
static void set_from_line(arcp_span line, arcp__environment *environment)
{
    static const char *const names[][2] = {{"trace_id", "ARCP_TRACE_ID"},
                                           {"traceparent", "TRACEPARENT"},
                                           {"tracestate", "TRACESTATE"}};
    const arcp_json_limits limits = {64, 10000, line.size};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    if (arcp_json_scan(&json, line, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const arcp_json_ref value =
                arcp_json_member(&json, payload, arcp_span_cstr(names[i][0]));
            if (arcp_json_is(&json, value, ARCP_JSON_STRING)) {
                arcp__environment_set(environment, names[i][1],
                                      arcp_json_string(&json, value, &scratch));
            }
        }
    }
    environment->failed = environment->failed || scratch.failed;
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

static bool is_job_id(arcp_span id)
{
    bool is_valid = id.size != 0;
    for (size_t i = 0; is_valid && i < id.size; i++) {
        is_valid = (id.data[i] >= '0' && id.data[i] <= '9') ||
                   (id.data[i] >= 'A' && id.data[i] <= 'Z') ||
                   (id.data[i] >= 'a' && id.data[i] <= 'z') || id.data[i] == '_';
    }
    return is_valid;
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static arcp__agent_row row_of(const arcp__setup_agent *agent, const arcp_launch_limit *limits,
                              size_t limit_count)
{
    const bool is_served = agent->mode == ARCP__SETUP_MODE_SERVE;
    return (arcp__agent_row){.name = agent->name,
                             .version = agent->version,
                             .command = (const char *const *)agent->command.items,
                             .env = (const char *const *)agent->env.items,
                             .cwd = agent->cwd,
                             .user = agent->user,
                             .limits = limits,
                             .limit_count = limit_count,
                             .is_plain = agent->mode == ARCP__SETUP_MODE_PLAIN,
                             .stderr_in_errors = agent->stderr_in_errors,
                             .warm = agent->warm,
                             .without_gateways = agent->has_no_gateways,
                             .confine = !agent->is_unconfined,
                             .base = (const char *const *)agent->base.items,
                             .protect = (arcp_protect)agent->protect,
                             .min = (arcp_enforce_min)agent->min,
                             .tls = (arcp_enforce_tls)agent->tls,
                             .pids = (uint32_t)agent->pids,
                             .cpu_percent = (uint32_t)agent->cpu_percent,
                             .memory_bytes = agent->memory_bytes,
                             .processes = is_served ? (size_t)agent->processes : 0,
                             .concurrency = (size_t)agent->concurrency,
                             .jobs_per_process = agent->jobs_per_process,
                             .process_memory_bytes = agent->process_memory_bytes,
                             .lease = is_served ? agent->lease : NULL};
}

/* The variables that all processes of the agent have. */
static void set_common(const arcp__setup_agent *agent, arcp__environment *out)
{
    arcp__environment_base(out, agent->user);
    arcp__environment_pass(out, (const char *const *)agent->env.items);
}

static arcp_status write_agent(const arcp__setup_agent *agent, const arcp_launch_limit *files,
                               const arcp__environment *common, arcp_buf *out, arcp_error *err)
{
    arcp_launch_limit limits[ARCP__SETUP_LIMITS_MAX];
    size_t count = 0;
    const arcp_status status = arcp__setup_agent_limits(agent, files, limits, &count, err);
    const arcp__agent_row row = row_of(agent, limits, count);
    return status == ARCP_OK ? arcp__agent_row_write(&row, common, out, err) : status;
}

void arcp__worker_config_write_host(const arcp__worker_config *config,
                                    const arcp__worker_terms *terms, arcp_buf *out)
{
    const arcp_settings *settings = &config->settings;
    const arcp__hosting hosting = {
        .line_bytes_max = terms->line_bytes,
        .cancel_grace_ms = terms->cancel_grace_ms,
        .gateways = terms->gateways,
        .enforce = {.min = settings->enforce_min,
                    .tls = settings->enforce_tls,
                    .cgroup = settings->enforce_cgroup,
                    .hides = settings->enforce_hide == ARCP__CHOICE_TRUE,
                    .is_silent = settings->enforce_report != ARCP__CHOICE_TRUE,
                    .outlasts_expiry = terms->outlasts_expiry,
                    .outlasts_budget = terms->outlasts_budget,
                    .scratch_bytes = settings->enforce_scratch_bytes,
                    .pids = settings->enforce_pids,
                    .egress_idle_sec = settings->enforce_egress_idle_sec}};
    arcp__hosting_write(&hosting, arcp_buf_span(&config->enforce), out);
}

/* `of_job` has what is the job's own; without one, `env` is NULL. */
static arcp_status write_all(const arcp__worker_config *config, const arcp__setup_agent *agent,
                             const arcp__worker_terms *terms, const arcp__start_row *of_job,
                             arcp_buf *out, arcp_error *err)
{
    arcp__start_row row = *of_job;
    arcp__environment common = {0};
    arcp_buf registration = arcp_buf_secret_init();
    arcp_buf host = arcp_buf_init();
    set_common(agent, &common);
    arcp__worker_config_write_host(config, terms, &host);
    arcp_status status = host.failed || common.failed
                             ? no_memory(err)
                             : write_agent(agent, terms->files, &common, &registration, err);
    if (status == ARCP_OK) {
        row.agent = arcp_buf_span(&registration);
        row.host = arcp_buf_span(&host);
        status = arcp__start_row_write(&row, out, err);
    }
    arcp__environment_fini(&common);
    arcp_buf_fini(&registration);
    arcp_buf_fini(&host);
    return status;
}

arcp_status arcp__worker_config_write_row(const arcp__worker_config *config,
                                          const arcp__own_job *job, arcp_buf *out, arcp_error *err)
{
    const arcp__worker_start *start = &job->order->start;
    const arcp__setup_agent *agent = find(config, start->agent);
    char cwd[4096];
    arcp__environment environment = {0};
    if (agent == NULL) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "this worker has no agent %.*s",
                              (int)start->agent.size, start->agent.data);
    }
    if (start->row.size != 0 || !is_job_id(start->job)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this worker takes no rows, and no job's id that is a path");
    }
    if (start->is_confined && (agent->is_unconfined || config->setup.enforce.is_off)) {
        return arcp_error_set(
            err, ARCP_E_AGENT_NOT_AVAILABLE,
            "the job was accepted for a sandbox, and the agent has none any more");
    }
    const bool is_served = agent->mode == ARCP__SETUP_MODE_SERVE;
    (void)snprintf(cwd, sizeof cwd, "%s/%.*s", job->jobs, (int)start->job.size, start->job.data);
    arcp__environment_base(&environment, agent->user);
    arcp__environment_set(&environment, "ARCP_JOB_ID", start->job);
    arcp__environment_set(&environment, "ARCP_AGENT", start->agent);
    set_from_line(job->order->body, &environment);
    arcp__environment_pass(&environment, (const char *const *)agent->env.items);
    arcp__start_row row = {.env = (const char *const *)environment.pairs,
                           .cwd = arcp_span_cstr(agent->cwd != NULL ? agent->cwd
                                                 : is_served        ? ""
                                                                    : cwd),
                           .owns_cwd = agent->cwd == NULL && !is_served};
    const arcp_status status =
        environment.failed ? no_memory(err) : write_all(config, agent, job->terms, &row, out, err);
    arcp__environment_fini(&environment);
    return status;
}

arcp_status arcp__worker_config_list(const arcp__worker_config *config,
                                     const arcp__worker_terms *terms, arcp_buf *out,
                                     arcp_error *err)
{
    const arcp__start_row none = {.env = NULL};
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < config->setup.agent_count && status == ARCP_OK; i++) {
        status = write_all(config, &config->setup.agents[i], terms, &none, out, err);
        arcp_buf_append_byte(out, '\n');
    }
    return status == ARCP_OK && out->failed ? no_memory(err) : status;
}

arcp_status arcp__worker_config_check_rows(const arcp__worker_config *config, arcp_error *err)
{
    static const arcp_launch_limit files = {.resource = 0};
    const arcp__worker_terms terms = {.files = &files, .line_bytes = SIZE_MAX};
    arcp_buf host = arcp_buf_init();
    arcp_status status = ARCP_OK;
    arcp__worker_config_write_host(config, &terms, &host);
    for (size_t i = 0; i < config->setup.agent_count && status == ARCP_OK; i++) {
        const arcp__setup_agent *agent = &config->setup.agents[i];
        arcp__environment environment = {0};
        arcp_error why = {0};
        arcp_buf text = arcp_buf_secret_init();
        set_common(agent, &environment);
        status = write_agent(agent, &files, &environment, &text, &why);
        if (status == ARCP_OK) {
            status = arcp__start_row_check(arcp_buf_span(&text), arcp_buf_span(&host), &environment,
                                           &why);
        }
        arcp__environment_fini(&environment);
        arcp_buf_fini(&text);
        if (status != ARCP_OK) {
            const arcp__config_name name =
                arcp__config_name_of(&config->places, "agents[%zu].name", i);
            status = arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE,
                                    "%s: %s", name.text, why.message);
        }
    }
    status = status == ARCP_OK && host.failed ? no_memory(err) : status;
    arcp_buf_fini(&host);
    return status;
}
