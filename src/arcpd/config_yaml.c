/* Reading the configuration file. Every key has a row in a table; a key without one, or a
 * value of the wrong shape, is an error with file, line and key. */
#include "arcpd/config.h"
#include "arcpd/config_tokens.h"
#include "arcpd/yaml_reader.h"
#include "base/alloc.h"
#include "engine/peer_profile.h"
#include "runtime/launcher_plan.h"
#include <errno.h>
#include <stdio.h>

/* ---- agents ---- */

static arcp_status env_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    char *text = NULL;
    arcp_status status = arcp__yaml_text(r, value, path, &text);
    arcp_buf pair = ARCP_BUF_INIT;
    if (status == ARCP_OK) {
        arcp_buf_append(&pair, key);
        if (text != NULL) { /* a name alone passes our own value */
            arcp_buf_append_byte(&pair, '=');
            arcp_buf_append_cstr(&pair, text);
        }
        arcp_buf_append_byte(&pair, '\0');
        status = pair.failed ? arcp__yaml_no_memory(r)
                             : arcp__text_list_add(&agent->env, pair.data, r->err);
    }
    arcp_buf_fini(&pair);
    arcp__free(text);
    return status;
}

static arcp_status add_limit(arcp__yaml_reader *r, arcp__config_agent *agent, const char *name,
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
        return arcp__yaml_no_memory(r);
    }
    agent->limits = limits;
    limits[agent->limit_count++] = limit;
    arcp_buf_append_format(&written, "%s: \"%s\"%c", name, text, '\0');
    status = written.failed ? arcp__yaml_no_memory(r)
                            : arcp__text_list_add(&agent->limit_texts, written.data, r->err);
    arcp_buf_fini(&written);
    return status;
}

static arcp_status limit_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp_error why = {0};
    char *text = NULL;
    char *name = arcp__copy_cstr(key.data, key.size);
    arcp_status status =
        name == NULL ? arcp__yaml_no_memory(r) : arcp__yaml_text(r, value, path, &text);
    if (status == ARCP_OK) {
        status = add_limit(r, into, name, text == NULL ? "" : text, &why);
        status =
            why.status == ARCP_E_USAGE ? arcp__yaml_refuse(r, value, path, why.message) : status;
    }
    arcp__free(name);
    arcp__free(text);
    return status;
}

static arcp_status agent_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    const struct {
        const char *key;
        char **text;
    } texts[] = {{"name", &agent->name}, {"version", &agent->version}, {"user", &agent->user}};
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        if (arcp_span_equal_cstr(key, texts[at].key)) {
            return arcp__yaml_text(r, value, path, texts[at].text);
        }
    }
    if (arcp_span_equal_cstr(key, "cwd")) {
        arcp_status status = arcp__yaml_text(r, value, path, &agent->cwd);
        if (status == ARCP_OK && agent->cwd != NULL && agent->cwd[0] != '/') {
            status = arcp__yaml_refuse(r, value, path,
                                       "must be an absolute path, or null for a fresh directory");
        }
        return status;
    }
    if (arcp_span_equal_cstr(key, "command")) {
        return arcp__yaml_texts(r, value, path, &agent->command);
    }
    if (arcp_span_equal_cstr(key, "default")) {
        return arcp__yaml_bool(r, value, path, &agent->is_default);
    }
    if (arcp_span_equal_cstr(key, "stderr_in_errors")) {
        return arcp__yaml_bool(r, value, path, &agent->stderr_in_errors);
    }
    if (arcp_span_equal_cstr(key, "warm")) {
        return arcp__yaml_count(r, value, path, &agent->warm);
    }
    if (arcp_span_equal_cstr(key, "max_jobs")) {
        return arcp__yaml_count(r, value, path, &agent->max_jobs);
    }
    if (arcp_span_equal_cstr(key, "env")) {
        return arcp__yaml_members(r, value, path, env_member, agent);
    }
    if (arcp_span_equal_cstr(key, "rlimits")) {
        return arcp__yaml_members(r, value, path, limit_member, agent);
    }
    if (arcp_span_equal_cstr(key, "mode")) {
        char *mode = NULL;
        arcp_status status = arcp__yaml_text(r, value, path, &mode);
        bool is_plain = mode != NULL && strcmp(mode, "plain") == 0;
        if (status == ARCP_OK && !is_plain && (mode == NULL || strcmp(mode, "arcp") != 0)) {
            status = arcp__yaml_refuse(r, value, path, "must be arcp or plain");
        }
        agent->is_plain = is_plain;
        arcp__free(mode);
        return status;
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status agent_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_agent *agents =
        arcp__realloc_array(config->agents, config->agent_count + 1, sizeof(*agents));
    if (agents == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->agents = agents;
    arcp__config_agent *agent = &agents[config->agent_count++];
    *agent = (arcp__config_agent){0};
    arcp_status status = arcp__yaml_members(r, node, path, agent_member, agent);
    if (status == ARCP_OK && (agent->name == NULL || agent->command.count == 0)) {
        status = arcp__yaml_refuse(r, node, path, "needs name and command (a list of words)");
    }
    return status;
}

/* ---- policies and profiles ---- */

static void write_json(arcp__yaml_reader *r, const yaml_node_t *node, arcp_json_writer *writer)
{
    if (node->type == YAML_SCALAR_NODE) {
        arcp_json_write_string(writer, arcp__yaml_scalar(node));
    } else if (node->type == YAML_SEQUENCE_NODE) {
        arcp_json_begin_array(writer);
        for (yaml_node_item_t *at = node->data.sequence.items.start;
             at < node->data.sequence.items.top; at++) {
            write_json(r, arcp__yaml_node(r, *at), writer);
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

static arcp_status policy_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                 const yaml_node_t *value)
{
    policy_draft *draft = into;
    if (arcp_span_equal_cstr(key, "principal")) {
        return arcp__yaml_text(r, value, path, &draft->policy.principal);
    }
    if (arcp_span_equal_cstr(key, "agent")) {
        return arcp__yaml_text(r, value, path, &draft->policy.agent);
    }
    if (arcp_span_equal_cstr(key, "max_lifetime_sec")) {
        return arcp__yaml_count(r, value, path, &draft->policy.max_lifetime_sec);
    }
    if (arcp_span_equal_cstr(key, "max_lease")) {
        draft->lease = value;
        return value->type == YAML_MAPPING_NODE
                   ? ARCP_OK
                   : arcp__yaml_refuse(r, value, path,
                                       "must be a mapping of capability: [patterns]");
    }
    if (arcp_span_equal_cstr(key, "max_budget")) {
        draft->budget = value;
        return value->type == YAML_SEQUENCE_NODE
                   ? ARCP_OK
                   : arcp__yaml_refuse(r, value, path, "must be a list of amounts like USD:5.00");
    }
    return ARCP_E_NOT_FOUND;
}

/* max_lease and max_budget are one ceiling: the budget is its cost.budget. */
static arcp_status make_ceiling(arcp__yaml_reader *r, const char *path, policy_draft *draft)
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
            arcp_json_name_span(&writer, arcp__yaml_scalar(arcp__yaml_node(r, pair->key)));
            write_json(r, arcp__yaml_node(r, pair->value), &writer);
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
                             ? arcp__yaml_no_memory(r)
                             : arcp_lease_parse(arcp_buf_span(&text), arcp_span_make(NULL, 0),
                                                &limits, &draft->policy.ceiling, &why);
    if (status != ARCP_OK && !text.failed) {
        status = arcp__yaml_refuse(r, draft->lease != NULL ? draft->lease : draft->budget, path,
                                   why.message);
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status policy_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_policy *policies =
        arcp__realloc_array(config->policies, config->policy_count + 1, sizeof(*policies));
    if (policies == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->policies = policies;
    policy_draft draft = {.policy = {0}};
    arcp_status status = arcp__yaml_members(r, node, path, policy_member, &draft);
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
        status = arcp__yaml_no_memory(r);
    }
    return status;
}

static arcp_status profile_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    arcp__config_profile *profile = into;
    if (arcp_span_equal_cstr(key, "client")) {
        return arcp__yaml_text(r, value, path, &profile->client);
    }
    if (arcp_span_equal_cstr(key, "principal")) {
        return arcp__yaml_text(r, value, path, &profile->principal);
    }
    if (arcp_span_equal_cstr(key, "profile")) {
        return arcp__yaml_text(r, value, path, &profile->profile);
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status profile_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_profile *profiles =
        arcp__realloc_array(config->profiles, config->profile_count + 1, sizeof(*profiles));
    if (profiles == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->profiles = profiles;
    arcp__config_profile *profile = &profiles[config->profile_count++];
    *profile = (arcp__config_profile){NULL, NULL, NULL};
    arcp_status status = arcp__yaml_members(r, node, path, profile_member, profile);
    if (status == ARCP_OK &&
        ((profile->client == NULL && profile->principal == NULL) || profile->profile == NULL)) {
        status = arcp__yaml_refuse(r, node, path, "needs profile, and client or principal");
    }
    if (status == ARCP_OK && arcp__peer_profile_named(arcp_span_cstr(profile->profile)) == NULL) {
        status = arcp__yaml_refuse(r, node, path,
                                   "names no profile: draft, ts, go, python, csharp, java, ruby");
    }
    return status;
}

/* ---- the rest ---- */

static arcp_status tls_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    if (arcp_span_equal_cstr(key, "certificate")) {
        return arcp__yaml_text(r, value, path, &config->tls_certificate);
    }
    return arcp_span_equal_cstr(key, "key") ? arcp__yaml_text(r, value, path, &config->tls_key)
                                            : ARCP_E_NOT_FOUND;
}

static arcp_status log_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    char *word = NULL;
    arcp_error why = {0};
    arcp_status status = arcp__yaml_text(r, value, path, &word);
    if (status != ARCP_OK) {
        return status;
    }
    const char *text = word == NULL ? "" : word;
    if (arcp_span_equal_cstr(key, "level")) {
        if (arcp__config_set_log_level(config, text, &why) != ARCP_OK) {
            status = arcp__yaml_refuse(r, value, path, "must be debug, info, warn or error");
        }
    } else if (arcp_span_equal_cstr(key, "format")) {
        config->log_format = strcmp(text, "json") == 0 ? ARCP__LOG_JSON : ARCP__LOG_TEXT;
        if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0) {
            status = arcp__yaml_refuse(r, value, path, "must be text or json");
        }
    } else {
        status = ARCP_E_NOT_FOUND;
    }
    arcp__free(word);
    return status;
}

static arcp_status http_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                               const yaml_node_t *value)
{
    arcp__config *config = into;
    return arcp_span_equal_cstr(key, "listen")
               ? arcp__yaml_text(r, value, path, &config->http_listen)
               : ARCP_E_NOT_FOUND;
}

typedef struct group {
    arcp__config *config;
    arcp_span name;
} group;

static arcp_status setting_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    group *settings = into;
    arcp_error why = {0};
    if (value->type != YAML_SCALAR_NODE) {
        return arcp__yaml_refuse(r, value, path, "must be a single value");
    }
    arcp_status status = arcp_settings_set(&settings->config->settings, settings->name, key,
                                           arcp__yaml_scalar(value), &why);
    return status == ARCP_OK || status == ARCP_E_NOT_FOUND
               ? status
               : arcp__yaml_refuse(r, value, path, why.message);
}

/* The group has settings and keys of its own. */
static arcp_status credentials_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                      const char *path, const yaml_node_t *value)
{
    arcp__config *config = into;
    arcp_status status = arcp__config_credentials_member(r, &config->credentials, key, path, value);
    group settings = {config, ARCP_SPAN_LITERAL("credentials")};
    return status == ARCP_E_NOT_FOUND ? setting_member(r, &settings, key, path, value) : status;
}

static arcp_status read_credentials(arcp__yaml_reader *r, const yaml_node_t *node, const char *path)
{
    arcp_status status = arcp__yaml_members(r, node, path, credentials_member, r->config);
    return status == ARCP_OK ? arcp__config_credentials_check(r, &r->config->credentials, node)
                             : status;
}

static arcp_status audit_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config *config = into;
    group settings = {config, ARCP_SPAN_LITERAL("audit")};
    if (!arcp_span_equal_cstr(key, "path")) {
        return setting_member(r, &settings, key, path, value);
    }
    arcp_status status = arcp__yaml_text(r, value, path, &config->audit_path);
    if (status == ARCP_OK && config->audit_path == NULL) {
        config->audit_path = arcp__copy_cstr("", 0);
        status = config->audit_path == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
    }
    return status;
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

static arcp_status top_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    static const struct {
        const char *key;
        arcp_status (*item)(arcp__yaml_reader *r, const char *path, const yaml_node_t *node);
    } lists[] = {{"tokens", arcp__yaml_token_item},
                 {"jwt", arcp__yaml_jwt_item},
                 {"agents", agent_item},
                 {"policy", policy_item},
                 {"peer_profiles", profile_item}};
    static const struct {
        const char *key;
        arcp__yaml_member_fn member;
    } mappings[] = {
        {"tls", tls_member}, {"log", log_member}, {"audit", audit_member}, {"http", http_member}};
    for (size_t at = 0; at < sizeof(lists) / sizeof(lists[0]); at++) {
        if (arcp_span_equal_cstr(key, lists[at].key)) {
            return arcp__yaml_items(r, value, path, lists[at].item);
        }
    }
    for (size_t at = 0; at < sizeof(mappings) / sizeof(mappings[0]); at++) {
        if (arcp_span_equal_cstr(key, mappings[at].key)) {
            return arcp__yaml_members(r, value, path, mappings[at].member, config);
        }
    }
    if (arcp_span_equal_cstr(key, "credentials")) {
        return read_credentials(r, value, path);
    }
    if (is_settings_group(key)) {
        group settings = {config, key};
        return arcp__yaml_members(r, value, path, setting_member, &settings);
    }
    if (arcp_span_equal_cstr(key, "listen")) {
        return arcp__yaml_texts(r, value, path, &config->listen);
    }
    if (arcp_span_equal_cstr(key, "origins")) {
        return arcp__yaml_texts(r, value, path, &config->origins);
    }
    if (arcp_span_equal_cstr(key, "hosts")) {
        return arcp__yaml_texts(r, value, path, &config->hosts);
    }
    if (arcp_span_equal_cstr(key, "store")) {
        return arcp__yaml_text(r, value, path, &config->store);
    }
    if (arcp_span_equal_cstr(key, "no_auth")) {
        return arcp__yaml_bool(r, value, path, &config->no_auth);
    }
    return arcp_span_equal_cstr(key, "token_file")
               ? arcp__yaml_text(r, value, path, &config->token_file)
               : ARCP_E_NOT_FOUND;
}

static arcp_status read_document(arcp__yaml_reader *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    return root == NULL ? ARCP_OK : arcp__yaml_members(r, root, "", top_member, r->config);
}

static arcp_status load(arcp__yaml_reader *r, yaml_parser_t *parser)
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
    arcp__yaml_reader r = {.config = config, .name = name, .err = err};
    if (!yaml_parser_initialize(&parser)) {
        return arcp__yaml_no_memory(&r);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    arcp_status status = load(&r, &parser);
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_read(arcp__config *config, const char *path, arcp_error *err)
{
    yaml_parser_t parser;
    arcp__yaml_reader r = {.config = config, .name = path, .err = err};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    }
    arcp_status status = ARCP_OK;
    if (!yaml_parser_initialize(&parser)) {
        status = arcp__yaml_no_memory(&r);
    } else {
        yaml_parser_set_input_file(&parser, file);
        status = load(&r, &parser);
        yaml_parser_delete(&parser);
    }
    (void)fclose(file);
    return status;
}
