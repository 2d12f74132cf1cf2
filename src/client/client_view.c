/* Requests x-vendor.arcpd.* (docs/protocol.md, The view): any of them, with a payload of the
 * program's. */
#include <stdio.h>

#include "client/client_session.h"

arcp_status arcp__client_view_prepare(arcp__client_request *request,
                                      const arcp__client_request_args *args, arcp_error *err)
{
    const char *name = args->view;
    const size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    arcp_error why = {0};
    if (size == 0 || name[size] != '\0' || size >= 32) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%.32s\" is not the name of a request", name);
    }
    if (strcmp(name, "watch") == 0 || strcmp(name, "unwatch") == 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%s\" has a function of its own: "
                              "arcp_client_%s",
                              name, name);
    }
    (void)snprintf(request->view_type, sizeof request->view_type, "x-vendor.arcpd.%s", name);
    request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_VIEW);
    const arcp_span text = args->payload.size == 0 ? ARCP_SPAN_LITERAL("{}") : args->payload;
    arcp_status status = arcp_json_scan(&json, text, &limits, &why);
    if (status == ARCP_OK && arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &request->payload);
    } else {
        status = arcp_error_set(err, status == ARCP_OK ? ARCP_E_INVALID_REQUEST : status,
                                "the payload of %s: %s", request->view_type,
                                status == ARCP_OK ? "must be a JSON object" : why.message);
    }
    arcp__json_fini(&json);
    return status;
}
