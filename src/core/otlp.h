/* Trace spans in the JSON of OTLP/HTTP (OpenTelemetry's ExportTraceServiceRequest): ids in hex,
 * 64-bit numbers as strings, enums as numbers. */
#ifndef ARCP_CORE_OTLP_H
#define ARCP_CORE_OTLP_H

#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/span.h>

typedef enum arcp__otlp_kind {
    ARCP__OTLP_INTERNAL = 1,
    ARCP__OTLP_SERVER = 2,
    ARCP__OTLP_CLIENT = 3
} arcp__otlp_kind;

typedef enum arcp__otlp_status {
    ARCP__OTLP_UNSET = 0,
    ARCP__OTLP_OK = 1,
    ARCP__OTLP_ERROR = 2
} arcp__otlp_status;

/* A text or a list of texts. An empty attribute is left out. */
typedef struct arcp__otlp_attribute {
    const char *name;
    arcp_span text;
    const arcp_span *texts; /* NULL: `text` is the value */
    size_t text_count;
} arcp__otlp_attribute;

/* Everything is borrowed. */
typedef struct arcp__otlp_span {
    arcp_span trace_id;  /* 32 lower-case hex digits */
    arcp_span span_id;   /* 16 */
    arcp_span parent_id; /* 16, or empty for the first of its trace */
    arcp_span tracestate;
    bool parent_is_remote; /* the parent was made by another service */
    const char *name;
    arcp__otlp_kind kind;
    int64_t start_wall_ns;
    int64_t end_wall_ns; /* before the start (the clock was set): counts as the start */
    const arcp__otlp_attribute *attributes;
    size_t attribute_count;
    arcp__otlp_status status;
    const char *status_message; /* of an error; NULL: none */
} arcp__otlp_span;

/* Appends one JSON object. Bytes that are not UTF-8 become U+FFFD. */
void arcp__otlp_span_format(const arcp__otlp_span *span, arcp_buf *out);

/* A request consists of begin, spans separated by commas, and end. `resource` describes the
 * sender. */
void arcp__otlp_request_begin(const arcp__otlp_attribute *resource, size_t count,
                              const char *scope_version, arcp_buf *out);
void arcp__otlp_request_end(arcp_buf *out);

#endif
