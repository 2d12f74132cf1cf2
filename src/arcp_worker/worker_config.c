#include "arcp_worker/worker_config.h"

#include <errno.h>
#include <limits.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config_rows.h"
#include "file/private_file.h"
#include "hosting/confinement.h"
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

/* Keys of a row that only arcpd can have. */
static const struct {
    const char *key, *why;
} refused_keys[] = {
    {"default", "arcpd has the default version of an agent, not its workers"},
    {"queue", "jobs of this agent wait in arcpd's queue"},
};

static arcp_status accept_keys(arcp__yaml_reader *r)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < sizeof refused_keys / sizeof *refused_keys && status == ARCP_OK; i++) {
        const yaml_node_t *node = arcp__yaml_find(r, refused_keys[i].key);
        if (node != NULL) {
            const arcp__yaml_place place = arcp__yaml_enter(r, node, ".%s", refused_keys[i].key);
            status = arcp__yaml_refuse(r, "cannot be in worker.yaml: %s", refused_keys[i].why);
            arcp__yaml_leave(r, place);
        }
    }
    return status;
}

static arcp_status accept_agents(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < arcp__config_list_count(row, owner) && status == ARCP_OK; i++) {
        const yaml_node_t *item = arcp__yaml_node(r, r->node->data.sequence.items.start[i]);
        const arcp__yaml_place place = arcp__yaml_enter(r, item, "[%zu]", i);
        status = accept_keys(r);
        arcp__yaml_leave(r, place);
    }
    return status;
}

static arcp_status read_setting(arcp__yaml_reader *r, const char *group, void *owner, arcp_span key)
{
    return arcp_span_equal_cstr(key, "denials_per_job")
               ? arcp__yaml_refuse(r, "cannot be in worker.yaml: arcpd counts the events of a job")
               : arcp__setup_read_setting(r, &((arcp__worker_config *)owner)->settings, group, key);
}

/* The last row is about models, which a worker has none of. */
static const arcp__config_others settings = {.read = read_setting};
static const arcp__config_fields enforce_fields = {.rows = arcp__setup_enforce_rows,
                                                   .count = ARCP__SETUP_ENFORCE_ROWS - 1,
                                                   .others = &settings,
                                                   .group = "enforce"};

static const arcp__config_row rows[] = {
    {ROW("url", text, arcp__worker_config, url), .accept = accept_url},
    {ROW("ca_file", text, arcp__worker_config, ca_file)},
    {ROW("token_file", text, arcp__worker_config, token_file)},
    {ROW("name", text, arcp__worker_config, name)},
    {ROW("capacity", number, arcp__worker_config, capacity), .initial = CAPACITY, .minimum = 1,
     .maximum = CAPACITY_MAX},
    {ROW("state", text, arcp__worker_config, state), .accept = accept_state},
    {LIST("agents", arcp__worker_config, setup.agents, setup.agent_count, &arcp__setup_agent_item),
     .maximum = ARCP__WORKER_OFFERS_MAX, .item_name = "agents", .accept = accept_agents},
    {GROUPED("enforce", enforce_fields)},
};

static arcp_status check(arcp__yaml_reader *r, void *owner)
{
    const arcp__worker_config *config = owner;
    return config->url == NULL || config->token_file == NULL || config->name == NULL ||
                   config->setup.agent_count == 0
               ? arcp__yaml_refuse(r, "needs url, token_file, name and agents")
               : ARCP_OK;
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

/* Also as links lead to it. A path is absolute, or one of the current directory. */
static arcp_status add_own(arcp__text_list *own, const char *path, arcp_error *err)
{
    char resolved[PATH_MAX];
    arcp_status status = path[0] == '/' ? arcp__text_list_add(own, path, err) : ARCP_OK;
    if (status == ARCP_OK && path[strlen(path) - 1] != '/' && realpath(path, resolved) != NULL) {
        status = arcp__text_list_add(own, resolved, err);
    }
    return status;
}

/* The configuration, what it names, and what the worker makes in its directories. */
static arcp_status write_enforce(arcp__worker_config *config, arcp_error *err)
{
    const arcp__setup_enforce *enforce = &config->setup.enforce;
    arcp__text_list own = {.count = 0};
    char state[4096];
    (void)snprintf(state, sizeof state, "%s/", config->state);
    const char *const paths[] = {"/etc/arcp/", state, config->token_file, config->ca_file,
                                 config->places.file};
    arcp_enforce_options options = arcp_enforce_options_init();
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < sizeof paths / sizeof *paths && status == ARCP_OK; i++) {
        status = paths[i] == NULL ? ARCP_OK : add_own(&own, paths[i], err);
    }
    options.base = (const char *const *)enforce->base.items;
    options.own = (const char *const *)own.items;
    options.may_be_advisory = (const char *const *)enforce->may_be_advisory.items;
    options.private_hosts = (const char *const *)enforce->private_hosts.items;
    if (status == ARCP_OK && !enforce->is_off) {
        status = arcp__enforce_options_write(&options, &config->enforce, err);
    }
    arcp__text_list_clear(&own);
    return status;
}

/* As in arcpd, a served agent has no more jobs than its processes have places. */
static uint64_t max_jobs_of(const arcp__setup_agent *agent)
{
    const uint64_t most = agent->processes * agent->concurrency;
    return agent->mode == ARCP__SETUP_MODE_SERVE && (agent->max_jobs == 0 || agent->max_jobs > most)
               ? most
               : agent->max_jobs;
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
        const bool terminates = agent->tls == ARCP_ENFORCE_TLS_DEFAULT
                                    ? config->settings.enforce_tls + 1 == ARCP_ENFORCE_TLS_TERMINATE
                                    : agent->tls == ARCP_ENFORCE_TLS_TERMINATE;
        arcp_buf row = arcp_buf_secret_init(); /* so that no value is masked */
        arcp__config_fields_print(arcp__setup_agent_item.fields, agent, &row);
        config->offers[i] = (arcp__worker_offer){
            .name = arcp_span_cstr(agent->name),
            .version = arcp_span_cstr(agent->version == NULL ? "" : agent->version),
            .mode = arcp_span_cstr(modes[agent->mode]),
            .max_jobs = max_jobs_of(agent),
            .cwd = arcp_span_cstr(agent->cwd == NULL ? "" : agent->cwd),
            .is_confined = !config->setup.enforce.is_off && !agent->is_unconfined,
            .is_late = agent->warm != 0 && agent->mode == ARCP__SETUP_MODE_ARCP,
            .terminates_tls = terminates,
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

/* Of the head of hello, what is not about agents. */
#define HELLO_BYTES 1024u

static arcp_status check_hello(const arcp__worker_config *config, arcp_error *err)
{
    const size_t most = ARCP__WORKER_HEAD_MAX - HELLO_BYTES;
    const arcp__worker_message hello = {
        .kind = ARCP__WORKER_HELLO,
        .hello = {.offers = config->offers, .offer_count = config->setup.agent_count}};
    arcp_buf text = arcp_buf_init();
    arcp__worker_message_write(&hello, &text);
    const arcp_status status =
        text.failed ? no_memory(err)
        : text.size > most
            ? arcp_error_set(err, ARCP_E_USAGE,
                             "%s: what the worker says of them has %zu bytes, more "
                             "than %zu",
                             arcp__config_name_of(&config->places, "agents").text, text.size, most)
            : ARCP_OK;
    arcp_buf_fini(&text);
    return status;
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
    arcp__settings_default(&out->settings);
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
    if (status == ARCP_OK) {
        status = write_enforce(out, err);
    }
    if (status == ARCP_OK) {
        status = make_offers(out, err);
    }
    if (status == ARCP_OK) {
        status = check_hello(out, err);
    }
    return status == ARCP_OK ? arcp__worker_config_check_rows(out, err) : status;
}

void arcp__worker_config_fini(arcp__worker_config *config)
{
    arcp__config_fields_fini(&fields, config);
    arcp__config_places_fini(&config->places);
    arcp_buf_fini(&config->token);
    arcp_buf_fini(&config->enforce);
    arcp__free(config->offers);
    config->offers = NULL;
}
