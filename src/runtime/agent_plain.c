/* The input of plain programs. */
#include "runtime/runtime_state.h"

/* A plain program gets a string as it is, any other input as JSON, and then the end of input. */
void arcp__agent_plain_write(arcp__agent_process *process, arcp_span start)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_buf scratch = arcp_buf_init();
    arcp_span input = {NULL, 0};
    const bool is_read = arcp_json_scan(&json, start, &limits, NULL) == ARCP_OK;
    if (is_read) {
        const arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        const arcp_json_ref ref = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("input"));
        input = arcp_json_is(&json, ref, ARCP_JSON_STRING) ? arcp_json_string(&json, ref, &scratch)
                                                           : arcp_json_raw(&json, ref);
    }
    /* A program that got only a part of its input must not continue. */
    if (!is_read || scratch.failed || arcp__agent_process_write_last(process, input) != ARCP_OK) {
        arcp__agent_process_kill(process);
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}
