#include "gateway/tool_config.h"

#include <string.h>

#include "base/alloc.h"
#include "mcp/mcp.h"

/* ---- copies ---- */

static const char *copy_text(arcp__tool_config *config, const char *text, bool *failed)
{
    if (text == NULL) {
        return NULL;
    }
    const arcp_span copy = arcp__arena_copy(&config->arena, arcp_span_cstr(text));
    *failed = *failed || copy.data == NULL;
    return copy.data;
}

static arcp_span copy_span(arcp__tool_config *config, arcp_span text, bool *failed)
{
    const arcp_span copy = arcp__arena_copy(&config->arena, text);
    *failed = *failed || copy.data == NULL;
    return copy;
}

static const char *const *copy_list(arcp__tool_config *config, const char *const *list,
                                    bool *failed)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    const char **copy =
        list == NULL ? NULL : arcp__arena_take(&config->arena, (count + 1) * sizeof *copy);
    *failed = *failed || (list != NULL && copy == NULL);
    if (copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = copy_text(config, list[i], failed);
    }
    copy[count] = NULL;
    return copy;
}

static void copy_rules(arcp__tool_config *config, arcp__tool_server_options *server, bool *failed)
{
    arcp__mcp_price *prices =
        arcp__arena_take(&config->arena, (server->price_count + 1) * sizeof *prices);
    arcp__mcp_target_rule *targets =
        arcp__arena_take(&config->arena, (server->target_count + 1) * sizeof *targets);
    if (prices == NULL || targets == NULL) {
        *failed = true;
        return;
    }
    for (size_t i = 0; i < server->price_count; i++) {
        prices[i] = server->prices[i];
        prices[i].tools = copy_text(config, prices[i].tools, failed);
        prices[i].currency = copy_span(config, prices[i].currency, failed);
    }
    for (size_t i = 0; i < server->target_count; i++) {
        targets[i] = server->targets[i];
        targets[i].tools = copy_text(config, targets[i].tools, failed);
        targets[i].capability = copy_span(config, targets[i].capability, failed);
        targets[i].pointer = copy_span(config, targets[i].pointer, failed);
    }
    server->prices = prices;
    server->targets = targets;
}

static const arcp_span *copy_spans(arcp__tool_config *config, const arcp_span *spans, size_t count,
                                   bool *failed)
{
    arcp_span *copy = arcp__arena_take(&config->arena, (count + 1) * sizeof *copy);
    *failed = *failed || copy == NULL;
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = copy_span(config, spans[i], failed);
    }
    return copy;
}

static bool is_own_file(const arcp__sandbox_request *request, arcp_span path)
{
    for (size_t i = 0; i < request->own_file_count; i++) {
        if (arcp_span_equal(request->own_files[i], path)) {
            return true;
        }
    }
    return false;
}

static void copy_own(arcp__tool_config *config, const arcp__sandbox_request *from, bool *failed)
{
    for (size_t i = 0; i < from->own_count && !*failed; i++) {
        const arcp_span path = copy_span(config, from->own[i], failed);
        if (!*failed) {
            arcp__own_paths_add(&config->own, path.data, !is_own_file(from, from->own[i]));
        }
    }
    *failed = *failed || config->own.failed;
}

static void copy_host(arcp__tool_config *config, const arcp__tool_host *from, bool *failed)
{
    arcp__tool_host *host = from == NULL ? NULL : arcp__arena_take(&config->arena, sizeof *host);
    *failed = *failed || (from != NULL && host == NULL);
    config->host = host;
    if (host == NULL) {
        return;
    }
    *host = *from;
    host->bases = copy_list(config, from->bases, failed);
    host->private_hosts = copy_spans(config, from->private_hosts, from->private_host_count, failed);
    copy_own(config, &from->request, failed);
    host->request.exempt =
        copy_spans(config, from->request.exempt, from->request.exempt_count, failed);
    host->request.model_hosts =
        copy_spans(config, from->request.model_hosts, from->request.model_host_count, failed);
    host->request.lease = NULL;
    host->request.bases = NULL;
    host->request.base_count = 0;
    host->request.cwd = arcp_span_make(NULL, 0);
}

/* False: out of memory. */
static bool copy_server(arcp__tool_config *config, const arcp__tool_server_options *from,
                        arcp__tool_server_options *to)
{
    bool failed = false;
    *to = *from;
    to->name = copy_text(config, from->name, &failed);
    to->identity = copy_text(config, from->identity, &failed);
    to->argv = copy_list(config, from->argv, &failed);
    to->env = copy_list(config, from->env, &failed);
    to->url = copy_text(config, from->url, &failed);
    to->headers = copy_list(config, from->headers, &failed);
    to->oauth.token_url = copy_text(config, from->oauth.token_url, &failed);
    to->oauth.client_id = copy_text(config, from->oauth.client_id, &failed);
    to->oauth.client_secret = copy_text(config, from->oauth.client_secret, &failed);
    to->oauth.scope = copy_text(config, from->oauth.scope, &failed);
    to->lease = from->lease == NULL ? NULL : arcp_lease_ref(from->lease);
    copy_rules(config, to, &failed);
    return !failed;
}

/* ---- checks ---- */

static arcp_status check_server(const arcp__tool_server_options *server, arcp_error *err)
{
    if (!arcp__mcp_name_is_valid(arcp_span_cstr(server->name))) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the name of a server of tools has 1 to 32 of a-z, 0-9 and -");
    }
    const bool has_command = server->argv != NULL && server->argv[0] != NULL;
    if (has_command == (server->url != NULL)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the server \"%s\" of tools needs a command or a URL", server->name);
    }
    for (size_t i = 0; i < server->target_count; i++) {
        if (!arcp__mcp_pointer_is_valid(server->targets[i].pointer)) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "\"%.*s\" of the server \"%s\" is not a JSON pointer",
                                  (int)arcp_span_first(server->targets[i].pointer, 80).size,
                                  server->targets[i].pointer.data, server->name);
        }
    }
    return ARCP_OK;
}

/* ---- the object ---- */

const arcp__tool_server_options *arcp__tool_config_find(const arcp__tool_config *config,
                                                        arcp_span name)
{
    for (size_t i = 0; i < config->server_count; i++) {
        if (arcp_span_equal_cstr(name, config->servers[i].name)) {
            return &config->servers[i];
        }
    }
    return NULL;
}

bool arcp__tool_server_is_same(const arcp__tool_server_options *a,
                               const arcp__tool_server_options *b)
{
    return a == b ||
           (a->identity != NULL && b->identity != NULL && strcmp(a->identity, b->identity) == 0);
}

static arcp_status fill(arcp__tool_config *config, const arcp__tool_options *options,
                        arcp_error *err)
{
    bool failed = false;
    config->refuses_changes = options->refuses_changes;
    config->expand = options->expand;
    config->work_directory = copy_text(config, options->work_directory, &failed);
    config->sandbox = copy_text(config, options->sandbox, &failed);
    copy_host(config, options->host, &failed);
    config->servers =
        arcp__arena_take(&config->arena, (options->server_count + 1) * sizeof *config->servers);
    failed = failed || config->servers == NULL;
    for (size_t i = 0; i < options->server_count && !failed; i++) {
        const arcp_status status = check_server(&options->servers[i], err);
        if (status != ARCP_OK) {
            return status;
        }
        if (arcp__tool_config_find(config, arcp_span_cstr(options->servers[i].name)) != NULL) {
            return arcp_error_set(err, ARCP_E_USAGE, "there are two servers \"%s\" of tools",
                                  options->servers[i].name);
        }
        failed = !copy_server(config, &options->servers[i], &config->servers[i]);
        config->server_count++;
    }
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__tool_config_new(const arcp__tool_options *options, arcp__tool_config **out,
                                  arcp_error *err)
{
    if (options->server_count > ARCP__TOOL_SERVERS_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "there are more than %d servers of tools",
                              ARCP__TOOL_SERVERS_MAX);
    }
    arcp__tool_config *config = arcp__alloc(sizeof *config);
    if (config == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    atomic_init(&config->references, 1);
    const arcp_status status = fill(config, options, err);
    if (status != ARCP_OK) {
        arcp__tool_config_unref(config);
        return status;
    }
    *out = config;
    return ARCP_OK;
}

arcp__tool_config *arcp__tool_config_ref(arcp__tool_config *config)
{
    atomic_fetch_add(&config->references, 1);
    return config;
}

void arcp__tool_config_unref(arcp__tool_config *config)
{
    if (config != NULL && atomic_fetch_sub(&config->references, 1) == 1) {
        for (size_t i = 0; i < config->server_count; i++) {
            arcp_lease_unref((arcp_lease *)config->servers[i].lease);
        }
        arcp__own_paths_fini(&config->own);
        arcp__arena_fini(&config->arena);
        arcp__free(config);
    }
}
