/* Finds the request that a response belongs to.
 *
 * Runtimes name the request in different ways: payload.request_id, payload.reply_to,
 * correlation_id, or the request's id as the response's own id; some do not name it and respond in
 * order. A name in the frame always takes precedence. A runtime that named the hello in its welcome
 * names every request, so nothing is guessed there. Otherwise the request is guessed from the job,
 * then from the trace that the submit began, then from the order of requests. A frame that names an
 * unknown request, or one that has already ended, belongs to none. */
#include "client/client_job.h"

/* Kinds of requests, as bits. */
#define KIND(kind) (1u << (unsigned)(kind))
#define SUBMIT     KIND(ARCP__CLIENT_REQUEST_SUBMIT)
/* Requests that a runtime may refuse; a ping is always answered. */
#define REFUSABLE (~KIND(ARCP__CLIENT_REQUEST_PING))

arcp__client_request *arcp__client_find_request(arcp__client_session *session, arcp_span id)
{
    arcp__client_request *request = NULL;
    if (id.size == ARCP__MESSAGE_ID_SIZE) {
        HASH_FIND(hh, session->by_id, id.data, ARCP__MESSAGE_ID_SIZE, request);
    }
    return request;
}

arcp__client_binding arcp__client_bind_by_name(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    arcp__client_binding binding = {NULL, false};
    for (size_t i = 0; i < sizeof in->names / sizeof in->names[0]; i++) {
        binding.names_request = binding.names_request || in->names[i].size != 0;
        if (binding.request == NULL) {
            binding.request = arcp__client_find_request(session, in->names[i]);
        }
    }
    if (binding.request == NULL && !binding.names_request) {
        binding.request = arcp__client_find_request(session, in->id);
        binding.names_request = binding.request != NULL;
    }
    return binding;
}

static arcp__client_request *find_by_trace(const arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    char trace[ARCP__TRACE_ID_SIZE];
    arcp__client_request *request = NULL;
    if (!arcp__trace_id_parse(in->trace_id.size != 0 ? in->trace_id : in->envelope_trace_id,
                              trace)) {
        return NULL;
    }
    DL_FOREACH (session->requests, request) {
        if (request->kind == ARCP__CLIENT_REQUEST_SUBMIT && request->sends != 0 &&
            memcmp(request->trace_id, trace, sizeof trace) == 0) {
            return request;
        }
    }
    return NULL;
}

static arcp__client_request *find_by_job(const arcp__client_session *session, unsigned kinds)
{
    arcp__client_request *request = NULL;
    DL_FOREACH (session->requests, request) {
        if (request->sends != 0 && (kinds & KIND(request->kind)) != 0 && request->job_id != NULL &&
            arcp_span_equal_cstr(session->in.job_id, request->job_id)) {
            return request;
        }
    }
    return NULL;
}

static arcp__client_request *find_oldest(const arcp__client_session *session, unsigned kinds,
                                         bool is_keyed)
{
    arcp__client_request *request = NULL;
    DL_FOREACH (session->requests, request) {
        if (request->state == ARCP__REQUEST_SENT && !request->is_overtaken &&
            (kinds & KIND(request->kind)) != 0 && (request->is_keyed || !is_keyed)) {
            return request;
        }
    }
    return NULL;
}

/* For runtimes that do not name requests: by job, else by trace, else the oldest request. */
static arcp__client_request *guess(const arcp__client_session *session, unsigned kinds)
{
    arcp__client_request *request = find_by_job(session, kinds);
    if (request == NULL && (kinds & SUBMIT) != 0) {
        request = find_by_trace(session);
    }
    return request != NULL ? request : find_oldest(session, kinds, false);
}

arcp__client_binding arcp__client_bind_reply(arcp__client_session *session,
                                             arcp__client_request_kind kind)
{
    arcp__client_binding binding = arcp__client_bind_by_name(session);
    if (binding.request != NULL && binding.request->kind != kind) {
        binding.request = NULL;
    }
    if (!binding.names_request && !session->names_requests) {
        binding.request = guess(session, KIND(kind));
    }
    return binding;
}

arcp__client_request *arcp__client_bind_error(arcp__client_session *session)
{
    return session->names_requests ? NULL : guess(session, REFUSABLE);
}

arcp__client_request *arcp__client_bind_by_job(arcp__client_session *session,
                                               arcp__client_request_kind kind)
{
    return session->names_requests ? NULL : find_by_job(session, KIND(kind));
}

arcp__client_request *arcp__client_bind_repeated(arcp__client_session *session)
{
    arcp__client_request *request = find_by_trace(session);
    return request != NULL && !request->can_repeat ? request : NULL;
}

arcp__client_request *arcp__client_bind_keyed(arcp__client_session *session)
{
    if (session->names_requests) {
        return NULL;
    }
    arcp__client_request *request = find_by_trace(session);
    return request != NULL ? request : find_oldest(session, SUBMIT, true);
}

static bool has_code(const arcp__client_session *session, arcp_status status)
{
    return arcp_span_equal_cstr(session->in.end.code, arcp_status_wire_code(status));
}

/* Whether a job.error for the job of a cancel or a subscribe refuses that request, rather than
 * being the job's end. `job` is NULL when no frame about it was received so far. */
static bool refuses(const arcp__client_session *session, const arcp__client_request *request,
                    const arcp_job *job)
{
    if (has_code(session, ARCP_E_JOB_NOT_FOUND)) {
        return true;
    }
    const bool is_denied = has_code(session, ARCP_E_PERMISSION_DENIED);
    if (request->kind == ARCP__CLIENT_REQUEST_SUBSCRIBE) {
        return job == NULL && is_denied;
    }
    if (job != NULL) {
        return is_denied && !job->is_accepted; /* a subscriber may not cancel */
    }
    return !has_code(session, ARCP_E_CANCELLED) && !has_code(session, ARCP_E_TIMEOUT);
}

/* The TypeScript SDK's runtime refuses with a job.error that names no request: a submit with a new
 * job id, other requests with the id of their job. */
arcp__client_binding arcp__client_bind_refusal(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    const arcp__client_binding none = {NULL, false};
    if (session->names_requests || in->type != ARCP_MESSAGE_JOB_ERROR || in->job_id.size == 0) {
        return none;
    }
    if (has_code(session, ARCP_E_DUPLICATE_KEY)) { /* no job ends with this code */
        return (arcp__client_binding){arcp__client_bind_keyed(session), true};
    }
    const arcp_job *job = arcp__client_session_find_job(session, in->job_id);
    arcp__client_request *request = find_by_job(session, REFUSABLE);
    if (request != NULL) {
        return (arcp__client_binding){request, refuses(session, request, job)};
    }
    /* In a session that another process began, the id may belong to a job that is unknown here. */
    if (job != NULL || session->is_adopted ||
        arcp__removed_jobs_has(session->removed, in->job_id)) {
        return none;
    }
    request = guess(session, SUBMIT);
    return (arcp__client_binding){request, request != NULL};
}
