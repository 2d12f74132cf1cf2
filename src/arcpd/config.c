#include "arcpd/config.h"

#include <arcp/runtime.h>
#include <arcp/secret.h>

#include "arcpd/yaml_printer.h"
#include "base/alloc.h"
#include "runtime/jwt_key.h"
#include "transport/command_words.h"

static const char *const log_levels[] = {"debug", "info", "warn", "error"};

void arcp__config_init(arcp__config *config)
{
    *config = (arcp__config){.log_level = ARCP_LOG_INFO};
    arcp_settings_default(&config->settings);
    arcp__config_tracing_init(&config->tracing);
}

void arcp__text_list_clear(arcp__text_list *list)
{
    for (size_t at = 0; at < list->count; at++) {
        arcp__free(list->items[at]);
    }
    arcp__free(list->items);
    *list = (arcp__text_list){NULL, 0};
}

arcp_status arcp__text_list_add(arcp__text_list *list, const char *text, arcp_error *err)
{
    char **items = arcp__realloc_array(list->items, list->count + 2, sizeof(*items));
    char *copy = arcp__copy_cstr(text, strlen(text));
    if (items != NULL) {
        list->items = items;
    }
    if (items == NULL || copy == NULL) {
        arcp__free(copy);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    items[list->count++] = copy;
    items[list->count] = NULL;
    return ARCP_OK;
}

static void agent_fini(arcp__config_agent *agent)
{
    arcp__free(agent->name);
    arcp__free(agent->version);
    arcp__free(agent->cwd);
    arcp__free(agent->user);
    arcp__text_list_clear(&agent->command);
    arcp__text_list_clear(&agent->env);
    arcp__text_list_clear(&agent->limit_texts);
    arcp__free(agent->limits);
}

void arcp__config_fini(arcp__config *config)
{
    arcp__text_list_clear(&config->listen);
    arcp__text_list_clear(&config->origins);
    arcp__text_list_clear(&config->hosts);
    char *texts[] = {config->store,       config->token_file,      config->audit_path,
                     config->http_listen, config->tls_certificate, config->tls_key};
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        arcp__free(texts[at]);
    }
    for (size_t at = 0; at < config->token_count; at++) {
        arcp_wipe(config->tokens[at].token, strlen(config->tokens[at].token));
        arcp__free(config->tokens[at].token);
        arcp__free(config->tokens[at].principal);
    }
    arcp__free(config->tokens);
    for (size_t at = 0; at < config->jwt_count; at++) {
        arcp__config_jwt *jwt = &config->jwt[at];
        char *of_jwt[] = {jwt->key_file, jwt->key_id, jwt->issuer, jwt->audience,
                          jwt->principal_claim};
        for (size_t text = 0; text < sizeof(of_jwt) / sizeof(of_jwt[0]); text++) {
            arcp__free(of_jwt[text]);
        }
    }
    arcp__free(config->jwt);
    for (size_t at = 0; at < config->agent_count; at++) {
        agent_fini(&config->agents[at]);
    }
    arcp__free(config->agents);
    for (size_t at = 0; at < config->policy_count; at++) {
        arcp__free(config->policies[at].principal);
        arcp__free(config->policies[at].agent);
        arcp_lease_unref(config->policies[at].ceiling);
    }
    arcp__free(config->policies);
    for (size_t at = 0; at < config->profile_count; at++) {
        arcp__free(config->profiles[at].client);
        arcp__free(config->profiles[at].principal);
        arcp__free(config->profiles[at].profile);
    }
    arcp__free(config->profiles);
    arcp__config_credentials_fini(&config->credentials);
    arcp__config_tracing_fini(&config->tracing);
    arcp__config_places_fini(&config->places);
    *config = (arcp__config){.log_level = ARCP_LOG_INFO};
}

arcp_status arcp__config_set_log_level(arcp__config *config, const char *text, arcp_error *err)
{
    for (size_t at = 0; at < sizeof(log_levels) / sizeof(log_levels[0]); at++) {
        if (strcmp(text, log_levels[at]) == 0) {
            config->log_level = (int)at;
            return ARCP_OK;
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "the log level is \"%.200s\", must be debug, info, warn or error", text);
}

arcp_status arcp__config_add_token(arcp__config *config, arcp_span token, arcp_span principal,
                                   arcp_error *err)
{
    arcp__config_token *tokens =
        arcp__realloc_array(config->tokens, config->token_count + 1, sizeof(*tokens));
    if (tokens != NULL) {
        config->tokens = tokens;
    }
    arcp__config_token added = {
        .token = arcp__copy_cstr(token.data, token.size),
        .principal = arcp__copy_cstr(principal.data, principal.size),
    };
    if (tokens == NULL || added.token == NULL || added.principal == NULL) {
        if (added.token != NULL) {
            arcp_wipe(added.token, token.size);
        }
        arcp__free(added.token);
        arcp__free(added.principal);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    tokens[config->token_count++] = added;
    return ARCP_OK;
}

arcp_status arcp__config_add_token_flag(arcp__config *config, const char *text, arcp_error *err)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "--token must be TOKEN=PRINCIPAL");
    }
    return arcp__config_add_token(config, arcp_span_make(text, (size_t)(equals - text)),
                                  arcp_span_cstr(equals + 1), err);
}

static arcp_status split_command(const char *command, arcp__text_list *out, arcp_error *err)
{
    char **words = NULL;
    arcp_status status = arcp__command_words(arcp_span_cstr(command), &words, err);
    if (status != ARCP_OK) {
        return status;
    }
    for (size_t at = 0; status == ARCP_OK && words[at] != NULL; at++) {
        status = arcp__text_list_add(out, words[at], err);
    }
    arcp__free(words);
    return status;
}

arcp_status arcp__config_add_agent_flag(arcp__config *config, const char *text, arcp_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "--agent %.200s: must be NAME[@VERSION]=COMMAND",
                              text);
    }
    arcp__config_agent *agents =
        arcp__realloc_array(config->agents, config->agent_count + 1, sizeof(*agents));
    if (agents == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    config->agents = agents;
    arcp__config_agent added = {0};
    const char *at_sign = memchr(text, '@', (size_t)(equals - text));
    const char *name_end = at_sign == NULL ? equals : at_sign;
    added.name = arcp__copy_cstr(text, (size_t)(name_end - text));
    if (at_sign != NULL) {
        added.version = arcp__copy_cstr(at_sign + 1, (size_t)(equals - at_sign - 1));
    }
    arcp_status status = added.name == NULL || (at_sign != NULL && added.version == NULL)
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : split_command(equals + 1, &added.command, err);
    if (status == ARCP_OK && added.command.count == 0) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty", added.name);
    }
    if (status != ARCP_OK) {
        agent_fini(&added);
        return status;
    }
    agents[config->agent_count++] = added;
    return ARCP_OK;
}

/* ---- printing ---- */

typedef struct print_state {
    arcp_buf *out;
    const arcp__config *config;
    arcp__print_secrets secrets;
    const char *group;
} print_state;

/* Groups that have more than numbers and choices. */
static void print_texts_of_group(const print_state *state, const char *group)
{
    if (strcmp(group, "credentials") == 0) {
        arcp__config_credentials_print(&state->config->credentials, state->secrets, state->out);
    } else if (strcmp(group, "audit") == 0) {
        const char *path = state->config->audit_path;
        arcp__yaml_print_text(state->out, "  path", path == NULL ? "audit.jsonl" : path);
    }
}

static void print_setting(void *user, const char *group, const char *key, const char *value,
                          const char *text)
{
    (void)text;
    print_state *state = user;
    if (state->group == NULL || strcmp(state->group, group) != 0) {
        arcp_buf_append_format(state->out, "%s:\n", group);
        state->group = group;
        print_texts_of_group(state, group);
    }
    arcp_buf_append_format(state->out, "  %s: %s\n", key, value);
}

static void print_agent(arcp_buf *out, const arcp__config_agent *agent, arcp__print_secrets secrets)
{
    arcp__yaml_print_text(out, "  - name", agent->name);
    arcp__yaml_print_text(out, "    version", agent->version);
    arcp_buf_append_format(out, "    default: %s\n    mode: %s\n    warm: %llu\n",
                           agent->is_default ? "true" : "false", agent->is_plain ? "plain" : "arcp",
                           (unsigned long long)agent->warm);
    arcp__yaml_print_list(out, "    command", &agent->command);
    arcp__yaml_print_text(out, "    cwd", agent->cwd);
    arcp__yaml_print_text(out, "    user", agent->user);
    arcp_buf_append_format(out, "    stderr_in_errors: %s\n    max_jobs: %llu\n",
                           agent->stderr_in_errors ? "true" : "false",
                           (unsigned long long)agent->max_jobs);
    /* Values of the environment may be secrets: names only. */
    arcp_buf_append_cstr(out, "    env: {");
    for (size_t at = 0; at < agent->env.count; at++) {
        const char *pair = agent->env.items[at];
        arcp_buf_append_format(out, "%s%.*s: ", at == 0 ? "" : ", ", (int)strcspn(pair, "="), pair);
        arcp__yaml_print_secret(out, pair, secrets);
    }
    arcp_buf_append_cstr(out, "}\n    rlimits: {");
    for (size_t at = 0; at < agent->limit_texts.count; at++) {
        arcp_buf_append_format(out, "%s%s", at == 0 ? "" : ", ", agent->limit_texts.items[at]);
    }
    arcp_buf_append_cstr(out, "}\n");
}

static void print_jwt(arcp_buf *out, const arcp__config_jwt *jwt)
{
    arcp_buf_append_format(out, "  - algorithm: %s\n", arcp__jwt_algorithm_name(jwt->algorithm));
    arcp__yaml_print_text(out, "    key_file", jwt->key_file);
    arcp__yaml_print_text(out, "    key_id", jwt->key_id);
    arcp__yaml_print_text(out, "    issuer", jwt->issuer);
    arcp__yaml_print_text(out, "    audience", jwt->audience);
    arcp__yaml_print_text(out, "    principal_claim", jwt->principal_claim);
    arcp_buf_append_format(out, "    leeway_sec: %llu\n", (unsigned long long)jwt->leeway_sec);
}

/* The ceiling of an entry without max_lease is its budget. */
static void print_budget(arcp_buf *out, const arcp_lease *ceiling)
{
    arcp_buf_append_cstr(out, ", max_budget: [");
    for (size_t at = 0; at < arcp_lease_pattern_count(ceiling, 0); at++) {
        arcp_buf_append_cstr(out, at == 0 ? "" : ", ");
        arcp_json_quote(arcp_lease_pattern(ceiling, 0, at), out);
    }
    arcp_buf_append_byte(out, ']');
}

static void print_policy(arcp_buf *out, const arcp__config_policy *policy)
{
    arcp_buf_append_cstr(out, "  - {principal: ");
    arcp__yaml_print_quoted(out, policy->principal);
    arcp_buf_append_cstr(out, ", agent: ");
    arcp__yaml_print_quoted(out, policy->agent);
    if (policy->has_lease) {
        arcp_buf_append_cstr(out, ", max_lease: ");
        arcp_lease_format(policy->ceiling, out);
    } else if (policy->ceiling != NULL) {
        print_budget(out, policy->ceiling);
    }
    arcp_buf_append_format(out, ", max_lifetime_sec: %llu}\n",
                           (unsigned long long)policy->max_lifetime_sec);
}

void arcp__config_print(const arcp__config *config, arcp__print_secrets secrets, arcp_buf *out)
{
    arcp__yaml_print_list(out, "listen", &config->listen);
    arcp__yaml_print_text(out, "store", config->store);
    arcp__yaml_print_text(out, "token_file", config->token_file);
    arcp_buf_append_cstr(out, "tokens:\n");
    for (size_t at = 0; at < config->token_count; at++) {
        arcp_buf_append_cstr(out, "  - {token: ");
        arcp__yaml_print_secret(out, config->tokens[at].token, secrets);
        arcp_buf_append_cstr(out, ", principal: ");
        arcp__yaml_print_quoted(out, config->tokens[at].principal);
        arcp_buf_append_cstr(out, "}\n");
    }
    arcp_buf_append_format(out, "no_auth: %s\njwt:\n", config->no_auth ? "true" : "false");
    for (size_t at = 0; at < config->jwt_count; at++) {
        print_jwt(out, &config->jwt[at]);
    }
    arcp_buf_append_cstr(out, "agents:\n");
    for (size_t at = 0; at < config->agent_count; at++) {
        print_agent(out, &config->agents[at], secrets);
    }
    print_state state = {out, config, secrets, NULL};
    arcp_settings_each(&config->settings, print_setting, &state);
    arcp__config_tracing_print(&config->tracing, secrets, out);
    arcp_buf_append_cstr(out, "policy:\n");
    for (size_t at = 0; at < config->policy_count; at++) {
        print_policy(out, &config->policies[at]);
    }
    arcp_buf_append_cstr(out, "peer_profiles:\n");
    for (size_t at = 0; at < config->profile_count; at++) {
        arcp_buf_append_cstr(out, "  - {client: ");
        arcp__yaml_print_quoted(out, config->profiles[at].client);
        arcp_buf_append_cstr(out, ", principal: ");
        arcp__yaml_print_quoted(out, config->profiles[at].principal);
        arcp_buf_append_cstr(out, ", profile: ");
        arcp__yaml_print_quoted(out, config->profiles[at].profile);
        arcp_buf_append_cstr(out, "}\n");
    }
    arcp__yaml_print_list(out, "origins", &config->origins);
    arcp__yaml_print_list(out, "hosts", &config->hosts);
    arcp_buf_append_cstr(out, "http:\n");
    arcp__yaml_print_text(out, "  listen", config->http_listen);
    arcp_buf_append_cstr(out, "tls:\n");
    arcp__yaml_print_text(out, "  certificate", config->tls_certificate);
    arcp__yaml_print_text(out, "  key", config->tls_key);
    arcp_buf_append_format(out, "log:\n  level: %s\n  format: %s\n", log_levels[config->log_level],
                           config->log_format == ARCP__LOG_JSON ? "json" : "text");
}
