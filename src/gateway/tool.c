#include "gateway/tool.h"

#include "gateway/tool_parts.h"

arcp__tool_job *arcp__tool_job_of(arcp__gateway_job *job)
{
    if (job->states[ARCP__GATEWAY_MCP] == NULL) {
        job->states[ARCP__GATEWAY_MCP] = arcp__alloc(sizeof(arcp__tool_job));
    }
    return job->states[ARCP__GATEWAY_MCP];
}

/* ---- the configuration ---- */

static void ref_config(void *configuration)
{
    (void)arcp__tool_config_ref(configuration);
}

static void unref_config(void *configuration)
{
    arcp__tool_config_unref(configuration);
}

/* ---- the service ---- */

void arcp__tool_handle_closed(arcp__tool_service_state *service)
{
    service->open_handles--;
    if (service->open_handles == 0 && service->is_closing) {
        arcp__tool_config_unref(service->config);
        arcp__tool_counts_free(service->counts);
        arcp__free(service);
    }
}

static void on_news_closed(uv_handle_t *handle)
{
    arcp__tool_handle_closed(handle->data);
}

static void on_news(uv_timer_t *timer)
{
    arcp__tool_calls_go_on(timer->data);
}

void arcp__tool_news(arcp__tool_service_state *service)
{
    if (!service->is_closing) {
        (void)uv_timer_start(&service->news, on_news, 0, 0);
    }
}

void arcp__tool_sweep(arcp__tool_service_state *service)
{
    arcp__tool_server *server;
    arcp__tool_server *next;
    DL_FOREACH_SAFE (service->shared, server, next) {
        const arcp__tool_server_options *now =
            arcp__tool_config_find(service->config, arcp_span_cstr(server->options->name));
        if ((now == NULL || !arcp__tool_server_is_same(server->options, now)) &&
            (server->link == NULL || arcp__mcp_link_pending(server->link) == 0)) {
            arcp__tool_server_leave(server);
        }
    }
}

static arcp_status open_service(arcp__gateway *gateway, void *configuration, void **out,
                                arcp_error *err)
{
    arcp__tool_config *config = configuration;
    arcp__tool_service_state *service = arcp__alloc(sizeof *service);
    arcp__tool_counts *counts = arcp__tool_counts_new();
    if (service == NULL || counts == NULL) {
        arcp__free(service);
        arcp__tool_counts_free(counts);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp__process_table_options options = {.loop = arcp__gateway_loop(gateway),
                                                 .sandbox = config->sandbox,
                                                 .work_directory = config->work_directory};
    const arcp_status status = arcp__process_table_new(&options, &service->processes, err);
    if (status != ARCP_OK) {
        arcp__free(service);
        arcp__tool_counts_free(counts);
        return status;
    }
    service->counts = counts;
    service->gateway = gateway;
    service->config = arcp__tool_config_ref(config);
    (void)uv_timer_init(arcp__gateway_loop(gateway), &service->news);
    service->news.data = service;
    service->open_handles = 1;
    *out = service;
    return ARCP_OK;
}

/* Calls and servers that have begun keep the configuration that they began with. */
static void configure(void *user, void *configuration)
{
    arcp__tool_service_state *service = user;
    arcp__tool_config_unref(service->config);
    service->config = arcp__tool_config_ref(configuration);
    arcp__tool_sweep(service);
}

static void close_service(void *user)
{
    arcp__tool_service_state *service = user;
    service->is_closing = true;
    while (service->shared != NULL) {
        arcp__tool_server_kill(service->shared);
    }
    while (service->leaving != NULL) {
        arcp__tool_server_kill(service->leaving);
    }
    arcp__egress_free(service->egress);
    arcp__process_table_free(service->processes);
    uv_close((uv_handle_t *)&service->news, on_news_closed);
}

static void request(void *service, arcp__gateway_call *call)
{
    arcp__tool_call_begin(service, call);
}

/* Progress is left out when a client is slow, so nothing waits for this. */
static void drained(void *service, arcp__gateway_call *call)
{
}

static void dropped(void *service, arcp__gateway_call *call)
{
    arcp__tool_call_stop(call->state, ARCP_E_CANCELLED, "the client has left");
}

static void end_call(void *service, arcp__gateway_call *call, arcp_status why)
{
    arcp__tool_call_stop(call->state, why,
                         why == ARCP_E_LEASE_EXPIRED ? "the lease has expired"
                         : why == ARCP_E_IO          ? "the runtime is away: try again"
                                                     : "the job has ended");
}

static void job_over(void *service, arcp__gateway_job *job)
{
    arcp__tool_job *state = job->states[ARCP__GATEWAY_MCP];
    if (state == NULL) {
        return;
    }
    while (state->servers != NULL) {
        arcp__tool_server_leave(state->servers);
    }
    arcp__mcp_seen_fini(&state->seen);
    arcp__free(state);
    job->states[ARCP__GATEWAY_MCP] = NULL;
}

static void write_metrics(void *user, arcp_buf *out)
{
    const arcp__tool_service_state *service = user;
    arcp__tool_counts_write(service->counts, out);
}

const arcp__gateway_service arcp__tool_service = {
    .ref = ref_config,
    .unref = unref_config,
    .open = open_service,
    .configure = configure,
    .close = close_service,
    .request = request,
    .drained = drained,
    .dropped = dropped,
    .end = end_call,
    .job_over = job_over,
    .write_metrics = write_metrics,
};
