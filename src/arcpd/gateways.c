/* The gateways as the configuration says: opened at the start, or at the first reload that has
 * models, and changed by later ones. */
#include "arcpd/arcpd.h"
#include "gateway/model_service.h"
#include "runtime/runtime_gateway.h"

#define LISTEN_DEFAULT "127.0.0.1:0"

static arcp__gateway_limits limits_of(const arcp__config_gateways_values *from)
{
    return (arcp__gateway_limits){.request_bytes = from->request_bytes,
                                  .buffer_bytes = from->buffer_bytes,
                                  .response_bytes = from->response_bytes,
                                  .calls_per_job = (uint32_t)from->calls_per_job,
                                  .first_byte_ms = (uint32_t)from->first_byte_ms,
                                  .idle_timeout_ms = (uint32_t)from->idle_timeout_ms,
                                  .hold_wait_ms = (uint32_t)from->hold_wait_ms};
}

static arcp_status open_gateway(arcp_runtime *runtime, const arcp__config *config,
                                arcp__model_config *models, arcp_error *err)
{
    const arcp__web_client_ops *client = NULL;
    void *module = NULL; /* stays loaded: the gateway uses it until arcpd exits */
    arcp__authority listen;
    const char *address =
        config->gateways.listen == NULL ? LISTEN_DEFAULT : config->gateways.listen;
    arcp_status status = arcp__module_open(ARCP__WEB_CLIENT_MODULE, ARCP__WEB_CLIENT_SYMBOL,
                                           "models", &module, &client, err);
    if (status != ARCP_OK) {
        return status;
    }
    /* On a loopback address no certificate is needed, and clients would have to trust it. */
    const bool has_tls = arcp__authority_parse(arcp_span_cstr(address), true, &listen) &&
                         !arcp__authority_is_loopback(&listen);
    const arcp__gateway_options options = {
        .listen = address,
        .certificate_file = has_tls ? config->tls_certificate : NULL,
        .key_file = has_tls ? config->tls_key : NULL,
        .url = config->gateways.url,
        .limits = limits_of(&config->gateways),
        .client = client,
        .client_options = {.keeps_connections = true},
        .providers = {[ARCP__GATEWAY_LLM] = {&arcp__model_service, models}},
    };
    return arcp__runtime_open_gateway(runtime, &options, err);
}

arcp_status arcp__gateways_apply(arcp_runtime *runtime, const arcp__config *config, arcp_error *err)
{
    arcp__model_config *models = NULL;
    arcp__gateway *gateway = arcp__runtime_gateway(runtime);
    arcp_status status = arcp__models_configure(config, &models, err);
    if (status == ARCP_OK && gateway == NULL && config->models.provider_count != 0) {
        status = open_gateway(runtime, config, models, err);
    } else if (status == ARCP_OK && gateway != NULL) {
        const arcp__gateway_limits limits = limits_of(&config->gateways);
        void *const configurations[ARCP__GATEWAY_KINDS] = {[ARCP__GATEWAY_LLM] = models};
        arcp__gateway_reload(gateway, &limits, configurations);
    }
    arcp__model_config_unref(models);
    return status;
}
