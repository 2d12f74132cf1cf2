#include "core/error_payload.h"

#include "core/decode.h"
#include "json/json_put.h"

typedef struct members {
    arcp_span code, message;
    arcp_json_ref retryable, details, detail;
} members;

static const arcp__member rows[] = {
    {ARCP__MEMBER(members, code, "code", STRING), .required = true,
     .text = "one of the codes of [errors.md](errors.md)"},
    {ARCP__MEMBER(members, message, "message", LOOSE), .text = "text for people"},
    {ARCP__MEMBER(members, retryable, "retryable", ANY),
     .text = "whether the same request may succeed later (default: that of the code)"},
    {ARCP__MEMBER(members, details, "details", ANY),
     .text = "object with more, such as `limit` or `retry_after_ms`"},
    {ARCP__MEMBER(members, detail, "detail", ANY)},
};
static const arcp__members table = ARCP__MEMBERS(rows);

const arcp__members *arcp__error_payload_table(void)
{
    return &table;
}

/* [arcp:EG-1] */
arcp_status arcp__error_payload_parse(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch,
                                      arcp__error_payload *out, arcp_error *err)
{
    members in = {0};
    if (!arcp__decode_row(json, scratch, ref, &table, &in)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "an error must be an object with a string member \"code\"");
    }
    const arcp_status status = arcp_status_from_wire(in.code);
    const bool is_known = arcp_status_is_wire_code(in.code);
    /* An unknown code is not retryable unless its sender says so. */
    const bool by_default = is_known && arcp_status_is_retryable_by_default(status);
    const bool retryable = arcp_json_is(json, in.retryable, ARCP_JSON_TRUE) ||
                           (by_default && !arcp_json_is(json, in.retryable, ARCP_JSON_FALSE));
    const arcp_json_ref details = arcp_json_is_missing(json, in.details) ? in.detail : in.details;
    *out = (arcp__error_payload){
        .status = status,
        .code = in.code,
        .message = in.message.size != 0 ? in.message : arcp_span_cstr(arcp_status_text(status)),
        .retryable = is_known ? arcp_status_retryable(status, retryable) : retryable,
        .details = arcp_json_is(json, details, ARCP_JSON_OBJECT) ? details : ARCP_JSON_ABSENT,
    };
    return ARCP_OK;
}

/* [arcp:12-2] */
void arcp__error_payload_members(arcp_json_writer *writer, arcp_status status, arcp_span code,
                                 arcp_span message, bool retryable, arcp_span details)
{
    arcp__put_string(writer, "code", code);
    arcp__put_string(writer, "message",
                     message.size != 0 ? message : arcp_span_cstr(arcp_status_text(status)));
    arcp__put_bool(writer, "retryable", arcp_status_retryable(status, retryable));
    arcp__put_raw(writer, "details", details);
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
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__error_payload_local(&writer, error, details);
    arcp_json_end_object(&writer);
}
