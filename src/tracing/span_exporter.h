/* Sends spans to a collector by OTLP over HTTP, as JSON, from a thread of its own. A module
 * (arcp-tracing-otlp.so), because it brings libcurl.
 *
 * Whoever has a span copies it into a queue that is bounded in bytes, and never waits. Spans go
 * in batches; a batch that the collector cannot take right now (no answer, 429, 502, 503, 504)
 * is sent again after a pause, of the length the collector asks for or a growing one; one that
 * it refuses is dropped. What finds no room meanwhile is dropped and counted. */
#ifndef ARCP_TRACING_SPAN_EXPORTER_H
#define ARCP_TRACING_SPAN_EXPORTER_H

#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>

typedef struct arcp__span_exporter arcp__span_exporter;

typedef struct arcp__span_exporter_stats {
    uint64_t exported;   /* spans that the collector took */
    uint64_t dropped;    /* that found no room, were refused, or were left at the end */
    size_t queued_bytes; /* waiting, or on their way */
    bool is_failing;     /* the last batch was not taken */
} arcp__span_exporter_stats;

/* A module's functions: the program that loads it has no others. */
typedef struct arcp__span_exporter_ops {
    /* Takes a copy of a span as OTLP's JSON has it. False: it was dropped. Any thread. */
    bool (*add)(arcp__span_exporter *self, arcp_span span);
    void (*get_stats)(arcp__span_exporter *self, arcp__span_exporter_stats *out); /* any thread */
    /* Sends what is left, for `flush_ms` at most; the rest is dropped. `last` gets the final
     * figures. Ends the thread and frees the exporter. */
    void (*close)(arcp__span_exporter *self, uint64_t flush_ms, arcp__span_exporter_stats *last);
} arcp__span_exporter_ops;

struct arcp__span_exporter {
    const arcp__span_exporter_ops *ops;
};

/* Texts are borrowed for the exporter's life, but for the headers. */
typedef struct arcp__span_exporter_options {
    const char *url;            /* where spans are posted, with the path */
    const char *const *headers; /* templates (http/http_template.h) that name nothing of a job */
    size_t header_count;
    const char *ca_file; /* NULL: the system's */
    const char *service_name, *version;
    uint64_t timeout_ms;  /* for one request, everything included */
    uint64_t delay_ms;    /* a span waits for company so long */
    uint64_t retry_ms;    /* the first pause before sending again */
    uint64_t queue_bytes; /* of all spans that are not sent yet */
    uint64_t batch_bytes; /* of spans in one request */
    /* Called on the exporter's thread when it begins to fail (`why`, borrowed) and when it
     * works again (NULL). */
    void (*changed)(void *user, const char *why);
    void *user;
} arcp__span_exporter_options;

/* Starts one. ARCP_E_USAGE: a header is wrong, the message says which; ARCP_E_NO_MEMORY. */
typedef arcp_status (*arcp__span_exporter_new_fn)(const arcp__span_exporter_options *options,
                                                  arcp__span_exporter **out, arcp_error *err);
/* The module's one exported function has this name and that type. */
#define ARCP__SPAN_EXPORTER_SYMBOL "arcp__span_exporter_new"

#endif
