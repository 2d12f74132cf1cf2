#include "mcp/mcp_parts.h"

bool arcp__mcp_decide(const arcp_authority *authority, arcp_time now, arcp_span target,
                      arcp_target_scratch *scratch, arcp_decision *decision)
{
    if (!arcp_authorize(authority, now, ARCP_SPAN_LITERAL("tool.call"), target, scratch,
                        decision)) {
        return false;
    }
    if (!arcp_span_equal(decision->canonical, target)) {
        /* The name that the server gets would not be the one that was matched. Names are their own
         * canonical form, so this does not happen. */
        decision->allowed = false;
        decision->code = ARCP_E_PERMISSION_DENIED;
        decision->reason = ARCP_DENY_NO_MATCH;
        return false;
    }
    return true;
}

void arcp__mcp_put_denial(arcp_buf *out, arcp_span id, bool is_modern,
                          const arcp_authority *authority, const arcp_decision *decision)
{
    arcp_buf message = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp_decision_format_message(decision, &message);
    arcp_decision_format_details(authority, decision, &details);
    arcp_json_writer inner = arcp__put_begin(&text);
    arcp__put_cstr(&inner, "code", arcp_status_wire_code(decision->code));
    arcp__put_string(&inner, "message", arcp_buf_span(&message));
    arcp_buf_append_byte(&text, ','); /* the members of the details follow, and their brace */
    arcp_buf_append(&text, arcp_span_from(arcp_buf_span(&details), 1));

    arcp_json_writer writer = arcp__mcp_begin(out, id);
    arcp__put_object(&writer, "result");
    if (is_modern) {
        arcp__put_cstr(&writer, "resultType", "complete");
    }
    arcp__put_array(&writer, "content");
    arcp_json_begin_object(&writer);
    arcp__put_cstr(&writer, "type", "text");
    arcp__put_string(&writer, "text", arcp_buf_span(&text));
    arcp_json_end_object(&writer);
    arcp_json_end_array(&writer);
    arcp__put_bool(&writer, "isError", true);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
    out->failed = out->failed || message.failed || details.failed || text.failed;
    arcp_buf_fini(&text);
    arcp_buf_fini(&details);
    arcp_buf_fini(&message);
}
