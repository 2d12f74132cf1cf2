/* The gateways as the configuration says: opened at the start, or at the first reload that
 * configures one, and changed by later ones. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arcpd/arcpd.h"
#include "gateway/gateway_job.h"
#include "gateway/model_service.h"
#include "gateway/tool.h"
#include "runtime/runtime_gateway.h"

#define LISTEN_DEFAULT "127.0.0.1:0"

/* The configurations of both services. */
typedef struct services {
    arcp__model_config *models;
    arcp__tool_config *tools;
} services;

static arcp_status open_gateway(arcp_runtime *runtime, const arcp__config *config,
                                const services *made, arcp_error *err)
{
    const arcp__web_client_ops *client = NULL;
    arcp__authority listen;
    const char *address =
        config->setup.gateways.listen == NULL ? LISTEN_DEFAULT : config->setup.gateways.listen;
    arcp_status status = arcp__setup_client(&config->setup, &client, err);
    if (status != ARCP_OK) {
        return status;
    }
    /* On a loopback address no certificate is needed, and clients would have to trust it. */
    const bool has_tls = arcp__authority_parse(arcp_span_cstr(address), true, &listen) &&
                         !arcp__authority_is_loopback(&listen);
    arcp__gateway_options options = {
        .listen = address,
        .certificate_file = has_tls ? config->tls_certificate : NULL,
        .key_file = has_tls ? config->tls_key : NULL,
        .url = config->setup.gateways.url,
        .limits = arcp__setup_limits(&config->setup),
        .client = client,
        .client_options = {.keeps_connections = true},
    };
    if (config->setup.models.provider_count != 0) {
        options.providers[ARCP__GATEWAY_LLM] =
            (arcp__gateway_provider){&arcp__model_service, made->models};
    }
    if (config->setup.tools.server_count != 0) {
        options.providers[ARCP__GATEWAY_MCP] =
            (arcp__gateway_provider){&arcp__tool_service, made->tools};
    }
    return arcp__runtime_open_gateway(runtime, &options, err);
}

static arcp_status make_tools(arcp_runtime *runtime, const arcp__config *config,
                              arcp__tool_config **out, arcp_error *err)
{
    char base[PATH_MAX];
    arcp__tool_host host;
    const bool is_confined = arcp__runtime_tool_host(runtime, &host);
    const char *run = arcp__runtime_directory(runtime);
    const char *end = run == NULL ? NULL : strrchr(run, '/');
    (void)snprintf(base, sizeof base, "%.*s", end == NULL ? 0 : (int)(end - run), run);
    return arcp__setup_make_tools(&config->setup, is_confined ? &host : NULL,
                                  end == NULL ? NULL : base, out, err);
}

/* The services of a gateway are chosen when it is opened. */
static arcp_status check_kinds(arcp__gateway *gateway, const arcp__config *config, arcp_error *err)
{
    const struct {
        const char *key;
        size_t count;
    } kinds[ARCP__GATEWAY_KINDS] = {
        [ARCP__GATEWAY_LLM] = {"models.providers", config->setup.models.provider_count},
        [ARCP__GATEWAY_MCP] = {"tools.servers", config->setup.tools.server_count}};
    for (unsigned i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (kinds[i].count != 0 && !arcp__gateway_has(gateway, (arcp__gateway_kind)i)) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "%s: there were none when the gateways were opened: arcpd must "
                                  "be restarted",
                                  kinds[i].key);
        }
    }
    return arcp__setup_has_urls(&config->setup) && arcp__gateway_client(gateway) == NULL
               ? arcp_error_set(err, ARCP_E_USAGE,
                                "tools.servers: none had a url when the gateways were opened: "
                                "arcpd must be restarted")
               : ARCP_OK;
}

arcp_status arcp__gateways_apply(arcp_runtime *runtime, const arcp__config *config, arcp_error *err)
{
    services made = {.models = NULL, .tools = NULL};
    arcp__gateway *gateway = arcp__runtime_gateway(runtime);
    const bool is_wanted =
        config->setup.models.provider_count != 0 || config->setup.tools.server_count != 0;
    arcp_status status = arcp__setup_make_models(&config->setup, &made.models, err);
    if (status == ARCP_OK) {
        status = make_tools(runtime, config, &made.tools, err);
    }
    if (status == ARCP_OK && gateway == NULL && is_wanted) {
        status = open_gateway(runtime, config, &made, err);
    } else if (status == ARCP_OK && gateway != NULL) {
        status = check_kinds(gateway, config, err);
        if (status == ARCP_OK) {
            const arcp__gateway_limits limits = arcp__setup_limits(&config->setup);
            void *const configurations[ARCP__GATEWAY_KINDS] = {
                [ARCP__GATEWAY_LLM] = made.models, [ARCP__GATEWAY_MCP] = made.tools};
            arcp__gateway_reload(gateway, &limits, configurations);
        }
    }
    arcp__model_config_unref(made.models);
    arcp__tool_config_unref(made.tools);
    return status;
}
