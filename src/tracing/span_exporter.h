/* Sends spans to a collector by OTLP over HTTP, as JSON, from a thread of its own. It is a module
 * (arcp-tracing-otlp.so), because it needs libcurl.
 *
 * Adding a span copies it into a queue with a limited size, and never waits. Spans are sent in
 * batches. If the collector cannot accept a batch now (no response, 429, 502, 503, 504), it is sent
 * again after a pause that the collector requests, or that grows each time. A batch that the
 * collector refuses is dropped. Spans that do not fit into the queue meanwhile are dropped and
 * counted. */
#ifndef ARCP_TRACING_SPAN_EXPORTER_H
#define ARCP_TRACING_SPAN_EXPORTER_H

#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>

typedef struct arcp__span_exporter arcp__span_exporter;

typedef struct arcp__span_exporter_stats {
    uint64_t exported;   /* spans that the collector accepted */
    uint64_t dropped;    /* spans that did not fit, were refused, or remained at the end */
    size_t queued_bytes; /* of spans that wait or are being sent */
    bool is_failing;     /* the last batch was not accepted */
} arcp__span_exporter_stats;

/* The operations of the module. */
typedef struct arcp__span_exporter_ops {
    /* Copies a span, in OTLP's JSON, into the queue. False: it was dropped. Any thread. */
    bool (*add)(arcp__span_exporter *exporter, arcp_span span);
    /* Any thread. */
    void (*get_stats)(arcp__span_exporter *exporter, arcp__span_exporter_stats *out);
    /* Sends the remaining spans, for `flush_ms` at most, and drops the rest. Ends the thread and
     * frees the exporter. `last` gets the final statistics. */
    void (*close)(arcp__span_exporter *exporter, uint64_t flush_ms,
                  arcp__span_exporter_stats *last);
} arcp__span_exporter_ops;

struct arcp__span_exporter {
    const arcp__span_exporter_ops *ops;
};

/* Strings, except the headers, are borrowed until the exporter is closed. */
typedef struct arcp__span_exporter_options {
    const char *url;            /* of the collector, with the path */
    const char *const *headers; /* templates (http/http_template.h) without variables of a job */
    size_t header_count;
    const char *ca_file; /* NULL: the system's */
    const char *service_name, *version;
    uint64_t timeout_ms;  /* for one request as a whole */
    uint64_t delay_ms;    /* how long a span waits for others */
    uint64_t retry_ms;    /* the first pause before sending again */
    uint64_t queue_bytes; /* limit of all spans that are not sent yet */
    uint64_t batch_bytes; /* limit of the spans in one request */
    /* Called on the exporter's thread when sending begins to fail (`why`, borrowed) and when it
     * works again (NULL). */
    void (*changed)(void *user, const char *why);
    void *user;
} arcp__span_exporter_options;

/* Creates and starts an exporter. ARCP_E_USAGE: a header is invalid; ARCP_E_NO_MEMORY. */
typedef arcp_status (*arcp__span_exporter_new_fn)(const arcp__span_exporter_options *options,
                                                  arcp__span_exporter **out, arcp_error *err);
/* The name of the module's only exported function, which has the type above. */
#define ARCP__SPAN_EXPORTER_SYMBOL "arcp__span_exporter_new"

#endif
