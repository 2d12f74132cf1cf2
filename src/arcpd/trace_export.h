/* arcpd's side of spans: from the runtime to the module that sends them. */
#ifndef ARCP_ARCPD_TRACE_EXPORT_H
#define ARCP_ARCPD_TRACE_EXPORT_H

#include <arcp/runtime.h>

#include "arcpd/config.h"
#include "tracing/span_exporter.h"

typedef struct arcp__trace_export arcp__trace_export;

/* Loads the module and starts it. *out is NULL without an endpoint. `config` is borrowed during
 * the call: a reload changes nothing here. ARCP_E_USAGE: no module, or a header is wrong. */
ARCP_MUST_CHECK arcp_status
arcp__trace_export_open(struct uv_loop_s *loop, const arcp__config_tracing *config,
                        void (*log)(void *user, arcp_log_level level, const char *text),
                        void *log_user, arcp__trace_export **out, arcp_error *err);

/* A runtime's trace_span; `user` is the arcp__trace_export. */
void arcp__trace_export_add(void *user, arcp_span json);

/* False: there is none (NULL). */
bool arcp__trace_export_stats(arcp__trace_export *self, arcp__span_exporter_stats *out);

/* Sends what is left, within tracing.otlp.flush_ms. The loop runs on until its handles are
 * closed. NULL is accepted. */
void arcp__trace_export_close(arcp__trace_export *self);

#endif
