#include "runtime/agent_environment.h"

#include <arcp/buf.h>
#include <arcp/json.h>

void arcp__agent_environment_job(arcp__environment *environment, arcp_span start)
{
    static const struct {
        const char *name;
        const char *member;
    } rows[] = {{"ARCP_JOB_ID", "job_id"},
                {"ARCP_AGENT", "agent"},
                {"ARCP_TRACE_ID", "trace_id"},
                {"TRACEPARENT", "traceparent"},
                {"TRACESTATE", "tracestate"}};
    arcp_json json = ARCP_JSON_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    /* Its sender is the engine, which kept the limits already. */
    const arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    if (arcp_json_scan(&json, start, &limits, NULL) != ARCP_OK) {
        environment->failed = true;
    } else {
        arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
            arcp_json_ref member =
                arcp_json_member(&json, payload, arcp_span_cstr(rows[at].member));
            if (arcp_json_is(&json, member, ARCP_JSON_STRING)) {
                scratch.size = 0; /* a failure is kept */
                arcp__environment_set(environment, rows[at].name,
                                      arcp_json_string(&json, member, &scratch));
            }
        }
    }
    environment->failed = environment->failed || scratch.failed;
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
}
