#include "arcpd/config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "arcpd/arcpd.h"
#include "core/agent_name.h"
#include "stream/stream.h"
#include "transport/url.h"
#include "web/names.h"

/* Whom the files are passed to. */
typedef struct file_visit {
    arcp__config_file_fn each;
    void *user;
} file_visit;

static arcp_status visit_file(const file_visit *visit, const char *key, const char *path,
                              arcp__trusted_kind kind, arcp_error *err)
{
    return path == NULL ? ARCP_OK : visit->each(visit->user, key, path, kind, err);
}

/* Visits the files of {file:PATH} in a template (http/http_template.h): their values are secrets.
 */
static arcp_status visit_template(const file_visit *visit, const char *key, const char *text,
                                  arcp_error *err)
{
    static const char begin[] = "{file:";
    arcp_status status = ARCP_OK;
    const char *at = text == NULL ? NULL : strstr(text, begin);
    for (; at != NULL && status == ARCP_OK; at = strstr(at, begin)) {
        char path[PATH_MAX];
        at += strlen(begin);
        const size_t size = strcspn(at, "}");
        if (size < sizeof path) { /* a longer one is refused when the template is read */
            memcpy(path, at, size);
            path[size] = '\0';
            status = visit_file(visit, key, path, ARCP__TRUSTED_SECRET, err);
        }
    }
    return status;
}

static arcp_status visit_templates(const arcp__config *config, const file_visit *visit,
                                   arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < ARCP__HTTP_REQUEST_COUNT && status == ARCP_OK; i++) {
        const arcp__http_request *request = &config->credentials.http.requests[i];
        char key[64];
        (void)snprintf(key, sizeof key, "credentials.http.%s",
                       arcp__config_request_key((arcp__http_request_kind)i));
        status = visit_template(visit, key, request->url, err);
        for (size_t j = 0; j < request->header_count && status == ARCP_OK; j++) {
            status = visit_template(visit, key, request->headers[j], err);
        }
        if (status == ARCP_OK) {
            status = visit_template(visit, key, request->body, err);
        }
    }
    for (size_t i = 0; i < config->setup.models.provider_count && status == ARCP_OK; i++) {
        status =
            visit_template(visit, "models.providers", config->setup.models.providers[i].key, err);
    }
    for (size_t i = 0; i < config->setup.tools.server_count && status == ARCP_OK; i++) {
        const arcp__setup_tool_server *server = &config->setup.tools.servers[i];
        status = visit_template(visit, "tools.servers", server->client_secret, err);
        for (size_t j = 0; j < server->headers.count && status == ARCP_OK; j++) {
            status = visit_template(visit, "tools.servers", server->headers.items[j], err);
        }
    }
    for (size_t i = 0; i < config->hook_count && status == ARCP_OK; i++) {
        status = visit_template(visit, "hooks", config->hooks[i].url, err);
        if (status == ARCP_OK) {
            status = visit_template(visit, "hooks", config->hooks[i].secret, err);
        }
    }
    for (size_t i = 0; i < config->tracing.header_count && status == ARCP_OK; i++) {
        status = visit_template(visit, "tracing.otlp.headers", config->tracing.headers[i], err);
    }
    return status;
}

arcp_status arcp__config_each_file(const arcp__config *config, arcp__config_file_fn each,
                                   void *user, arcp_error *err)
{
    const file_visit visit = {each, user};
    const struct {
        const char *key, *path;
        arcp__trusted_kind kind;
    } rows[] = {
        {"token_file", config->token_file, ARCP__TRUSTED_SECRET},
        {"tls.key", config->tls_key, ARCP__TRUSTED_SECRET},
        {"tls.certificate", config->tls_certificate, ARCP__TRUSTED_FILE},
        {"credentials.key_file", config->credentials.key_file, ARCP__TRUSTED_SECRET},
        {"credentials.values_file", config->credentials.values_file, ARCP__TRUSTED_SECRET},
        {"credentials.http.ca_file", config->credentials.http.ca_file, ARCP__TRUSTED_FILE},
        {"tracing.otlp.ca_file", config->tracing.ca_file, ARCP__TRUSTED_FILE},
        {"models.prices", config->setup.models.prices, ARCP__TRUSTED_FILE},
    };
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < sizeof rows / sizeof rows[0]; i++) {
        status = visit_file(&visit, rows[i].key, rows[i].path, rows[i].kind, err);
    }
    for (size_t i = 0; status == ARCP_OK && i < config->hook_count; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "hooks[%zu].ca_file", i);
        status = visit_file(&visit, key, config->hooks[i].ca_file, ARCP__TRUSTED_FILE, err);
    }
    for (size_t i = 0; status == ARCP_OK && i < config->jwt_count; i++) {
        /* Whether the file is a secret depends on the algorithm: its verifier checks the mode. */
        char key[64];
        (void)snprintf(key, sizeof key, "jwt[%zu].key_file", i);
        status = visit_file(&visit, key, config->jwt[i].key_file, ARCP__TRUSTED_FILE, err);
    }
    return status == ARCP_OK ? visit_templates(config, &visit, err) : status;
}

static arcp_status check_file(void *user, const char *key, const char *path,
                              arcp__trusted_kind kind, arcp_error *err)
{
    const arcp__config *config = user;
    return arcp__trusted_path_check(arcp__config_name_of(&config->places, "%s", key).text, path,
                                    kind, err);
}

static arcp_status check_listen(const arcp__config *config, size_t index, arcp_error *err)
{
    const arcp__config_name name = arcp__config_name_of(&config->places, "listen[%zu]", index);
    const char *text = config->listen.items[index];
    arcp__url url;
    arcp_error why = {0};
    if (strncasecmp(text, "ws://", 5) != 0 && strncasecmp(text, "wss://", 6) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: \"%.200s\": must be ws://HOST:PORT/PATH or "
                              "wss://HOST:PORT/PATH",
                              name.text, text);
    }
    arcp_status status = arcp__url_parse(arcp_span_cstr(text), &url, &why);
    if (status != ARCP_OK) {
        return arcp_error_set(err, status, "%s: %s", name.text, why.message);
    }
    if (url.scheme != ARCP__URL_WSS) {
        return ARCP_OK;
    }
    if (config->tls_certificate == NULL || config->tls_key == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: %s needs tls.certificate and tls.key in the configuration",
                              name.text, text);
    }
    arcp__tls_context *context = NULL;
    status = arcp__tls_context_new_server(config->tls_certificate, config->tls_key, &context, err);
    if (status == ARCP_OK) {
        arcp__tls_context_free(context);
    }
    return status;
}

static arcp_status check_names(const arcp__config *config, const char *key,
                               const arcp__text_list *list, arcp_error *err)
{
    const bool are_hosts = list == &config->hosts;
    for (size_t i = 0; i < list->count; i++) {
        const char *const *one = (const char *const *)&list->items[i];
        arcp__web_names names;
        arcp_error why = {0};
        const arcp_status status =
            arcp__web_names_init(&names, are_hosts ? one : NULL, are_hosts ? 1 : 0,
                                 are_hosts ? NULL : one, are_hosts ? 0 : 1, &why);
        if (status != ARCP_OK) {
            const arcp__config_name name = arcp__config_name_of(&config->places, "%s[%zu]", key, i);
            return arcp_error_set(err, status, "%s: %s", name.text, why.message);
        }
        arcp__web_names_fini(&names);
    }
    return ARCP_OK;
}

static arcp_status check_agent(const arcp__config *config, size_t index, arcp_error *err)
{
    const arcp__setup_agent *agent = &config->setup.agents[index];
    const arcp__config_name name = arcp__config_name_of(&config->places, "agents[%zu].name", index);
    arcp_span ignored;
    arcp_error why = {0};
    arcp_buf text = arcp_buf_init();
    if (strchr(agent->name, '@') != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: \"%.200s\": must not contain a version, which is given by "
                              "version:",
                              name.text, agent->name);
    }
    arcp_buf_append_format(&text, "%s%s%s", agent->name, agent->version == NULL ? "" : "@",
                           agent->version == NULL ? "" : agent->version);
    const arcp_status status =
        text.failed ? arcp_error_set(&why, ARCP_E_NO_MEMORY, "out of memory")
                    : arcp__agent_name_parse(arcp_buf_span(&text), &ignored, &ignored, &why);
    arcp_buf_fini(&text);
    return status == ARCP_OK ? ARCP_OK
                             : arcp_error_set(err, status, "%s: %s", name.text, why.message);
}

arcp_status arcp__config_check(const arcp__config *config, arcp_error *err)
{
    static const char sqlite[] = "sqlite:";
    const char *store = config->store;
    arcp__config *unchanged = NULL;
    memcpy(&unchanged, &config, sizeof config); /* check_file does not change it */
    arcp_status status = arcp__config_each_file(config, check_file, unchanged, err);
    for (size_t i = 0; status == ARCP_OK && i < config->listen.count; i++) {
        status = check_listen(config, i, err);
    }
    if (status == ARCP_OK) {
        status = arcp__listen_is_safe(config, &config->listen, err);
    }
    if (status == ARCP_OK && store != NULL && strcmp(store, "memory:") != 0 &&
        !arcp__postgres_is_named(store) &&
        (strncmp(store, sqlite, strlen(sqlite)) != 0 || store[strlen(sqlite)] == '\0')) {
        const char *host = strstr(store, "://"); /* what follows may have a password */
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: \"%.*s\": must be sqlite:PATH, postgres://... or memory:",
                              arcp__config_name_of(&config->places, "store").text,
                              host == NULL ? 200 : (int)(host + 3 - store), store);
    }
    if (status == ARCP_OK) {
        status = check_names(config, "hosts", &config->hosts, err);
    }
    if (status == ARCP_OK) {
        status = check_names(config, "origins", &config->origins, err);
    }
    if (status == ARCP_OK && config->http_listen != NULL) {
        arcp__authority ignored;
        arcp_error why = {0};
        if (arcp__status_listen_parse(config->http_listen, &ignored, &why) != ARCP_OK) {
            status = arcp_error_set(err, ARCP_E_USAGE, "%s: %s",
                                    arcp__config_name_of(&config->places, "http.listen").text,
                                    why.message);
        }
    }
    if (status == ARCP_OK) {
        status = arcp__dashboards_check(config, err);
    }
    for (size_t i = 0; status == ARCP_OK && i < config->setup.agent_count; i++) {
        status = check_agent(config, i, err);
    }
    return status == ARCP_OK ? arcp__config_check_credentials(config, err) : status;
}
