/* The members of event bodies, one struct per kind (§8.2), under the draft's names, also when the
 * runtime uses an older spelling. Numbers keep their original text; an absent member is empty. */
#ifndef ARCP_EVENT_BODY_H
#define ARCP_EVENT_BODY_H

#include <stdbool.h>

#include <arcp/span.h>
#include <arcp/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_log_body {
    arcp_span level, message;
} arcp_log_body;
typedef struct arcp_thought_body {
    arcp_span text;
} arcp_thought_body;
typedef struct arcp_tool_call_body {
    arcp_span tool, call_id;
    arcp_span args; /* JSON */
} arcp_tool_call_body;
typedef struct arcp_tool_result_body {
    arcp_span call_id;
    arcp_span result, error; /* JSON; one of them */
} arcp_tool_result_body;
typedef struct arcp_status_body {
    arcp_span phase, message;
    arcp_span credential_id; /* of phase credential_rotated; the value stays in the event's body */
} arcp_status_body;
typedef struct arcp_metric_body {
    arcp_span name, value, unit;
    arcp_span dimensions; /* JSON */
} arcp_metric_body;
typedef struct arcp_artifact_ref_body {
    arcp_span uri, content_type, byte_size, sha256;
} arcp_artifact_ref_body;
typedef struct arcp_delegate_body {
    arcp_span delegate_id, child_job_id, agent;
    arcp_span input; /* JSON */
} arcp_delegate_body;
typedef struct arcp_progress_body {
    arcp_span current, total, units, message;
} arcp_progress_body;
typedef struct arcp_result_chunk_body {
    arcp_span result_id, chunk_seq, data, encoding; /* not decoded */
    bool more;
} arcp_result_chunk_body;

typedef struct arcp_event_body {
    arcp_event_kind kind; /* of the member below; UNKNOWN: there is none */
    union {
        arcp_log_body log;
        arcp_thought_body thought;
        arcp_tool_call_body tool_call;
        arcp_tool_result_body tool_result;
        arcp_status_body status;
        arcp_metric_body metric;
        arcp_artifact_ref_body artifact_ref;
        arcp_delegate_body delegate;
        arcp_progress_body progress;
        arcp_result_chunk_body result_chunk;
    };
} arcp_event_body;

#ifdef __cplusplus
}
#endif
#endif
