#include "arcpd/arcpd.h"

/* Well below what collectors commonly accept (4 MiB and more). */
#define BATCH_BYTES 524288u
#define RETRY_MS    1000u

static void on_changed(void *user, const char *why)
{
    arcp__trace_export *traces = user;
    if (why != NULL) {
        arcp__logger_format(traces->logger, ARCP_LOG_WARN, "spans cannot be exported: %s", why);
    } else {
        traces->is_dropping = false;
        arcp__logger_format(traces->logger, ARCP_LOG_WARN, "spans are exported again");
    }
}

void arcp__trace_export_add(void *user, arcp_span json)
{
    arcp__trace_export *traces = user;
    if (!traces->exporter->ops->add(traces->exporter, json) && !traces->is_dropping) {
        traces->is_dropping = true;
        arcp__logger_format(
            traces->logger, ARCP_LOG_WARN,
            "spans are dropped: the queue for the collector is full (tracing.otlp.queue_bytes)");
    }
}

arcp_status arcp__trace_export_open(arcp__trace_export *traces, uv_loop_t *loop,
                                    const arcp__config *config, arcp__logger *logger,
                                    arcp_error *err)
{
    arcp__span_exporter_new_fn make = NULL;
    arcp__span_exporter_options options = config->tracing;
    if (options.url == NULL) {
        return ARCP_OK;
    }
    traces->logger = logger;
    traces->flush_ms = config->tracing_flush_ms;
    arcp_status status = arcp__module_open("arcp-tracing-otlp", ARCP__SPAN_EXPORTER_SYMBOL,
                                           "tracing.otlp.endpoint", &traces->module, &make, err);
    if (status == ARCP_OK) {
        status = arcp__notice_open(&traces->notice, loop, "spans", on_changed, traces, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (options.service_name == NULL) {
        options.service_name = ARCP__SERVICE_NAME;
    }
    options.version = ARCP_VERSION_STRING;
    options.retry_ms = RETRY_MS;
    options.batch_bytes = BATCH_BYTES;
    options.changed = arcp__notice_send;
    options.user = &traces->notice;
    status = make(&options, &traces->exporter, err);
    if (status != ARCP_OK) {
        arcp__notice_close(&traces->notice);
    }
    return status;
}

void arcp__trace_export_close(arcp__trace_export *traces)
{
    arcp__span_exporter_stats last;
    if (traces->exporter != NULL) {
        traces->exporter->ops->close(traces->exporter, traces->flush_ms, &last);
        traces->exporter = NULL;
        if (last.dropped != 0) {
            arcp__logger_format(
                traces->logger, ARCP_LOG_WARN, "%llu spans were dropped, %llu exported",
                (unsigned long long)last.dropped, (unsigned long long)last.exported);
        }
        arcp__notice_close(&traces->notice);
    }
    arcp__module_close(traces->module);
    traces->module = NULL;
}
