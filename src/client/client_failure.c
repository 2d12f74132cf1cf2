#include "client/client_job.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "core/error_payload.h"

void arcp_failure_fini(arcp_failure *failure)
{
    if (failure != NULL) {
        arcp__free(failure->details);
        *failure = (arcp_failure)ARCP_FAILURE_INIT;
    }
}

/* [arcp:EG-4] */
void arcp__client_failure_read(arcp__client_session *session, arcp_failure *failure)
{
    const arcp_json *json = &session->json;
    const arcp_json_ref object = session->in.payload;
    arcp__error_payload parsed;
    arcp_failure_fini(failure);
    if (arcp__error_payload_parse(json, object, &session->scratch, &parsed, NULL) != ARCP_OK) {
        arcp_json_ref text = arcp_json_member(json, object, ARCP_SPAN_LITERAL("message"));
        parsed = (arcp__error_payload){.status = ARCP_E_INTERNAL_ERROR,
                                       .message = arcp_json_string(json, text, &session->scratch)};
        if (parsed.message.size == 0) {
            parsed.message = ARCP_SPAN_LITERAL("the runtime sent an error without a code");
        }
    }
    arcp_json_ref details = arcp_json_member(json, object, ARCP_SPAN_LITERAL("details"));
    if (arcp_json_is_missing(json, details)) {
        details = arcp_json_member(json, object, ARCP_SPAN_LITERAL("detail"));
    }
    if (!arcp_json_is_missing(json, details)) {
        arcp_span raw = arcp_json_raw(json, details);
        failure->details = arcp__copy_cstr(raw.data, raw.size);
        session->failed = session->failed || failure->details == NULL;
    }
    session->failed = session->failed || session->scratch.failed;
    (void)arcp_error_set(&failure->error, parsed.status, "%.*s", (int)parsed.message.size,
                         parsed.message.data);
    failure->error.retryable = parsed.retryable;
    size_t size = arcp__utf8_cut(parsed.code, ARCP_FAILURE_CODE_MAX - 1);
    if (size != 0) {
        memcpy(failure->code, parsed.code.data, size);
    }
    failure->code[size] = '\0';
}

arcp_status arcp__client_failure_set_v(arcp_failure *failure, arcp_status status,
                                       const char *format, va_list arguments)
{
    char text[ARCP_ERROR_MESSAGE_MAX];
    (void)vsnprintf(text, sizeof(text), format, arguments);
    arcp_failure_fini(failure);
    return arcp_error_set(&failure->error, status, "%s", text);
}

arcp_status arcp__client_failure_set(arcp_failure *failure, arcp_status status, const char *format,
                                     ...)
{
    if (failure == NULL) {
        return status;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)arcp__client_failure_set_v(failure, status, format, arguments);
    va_end(arguments);
    return status;
}

arcp_status arcp__client_failure_copy(arcp_failure *out, const arcp_failure *from)
{
    arcp_status status = from->error.status;
    if (out != NULL && out != from) {
        arcp_failure_fini(out);
        *out = *from;
        out->details =
            from->details == NULL ? NULL : arcp__copy_cstr(from->details, strlen(from->details));
    }
    return status;
}

arcp_status arcp__client_failure_from_error(arcp_failure *out, const arcp_error *err)
{
    if (out != NULL) {
        arcp_failure_fini(out);
        out->error = *err;
    }
    return err->status;
}
