#include "arcpd/arcpd.h"

/* Collectors commonly take 4 MiB and more. */
#define BATCH_BYTES 524288u
#define RETRY_MS    1000u

static void on_changed(void *user, const char *why)
{
    arcp__trace_export *self = user;
    if (why != NULL) {
        arcp__logger_say(self->logger, ARCP_LOG_WARN, "spans cannot be exported: %s", why);
    } else {
        self->is_dropping = false;
        arcp__logger_say(self->logger, ARCP_LOG_WARN, "spans are exported again");
    }
}

void arcp__trace_export_add(void *user, arcp_span json)
{
    arcp__trace_export *self = user;
    if (!self->exporter->ops->add(self->exporter, json) && !self->is_dropping) {
        self->is_dropping = true;
        arcp__logger_say(
            self->logger, ARCP_LOG_WARN,
            "tracing.otlp.queue_bytes are waiting for the collector: spans are dropped");
    }
}

arcp_status arcp__trace_export_open(arcp__trace_export *self, uv_loop_t *loop,
                                    const arcp__config *config, arcp__logger *logger,
                                    arcp_error *err)
{
    arcp__span_exporter_new_fn make = NULL;
    arcp__span_exporter_options options = config->tracing;
    if (options.url == NULL) {
        return ARCP_OK;
    }
    self->logger = logger;
    self->flush_ms = config->tracing_flush_ms;
    arcp_status status = arcp__module_open("arcp-tracing-otlp", ARCP__SPAN_EXPORTER_SYMBOL,
                                           "tracing.otlp.endpoint", &self->module, &make, err);
    if (status == ARCP_OK) {
        status = arcp__notice_open(&self->notice, loop, "spans", on_changed, self, err);
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
    options.user = &self->notice;
    status = make(&options, &self->exporter, err);
    if (status != ARCP_OK) {
        arcp__notice_close(&self->notice);
    }
    return status;
}

void arcp__trace_export_close(arcp__trace_export *self)
{
    arcp__span_exporter_stats last;
    if (self->exporter != NULL) {
        self->exporter->ops->close(self->exporter, self->flush_ms, &last);
        self->exporter = NULL;
        if (last.dropped != 0) {
            arcp__logger_say(self->logger, ARCP_LOG_WARN, "%llu spans were dropped, %llu exported",
                             (unsigned long long)last.dropped, (unsigned long long)last.exported);
        }
        arcp__notice_close(&self->notice);
    }
    arcp__module_close(self->module);
    self->module = NULL;
}
