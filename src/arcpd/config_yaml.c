/* Reading the configuration file. Every key has a row in a table; a key without one, or a
 * value of the wrong shape, is an error with file, line and key. */
#include <errno.h>
#include <stdio.h>
#include <yaml.h>

#include "arcpd/config.h"
#include "base/alloc.h"
#include "runtime/launcher_plan.h"

typedef struct reader {
    arcp__config *config;
    const char *name; /* of the file */
    yaml_document_t document;
    arcp_error *err;
} reader;

static arcp_status refuse(const reader *r, const yaml_node_t *node, const char *key,
                          const char *what)
{
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s: %s", r->name,
                          node->start_mark.line + 1, key, what);
}

static arcp_status no_memory(const reader *r)
{
    return arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
}

static yaml_node_t *node_at(reader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

static arcp_span scalar(const yaml_node_t *node)
{
    return arcp_span_make((const char *)node->data.scalar.value, node->data.scalar.length);
}

static bool is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        return false;
    }
    arcp_span text = scalar(node);
    return text.size == 0 || arcp_span_equal_cstr(text, "null") || arcp_span_equal_cstr(text, "~");
}

static arcp_status read_text(reader *r, const yaml_node_t *node, const char *key, char **out)
{
    if (is_null(node)) {
        arcp__free(*out);
        *out = NULL;
        return ARCP_OK;
    }
    if (node->type != YAML_SCALAR_NODE || memchr(scalar(node).data, '\0', scalar(node).size)) {
        return refuse(r, node, key, "must be a string");
    }
    char *copy = arcp__copy_cstr(scalar(node).data, scalar(node).size);
    if (copy == NULL) {
        return no_memory(r);
    }
    arcp__free(*out);
    *out = copy;
    return ARCP_OK;
}

static arcp_status read_bool(reader *r, const yaml_node_t *node, const char *key, bool *out)
{
    if (node->type == YAML_SCALAR_NODE) {
        arcp_span text = scalar(node);
        if (arcp_span_equal_cstr(text, "true") || arcp_span_equal_cstr(text, "false")) {
            *out = text.data[0] == 't';
            return ARCP_OK;
        }
    }
    return refuse(r, node, key, "must be true or false");
}

static arcp_status read_count(reader *r, const yaml_node_t *node, const char *key, uint64_t *out)
{
    if (is_null(node)) {
        *out = 0;
        return ARCP_OK;
    }
    uint64_t value = 0;
    arcp_span text = node->type == YAML_SCALAR_NODE ? scalar(node) : arcp_span_make(NULL, 0);
    bool is_number = text.size != 0;
    for (size_t at = 0; at < text.size && is_number; at++) {
        is_number = text.data[at] >= '0' && text.data[at] <= '9' &&
                    !__builtin_mul_overflow(value, 10, &value) &&
                    !__builtin_add_overflow(value, (uint64_t)(text.data[at] - '0'), &value);
    }
    if (!is_number) {
        return refuse(r, node, key, "must be a whole number of 0 or more");
    }
    *out = value;
    return ARCP_OK;
}

static arcp_status read_texts(reader *r, const yaml_node_t *node, const char *key,
                              arcp__text_list *out)
{
    if (node->type == YAML_SCALAR_NODE && !is_null(node)) {
        return refuse(r, node, key, "must be a list of strings");
    }
    arcp__text_list_clear(out);
    if (is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        return refuse(r, node, key, "must be a list of strings");
    }
    arcp_status status = ARCP_OK;
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         status == ARCP_OK && item < node->data.sequence.items.top; item++) {
        const yaml_node_t *child = node_at(r, *item);
        char *text = NULL;
        status = read_text(r, child, key, &text);
        if (status == ARCP_OK && text == NULL) {
            status = refuse(r, child, key, "must be a list of strings");
        }
        if (status == ARCP_OK) {
            status = arcp__text_list_add(out, text, r->err);
        }
        arcp__free(text);
    }
    return status;
}

/* ---- mappings ---- */

typedef arcp_status (*member_fn)(reader *r, void *into, arcp_span key, const char *path,
                                 const yaml_node_t *value);

/* Calls `member` for each key of a mapping; a key that occurs twice is refused. */
static arcp_status each_member(reader *r, const yaml_node_t *node, const char *path,
                               member_fn member, void *into)
{
    if (is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_MAPPING_NODE) {
        return refuse(r, node, path, "must be a mapping (key: value)");
    }
    yaml_node_pair_t *first = node->data.mapping.pairs.start;
    for (yaml_node_pair_t *pair = first; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = node_at(r, pair->key);
        if (key->type != YAML_SCALAR_NODE) {
            return refuse(r, key, path, "a key must be a word");
        }
        char here[160];
        (void)snprintf(here, sizeof(here), "%s%s%.*s", path, path[0] == '\0' ? "" : ".",
                       (int)scalar(key).size, scalar(key).data);
        for (yaml_node_pair_t *before = first; before < pair; before++) {
            if (arcp_span_equal(scalar(node_at(r, before->key)), scalar(key))) {
                return refuse(r, key, here, "occurs twice");
            }
        }
        arcp_status status = member(r, into, scalar(key), here, node_at(r, pair->value));
        if (status == ARCP_E_NOT_FOUND) {
            return refuse(r, key, here, "is not a key of the configuration");
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

static arcp_status each_item(reader *r, const yaml_node_t *node, const char *path,
                             arcp_status (*item)(reader *r, const char *path,
                                                 const yaml_node_t *node))
{
    if (is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        return refuse(r, node, path, "must be a list");
    }
    size_t index = 0;
    for (yaml_node_item_t *at = node->data.sequence.items.start; at < node->data.sequence.items.top;
         at++, index++) {
        char here[160];
        (void)snprintf(here, sizeof(here), "%s[%zu]", path, index);
        arcp_status status = item(r, here, node_at(r, *at));
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

/* ---- tokens ---- */

static arcp_status token_member(reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config_token *token = into;
    if (arcp_span_equal_cstr(key, "token")) {
        return read_text(r, value, path, &token->token);
    }
    if (arcp_span_equal_cstr(key, "principal")) {
        return read_text(r, value, path, &token->principal);
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status token_item(reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config_token token = {NULL, NULL};
    arcp_status status = each_member(r, node, path, token_member, &token);
    arcp_buf text = ARCP_BUF_INIT;
    if (status == ARCP_OK &&
        (token.token == NULL || token.principal == NULL || token.token[0] == '\0')) {
        status = refuse(r, node, path, "needs token and principal");
    }
    if (status == ARCP_OK) {
        arcp_buf_append_format(&text, "%s=%s", token.token, token.principal);
        arcp_buf_append_byte(&text, '\0');
        status = text.failed ? no_memory(r) : arcp__config_add_token(r->config, text.data, r->err);
    }
    if (text.data != NULL) {
        explicit_bzero(text.data, text.size);
    }
    if (token.token != NULL) {
        explicit_bzero(token.token, strlen(token.token));
    }
    arcp_buf_fini(&text);
    arcp__free(token.token);
    arcp__free(token.principal);
    return status;
}

/* ---- agents ---- */

static arcp_status env_member(reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    char *text = NULL;
    arcp_status status = read_text(r, value, path, &text);
    arcp_buf pair = ARCP_BUF_INIT;
    if (status == ARCP_OK) {
        arcp_buf_append(&pair, key);
        if (text != NULL) { /* a name alone passes our own value */
            arcp_buf_append_byte(&pair, '=');
            arcp_buf_append_cstr(&pair, text);
        }
        arcp_buf_append_byte(&pair, '\0');
        status = pair.failed ? no_memory(r) : arcp__text_list_add(&agent->env, pair.data, r->err);
    }
    arcp_buf_fini(&pair);
    arcp__free(text);
    return status;
}

static arcp_status add_limit(reader *r, arcp__config_agent *agent, const char *name,
                             const char *text, arcp_error *why)
{
    arcp_buf written = ARCP_BUF_INIT;
    arcp_launch_limit limit;
    arcp_status status = arcp__launch_limit_parse(name, text, &limit, why);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_launch_limit *limits =
        arcp__realloc_array(agent->limits, agent->limit_count + 1, sizeof(*limits));
    if (limits == NULL) {
        return no_memory(r);
    }
    agent->limits = limits;
    limits[agent->limit_count++] = limit;
    arcp_buf_append_format(&written, "%s: \"%s\"%c", name, text, '\0');
    status = written.failed ? no_memory(r)
                            : arcp__text_list_add(&agent->limit_texts, written.data, r->err);
    arcp_buf_fini(&written);
    return status;
}

static arcp_status limit_member(reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp_error why = {0};
    char *text = NULL;
    char *name = arcp__copy_cstr(key.data, key.size);
    arcp_status status = name == NULL ? no_memory(r) : read_text(r, value, path, &text);
    if (status == ARCP_OK) {
        status = add_limit(r, into, name, text == NULL ? "" : text, &why);
        status = why.status == ARCP_E_USAGE ? refuse(r, value, path, why.message) : status;
    }
    arcp__free(name);
    arcp__free(text);
    return status;
}

static arcp_status agent_member(reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    const struct {
        const char *key;
        char **text;
    } texts[] = {{"name", &agent->name},
                 {"version", &agent->version},
                 {"cwd", &agent->cwd},
                 {"user", &agent->user}};
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        if (arcp_span_equal_cstr(key, texts[at].key)) {
            return read_text(r, value, path, texts[at].text);
        }
    }
    if (arcp_span_equal_cstr(key, "command")) {
        return read_texts(r, value, path, &agent->command);
    }
    if (arcp_span_equal_cstr(key, "default")) {
        return read_bool(r, value, path, &agent->is_default);
    }
    if (arcp_span_equal_cstr(key, "stderr_in_errors")) {
        return read_bool(r, value, path, &agent->stderr_in_errors);
    }
    if (arcp_span_equal_cstr(key, "warm")) {
        return read_count(r, value, path, &agent->warm);
    }
    if (arcp_span_equal_cstr(key, "max_jobs")) {
        return read_count(r, value, path, &agent->max_jobs);
    }
    if (arcp_span_equal_cstr(key, "env")) {
        return each_member(r, value, path, env_member, agent);
    }
    if (arcp_span_equal_cstr(key, "rlimits")) {
        return each_member(r, value, path, limit_member, agent);
    }
    if (arcp_span_equal_cstr(key, "mode")) {
        char *mode = NULL;
        arcp_status status = read_text(r, value, path, &mode);
        bool is_plain = mode != NULL && strcmp(mode, "plain") == 0;
        if (status == ARCP_OK && !is_plain && (mode == NULL || strcmp(mode, "arcp") != 0)) {
            status = refuse(r, value, path, "must be arcp or plain");
        }
        agent->is_plain = is_plain;
        arcp__free(mode);
        return status;
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status agent_item(reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_agent *agents =
        arcp__realloc_array(config->agents, config->agent_count + 1, sizeof(*agents));
    if (agents == NULL) {
        return no_memory(r);
    }
    config->agents = agents;
    arcp__config_agent *agent = &agents[config->agent_count++];
    *agent = (arcp__config_agent){0};
    arcp_status status = each_member(r, node, path, agent_member, agent);
    if (status == ARCP_OK && (agent->name == NULL || agent->command.count == 0)) {
        status = refuse(r, node, path, "needs name and command (a list of words)");
    }
    return status;
}

/* ---- policies and profiles ---- */

static void write_json(reader *r, const yaml_node_t *node, arcp_json_writer *writer)
{
    if (node->type == YAML_SCALAR_NODE) {
        arcp_json_write_string(writer, scalar(node));
    } else if (node->type == YAML_SEQUENCE_NODE) {
        arcp_json_begin_array(writer);
        for (yaml_node_item_t *at = node->data.sequence.items.start;
             at < node->data.sequence.items.top; at++) {
            write_json(r, node_at(r, *at), writer);
        }
        arcp_json_end_array(writer);
    } else {
        arcp_json_write_null(writer);
    }
}

typedef struct policy_draft {
    arcp__config_policy policy;
    const yaml_node_t *lease;
    const yaml_node_t *budget;
} policy_draft;

static arcp_status policy_member(reader *r, void *into, arcp_span key, const char *path,
                                 const yaml_node_t *value)
{
    policy_draft *draft = into;
    if (arcp_span_equal_cstr(key, "principal")) {
        return read_text(r, value, path, &draft->policy.principal);
    }
    if (arcp_span_equal_cstr(key, "agent")) {
        return read_text(r, value, path, &draft->policy.agent);
    }
    if (arcp_span_equal_cstr(key, "max_lifetime_sec")) {
        return read_count(r, value, path, &draft->policy.max_lifetime_sec);
    }
    if (arcp_span_equal_cstr(key, "max_lease")) {
        draft->lease = value;
        return value->type == YAML_MAPPING_NODE
                   ? ARCP_OK
                   : refuse(r, value, path, "must be a mapping of capability: [patterns]");
    }
    if (arcp_span_equal_cstr(key, "max_budget")) {
        draft->budget = value;
        return value->type == YAML_SEQUENCE_NODE
                   ? ARCP_OK
                   : refuse(r, value, path, "must be a list of amounts like USD:5.00");
    }
    return ARCP_E_NOT_FOUND;
}

/* max_lease and max_budget are one ceiling: the budget is its cost.budget. */
static arcp_status make_ceiling(reader *r, const char *path, policy_draft *draft)
{
    if (draft->lease == NULL && draft->budget == NULL) {
        return ARCP_OK;
    }
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &text);
    arcp_json_begin_object(&writer);
    if (draft->lease != NULL) {
        for (yaml_node_pair_t *pair = draft->lease->data.mapping.pairs.start;
             pair < draft->lease->data.mapping.pairs.top; pair++) {
            arcp_json_name_span(&writer, scalar(node_at(r, pair->key)));
            write_json(r, node_at(r, pair->value), &writer);
        }
    }
    if (draft->budget != NULL) {
        arcp_json_name(&writer, "cost.budget");
        write_json(r, draft->budget, &writer);
    }
    arcp_json_end_object(&writer);
    arcp_lease_limits limits = {100000, SIZE_MAX, 4096, 32};
    arcp_error why = {0};
    arcp_status status = text.failed
                             ? no_memory(r)
                             : arcp_lease_parse(arcp_buf_span(&text), arcp_span_make(NULL, 0),
                                                &limits, &draft->policy.ceiling, &why);
    if (status != ARCP_OK && !text.failed) {
        status = refuse(r, draft->lease != NULL ? draft->lease : draft->budget, path, why.message);
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status policy_item(reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_policy *policies =
        arcp__realloc_array(config->policies, config->policy_count + 1, sizeof(*policies));
    if (policies == NULL) {
        return no_memory(r);
    }
    config->policies = policies;
    policy_draft draft = {.policy = {0}};
    arcp_status status = each_member(r, node, path, policy_member, &draft);
    if (status == ARCP_OK) {
        status = make_ceiling(r, path, &draft);
    }
    if (draft.policy.principal == NULL) {
        draft.policy.principal = arcp__copy_cstr("*", 1);
    }
    if (draft.policy.agent == NULL) {
        draft.policy.agent = arcp__copy_cstr("*", 1);
    }
    policies[config->policy_count++] = draft.policy;
    if (status == ARCP_OK && (draft.policy.principal == NULL || draft.policy.agent == NULL)) {
        status = no_memory(r);
    }
    return status;
}

static arcp_status profile_member(reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    arcp__config_profile *profile = into;
    if (arcp_span_equal_cstr(key, "client")) {
        return read_text(r, value, path, &profile->client);
    }
    if (arcp_span_equal_cstr(key, "profile")) {
        return read_text(r, value, path, &profile->profile);
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status profile_item(reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_profile *profiles =
        arcp__realloc_array(config->profiles, config->profile_count + 1, sizeof(*profiles));
    if (profiles == NULL) {
        return no_memory(r);
    }
    config->profiles = profiles;
    arcp__config_profile *profile = &profiles[config->profile_count++];
    *profile = (arcp__config_profile){NULL, NULL};
    arcp_status status = each_member(r, node, path, profile_member, profile);
    if (status == ARCP_OK && (profile->client == NULL || profile->profile == NULL)) {
        status = refuse(r, node, path, "needs client and profile");
    }
    return status;
}

/* ---- the rest ---- */

static arcp_status tls_member(reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    if (arcp_span_equal_cstr(key, "certificate")) {
        return read_text(r, value, path, &config->tls_certificate);
    }
    return arcp_span_equal_cstr(key, "key") ? read_text(r, value, path, &config->tls_key)
                                            : ARCP_E_NOT_FOUND;
}

static arcp_status log_member(reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    char *word = NULL;
    arcp_error why = {0};
    arcp_status status = read_text(r, value, path, &word);
    if (status != ARCP_OK) {
        return status;
    }
    const char *text = word == NULL ? "" : word;
    if (arcp_span_equal_cstr(key, "level")) {
        if (arcp__config_set_log_level(config, text, &why) != ARCP_OK) {
            status = refuse(r, value, path, "must be debug, info, warn or error");
        }
    } else if (arcp_span_equal_cstr(key, "format")) {
        config->log_format = strcmp(text, "json") == 0 ? ARCP__LOG_JSON : ARCP__LOG_TEXT;
        if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0) {
            status = refuse(r, value, path, "must be text or json");
        }
    } else {
        status = ARCP_E_NOT_FOUND;
    }
    arcp__free(word);
    return status;
}

/* Keys of parts that this version does not have: only the value that means "off" is
 * accepted, so that nobody relies on what does not happen. */
static arcp_status only(reader *r, const yaml_node_t *value, const char *path, const char *word)
{
    bool off = strcmp(word, "null") == 0
                   ? is_null(value)
                   : value->type == YAML_SCALAR_NODE && arcp_span_equal_cstr(scalar(value), word);
    char what[96];
    (void)snprintf(what, sizeof(what), "this version can only do \"%s\"", word);
    return off ? ARCP_OK : refuse(r, value, path, what);
}

static arcp_status credentials_member(reader *r, void *into, arcp_span key, const char *path,
                                      const yaml_node_t *value)
{
    (void)into;
    return arcp_span_equal_cstr(key, "provisioner") ? only(r, value, path, "none")
                                                    : ARCP_E_NOT_FOUND;
}

static arcp_status http_member(reader *r, void *into, arcp_span key, const char *path,
                               const yaml_node_t *value)
{
    (void)into;
    return arcp_span_equal_cstr(key, "listen") ? only(r, value, path, "null") : ARCP_E_NOT_FOUND;
}

static arcp_status audit_member(reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config *config = into;
    if (arcp_span_equal_cstr(key, "path")) {
        arcp_status status = read_text(r, value, path, &config->audit_path);
        if (status == ARCP_OK && config->audit_path == NULL) {
            config->audit_path = arcp__copy_cstr("", 0);
            status = config->audit_path == NULL ? no_memory(r) : ARCP_OK;
        }
        return status;
    }
    return arcp_span_equal_cstr(key, "on_failure") ? only(r, value, path, "continue")
                                                   : ARCP_E_NOT_FOUND;
}

typedef struct group {
    arcp__config *config;
    arcp_span name;
} group;

static arcp_status setting_member(reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    group *settings = into;
    arcp_error why = {0};
    if (value->type != YAML_SCALAR_NODE) {
        return refuse(r, value, path, "must be a single value");
    }
    arcp_status status =
        arcp_settings_set(&settings->config->settings, settings->name, key, scalar(value), &why);
    return status == ARCP_OK || status == ARCP_E_NOT_FOUND ? status
                                                           : refuse(r, value, path, why.message);
}

static bool is_settings_group(arcp_span key)
{
    static const char *const groups[] = {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text) #group,
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)            #group,
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
    };
    for (size_t at = 0; at < sizeof(groups) / sizeof(groups[0]); at++) {
        if (arcp_span_equal_cstr(key, groups[at])) {
            return true;
        }
    }
    return false;
}

static arcp_status top_member(reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    static const struct {
        const char *key;
        arcp_status (*item)(reader *r, const char *path, const yaml_node_t *node);
    } lists[] = {{"tokens", token_item},
                 {"agents", agent_item},
                 {"policy", policy_item},
                 {"peer_profiles", profile_item}};
    static const struct {
        const char *key;
        member_fn member;
    } mappings[] = {{"tls", tls_member},
                    {"log", log_member},
                    {"audit", audit_member},
                    {"credentials", credentials_member},
                    {"http", http_member}};
    for (size_t at = 0; at < sizeof(lists) / sizeof(lists[0]); at++) {
        if (arcp_span_equal_cstr(key, lists[at].key)) {
            return each_item(r, value, path, lists[at].item);
        }
    }
    for (size_t at = 0; at < sizeof(mappings) / sizeof(mappings[0]); at++) {
        if (arcp_span_equal_cstr(key, mappings[at].key)) {
            return each_member(r, value, path, mappings[at].member, config);
        }
    }
    if (is_settings_group(key)) {
        group settings = {config, key};
        return each_member(r, value, path, setting_member, &settings);
    }
    if (arcp_span_equal_cstr(key, "listen")) {
        return read_texts(r, value, path, &config->listen);
    }
    if (arcp_span_equal_cstr(key, "origins")) {
        return read_texts(r, value, path, &config->origins);
    }
    if (arcp_span_equal_cstr(key, "hosts")) {
        return read_texts(r, value, path, &config->hosts);
    }
    if (arcp_span_equal_cstr(key, "store")) {
        return read_text(r, value, path, &config->store);
    }
    if (arcp_span_equal_cstr(key, "no_auth")) {
        return read_bool(r, value, path, &config->no_auth);
    }
    return arcp_span_equal_cstr(key, "token_file") ? read_text(r, value, path, &config->token_file)
                                                   : ARCP_E_NOT_FOUND;
}

static arcp_status read_document(reader *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    return root == NULL ? ARCP_OK : each_member(r, root, "", top_member, r->config);
}

static arcp_status load(reader *r, yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &r->document)) {
        return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s", r->name,
                              parser->problem_mark.line + 1,
                              parser->problem == NULL ? "this is no YAML" : parser->problem);
    }
    arcp_status status = read_document(r);
    yaml_document_delete(&r->document);
    return status;
}

arcp_status arcp__config_read_text(arcp__config *config, const char *name, arcp_span text,
                                   arcp_error *err)
{
    yaml_parser_t parser;
    reader r = {.config = config, .name = name, .err = err};
    if (!yaml_parser_initialize(&parser)) {
        return no_memory(&r);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    arcp_status status = load(&r, &parser);
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_read(arcp__config *config, const char *path, arcp_error *err)
{
    yaml_parser_t parser;
    reader r = {.config = config, .name = path, .err = err};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    }
    arcp_status status = ARCP_OK;
    if (!yaml_parser_initialize(&parser)) {
        status = no_memory(&r);
    } else {
        yaml_parser_set_input_file(&parser, file);
        status = load(&r, &parser);
        yaml_parser_delete(&parser);
    }
    (void)fclose(file);
    return status;
}
