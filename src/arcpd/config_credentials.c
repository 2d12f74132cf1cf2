/* The keys `credentials` of arcpd.yaml. */
#include "arcpd/config.h"
#include "config/config_rows.h"
#include "core/name_glob.h"

static const char *const kinds[] = {"none", "static", "http", "gateway", NULL};
static const char *const enforceable[] = {"budget", "models", "expiry", NULL};

static bool has_provisioner(const void *owner)
{
    const arcp__config *config = owner;
    return config->credentials.kind != ARCP__PROVISIONER_NONE;
}

/* One whose limits the runtime does not know by itself. */
static bool has_upstream(const void *owner)
{
    const arcp__config *config = owner;
    return has_provisioner(owner) && config->credentials.kind != ARCP__PROVISIONER_GATEWAY;
}

static bool is_static(const void *owner)
{
    const arcp__config *config = owner;
    return config->credentials.kind == ARCP__PROVISIONER_STATIC;
}

static bool is_http(const void *owner)
{
    const arcp__config *config = owner;
    return config->credentials.kind == ARCP__PROVISIONER_HTTP;
}

static const arcp__config_row error_rows[] = {
    {ROW("code", error_code, arcp__upstream_rule, code)},
    {ROW("status", http_status, arcp__upstream_rule, http_status), .flags = SPARSE},
    {ROW("contains", text, arcp__upstream_rule, contains), .flags = SPARSE},
};

static arcp_status check_error(arcp__yaml_reader *r, void *owner)
{
    const arcp__upstream_rule *rule = owner;
    if (rule->code == ARCP_OK) {
        return arcp__yaml_refuse(r, "needs a code");
    }
    return rule->http_status == 0 && rule->contains == NULL
               ? arcp__yaml_refuse(r, "needs a status, or contains")
               : ARCP_OK;
}

static const arcp__config_row error_item = {
    ITEM(arcp__upstream_rule, ROWS(error_rows), .is_flow = true, .check = check_error)};

static arcp_status accept_pointer(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    char *const *pointer = arcp__config_value(row, owner);
    return *pointer != NULL && (*pointer)[0] != '/'
               ? arcp__yaml_refuse(r, "must be a JSON pointer such as /key")
               : ARCP_OK;
}

#define POINTER(name, kind)                                                                        \
    ROW(name, text, arcp__http_request, pointers[kind]), .flags = SPARSE, .accept = accept_pointer
static const arcp__config_row response_rows[] = {
    {POINTER("value", ARCP__HTTP_VALUE)},       {POINTER("id", ARCP__HTTP_ID)},
    {POINTER("endpoint", ARCP__HTTP_ENDPOINT)}, {POINTER("scheme", ARCP__HTTP_SCHEME)},
    {POINTER("profile", ARCP__HTTP_PROFILE)},   {POINTER("lifetime_sec", ARCP__HTTP_LIFETIME)},
    {POINTER("spent", ARCP__HTTP_SPENT)},
};

static arcp_status accept_url(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp_span url = arcp_span_cstr(((const arcp__http_request *)owner)->url);
    return arcp_span_starts_with(url, ARCP_SPAN_LITERAL("https://")) ||
                   arcp_span_starts_with(url, ARCP_SPAN_LITERAL("http://"))
               ? ARCP_OK
               : arcp__yaml_refuse(r, "must begin with https:// or http://");
}

/* Headers and bodies may contain secrets. */
static const arcp__config_row request_rows[] = {
    {ROW("method", text, arcp__http_request, method)},
    {ROW("url", text, arcp__http_request, url), .accept = accept_url},
    {PAIRS("headers", arcp__http_request, headers, header_count, secret), .separator = ": "},
    {ROW("body", json, arcp__http_request, body), .flags = SECRET},
    {GROUP("response", ROWS(response_rows), .is_flow = true)},
};
static const arcp__config_fields request_fields = {ROWS(request_rows)};

/* 0 means the default. */
static arcp_status accept_zero(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    uint64_t *number = arcp__config_value(row, owner);
    *number = *number == 0 ? row->initial : *number;
    return ARCP_OK;
}

static const arcp__config_row gone_item = {.type = &arcp__config_http_status, .size = sizeof(int)};

#define REQUEST(name, kind)                                                                        \
    ROW(name, group, arcp__config, credentials.http.requests[kind]), .fields = &request_fields,    \
                                                                     .flags = SPARSE
static const arcp__config_row upstream_rows[] = {
    {REQUEST("issue", ARCP__HTTP_ISSUE)},
    {REQUEST("revoke", ARCP__HTTP_REVOKE)},
    {REQUEST("rotate", ARCP__HTTP_ROTATE)},
    {REQUEST("usage", ARCP__HTTP_USAGE)},
    {ROW("timeout_ms", number, arcp__config, credentials.http.timeout_ms), .initial = 10000,
     .maximum = 3600000, .accept = accept_zero},
    {ROW("connections", number, arcp__config, credentials.http.connections), .initial = 8,
     .maximum = 1000, .accept = accept_zero},
    {ROW("ca_file", text, arcp__config, credentials.http.ca_file)},
    {LIST("gone", arcp__config, credentials.http.gone, credentials.http.gone_count, &gone_item),
     .maximum = ARCP__GONE_MAX, .item_name = "statuses", .otherwise = "[404, 410]"},
};

const char *arcp__config_request_key(arcp__http_request_kind kind)
{
    return upstream_rows[kind].key;
}

#define TERMS(member)                  credentials.upstream.terms.member
#define CREDENTIAL(name, kind, member) ROW(name, kind, arcp__config, credentials.member)
static const arcp__config_row rows[] = {
    {CREDENTIAL("provisioner", word, kind), .flags = RESTART, .words = kinds},
    {CREDENTIAL("key_file", text, key_file), .flags = RESTART, .applies = has_provisioner},
    {CREDENTIAL("endpoint", text, upstream.endpoint), .flags = RESTART, .applies = has_upstream},
    {CREDENTIAL("scheme", text, upstream.scheme), .flags = RESTART, .applies = has_provisioner},
    {CREDENTIAL("profile", text, upstream.profile), .flags = RESTART, .applies = has_provisioner},
    {CREDENTIAL("currency", text, upstream.terms.currency), .flags = RESTART,
     .applies = has_upstream},
    {TEXTS("agents", arcp__config, TERMS(agents), TERMS(agent_count)), .flags = RESTART,
     .applies = has_provisioner},
    {TEXTS("models", arcp__config, TERMS(models), TERMS(model_count)), .flags = RESTART,
     .applies = has_upstream},
    {CREDENTIAL("enforces", words, upstream.terms.enforces), .flags = RESTART, .words = enforceable,
     .applies = has_upstream},
    {LIST("errors", arcp__config, credentials.upstream.error_rules,
          credentials.upstream.error_rule_count, &error_item),
     .flags = RESTART, .applies = has_provisioner},
    {LIST("values", arcp__config, credentials.values.items, credentials.values.count,
          &arcp__config_secret_item),
     .flags = RESTART, .applies = is_static},
    {CREDENTIAL("values_file", text, values_file), .flags = RESTART, .applies = is_static},
    {GROUP("http", ROWS(upstream_rows)), .flags = RESTART, .applies = is_http},
};

static arcp_status check(arcp__yaml_reader *r, void *owner)
{
    const arcp__config_credentials *credentials = &((const arcp__config *)owner)->credentials;
    const arcp__http_request *requests = credentials->http.requests;
    const arcp__http_request *issue = &requests[ARCP__HTTP_ISSUE];
    const arcp__http_request *revoke = &requests[ARCP__HTTP_REVOKE];
    const arcp__http_request *usage = &requests[ARCP__HTTP_USAGE];
    const char *endpoint = credentials->upstream.endpoint;
    const char *profile = credentials->upstream.profile;
    const arcp_provisioner_terms *terms = &credentials->upstream.terms;
    const struct {
        bool is_missing;
        const char *what;
    } missing[] = {
        {is_static(owner) && credentials->values.count == 0 && credentials->values_file == NULL,
         "provisioner: static needs values or values_file"},
        {is_static(owner) && endpoint == NULL, "provisioner: static needs an endpoint"},
        {is_http(owner) && (issue->url == NULL || revoke->url == NULL),
         "provisioner: http needs http.issue.url and http.revoke.url"},
        {is_http(owner) && issue->pointers[ARCP__HTTP_VALUE] == NULL,
         "provisioner: http needs http.issue.response.value"},
        {is_http(owner) && endpoint == NULL && issue->pointers[ARCP__HTTP_ENDPOINT] == NULL,
         "provisioner: http needs an endpoint, or http.issue.response.endpoint"},
        {is_http(owner) && usage->url != NULL && usage->pointers[ARCP__HTTP_SPENT] == NULL,
         "http.usage needs response.spent"},
        {(terms->enforces & ARCP_ENFORCES_BUDGET) != 0 && terms->currency == NULL,
         "enforces: budget needs a currency"},
        {(terms->enforces & ARCP_ENFORCES_MODELS) != 0 && terms->model_count == 0,
         "enforces: models needs models"},
        {credentials->kind == ARCP__PROVISIONER_GATEWAY && profile != NULL &&
             strcmp(profile, "openai") != 0 && strcmp(profile, "anthropic") != 0,
         "provisioner: gateway needs the profile openai or anthropic"},
    };
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        if (missing[i].is_missing) {
            return arcp__yaml_refuse(r, "%s", missing[i].what);
        }
    }
    return ARCP_OK;
}

const arcp__config_fields arcp__config_credentials_fields = {
    ROWS(rows), .others = &arcp__config_settings, .group = "credentials", .check = check};

/* ---- with the rest of the configuration ---- */

static bool gets_keys(const arcp__config *config, const char *agent)
{
    const arcp_provisioner_terms *terms = &config->credentials.upstream.terms;
    bool is_named = terms->agent_count == 0;
    for (size_t i = 0; i < terms->agent_count && !is_named; i++) {
        is_named = arcp__name_glob_matches(terms->agents[i], arcp_span_cstr(agent));
    }
    return is_named;
}

arcp_status arcp__config_check_credentials(const arcp__config *config, arcp_error *err)
{
    if (config->credentials.kind != ARCP__PROVISIONER_GATEWAY) {
        return ARCP_OK;
    }
    const arcp__config_name name = arcp__config_name_of(&config->places, "credentials");
    if (config->setup.models.provider_count == 0 && config->setup.tools.server_count == 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: provisioner: gateway needs models.providers or tools.servers",
                              name.text);
    }
    /* The key of a job without gateways would never work. */
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        const arcp__setup_agent *agent = &config->setup.agents[i];
        if (agent->has_no_gateways && gets_keys(config, agent->name)) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "%s: provisioner: gateway has no key for \"%.200s\", which has "
                                  "gateways: false: agents must name the others",
                                  name.text, agent->name);
        }
    }
    return ARCP_OK;
}
