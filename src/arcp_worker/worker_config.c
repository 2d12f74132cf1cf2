#include "arcp_worker/worker_config.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config_rows.h"
#include "core/decode.h"
#include "file/private_file.h"
#include "transport/url.h"

#define TOKEN_BYTES_MAX  512u
#define CAPACITY         16
#define CAPACITY_MAX     2048
#define CONFIG_BYTES_MAX 1048576u

/* ---- the keys ---- */

static arcp_status accept_state(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp__worker_config *config = owner;
    return config->state != NULL && config->state[0] != '/'
               ? arcp__yaml_refuse(r, "must be an absolute path")
               : ARCP_OK;
}

/* The token must be encrypted on its way. */
static arcp_status accept_url(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp__worker_config *config = owner;
    arcp__url url;
    arcp_error why = {0};
    if (arcp__url_parse(arcp_span_cstr(config->url), &url, &why) != ARCP_OK) {
        return arcp__yaml_refuse(r, "%s", why.message);
    }
    const bool is_safe =
        url.scheme == ARCP__URL_WSS ||
        (url.scheme == ARCP__URL_WS && arcp__authority_is_loopback(&url.authority));
    return is_safe ? ARCP_OK
                   : arcp__yaml_refuse(r, "must be wss://HOST/PATH, or ws:// of this machine");
}

static const arcp__config_row rows[] = {
    {ROW("url", text, arcp__worker_config, url), .accept = accept_url},
    {ROW("ca_file", text, arcp__worker_config, ca_file)},
    {ROW("token_file", text, arcp__worker_config, token_file)},
    {ROW("name", text, arcp__worker_config, name)},
    {ROW("capacity", number, arcp__worker_config, capacity), .initial = CAPACITY, .minimum = 1,
     .maximum = CAPACITY_MAX},
    {ROW("state", text, arcp__worker_config, state), .accept = accept_state},
    {LIST("agents", arcp__worker_config, setup.agents, setup.agent_count, &arcp__setup_agent_item),
     .maximum = ARCP__WORKER_OFFERS_MAX, .item_name = "agents"},
};

/* A row that needs what this program cannot do is refused: it would run with less than it says. */
static arcp_status check(arcp__yaml_reader *r, void *owner)
{
    const arcp__worker_config *config = owner;
    if (config->url == NULL || config->token_file == NULL || config->name == NULL ||
        config->setup.agent_count == 0) {
        return arcp__yaml_refuse(r, "needs url, token_file, name and agents");
    }
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        const arcp__setup_agent *agent = &config->setup.agents[i];
        if (!agent->is_unconfined) {
            return arcp__yaml_refuse(r,
                                     "agent %s: a worker of another machine has no sandboxes: its "
                                     "agents need confine: false",
                                     agent->name);
        }
        if (agent->mode == ARCP__SETUP_MODE_SERVE || agent->warm != 0) {
            return arcp__yaml_refuse(r,
                                     "agent %s: a worker of another machine starts a process for "
                                     "each job: neither mode: serve nor warm can be used",
                                     agent->name);
        }
    }
    return ARCP_OK;
}

static const arcp__config_fields fields = {ROWS(rows), .check = check};

/* ---- reading ---- */

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static arcp_status read_token(arcp__worker_config *config, arcp_error *err)
{
    const arcp__private_file file = {.what = "token_file:",
                                     .path = config->token_file,
                                     .bytes_max = TOKEN_BYTES_MAX + 1,
                                     .closed_to = 077};
    arcp_buf *token = &config->token;
    const arcp_status status = arcp__private_file_read(&file, token, err);
    if (status != ARCP_OK) {
        return status == ARCP_E_NOT_FOUND ? ARCP_E_USAGE : status;
    }
    while (token->size != 0 &&
           (token->data[token->size - 1] == '\n' || token->data[token->size - 1] == '\r')) {
        token->size--;
    }
    if (token->size == 0 || token->size > TOKEN_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "token_file: %.300s must have one line of 1 to %u bytes",
                              config->token_file, TOKEN_BYTES_MAX);
    }
    return token->failed ? no_memory(err) : ARCP_OK;
}

static arcp_status make_offers(arcp__worker_config *config, arcp_error *err)
{
    static const char *const modes[] = {"arcp", "plain", "serve"};
    config->offers = arcp__alloc_array(config->setup.agent_count + 1, sizeof *config->offers);
    if (config->offers == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        const arcp__setup_agent *agent = &config->setup.agents[i];
        arcp_buf row = arcp_buf_secret_init(); /* so that no value is masked */
        arcp__config_fields_print(arcp__setup_agent_item.fields, agent, &row);
        config->offers[i] = (arcp__worker_offer){
            .name = arcp_span_cstr(agent->name),
            .version = arcp_span_cstr(agent->version == NULL ? "" : agent->version),
            .mode = arcp_span_cstr(modes[agent->mode]),
            .max_jobs = agent->max_jobs,
            .shows_errors = agent->stderr_in_errors};
        (void)SHA256((const unsigned char *)row.data, row.size, config->offers[i].hash);
        const bool failed = row.failed;
        arcp_buf_fini(&row);
        if (failed) {
            return no_memory(err);
        }
    }
    return ARCP_OK;
}

static arcp_status find_directories(arcp__worker_config *config, arcp_error *err)
{
    const char *state = config->state == NULL ? getenv("STATE_DIRECTORY") : config->state;
    if (state == NULL || state[0] != '/') {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "state: name a directory of this worker alone, or set "
                              "STATE_DIRECTORY");
    }
    char *copy = config->state == NULL ? arcp__copy_cstr(state, strlen(state)) : config->state;
    config->state = copy;
    return copy == NULL ? no_memory(err)
           : snprintf(config->work, sizeof config->work, "%s/work", copy) < (int)sizeof config->work
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "state: the path is too long");
}

arcp_status arcp__worker_config_read(const char *path, arcp__worker_config *out, arcp_error *err)
{
    *out = (arcp__worker_config){.token = arcp_buf_secret_init()};
    arcp__config_fields_init(&fields, out);
    arcp__yaml_reader reader = {.root = out, .places = &out->places, .name = path, .err = err};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%.300s: %s", path, strerror(errno));
    }
    arcp_status status = arcp__config_stream_read(&reader, &fields, file);
    (void)fclose(file);
    if (status == ARCP_OK) {
        status = find_directories(out, err);
    }
    if (status == ARCP_OK) {
        status = read_token(out, err);
    }
    return status == ARCP_OK ? make_offers(out, err) : status;
}

void arcp__worker_config_fini(arcp__worker_config *config)
{
    arcp__config_fields_fini(&fields, config);
    arcp__config_places_fini(&config->places);
    arcp_buf_fini(&config->token);
    arcp__free(config->offers);
    config->offers = NULL;
}

/* ---- what to start ---- */

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

static arcp__agent_row row_of(const arcp__setup_agent *agent, const arcp_launch_limit *limits,
                              size_t limit_count)
{
    return (arcp__agent_row){.name = agent->name,
                             .version = agent->version,
                             .command = (const char *const *)agent->command.items,
                             .env = (const char *const *)agent->env.items,
                             .cwd = agent->cwd,
                             .user = agent->user,
                             .limits = limits,
                             .limit_count = limit_count,
                             .is_plain = agent->mode == ARCP__SETUP_MODE_PLAIN,
                             .stderr_in_errors = agent->stderr_in_errors};
}

/* `environment` has the variables that all processes of the agent have. */
static arcp_status write_agent(const arcp__setup_agent *agent, const arcp_launch_limit *files,
                               const arcp__environment *environment, arcp_buf *out, arcp_error *err)
{
    arcp_launch_limit limits[ARCP__SETUP_LIMITS_MAX];
    size_t count = 0;
    const arcp_status status = arcp__setup_agent_limits(agent, files, limits, &count, err);
    const arcp__agent_row row = row_of(agent, limits, count);
    return status == ARCP_OK ? arcp__agent_row_write(&row, environment, out, err) : status;
}

static arcp_status write_all(const arcp__setup_agent *agent, const arcp__own_job *job,
                             arcp__start_row *row, arcp_buf *out, arcp_error *err)
{
    const arcp__hosting hosting = {.line_bytes_max = job->line_bytes};
    arcp__environment common = {0};
    arcp_buf registration = arcp_buf_secret_init();
    arcp_buf host = arcp_buf_init();
    arcp__environment_base(&common, agent->user);
    arcp__environment_pass(&common, (const char *const *)agent->env.items);
    arcp__hosting_write(&hosting, &host);
    arcp_status status = common.failed || host.failed
                             ? no_memory(err)
                             : write_agent(agent, job->files, &common, &registration, err);
    if (status == ARCP_OK) {
        row->agent = arcp_buf_span(&registration);
        row->host = arcp_buf_span(&host);
        status = arcp__start_row_write(row, out, err);
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
    (void)snprintf(cwd, sizeof cwd, "%s/%.*s", job->jobs, (int)start->job.size, start->job.data);
    arcp__environment_base(&environment, agent->user);
    arcp__environment_set(&environment, "ARCP_JOB_ID", start->job);
    arcp__environment_set(&environment, "ARCP_AGENT", start->agent);
    set_from_line(job->order->body, &environment);
    arcp__environment_pass(&environment, (const char *const *)agent->env.items);
    arcp__start_row row = {.env = (const char *const *)environment.pairs,
                           .cwd = arcp_span_cstr(agent->cwd == NULL ? cwd : agent->cwd),
                           .owns_cwd = agent->cwd == NULL};
    const arcp_status status =
        environment.failed ? no_memory(err) : write_all(agent, job, &row, out, err);
    arcp__environment_fini(&environment);
    return status;
}
