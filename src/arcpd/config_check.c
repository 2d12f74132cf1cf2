#include "arcpd/config.h"

#include <strings.h>

#include "arcpd/arcpd.h"
#include "core/agent_name.h"
#include "stream/stream.h"
#include "transport/url.h"
#include "web/names.h"

/* A value that is wrong, with its place in the file. */
static arcp_status refuse(const arcp__config_name *name, arcp_status status, const char *what,
                          arcp_error *err)
{
    return arcp_error_set(err, status, "%s: %s", name->text, what);
}

static arcp_status check_tls(const arcp__config *config, const char *url,
                             const arcp__config_name *name, arcp_error *err)
{
    arcp__tls_context *context = NULL;
    if (config->tls_certificate == NULL || config->tls_key == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: %s needs tls.certificate and tls.key in the configuration",
                              name->text, url);
    }
    arcp_status status =
        arcp__tls_context_new_server(config->tls_certificate, config->tls_key, &context, err);
    if (status == ARCP_OK) {
        arcp__tls_context_free(context);
    }
    return status;
}

static arcp_status check_listen(const arcp__config *config, size_t index, arcp_error *err)
{
    const arcp__config_name name = arcp__config_name_of(&config->places, "listen[%zu]", index);
    const char *text = config->listen.items[index];
    arcp__url url;
    arcp_error why = {0};
    if (strncasecmp(text, "ws://", 5) != 0 && strncasecmp(text, "wss://", 6) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: \"%.200s\": want ws://HOST:PORT/PATH or "
                              "wss://HOST:PORT/PATH",
                              name.text, text);
    }
    arcp_status status = arcp__url_parse(arcp_span_cstr(text), &url, &why);
    if (status != ARCP_OK) {
        return refuse(&name, status, why.message, err);
    }
    return url.scheme == ARCP__URL_WSS ? check_tls(config, text, &name, err) : ARCP_OK;
}

static arcp_status check_listeners(const arcp__config *config, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < config->listen.count; at++) {
        status = check_listen(config, at, err);
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
    const arcp__config_name name = arcp__config_name_of(&config->places, "store");
    return arcp_error_set(err, ARCP_E_USAGE,
                          "%s: \"%.200s\": want sqlite:PATH or memory:", name.text, config->store);
}

static arcp_status check_names(const arcp__config *config, const char *key,
                               const arcp__text_list *list, bool are_hosts, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < list->count; at++) {
        const char *const *one = (const char *const *)&list->items[at];
        arcp__web_names names;
        arcp_error why = {0};
        status = arcp__web_names_init(&names, are_hosts ? one : NULL, are_hosts ? 1 : 0,
                                      are_hosts ? NULL : one, are_hosts ? 0 : 1, &why);
        if (status == ARCP_OK) {
            arcp__web_names_fini(&names);
        } else {
            const arcp__config_name name =
                arcp__config_name_of(&config->places, "%s[%zu]", key, at);
            status = refuse(&name, status, why.message, err);
        }
    }
    return status;
}

static arcp_status check_hosts(const arcp__config *config, arcp_error *err)
{
    return check_names(config, "hosts", &config->hosts, true, err);
}

static arcp_status check_origins(const arcp__config *config, arcp_error *err)
{
    return check_names(config, "origins", &config->origins, false, err);
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
            const arcp__config_name name =
                arcp__config_name_of(&config->places, "%s", rows[at].key);
            status = arcp__trusted_path_check(name.text, rows[at].path, rows[at].kind, err);
        }
    }
    for (size_t at = 0; status == ARCP_OK && at < config->jwt_count; at++) {
        /* A secret's mode is looked at where the algorithm is known. */
        const arcp__config_name name =
            arcp__config_name_of(&config->places, "jwt[%zu].key_file", at);
        status =
            arcp__trusted_path_check(name.text, config->jwt[at].key_file, ARCP__TRUSTED_FILE, err);
    }
    return status;
}

static arcp_status check_status_listener(const arcp__config *config, arcp_error *err)
{
    arcp__authority ignored;
    arcp_error why = {0};
    if (config->http_listen == NULL ||
        arcp__status_listen_parse(config->http_listen, &ignored, &why) == ARCP_OK) {
        return ARCP_OK;
    }
    const arcp__config_name name = arcp__config_name_of(&config->places, "http.listen");
    return refuse(&name, ARCP_E_USAGE, why.message, err);
}

static arcp_status check_agent(const arcp__config *config, size_t index, arcp_error *err)
{
    const arcp__config_agent *agent = &config->agents[index];
    const arcp__config_name name = arcp__config_name_of(&config->places, "agents[%zu].name", index);
    arcp_span ignored;
    arcp_error why = {0};
    arcp_buf text = ARCP_BUF_INIT;
    if (strchr(agent->name, '@') != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: \"%.200s\": the version has a key of its own (version:)",
                              name.text, agent->name);
    }
    arcp_buf_append_cstr(&text, agent->name);
    if (agent->version != NULL) {
        arcp_buf_append_byte(&text, '@');
        arcp_buf_append_cstr(&text, agent->version);
    }
    arcp_status status =
        text.failed ? arcp_error_set(&why, ARCP_E_NO_MEMORY, "out of memory")
                    : arcp__agent_name_parse(arcp_buf_span(&text), &ignored, &ignored, &why);
    arcp_buf_fini(&text);
    return status == ARCP_OK ? ARCP_OK : refuse(&name, status, why.message, err);
}

arcp_status arcp__config_check(const arcp__config *config, arcp_error *err)
{
    static arcp_status (*const checks[])(const arcp__config *config, arcp_error *err) = {
        check_files, check_listeners, check_store,
        check_hosts, check_origins,   check_status_listener};
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < sizeof(checks) / sizeof(checks[0]); at++) {
        status = checks[at](config, err);
    }
    for (size_t at = 0; status == ARCP_OK && at < config->agent_count; at++) {
        status = check_agent(config, at, err);
    }
    return status;
}
