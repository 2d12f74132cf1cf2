/* Metrics in the Prometheus text format 0.0.4. */
#ifndef ARCP_CORE_EXPOSITION_H
#define ARCP_CORE_EXPOSITION_H

#include <stdint.h>

#include <arcp/buf.h>

typedef enum arcp__metric {
#define ARCP__METRIC(id, type, name, labels, text) ARCP__METRIC_##id,
#include "core/metric.def"
#undef ARCP__METRIC
    ARCP__METRIC_COUNT
} arcp__metric;

const char *arcp__metric_name(arcp__metric metric); /* static */

/* The two lines before a metric's samples. */
void arcp__exposition_family(arcp_buf *out, arcp__metric metric);

/* `labels` has pairs of name and value, ended by NULL; it may be NULL. Values may be any text. */
void arcp__exposition_u64(arcp_buf *out, const char *name, const char *const *labels,
                          uint64_t value);
/* `value` is a number as text. */
void arcp__exposition_text(arcp_buf *out, const char *name, const char *const *labels,
                           arcp_span value);

/* A family of one sample without labels. */
void arcp__exposition_one(arcp_buf *out, arcp__metric metric, uint64_t value);

#endif
