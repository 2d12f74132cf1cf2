/* Errors in the forms that clients read. No I/O. */
#include "gateway/gateway_parts.h"

#include "json/json_put.h"

/* `type` of an error, by status. The first member of each pair is OpenAI's. */
static const struct {
    int status;
    const char *openai, *anthropic;
} types[] = {
    {400, "invalid_request_error", "invalid_request_error"},
    {401, "authentication_error", "authentication_error"},
    {402, "insufficient_quota", "billing_error"},
    {403, "permission_error", "permission_error"},
    {404, "invalid_request_error", "not_found_error"},
    {413, "invalid_request_error", "request_too_large"},
    {429, "rate_limit_error", "rate_limit_error"},
    {503, "server_error", "overloaded_error"},
};

static const char *type_of(arcp__gateway_form form, int status)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].status == status) {
            return form == ARCP__GATEWAY_FORM_OPENAI ? types[i].openai : types[i].anthropic;
        }
    }
    if (status < 500) {
        return "invalid_request_error";
    }
    return form == ARCP__GATEWAY_FORM_OPENAI ? "server_error" : "api_error";
}

arcp__gateway_form arcp__gateway_form_of(const arcp__web_head *head)
{
    const arcp_span path = arcp__web_head_path(head);
    const arcp_span messages = ARCP_SPAN_LITERAL("/v1/messages");
    const arcp_span after = arcp_span_from(path, messages.size);
    arcp_span value = {NULL, 0};
    if (!arcp_span_starts_with(path, ARCP_SPAN_LITERAL("/v1/"))) {
        return ARCP__GATEWAY_FORM_MCP;
    }
    const bool is_messages =
        arcp_span_starts_with(path, messages) && (after.size == 0 || after.data[0] == '/');
    return is_messages || arcp__web_head_find(head, "anthropic-version", &value) != 0
               ? ARCP__GATEWAY_FORM_ANTHROPIC
               : ARCP__GATEWAY_FORM_OPENAI;
}

void arcp__gateway_refusal_write(arcp__gateway_form form, int status, const char *code,
                                 arcp_span message, arcp_buf *body, arcp_buf *headers)
{
    arcp_json_writer writer = arcp__put_begin(body);
    if (form == ARCP__GATEWAY_FORM_MCP) {
        arcp__put_cstr(&writer, "jsonrpc", "2.0");
        arcp_json_name(&writer, "id");
        arcp_json_write_null(&writer);
    } else if (form == ARCP__GATEWAY_FORM_ANTHROPIC) {
        arcp__put_cstr(&writer, "type", "error");
    }
    arcp__put_object(&writer, "error");
    if (form == ARCP__GATEWAY_FORM_MCP) {
        arcp__put_i64(&writer, "code", -32000);
    } else {
        arcp__put_cstr(&writer, "type", type_of(form, status));
    }
    arcp__put_string(&writer, "message", message);
    if (form == ARCP__GATEWAY_FORM_OPENAI) {
        arcp_json_name(&writer, "param");
        arcp_json_write_null(&writer);
        arcp__put_cstr(&writer, "code", code);
    } else if (form == ARCP__GATEWAY_FORM_MCP) {
        arcp__put_object(&writer, "data");
        arcp__put_cstr(&writer, "code", code);
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_format(headers, "x-arcp-code: %s\r\n", code);
    if (status == 429) {
        arcp_buf_append_cstr(headers, "retry-after: 5\r\n");
    } else if (status == 503) {
        arcp_buf_append_cstr(headers, "retry-after: 1\r\n");
    } else {
        arcp_buf_append_cstr(headers, "x-should-retry: false\r\n");
    }
}
