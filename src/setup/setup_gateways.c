/* The keys `gateways`, and what gateways need of them. */
#include "config/config_rows.h"
#include "setup/setup.h"

/* Bounds, so that no sum of sizes or times overflows. */
#define BYTES_MAX (UINT64_C(1) << 40)
#define MS_MAX    UINT64_C(86400000)

#define KEY(name, kind) ROW(#name, kind, arcp__setup, gateways.name)

static const arcp__config_row rows[] = {
    {KEY(listen, text), .otherwise = "127.0.0.1:0", .flags = RESTART},
    {KEY(url, text), .flags = RESTART},
    {KEY(request_bytes, number), .initial = 33554432, .minimum = 1024, .maximum = BYTES_MAX},
    {KEY(buffer_bytes, number), .initial = 268435456, .minimum = 1024, .maximum = BYTES_MAX},
    {KEY(response_bytes, number), .initial = 268435456, .minimum = 1024, .maximum = BYTES_MAX},
    {KEY(calls_per_job, number), .initial = 32, .minimum = 1, .maximum = 65536},
    {KEY(first_byte_ms, number), .initial = 600000, .minimum = 1, .maximum = MS_MAX},
    {KEY(idle_timeout_ms, number), .initial = 300000, .minimum = 1, .maximum = MS_MAX},
    {KEY(hold_wait_ms, number), .initial = 60000, .maximum = MS_MAX},
};

static arcp_status check(arcp__yaml_reader *r, void *owner)
{
    const arcp__setup *setup = owner;
    return setup->gateways.request_bytes <= setup->gateways.buffer_bytes
               ? ARCP_OK
               : arcp__yaml_refuse(r, "request_bytes must not be larger than buffer_bytes");
}

const arcp__config_fields arcp__setup_gateways = {ROWS(rows), .check = check};

arcp__gateway_limits arcp__setup_limits(const arcp__setup *setup)
{
    const arcp__setup_gateways_values *from = &setup->gateways;
    return (arcp__gateway_limits){.request_bytes = from->request_bytes,
                                  .buffer_bytes = from->buffer_bytes,
                                  .response_bytes = from->response_bytes,
                                  .calls_per_job = (uint32_t)from->calls_per_job,
                                  .first_byte_ms = (uint32_t)from->first_byte_ms,
                                  .idle_timeout_ms = (uint32_t)from->idle_timeout_ms,
                                  .hold_wait_ms = (uint32_t)from->hold_wait_ms};
}

bool arcp__setup_has_urls(const arcp__setup *setup)
{
    for (size_t i = 0; i < setup->tools.server_count; i++) {
        if (setup->tools.servers[i].url != NULL) {
            return true;
        }
    }
    return false;
}

arcp_status arcp__setup_client(const arcp__setup *setup, const arcp__web_client_ops **out,
                               arcp_error *err)
{
    const bool has_models = setup->models.provider_count != 0;
    void *module = NULL; /* stays loaded: the gateway uses it as long as this program runs */
    *out = NULL;
    return has_models || arcp__setup_has_urls(setup)
               ? arcp__module_open(ARCP__WEB_CLIENT_MODULE, ARCP__WEB_CLIENT_SYMBOL,
                                   has_models ? "models" : "tools.servers", &module, out, err)
               : ARCP_OK;
}
