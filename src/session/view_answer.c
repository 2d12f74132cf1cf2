#include "session/view.h"

#include <stdio.h>

/* The request, for the functions that answer and refuse. NULL when out of memory. */
static arcp__request *request_of(arcp__sessions *sessions, const arcp__view_call *call)
{
    return arcp__session_new_request(sessions, call->session,
                                     &(arcp__envelope){.type = ARCP_MESSAGE_VENDOR,
                                                       .id = call->id,
                                                       .extensions = ARCP_JSON_ABSENT},
                                     arcp__hash_bytes(call->id.data, call->id.size));
}

void arcp__view_answer(arcp__sessions *sessions, const arcp__view_call *call,
                       const arcp_buf *payload)
{
    char type[64];
    arcp__context_check_text(sessions->context, payload);
    arcp__request *request = payload->failed ? NULL : request_of(sessions, call);
    if (request == NULL) {
        return;
    }
    (void)snprintf(type, sizeof type, ARCP__VIEW_PREFIX "%s.answer", call->row->name);
    arcp__request_answer(sessions, request, type, ARCP__NOTHING, ARCP__NOTHING,
                         arcp_buf_span(payload));
    arcp__session_free_request(request);
}

void arcp__view_refuse(arcp__sessions *sessions, const arcp__view_call *call,
                       const arcp_error *error, arcp_span details)
{
    arcp__request *request = request_of(sessions, call);
    if (request != NULL) {
        arcp__request_refuse(sessions, request, error, ARCP__NOTHING, details);
        arcp__session_free_request(request);
    }
}

void arcp__view_audit(arcp__sessions *sessions, const arcp__view_call *call, const arcp__job *job,
                      arcp_span target, arcp_status code, const char *reason)
{
    const char *role = arcp__role_name(call->session->role);
    arcp__audit(sessions->log,
                &(arcp__audit_line){
                    .event = ARCP__AUDIT_OPERATOR,
                    .decision = code == ARCP_OK ? "allowed" : "denied",
                    .who = arcp__session_who(call->session, job),
                    .code = code,
                    .rule = role[0] == '\0' ? "no role" : role,
                    .reason = reason,
                    .target = target,
                    .more = {{"request", arcp_span_cstr(call->row->name)},
                             {"owner", job == NULL ? ARCP__NOTHING
                                                   : arcp_span_cstr(job->principal->name)}}});
}
