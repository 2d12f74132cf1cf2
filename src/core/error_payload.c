#include "core/error_payload.h"

/* [arcp:EG-1] */
arcp_status arcp__error_payload_parse(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch,
                                      arcp__error_payload *out, arcp_error *err)
{
    arcp_json_ref code = arcp_json_member(json, ref, ARCP_SPAN_LITERAL("code"));
    if (!arcp_json_is(json, code, ARCP_JSON_STRING) || json->nodes[code].size <= 2) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "an error must be an object with a string member \"code\"");
    }
    *out = (arcp__error_payload){.details = ARCP_JSON_ABSENT};
    out->code = arcp_json_string(json, code, scratch);
    out->status = arcp_status_from_wire(out->code);

    arcp_json_ref message = arcp_json_member(json, ref, ARCP_SPAN_LITERAL("message"));
    if (arcp_json_is(json, message, ARCP_JSON_STRING)) {
        out->message = arcp_json_string(json, message, scratch);
    }
    if (out->message.size == 0) {
        out->message = arcp_span_cstr(arcp_status_text(out->status));
    }

    /* An unknown code is not retryable unless its sender says so. */
    bool wanted = arcp_status_is_retryable_by_default(out->status);
    if (!arcp_status_is_wire_code(out->code)) {
        wanted = false;
    }
    arcp_json_ref retryable = arcp_json_member(json, ref, ARCP_SPAN_LITERAL("retryable"));
    if (arcp_json_is(json, retryable, ARCP_JSON_TRUE)) {
        wanted = true;
    } else if (arcp_json_is(json, retryable, ARCP_JSON_FALSE)) {
        wanted = false;
    }
    out->retryable =
        arcp_status_is_wire_code(out->code) ? arcp_status_retryable(out->status, wanted) : wanted;

    out->details = arcp_json_member(json, ref, ARCP_SPAN_LITERAL("details"));
    if (arcp_json_is_missing(json, out->details)) {
        out->details = arcp_json_member(json, ref, ARCP_SPAN_LITERAL("detail"));
    }
    if (!arcp_json_is(json, out->details, ARCP_JSON_OBJECT)) {
        out->details = ARCP_JSON_ABSENT;
    }
    return ARCP_OK;
}

/* [arcp:12-2] */
void arcp__error_payload_members(arcp_json_writer *writer, arcp_status status, arcp_span code,
                                 arcp_span message, bool retryable, arcp_span details)
{
    arcp_json_name(writer, "code");
    arcp_json_write_string(writer, code);
    arcp_json_name(writer, "message");
    arcp_json_write_string(writer,
                           message.size != 0 ? message : arcp_span_cstr(arcp_status_text(status)));
    arcp_json_name(writer, "retryable");
    arcp_json_write_bool(writer, arcp_status_retryable(status, retryable));
    if (details.size != 0) {
        arcp_json_name(writer, "details");
        arcp_json_write_raw(writer, details);
    }
}

void arcp__error_payload_local(arcp_json_writer *writer, const arcp_error *error, arcp_span details)
{
    arcp__error_payload_members(writer, error->status,
                                arcp_span_cstr(arcp_status_wire_code(error->status)),
                                arcp_span_cstr(error->message), error->retryable, details);
}

/* [arcp:EG-1] */
void arcp__error_payload_format(const arcp_error *error, arcp_span details, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    arcp__error_payload_local(&writer, error, details);
    arcp_json_end_object(&writer);
}
