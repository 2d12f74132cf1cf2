#include "arcpd/arcpd.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/alloc.h"

/* Collectors commonly take 4 MiB and more. */
#define BATCH_BYTES 524288u
#define RETRY_MS    1000u

struct arcp__trace_export {
    char *endpoint, *ca_file, *service_name; /* owned: the exporter borrows them */
    uint64_t flush_ms;
    arcp__span_exporter *exporter;
    void *module;
    void (*say)(void *user, arcp_log_level level, const char *text);
    void *say_user;
    bool is_dropping; /* it was said that spans find no room */
    uv_async_t changed;

    pthread_mutex_t lock; /* for what follows: the exporter's thread writes it */
    bool fails;
    char why[160];
};

/* On the loop's thread. */
static void on_changed(uv_async_t *handle)
{
    arcp__trace_export *self = handle->data;
    char text[sizeof(self->why) + 64];
    (void)pthread_mutex_lock(&self->lock);
    bool fails = self->fails;
    (void)snprintf(text, sizeof(text), "spans cannot be exported: %s", self->why);
    (void)pthread_mutex_unlock(&self->lock);
    if (!fails) {
        self->is_dropping = false;
    }
    self->say(self->say_user, ARCP_LOG_WARN, fails ? text : "spans are exported again");
}

/* On the exporter's thread. */
static void note_change(void *user, const char *why)
{
    arcp__trace_export *self = user;
    (void)pthread_mutex_lock(&self->lock);
    self->fails = why != NULL;
    (void)snprintf(self->why, sizeof(self->why), "%s", why == NULL ? "" : why);
    (void)pthread_mutex_unlock(&self->lock);
    (void)uv_async_send(&self->changed);
}

void arcp__trace_export_add(void *user, arcp_span json)
{
    arcp__trace_export *self = user;
    if (!self->exporter->ops->add(self->exporter, json) && !self->is_dropping) {
        self->is_dropping = true;
        self->say(self->say_user, ARCP_LOG_WARN,
                  "tracing.otlp.queue_bytes are waiting for the collector: spans are dropped");
    }
}

static bool copy_text(char **to, const char *text)
{
    *to = text == NULL ? NULL : arcp__copy_cstr(text, strlen(text));
    return text == NULL || *to != NULL;
}

static arcp_status start(arcp__trace_export *self, const arcp__config_tracing *config,
                         arcp_error *err)
{
    void *symbol = NULL;
    arcp__span_exporter_new_fn make = NULL;
    arcp_status status = arcp__module_open("arcp-tracing-otlp", ARCP__SPAN_EXPORTER_SYMBOL,
                                           "tracing.otlp.endpoint", &self->module, &symbol, err);
    if (status != ARCP_OK) {
        return status;
    }
    memcpy(&make, &symbol, sizeof(make)); /* ISO C has no cast for this */
    if (!copy_text(&self->endpoint, config->endpoint) ||
        !copy_text(&self->ca_file, config->ca_file) ||
        !copy_text(&self->service_name,
                   config->service_name == NULL ? "arcpd" : config->service_name)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp__span_exporter_options options = {
        .url = self->endpoint,
        .headers = (const char *const *)config->headers.items,
        .header_count = config->headers.count,
        .ca_file = self->ca_file,
        .service_name = self->service_name,
        .version = ARCP_VERSION_STRING,
        .timeout_ms = config->timeout_ms,
        .delay_ms = config->delay_ms,
        .retry_ms = RETRY_MS,
        .queue_bytes = config->queue_bytes,
        .batch_bytes = BATCH_BYTES,
        .changed = note_change,
        .user = self,
    };
    return make(&options, &self->exporter, err);
}

static void on_closed(uv_handle_t *handle)
{
    arcp__trace_export *self = handle->data;
    (void)pthread_mutex_destroy(&self->lock);
    arcp__free(self->endpoint);
    arcp__free(self->ca_file);
    arcp__free(self->service_name);
    arcp__free(self);
}

arcp_status arcp__trace_export_open(struct uv_loop_s *loop, const arcp__config_tracing *config,
                                    void (*log)(void *user, arcp_log_level level, const char *text),
                                    void *log_user, arcp__trace_export **out, arcp_error *err)
{
    *out = NULL;
    if (config->endpoint == NULL) {
        return ARCP_OK;
    }
    arcp__trace_export *self = arcp__alloc(sizeof(*self));
    if (self == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    self->say = log;
    self->say_user = log_user;
    self->changed.data = self;
    (void)pthread_mutex_init(&self->lock, NULL);
    if (uv_async_init(loop, &self->changed, on_changed) != 0) {
        (void)pthread_mutex_destroy(&self->lock);
        arcp__free(self);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "no handle for spans");
    }
    uv_unref((uv_handle_t *)&self->changed);
    self->flush_ms = config->flush_ms;
    arcp_status status = start(self, config, err);
    if (status != ARCP_OK) {
        arcp__module_close(self->module);
        uv_close((uv_handle_t *)&self->changed, on_closed);
        return status;
    }
    *out = self;
    return ARCP_OK;
}

bool arcp__trace_export_stats(arcp__trace_export *self, arcp__span_exporter_stats *out)
{
    if (self == NULL) {
        return false;
    }
    self->exporter->ops->get_stats(self->exporter, out);
    return true;
}

void arcp__trace_export_close(arcp__trace_export *self)
{
    arcp__span_exporter_stats last;
    char text[128];
    if (self == NULL) {
        return;
    }
    self->exporter->ops->close(self->exporter, self->flush_ms, &last);
    arcp__module_close(self->module);
    if (last.dropped != 0) {
        (void)snprintf(text, sizeof(text), "%llu spans were dropped, %llu exported",
                       (unsigned long long)last.dropped, (unsigned long long)last.exported);
        self->say(self->say_user, ARCP_LOG_WARN, text);
    }
    uv_close((uv_handle_t *)&self->changed, on_closed);
}
