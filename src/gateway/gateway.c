/* The gateway's thread: its start and end, its configuration, and the queue of jobs for it. */
#include "gateway/gateway_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"

/* ---- for services ---- */

uv_loop_t *arcp__gateway_loop(const arcp__gateway *gateway)
{
    return gateway->async.loop;
}

const arcp__gateway_limits *arcp__gateway_limits_of(const arcp__gateway *gateway)
{
    return &gateway->limits;
}

arcp__web_client *arcp__gateway_client(const arcp__gateway *gateway)
{
    return gateway->client;
}

const arcp__web_client_ops *arcp__gateway_client_ops(const arcp__gateway *gateway)
{
    return gateway->client_ops;
}

arcp_time arcp__gateway_now(const arcp__gateway *gateway)
{
    (void)gateway;
    return arcp__clock_now();
}

bool arcp__gateway_buffer_take(arcp__gateway *gateway, uint64_t bytes)
{
    if (bytes > gateway->limits.buffer_bytes ||
        gateway->buffered > gateway->limits.buffer_bytes - bytes) {
        return false;
    }
    gateway->buffered += bytes;
    return true;
}

void arcp__gateway_buffer_give(arcp__gateway *gateway, uint64_t bytes)
{
    assert(bytes <= gateway->buffered);
    gateway->buffered -= bytes;
}

void arcp__gateway_count_call(arcp__gateway *gateway, bool is_refused)
{
    (void)pthread_mutex_lock(&gateway->lock);
    gateway->counts.calls += !is_refused;
    gateway->counts.refused += is_refused;
    (void)pthread_mutex_unlock(&gateway->lock);
}

/* ---- the gateway's thread ---- */

/* Replaces a configuration by one that has a reference. */
static void configure(arcp__gateway *gateway, arcp__gateway_kind kind, void *configuration)
{
    const arcp__gateway_service *service = arcp__gateway_service_of(gateway, kind);
    service->configure(gateway->services[kind], configuration);
    service->unref(gateway->configurations[kind]);
    gateway->configurations[kind] = configuration;
}

static void take_changes(arcp__gateway *gateway)
{
    void *configurations[ARCP__GATEWAY_KINDS];
    (void)pthread_mutex_lock(&gateway->lock);
    memcpy(configurations, gateway->new_configurations, sizeof configurations);
    memset(gateway->new_configurations, 0, sizeof gateway->new_configurations);
    if (gateway->has_new_limits) {
        gateway->limits = gateway->new_limits;
        gateway->has_new_limits = false;
    }
    (void)pthread_mutex_unlock(&gateway->lock);
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (configurations[i] != NULL) {
            configure(gateway, (arcp__gateway_kind)i, configurations[i]);
        }
    }
}

/* Closes all that keeps the loop running. No job is left. */
static void close_all(arcp__gateway *gateway)
{
    arcp__gateway_site_close(&gateway->listener);
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (gateway->services[i] != NULL) {
            arcp__gateway_service_of(gateway, (arcp__gateway_kind)i)->close(gateway->services[i]);
        }
    }
    if (gateway->client != NULL) {
        gateway->client_ops->free(gateway->client);
    }
    uv_close((uv_handle_t *)&gateway->before_waiting, NULL);
    uv_close((uv_handle_t *)&gateway->async, NULL);
}

static void on_async(uv_async_t *async)
{
    arcp__gateway *gateway = async->data;
    take_changes(gateway);
    (void)pthread_mutex_lock(&gateway->lock);
    while (gateway->queued != NULL) {
        arcp__gateway_job_parts *parts = gateway->queued;
        LL_DELETE2(gateway->queued, parts, next_queued);
        parts->is_queued = false;
        (void)pthread_mutex_unlock(&gateway->lock);
        arcp__gateway_job_handle(parts);
        (void)pthread_mutex_lock(&gateway->lock);
    }
    const bool ends = gateway->is_over && gateway->job_count == 0;
    (void)pthread_mutex_unlock(&gateway->lock);
    if (ends && !uv_is_closing((uv_handle_t *)async)) {
        close_all(gateway);
    }
}

/* The runtime gets its notes when the client has its response: it would run on the core that the
 * client needs. */
static void on_before_waiting(uv_prepare_t *prepare)
{
    arcp__gateway *gateway = prepare->data;
    if (gateway->must_wake) {
        gateway->must_wake = false;
        (void)uv_async_send(gateway->wake);
    }
}

static void *run(void *user)
{
    arcp__gateway *gateway = user;
    (void)uv_run(&gateway->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- the start ---- */

/* Reads "https://HOST[:PORT]". */
static bool read_url(const char *url, char host[ARCP__HOST_MAX + 16])
{
    static const char *const schemes[] = {"http://", "https://"};
    arcp_span rest = arcp_span_cstr(url);
    arcp__authority authority;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (arcp_span_starts_with(rest, arcp_span_cstr(schemes[i]))) {
            rest = arcp_span_from(rest, strlen(schemes[i]));
            if (rest.size != 0 && arcp__authority_parse(rest, false, &authority)) {
                arcp__authority_format(&authority, host, ARCP__HOST_MAX + 16);
                return true;
            }
        }
    }
    return false;
}

static arcp_status check_address(const arcp__gateway_options *options, arcp__authority *listen,
                                 char host[ARCP__HOST_MAX + 16], arcp_error *err)
{
    if (!arcp__authority_parse(arcp_span_cstr(options->listen), true, listen) ||
        !listen->has_port) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%s\" is not HOST:PORT", options->listen);
    }
    if (!arcp__authority_is_loopback(listen) && options->certificate_file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%s\" is not a loopback address, and there is no certificate (tls)",
                              options->listen);
    }
    if (options->url == NULL) {
        /* The port is checked as for any name of the listener: not at all. */
        arcp__authority name = *listen;
        name.has_port = false;
        arcp__authority_format(&name, host, ARCP__HOST_MAX + 16);
        return ARCP_OK;
    }
    return strlen(options->url) < ARCP__GATEWAY_URL_MAX && read_url(options->url, host)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "\"%s\" is not a URL of a gateway (expected https://HOST[:PORT])",
                                options->url);
}

static arcp_status open_listener(arcp__gateway *gateway, const arcp__gateway_options *options,
                                 arcp_error *err)
{
    arcp__authority listen;
    char host[ARCP__HOST_MAX + 16];
    const char *const hosts[] = {host};
    const arcp__gateway_site site = {.gateway = gateway};
    arcp_status status = check_address(options, &listen, host, err);
    if (status == ARCP_OK) {
        status = arcp__web_names_init(&gateway->names, hosts, 1, NULL, 0, err);
    }
    if (status == ARCP_OK) {
        status = arcp__gateway_site_open(gateway, &site, &listen, options, &gateway->listener, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    const bool has_tls = options->certificate_file != NULL;
    const arcp__authority *bound = arcp__web_server_authority(gateway->listener->server);
    arcp__web_names_bind(&gateway->names, bound, arcp__authority_is_loopback(bound), has_tls);
    arcp__authority_format(bound, gateway->address, sizeof gateway->address);
    (void)snprintf(gateway->local_url, sizeof gateway->local_url, "http://%.280s",
                   gateway->address);
    gateway->has_url = options->url != NULL;
    gateway->has_tls = has_tls;
    if (options->url != NULL) {
        (void)snprintf(gateway->url, sizeof gateway->url, "%s", options->url);
    } else {
        arcp_buf url = arcp_buf_init();
        arcp_buf_append_format(&url, "%s%s", has_tls ? "https://" : "http://", gateway->address);
        const bool fits = !url.failed && url.size < sizeof gateway->url;
        memcpy(gateway->url, fits ? url.data : "", fits ? url.size : 0);
        arcp_buf_fini(&url);
    }
    return ARCP_OK;
}

static arcp_status open_services(arcp__gateway *gateway, const arcp__gateway_options *options,
                                 arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (options->client != NULL) {
        arcp__web_client_options client = options->client_options;
        client.loop = &gateway->loop;
        gateway->client_ops = options->client;
        status = options->client->create(&client, &gateway->client, err);
    }
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS && status == ARCP_OK; i++) {
        const arcp__gateway_provider *provider = &options->providers[i];
        if (provider->service == NULL) {
            continue;
        }
        status =
            provider->service->open(gateway, provider->configuration, &gateway->services[i], err);
        if (status == ARCP_OK) {
            provider->service->ref(provider->configuration);
            gateway->kinds[i] = provider->service;
            gateway->configurations[i] = provider->configuration;
        }
    }
    return status;
}

static void gateway_free(arcp__gateway *gateway)
{
    (void)uv_loop_close(&gateway->loop);
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (gateway->kinds[i] != NULL) {
            gateway->kinds[i]->unref(gateway->configurations[i]);
            if (gateway->new_configurations[i] != NULL) {
                gateway->kinds[i]->unref(gateway->new_configurations[i]);
            }
        }
    }
    arcp__gateway_keys_free(gateway);
    arcp__web_names_fini(&gateway->names);
    (void)pthread_cond_destroy(&gateway->changed);
    (void)pthread_mutex_destroy(&gateway->lock);
    arcp__free(gateway);
}

static void draw(void *user, void *out, size_t size)
{
    (void)user;
    arcp__random(out, size);
}

static arcp__gateway *gateway_new(const arcp__gateway_options *options)
{
    arcp__gateway *gateway = arcp__alloc(sizeof *gateway);
    pthread_condattr_t monotonic;
    if (gateway == NULL || uv_loop_init(&gateway->loop) != 0) {
        arcp__free(gateway);
        return NULL;
    }
    if (uv_async_init(&gateway->loop, &gateway->async, on_async) != 0) {
        (void)uv_loop_close(&gateway->loop);
        arcp__free(gateway);
        return NULL;
    }
    gateway->async.data = gateway;
    gateway->before_waiting.data = gateway;
    (void)uv_prepare_init(&gateway->loop, &gateway->before_waiting);
    (void)uv_prepare_start(&gateway->before_waiting, on_before_waiting);
    (void)pthread_mutex_init(&gateway->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&gateway->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    gateway->limits = options->limits;
    gateway->gates = options->gates;
    gateway->wake = options->wake;
    gateway->ids.random = draw;
    return gateway;
}

arcp_status arcp__gateway_new(const arcp__gateway_options *options, arcp__gateway **out,
                              arcp_error *err)
{
    arcp__gateway *gateway = gateway_new(options);
    if (gateway == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the gateways");
    }
    arcp_status status = options->listen == NULL ? ARCP_OK : open_listener(gateway, options, err);
    if (status == ARCP_OK) {
        status = open_services(gateway, options, err);
    }
    if (status == ARCP_OK &&
        arcp__thread_start(&gateway->thread, "arcp-gateway", run, gateway) != 0) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot start the gateways' thread");
    }
    if (status != ARCP_OK) {
        close_all(gateway);
        (void)uv_run(&gateway->loop, UV_RUN_DEFAULT);
        gateway_free(gateway);
        return status;
    }
    *out = gateway;
    return ARCP_OK;
}

/* ---- the runtime's thread ---- */

void arcp__gateway_free(arcp__gateway *gateway)
{
    if (gateway == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&gateway->lock);
    gateway->is_over = true;
    (void)uv_async_send(&gateway->async);
    (void)pthread_mutex_unlock(&gateway->lock);
    (void)pthread_join(gateway->thread, NULL);
    gateway_free(gateway);
}

void arcp__gateway_leave(arcp__gateway *gateway)
{
    if (gateway != NULL) {
        atomic_store(&gateway->is_leaving, true);
    }
}

void arcp__gateway_reload(arcp__gateway *gateway, const arcp__gateway_limits *limits,
                          void *const configurations[ARCP__GATEWAY_KINDS])
{
    void *replaced[ARCP__GATEWAY_KINDS] = {NULL};
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (gateway->kinds[i] != NULL && configurations[i] != NULL) {
            gateway->kinds[i]->ref(configurations[i]);
        }
    }
    (void)pthread_mutex_lock(&gateway->lock);
    gateway->new_limits = *limits;
    gateway->has_new_limits = true;
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (gateway->kinds[i] != NULL && configurations[i] != NULL) {
            replaced[i] = gateway->new_configurations[i];
            gateway->new_configurations[i] = configurations[i];
        }
    }
    (void)uv_async_send(&gateway->async);
    (void)pthread_mutex_unlock(&gateway->lock);
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        if (replaced[i] != NULL) {
            gateway->kinds[i]->unref(replaced[i]);
        }
    }
}

bool arcp__gateway_has(const arcp__gateway *gateway, arcp__gateway_kind kind)
{
    return gateway->kinds[kind] != NULL;
}

const char *arcp__gateway_address(const arcp__gateway *gateway)
{
    return gateway->address;
}

const char *arcp__gateway_local_url(const arcp__gateway *gateway)
{
    return gateway->has_tls ? arcp__gateway_public_url(gateway) : gateway->local_url;
}

const char *arcp__gateway_public_url(const arcp__gateway *gateway)
{
    return gateway->has_url ? gateway->url : "";
}

arcp__gateway_counts arcp__gateway_count(arcp__gateway *gateway)
{
    arcp__gateway_counts counts = {0};
    if (gateway != NULL) {
        (void)pthread_mutex_lock(&gateway->lock);
        counts = gateway->counts;
        (void)pthread_mutex_unlock(&gateway->lock);
    }
    return counts;
}

void arcp__gateway_write_metrics(arcp__gateway *gateway, arcp_buf *out)
{
    for (size_t i = 0; gateway != NULL && i < ARCP__GATEWAY_KINDS; i++) {
        if (gateway->kinds[i] != NULL && gateway->kinds[i]->write_metrics != NULL) {
            gateway->kinds[i]->write_metrics(gateway->services[i], out);
        }
    }
}
