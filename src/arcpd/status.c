#include "arcpd/arcpd.h"

#include <stdio.h>
#include <sys/stat.h>

#include <arcp/sys/transport.h>

#include "base/clock.h"
#include "core/exposition.h"

static uint64_t file_bytes(const char *path, const char *suffix)
{
    char name[4200];
    struct stat about;
    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &about) == 0 ? (uint64_t)about.st_size : 0;
}

static void write_metrics(const arcp__status *status, arcp_buf *out)
{
    const char *labels[] = {"version", ARCP_VERSION_STRING, NULL};
    const char *path = status->store_path;
    size_t resident_bytes = 0;
    (void)uv_resident_set_memory(&resident_bytes);
    if (path[0] != '\0') {
        arcp__exposition_one(out, ARCP__METRIC_STORE_BYTES,
                             file_bytes(path, "") + file_bytes(path, "-wal"));
    }
    if (status->audit->log != NULL) {
        arcp__audit_stats stats;
        arcp__audit_log_get_stats(status->audit->log, &stats);
        arcp__exposition_one(out, ARCP__METRIC_AUDIT_LINES, stats.head.seq);
        arcp__exposition_one(out, ARCP__METRIC_AUDIT_LOST, stats.lost);
        arcp__exposition_one(out, ARCP__METRIC_AUDIT_QUEUE_BYTES, stats.queued_bytes);
        arcp__exposition_one(out, ARCP__METRIC_AUDIT_FAILING, stats.is_failing);
    }
    if (status->traces->exporter != NULL) {
        arcp__span_exporter_stats stats;
        status->traces->exporter->ops->get_stats(status->traces->exporter, &stats);
        arcp__exposition_one(out, ARCP__METRIC_TRACE_SPANS_EXPORTED, stats.exported);
        arcp__exposition_one(out, ARCP__METRIC_TRACE_SPANS_DROPPED, stats.dropped);
        arcp__exposition_one(out, ARCP__METRIC_TRACE_QUEUE_BYTES, stats.queued_bytes);
        arcp__exposition_one(out, ARCP__METRIC_TRACE_FAILING, stats.is_failing);
    }
    arcp__exposition_family(out, ARCP__METRIC_BUILD_INFO);
    arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_BUILD_INFO), labels, 1);
    arcp__exposition_one(out, ARCP__METRIC_START_TIME,
                         (uint64_t)(status->started_wall_ns / ARCP_NS_PER_SEC));
    arcp__exposition_one(out, ARCP__METRIC_RELOAD_SUCCESSFUL, !status->reload_failed);
    arcp__exposition_one(out, ARCP__METRIC_RESIDENT_BYTES, resident_bytes);
}

/* ---- serving ---- */

static void answer(arcp__web_exchange *exchange, int status, const char *type, arcp_span body)
{
    const arcp__web_response response = {
        .status = status, .type = type, .headers = "Cache-Control: no-store\r\n", .body = body};
    arcp__web_exchange_respond(exchange, &response);
}

static void serve_metrics(void *user, arcp__web_exchange *exchange)
{
    const arcp__status *status = user;
    arcp_buf text = arcp_buf_init();
    if (arcp_runtime_write_metrics(status->runtime, &text) == ARCP_OK) {
        write_metrics(status, &text);
    }
    if (text.failed) {
        answer(exchange, 503, NULL, ARCP_SPAN_LITERAL("out of memory\n"));
    } else {
        answer(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
}

static void serve_health(void *user, arcp__web_exchange *exchange)
{
    answer(exchange, 200, NULL, ARCP_SPAN_LITERAL("ok\n"));
}

static void serve_readiness(void *user, arcp__web_exchange *exchange)
{
    const arcp__status *status = user;
    const char *why = NULL;
    char text[128];
    if (arcp_runtime_is_ready(status->runtime, &why)) {
        answer(exchange, 200, NULL, ARCP_SPAN_LITERAL("ready\n"));
    } else {
        (void)snprintf(text, sizeof text, "not ready: %s\n", why);
        answer(exchange, 503, NULL, arcp_span_cstr(text));
    }
}

static void serve_enforcement(void *user, arcp__web_exchange *exchange)
{
    const arcp__status *status = user;
    arcp_buf text = arcp_buf_init();
    if (arcp_runtime_write_enforcement(status->runtime, &text) == ARCP_OK) {
        answer(exchange, 200, "application/json", arcp_buf_span(&text));
    } else {
        answer(exchange, 503, NULL, ARCP_SPAN_LITERAL("out of memory\n"));
    }
    arcp_buf_fini(&text);
}

static void serve_nothing(void *user, arcp__web_exchange *exchange)
{
    answer(exchange, 404, NULL,
           ARCP_SPAN_LITERAL("not found: try /metrics, /healthz, /readyz or /enforcement\n"));
}

static const arcp__web_route routes[] = {
    {.path = "/metrics", .methods = "GET, HEAD", .begin = serve_metrics},
    {.path = "/healthz", .methods = "GET, HEAD", .begin = serve_health},
    {.path = "/readyz", .methods = "GET, HEAD", .begin = serve_readiness},
    {.path = "/enforcement", .methods = "GET, HEAD", .begin = serve_enforcement},
    {.methods = "GET, HEAD", .begin = serve_nothing},
};

arcp_status arcp__status_listen_parse(const char *listen, arcp__authority *out, arcp_error *err)
{
    if (!arcp__authority_parse(arcp_span_cstr(listen), true, out) || !out->has_port ||
        out->kind == ARCP__HOST_NAME) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%s\" must be ADDRESS:PORT, such as 127.0.0.1:9464", listen);
    }
    return ARCP_OK;
}

arcp_status arcp__status_open(arcp__status *status, uv_loop_t *loop, const arcp__config *config,
                              const char *directory, arcp_error *err)
{
    static const char sqlite[] = "sqlite:";
    arcp__authority listen;
    arcp_admission *admission = NULL;
    arcp_admission_limits limits = arcp_admission_limits_init();
    limits.connections_max = ARCP__STATUS_CONNECTIONS_MAX;
    if (config->http_listen == NULL) {
        return ARCP_OK;
    }
    status->started_wall_ns = arcp__clock_ns(CLOCK_REALTIME);
    if (config->store == NULL) {
        (void)snprintf(status->store_path, sizeof status->store_path, "%s/arcp.db", directory);
    } else if (strncmp(config->store, sqlite, sizeof sqlite - 1) == 0) {
        (void)snprintf(status->store_path, sizeof status->store_path, "%s",
                       config->store + sizeof sqlite - 1);
    }
    arcp_status result = arcp__status_listen_parse(config->http_listen, &listen, err);
    if (result == ARCP_OK) {
        result = arcp_admission_new(&limits, &admission, err);
    }
    if (result != ARCP_OK) {
        return result;
    }
    const arcp__web_server_options options = {
        .listen = &listen,
        .hosts = (const char *const *)config->hosts.items,
        .host_count = config->hosts.count,
        .admission = admission,
        .head_bytes_max = ARCP__STATUS_HEAD_BYTES_MAX,
        .linger_ms = ARCP_CLOSE_TIMEOUT_MS_DEFAULT,
        .routes = routes,
        .route_count = sizeof routes / sizeof routes[0],
        .user = status,
    };
    arcp_error why = {0};
    result = arcp__web_server_open(loop, &options, &status->server, &why);
    arcp_admission_unref(admission);
    return result == ARCP_OK ? ARCP_OK
                             : arcp_error_set(err, result, "http.listen: %s", why.message);
}

void arcp__status_close(arcp__status *status)
{
    if (status->server != NULL) {
        arcp__web_server_close(status->server);
        status->server = NULL;
    }
}
