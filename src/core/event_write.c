#include "core/event_write.h"

#include "core/error_payload.h"

void arcp__event_write_log(arcp_span level, arcp_span message, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"level\":");
    arcp_json_quote(level, out);
    arcp_buf_append_cstr(out, ",\"message\":");
    arcp_json_quote(message, out);
    arcp_buf_append_byte(out, '}');
}

void arcp__event_write_metric(arcp_span name, arcp_span value, arcp_span unit, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"name\":");
    arcp_json_quote(name, out);
    arcp_buf_append_cstr(out, ",\"value\":");
    arcp_buf_append(out, value);
    if (unit.data != NULL) {
        arcp_buf_append_cstr(out, ",\"unit\":");
        arcp_json_quote(unit, out);
    }
    arcp_buf_append_byte(out, '}');
}

void arcp__event_write_refusal(arcp_span call_id, const arcp_error *error, arcp_span details,
                               arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"call_id\":");
    arcp_json_quote(call_id, out);
    arcp_buf_append_cstr(out, ",\"error\":");
    arcp__error_payload_format(error, details, out);
    arcp_buf_append_byte(out, '}');
}
