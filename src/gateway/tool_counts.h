/* What the gateway for tools counts, for /metrics. Any thread. */
#ifndef ARCP_GATEWAY_TOOL_COUNTS_H
#define ARCP_GATEWAY_TOOL_COUNTS_H

#include <stdint.h>

#include <arcp/buf.h>

typedef struct arcp__tool_counts arcp__tool_counts;

typedef enum arcp__tool_outcome {
    ARCP__TOOL_ANSWERED, /* the server has returned a result */
    ARCP__TOOL_FAILED,   /* it has returned an error, or nothing, or does not run */
    ARCP__TOOL_REFUSED,  /* the gateway has refused the call */
    ARCP__TOOL_OUTCOMES
} arcp__tool_outcome;

arcp__tool_counts *arcp__tool_counts_new(void); /* NULL: out of memory */
void arcp__tool_counts_free(arcp__tool_counts *counts);
/* `server` is "" for a call of a server that there is not; `took_ns` is negative for a call that
 * was not sent. */
void arcp__tool_count(arcp__tool_counts *counts, const char *server, arcp__tool_outcome outcome,
                      int64_t took_ns);
/* Appends the metrics in Prometheus' text format. */
void arcp__tool_counts_write(arcp__tool_counts *counts, arcp_buf *out);

#endif
