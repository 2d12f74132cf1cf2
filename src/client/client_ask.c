/* Requests of a vendor's extension (arcp_client_ask). */
#include "base/alloc.h"
#include "client/client_job.h"

arcp_status arcp__client_prepare_ask(arcp__client_request *request,
                                     const arcp__client_request_args *args, arcp_error *err)
{
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    const arcp_span type = arcp_span_cstr(args->type);
    const arcp_span payload = args->payload.size == 0 ? ARCP_SPAN_LITERAL("{}") : args->payload;
    arcp_json json = ARCP__JSON_INIT;
    if (!arcp_span_starts_with(type, ARCP_SPAN_LITERAL("x-vendor."))) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%.64s\" does not begin with x-vendor.",
                              args->type);
    }
    if (arcp_span_starts_with(type, ARCP_SPAN_LITERAL("x-vendor.arcpd."))) {
        request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_VIEW);
    }
    arcp_status status = arcp_json_scan(&json, payload, &limits, err);
    if (status == ARCP_OK && !arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        status = arcp_error_set(err, ARCP_E_USAGE, "the payload of %.64s must be a JSON object",
                                args->type);
    } else if (status == ARCP_OK) {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &request->payload);
        request->type = arcp__copy_cstr(type.data, type.size);
        status = request->type == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                       : ARCP_OK;
    }
    arcp__json_fini(&json);
    return status;
}

/* A frame of a vendor that is not the response to a request is for other programs. */
void arcp__client_on_vendor(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    arcp__client_request *request = arcp__client_bind_by_name(session).request;
    if (request == NULL || request->kind != ARCP__CLIENT_REQUEST_ASK) {
        return;
    }
    arcp__client_request_finish(session, request, (arcp_reply){.answer = in->text});
}
