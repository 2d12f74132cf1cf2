#include "arcpd/config_check.h"

#include <strings.h>

#include "arcpd/status_server.h"
#include "arcpd/tokens.h"
#include "arcpd/trusted_path.h"
#include "core/agent_name.h"
#include "transport/tls_context.h"
#include "transport/url.h"
#include "transport/web_names.h"

static arcp_status check_tls(const arcp__config *config, const char *url, arcp_error *err)
{
    arcp__tls_context *context = NULL;
    if (config->tls_certificate == NULL || config->tls_key == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "listen: %s needs tls.certificate and tls.key in the configuration",
                              url);
    }
    arcp_status status =
        arcp__tls_context_new_server(config->tls_certificate, config->tls_key, &context, err);
    if (status == ARCP_OK) {
        arcp__tls_context_free(context);
    }
    return status;
}

static arcp_status check_listen(const arcp__config *config, const char *text, arcp_error *err)
{
    arcp__url url;
    arcp_error why = {0};
    if (strncasecmp(text, "ws://", 5) != 0 && strncasecmp(text, "wss://", 6) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "listen: \"%.200s\": want ws://HOST:PORT/PATH or "
                              "wss://HOST:PORT/PATH",
                              text);
    }
    arcp_status status = arcp__url_parse(arcp_span_cstr(text), &url, &why);
    if (status != ARCP_OK) {
        return arcp_error_set(err, status, "listen: %s", why.message);
    }
    return url.scheme == ARCP__URL_WSS ? check_tls(config, text, err) : ARCP_OK;
}

static arcp_status check_listeners(const arcp__config *config, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < config->listen.count; at++) {
        status = check_listen(config, config->listen.items[at], err);
    }
    return status == ARCP_OK ? arcp__listen_is_safe(config, &config->listen, err) : status;
}

static arcp_status check_store(const arcp__config *config, arcp_error *err)
{
    const arcp_span sqlite = ARCP_SPAN_LITERAL("sqlite:");
    arcp_span store = arcp_span_cstr(config->store);
    if (config->store == NULL || arcp_span_equal_cstr(store, "memory:") ||
        (arcp_span_starts_with(store, sqlite) && store.size > sqlite.size)) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "store: \"%.200s\": want sqlite:PATH or memory:", config->store);
}

static arcp_status check_names(const arcp__config *config, arcp_error *err)
{
    arcp__web_names names;
    arcp_error why = {0};
    arcp_status status = arcp__web_names_init(
        &names, (const char *const *)config->hosts.items, config->hosts.count,
        (const char *const *)config->origins.items, config->origins.count, &why);
    if (status != ARCP_OK) {
        return arcp_error_set(err, status, "hosts, origins: %s", why.message);
    }
    arcp__web_names_fini(&names);
    return ARCP_OK;
}

static arcp_status check_files(const arcp__config *config, arcp_error *err)
{
    const struct {
        const char *key, *path;
        arcp__trusted_kind kind;
    } rows[] = {
        {"token_file", config->token_file, ARCP__TRUSTED_SECRET},
        {"tls.key", config->tls_key, ARCP__TRUSTED_SECRET},
        {"tls.certificate", config->tls_certificate, ARCP__TRUSTED_FILE},
        {"credentials.key_file", config->credentials.key_file, ARCP__TRUSTED_SECRET},
        {"credentials.values_file", config->credentials.values_file, ARCP__TRUSTED_SECRET},
    };
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < sizeof(rows) / sizeof(rows[0]); at++) {
        if (rows[at].path != NULL) {
            status = arcp__trusted_path_check(rows[at].key, rows[at].path, rows[at].kind, err);
        }
    }
    for (size_t at = 0; status == ARCP_OK && at < config->jwt_count; at++) {
        /* A secret's mode is looked at where the algorithm is known. */
        status = arcp__trusted_path_check("jwt.key_file", config->jwt[at].key_file,
                                          ARCP__TRUSTED_FILE, err);
    }
    return status;
}

static arcp_status check_status_listener(const arcp__config *config, arcp_error *err)
{
    arcp__authority ignored;
    return config->http_listen == NULL
               ? ARCP_OK
               : arcp__status_listen_parse(config->http_listen, &ignored, err);
}

static arcp_status check_agent(const arcp__config_agent *agent, arcp_error *err)
{
    arcp_span name;
    arcp_span version;
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, agent->name);
    if (agent->version != NULL) {
        arcp_buf_append_byte(&text, '@');
        arcp_buf_append_cstr(&text, agent->version);
    }
    arcp_status status = text.failed
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp__agent_name_parse(arcp_buf_span(&text), &name, &version, err);
    arcp_buf_fini(&text);
    if (status == ARCP_OK && strchr(agent->name, '@') != NULL) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "agent \"%s\": the version has a key of its own (version:)",
                                agent->name);
    }
    return status;
}

arcp_status arcp__config_check(const arcp__config *config, arcp_error *err)
{
    static arcp_status (*const checks[])(const arcp__config *config, arcp_error *err) = {
        check_files, check_listeners, check_store, check_names, check_status_listener};
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < sizeof(checks) / sizeof(checks[0]); at++) {
        status = checks[at](config, err);
    }
    for (size_t at = 0; status == ARCP_OK && at < config->agent_count; at++) {
        status = check_agent(&config->agents[at], err);
    }
    return status;
}
