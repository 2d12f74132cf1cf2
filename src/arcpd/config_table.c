/* The keys of arcpd.yaml, in the order in which --check-config prints them. The runtime's settings
 * are in another table, arcp/settings.def. */
#include "arcpd/config.h"
#include "config/config_rows.h"

#include "base/alloc.h"
#include "dashboard/dashboard.h"
#include "egress/egress.h"
#include "launch/launch.h"
#include "session/session.h"

/* ---- the runtime's settings ---- */

/* A group of the runtime's settings. */
#define SETTINGS(name) GROUP(name, .others = &arcp__config_settings, .group = (name))

static arcp_status read_setting(arcp__yaml_reader *r, const char *group, void *owner, arcp_span key)
{
    return arcp__setup_read_setting(r, &((arcp__config *)owner)->settings, group, key);
}

static void print_settings(const char *group, const void *owner, unsigned indent, arcp_buf *out)
{
    arcp__setup_print_settings(&((const arcp__config *)owner)->settings, group, indent, out);
}

const arcp__config_others arcp__config_settings = {.read = read_setting, .print = print_settings};

static bool is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

static bool same_text(const char *a, const char *b)
{
    return arcp_span_equal(arcp_span_cstr(a), arcp_span_cstr(b));
}

/* ---- tokens ---- */

static const char *const roles[] = {"none", "viewer", "operator", NULL}; /* as arcp_role */

static const arcp__config_row token_rows[] = {
    {ROW("token", text, arcp__token_row, token), .flags = SECRET},
    {ROW("principal", text, arcp__token_row, principal)},
    {ROW("role", word, arcp__token_row, role), .words = roles},
};

static arcp_status check_token(arcp__yaml_reader *r, void *owner)
{
    const arcp__token_row *token = owner;
    return is_empty(token->token) || is_empty(token->principal)
               ? arcp__yaml_refuse(r, "needs token and principal")
               : ARCP_OK;
}

static const arcp__config_row token_item = {
    ITEM(arcp__token_row, ROWS(token_rows), .is_flow = true, .check = check_token)};

/* ---- keys for JSON Web Tokens ---- */

static const char *const algorithms[] = {"HS256", "RS256", "ES256", NULL};

static const arcp__config_row jwt_rows[] = {
    {ROW("algorithm", word, arcp_jwt_options, algorithm), .words = algorithms},
    {ROW("key_file", text, arcp_jwt_options, key_file)},
    {ROW("key_id", text, arcp_jwt_options, key_id)},
    {ROW("issuer", text, arcp_jwt_options, issuer)},
    {ROW("audience", text, arcp_jwt_options, audience)},
    {ROW("principal_claim", text, arcp_jwt_options, principal_claim)},
    {ROW("leeway_sec", number, arcp_jwt_options, leeway_sec), .initial = 60,
     .maximum = ARCP_JWT_LEEWAY_SEC_MAX},
};

static arcp_status check_jwt(arcp__yaml_reader *r, void *owner)
{
    const arcp_jwt_options *jwt = owner;
    return arcp__yaml_find(r, "algorithm") == NULL || jwt->key_file == NULL
               ? arcp__yaml_refuse(r, "needs algorithm and key_file")
               : ARCP_OK;
}

static const arcp__config_row jwt_item = {
    ITEM(arcp_jwt_options, ROWS(jwt_rows), .check = check_jwt)};

/* ---- policy ---- */

static bool has_lease(const void *owner)
{
    const arcp_policy *policy = owner;
    return !policy->leaves_others_open;
}

/* Beside a max_lease the budget is printed as its cost.budget. */
static bool has_budget_only(const void *owner)
{
    const arcp_policy *policy = owner;
    return policy->leaves_others_open && policy->ceiling != NULL;
}

static const arcp__config_row policy_rows[] = {
    {ROW("principal", text, arcp_policy, principal_glob), .otherwise = "*"},
    {ROW("agent", text, arcp_policy, agent_glob), .otherwise = "*"},
    {ROW("max_lease", ceiling_lease, arcp_policy, ceiling), .applies = has_lease},
    {ROW("max_budget", ceiling_budget, arcp_policy, ceiling), .applies = has_budget_only},
    {ROW("max_lifetime_sec", number, arcp_policy, max_lifetime_sec)},
};
static const arcp__config_row policy_item = {
    ITEM(arcp_policy, ROWS(policy_rows), .is_flow = true, .check = arcp__config_policy_check)};

/* ---- peer profiles ---- */

static const arcp__config_row profile_rows[] = {
    {ROW("client", text, arcp__config_profile, client)},
    {ROW("principal", text, arcp__config_profile, principal)},
    {ROW("profile", text, arcp__config_profile, profile)},
};

static arcp_status check_profile(arcp__yaml_reader *r, void *owner)
{
    const arcp__config_profile *profile = owner;
    if ((profile->client == NULL && profile->principal == NULL) || profile->profile == NULL) {
        return arcp__yaml_refuse(r, "needs profile, and client or principal");
    }
    if (arcp__peer_profile_named(arcp_span_cstr(profile->profile)) == NULL) {
        return arcp__yaml_refuse(r, "unknown profile: must be one of %s",
                                 arcp__peer_profile_names());
    }
    return ARCP_OK;
}

static const arcp__config_row profile_item = {
    ITEM(arcp__config_profile, ROWS(profile_rows), .is_flow = true, .check = check_profile)};

/* ---- workers ---- */

const char *const arcp__config_local_workers[] = {"none", "spawn", "external", NULL};

static const arcp__config_row worker_token_rows[] = {
    {ROW("token", text, arcp__worker_token_row, token), .flags = SECRET},
    {ROW("name", text, arcp__worker_token_row, name)},
    {TEXTS("agents", arcp__worker_token_row, agents, agent_count)},
    {ROW("max_jobs", number, arcp__worker_token_row, max_jobs)},
};

/* Two rows for the same token are refused, because one of them would have no effect. */
static arcp_status check_worker_token(arcp__yaml_reader *r, void *owner)
{
    const arcp__config *config = r->root;
    const arcp__worker_token_row *row = owner;
    if (is_empty(row->token) || is_empty(row->name)) {
        return arcp__yaml_refuse(r, "needs token and name");
    }
    for (const arcp__worker_token_row *other = config->worker_tokens; other < row; other++) {
        if (same_text(row->token, other->token)) {
            return arcp__yaml_refuse(r, "an entry above has the same token");
        }
    }
    return ARCP_OK;
}

static const arcp__config_row worker_token_item = {ITEM(
    arcp__worker_token_row, ROWS(worker_token_rows), .is_flow = true, .check = check_worker_token)};

static arcp_status accept_worker_path(arcp__yaml_reader *r, const arcp__config_row *row,
                                      void *owner)
{
    const arcp__config *config = owner;
    return config->workers_path != NULL &&
                   (config->workers_path[0] != '/' || strpbrk(config->workers_path, "?#") != NULL)
               ? arcp__yaml_refuse(r, "must be a path that begins with / and has no query")
               : ARCP_OK;
}

static const arcp__config_row worker_rows[] = {
    {ROW("local", word, arcp__config, workers_local), .flags = RESTART,
     .words = arcp__config_local_workers},
    {ROW("path", text, arcp__config, workers_path), .flags = RESTART,
     .otherwise = ARCP__WORKERS_PATH, .accept = accept_worker_path},
    {LIST("tokens", arcp__config, worker_tokens, worker_token_count, &worker_token_item),
     .maximum = 256, .item_name = "tokens"},
};

static const char *const shutdown_jobs[] = {"keep", "end", NULL};

static const arcp__config_row shutdown_rows[] = {
    {ROW("jobs", word, arcp__config, shutdown_jobs), .words = shutdown_jobs},
};

/* ---- audit ---- */

/* null means no audit log, like ""; without the key there is one. */
static arcp_status accept_audit_path(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    arcp__config *config = owner;
    if (config->audit_path == NULL) {
        config->audit_path = arcp__copy_cstr("", 0);
    }
    return config->audit_path == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
}

static const arcp__config_row audit_rows[] = {
    {ROW("path", text, arcp__config, audit_path), .flags = RESTART, .otherwise = "audit.jsonl",
     .accept = accept_audit_path},
};

/* ---- tracing ---- */

/* Appends the usual path to a URL without one. */
static arcp_status accept_endpoint(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    char **endpoint = arcp__config_value(row, owner);
    const char *text = *endpoint;
    if (text == NULL) {
        return ARCP_OK;
    }
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : "";
    if (host[0] == '\0' || host[0] == '/') {
        return arcp__yaml_refuse(r, "must be a URL such as http://127.0.0.1:4318/v1/traces");
    }
    /* The endpoint is printed and logged, and would disclose it; headers are not. */
    if (memchr(host, '@', strcspn(host, "/?#")) != NULL) {
        return arcp__yaml_refuse(r, "must not contain a name or password: put them into headers");
    }
    const char *slash = strchr(host, '/');
    arcp_buf url = arcp_buf_init();
    arcp_buf_append_cstr(&url, text);
    if (slash == NULL || slash[1] == '\0') {
        arcp_buf_append_cstr(&url, slash == NULL ? "/v1/traces" : "v1/traces");
    }
    arcp__free(*endpoint);
    *endpoint = arcp_buf_take_cstr(&url);
    arcp_buf_fini(&url);
    return *endpoint == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
}

#define OTLP(name, kind, member) ROW(name, kind, arcp__config, tracing.member)
static const arcp__config_row otlp_rows[] = {
    {OTLP("endpoint", text, url), .accept = accept_endpoint},
    {PAIRS("headers", arcp__config, tracing.headers, tracing.header_count, secret),
     .separator = ": "},
    {OTLP("ca_file", text, ca_file)},
    {OTLP("service_name", text, service_name), .otherwise = ARCP__SERVICE_NAME},
    {OTLP("timeout_ms", number, timeout_ms), .initial = 10000, .minimum = 100, .maximum = 600000},
    {OTLP("delay_ms", number, delay_ms), .initial = 1000, .maximum = 60000},
    {ROW("flush_ms", number, arcp__config, tracing_flush_ms), .initial = 3000, .maximum = 60000},
    {OTLP("queue_bytes", number, queue_bytes), .initial = 4194304, .minimum = 65536,
     .maximum = 1073741824},
};
static const arcp__config_row tracing_rows[] = {{GROUP("otlp", ROWS(otlp_rows))}};

/* ---- the file ---- */

const char *const arcp__config_log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const formats[] = {"text", "json", NULL};

static const arcp__config_row http_rows[] = {{ROW("listen", text, arcp__config, http_listen)}};

/* In the order of arcp__dashboard_use. */
static const char *const dashboard_uses[] = {"auto", "true", "false", NULL};

static const arcp__config_row dashboard_rows[] = {
    {ROW("enabled", word, arcp__config, dashboard_use), .words = dashboard_uses},
    {ROW("path", text, arcp__config, dashboard_path), .otherwise = ARCP__DASHBOARD_PATH}};

static const arcp__config_row tls_rows[] = {
    {ROW("certificate", text, arcp__config, tls_certificate)},
    {ROW("key", text, arcp__config, tls_key)}};

static const arcp__config_row log_rows[] = {
    {ROW("level", word, arcp__config, log_level), .initial = 1, .words = arcp__config_log_levels},
    {ROW("format", word, arcp__config, log_format), .words = formats}};

static const arcp__config_row top_rows[] = {
    {TEXTS("listen", arcp__config, listen.items, listen.count), .flags = RESTART},
    {ROW("store", text, arcp__config, store), .flags = RESTART},
    {ROW("token_file", text, arcp__config, token_file)},
    {LIST("tokens", arcp__config, tokens, token_count, &token_item)},
    {ROW("no_auth", flag, arcp__config, no_auth)},
    {LIST("jwt", arcp__config, jwt, jwt_count, &jwt_item)},
    {LIST("agents", arcp__config, setup.agents, setup.agent_count, &arcp__setup_agent_item)},
    {SETTINGS("limits")},
    {SETTINGS("session")},
    {SETTINGS("jobs")},
    {SETTINGS("lease")},
    {SETTINGS("budget")},
    {GROUP("enforce", .rows = arcp__setup_enforce_rows, .count = ARCP__SETUP_ENFORCE_ROWS,
           .others = &arcp__config_settings, .group = "enforce")},
    {SETTINGS("model_use")},
    {SETTINGS("authorization")},
    {GROUPED("credentials", arcp__config_credentials_fields)},
    {GROUP("audit", ROWS(audit_rows), .others = &arcp__config_settings, .group = "audit")},
    {GROUPED("gateways", arcp__setup_gateways)},
    {GROUPED("models", arcp__setup_models)},
    {GROUPED("tools", arcp__setup_tools)},
    {GROUP("workers", ROWS(worker_rows), .others = &arcp__config_settings, .group = "workers")},
    {GROUP("shutdown", ROWS(shutdown_rows), .others = &arcp__config_settings, .group = "shutdown")},
    {GROUP("tracing", ROWS(tracing_rows)), .flags = RESTART},
    {LIST("policy", arcp__config, policies, policy_count, &policy_item)},
    {LIST("schedules", arcp__config, schedules, schedule_count, &arcp__config_schedule_item),
     .maximum = 10000, .item_name = "schedules"},
    {LIST("hooks", arcp__config, hooks, hook_count, &arcp__config_hook_item), .maximum = 100,
     .item_name = "hooks"},
    {LIST("peer_profiles", arcp__config, profiles, profile_count, &profile_item)},
    {TEXTS("origins", arcp__config, origins.items, origins.count), .flags = RESTART},
    {TEXTS("hosts", arcp__config, hosts.items, hosts.count), .flags = RESTART},
    {GROUP("http", ROWS(http_rows)), .flags = RESTART},
    {GROUP("dashboard", ROWS(dashboard_rows)), .flags = RESTART},
    {GROUP("tls", ROWS(tls_rows)), .flags = RESTART},
    {GROUP("log", ROWS(log_rows))},
};
/* A token would be both, and its holder too. */
static arcp_status check_tokens(arcp__yaml_reader *r, void *owner)
{
    const arcp__config *config = owner;
    for (size_t i = 0; i < config->worker_token_count; i++) {
        for (size_t j = 0; j < config->token_count; j++) {
            if (same_text(config->worker_tokens[i].token, config->tokens[j].token)) {
                return arcp__yaml_refuse(r,
                                         "workers.tokens[%zu] is also a token of sessions "
                                         "(tokens[%zu])",
                                         i, j);
            }
        }
    }
    return ARCP_OK;
}

const arcp__config_fields arcp__config_top = {ROWS(top_rows), .check = check_tokens};
