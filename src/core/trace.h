/* Trace context (§11): 32 lower-case hex digits on the wire, a W3C traceparent for agents. */
#ifndef ARCP_CORE_TRACE_H
#define ARCP_CORE_TRACE_H

#include <stdint.h>

#include <arcp/span.h>

#include "base/hex.h" /* for formatting ids */

#define ARCP__TRACE_ID_SIZE    32
#define ARCP__SPAN_ID_SIZE     16
#define ARCP__TRACEPARENT_SIZE 55 /* 00-<32>-<16>-<2> */

/* Reads 32 hex digits of either case, or the trace id of a full traceparent; writes
 * lower case. False when `text` is neither, or all zero. */
bool arcp__trace_id_parse(arcp_span text, char out[ARCP__TRACE_ID_SIZE]);

/* Whether `text` is a well-formed traceparent of version 00 with non-zero ids. */
bool arcp__traceparent_is_valid(arcp_span text);

/* Whether the caller that sent a valid traceparent records the trace. */
bool arcp__traceparent_is_sampled(arcp_span text);

/* Writes 00-<trace id>-<span id>-01. */
void arcp__traceparent_format(const char trace_id[ARCP__TRACE_ID_SIZE], const uint8_t span_id[8],
                              char out[ARCP__TRACEPARENT_SIZE]);

#endif
