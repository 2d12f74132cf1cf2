/* Bodies of events that the runtime writes itself (§8.2), for the engine and for agents that are
 * callbacks. They append to `out`, whose `failed` says that there was no memory. */
#ifndef ARCP_CORE_EVENT_WRITE_H
#define ARCP_CORE_EVENT_WRITE_H

#include <arcp/error.h>
#include <arcp/json.h>

/* log: `level` is one of the draft's. */
void arcp__event_write_log(arcp_span level, arcp_span message, arcp_buf *out);
/* metric: `value` is a JSON number's text; `unit` may be {NULL, 0}. */
void arcp__event_write_metric(arcp_span name, arcp_span value, arcp_span unit, arcp_buf *out);
/* tool_result: the runtime's answer to a call that it refused. `details`: a JSON object, or
 * empty. */
void arcp__event_write_refusal(arcp_span call_id, const arcp_error *error, arcp_span details,
                               arcp_buf *out);

#endif
