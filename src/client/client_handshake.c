/* Hello, welcome, and coming back (§6.2, §6.3).
 *
 * A hello that resumes names the session. A runtime that does not read that begins a new
 * session; then a session.resume asks again within it. Either way the session's own id comes
 * back, or the session is lost. */
#include <arcp/decimal.h>

#include "client/client_job.h"

/* Of a runtime that gives a resume token and does not say for how long it is good. */
#define RESUME_WINDOW_DEFAULT_NS (600 * ARCP_NS_PER_SEC)

/* A number of seconds, fractions too, as nanoseconds; 0 for what is none. */
static int64_t seconds_of(const arcp_json *json, arcp_json_ref ref)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    if (!arcp_json_is(json, ref, ARCP_JSON_NUMBER) ||
        arcp_decimal_parse_spend(arcp_json_raw(json, ref), &value, NULL) != ARCP_OK) {
        return 0;
    }
    arcp_decimal_units ns = value.units / ARCP_NS_PER_SEC; /* 10^-18 s to 10^-9 s */
    return ns > ARCP_TIME_NEVER ? ARCP_TIME_NEVER : (int64_t)ns;
}

static arcp_feature_set read_features(arcp__client_session *session, arcp_json_ref payload)
{
    const arcp_json *json = &session->json;
    arcp_json_ref capabilities = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("capabilities"));
    arcp_json_ref list = arcp_json_member(json, capabilities, ARCP_SPAN_LITERAL("features"));
    arcp_feature_set features = 0;
    if (!arcp_json_is(json, list, ARCP_JSON_ARRAY)) {
        return 0;
    }
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        arcp_buf_clear(&session->scratch);
        arcp_feature feature =
            arcp_feature_from_wire(arcp_json_string(json, at, &session->scratch));
        if (feature != ARCP_FEATURE_NONE) {
            features |= ARCP_FEATURE_BIT(feature);
        }
    }
    return features & session->options.given.features;
}

/* Takes the token, the terms and the inventory. [arcp:6.2-3] */
static arcp_status take_terms(arcp__client_session *session, const arcp__client_frame *frame)
{
    const arcp_json *json = &session->json;
    arcp_json_ref token = arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("resume_token"));
    arcp_buf_clear(&session->scratch);
    arcp_span text = arcp_json_string(json, token, &session->scratch);
    arcp_secret *secret = text.size == 0 ? NULL : arcp_secret_new(text);
    if (text.size != 0 && secret == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_buf welcome = ARCP_BUF_INIT;
    arcp__client_credentials_redact(json, frame->payload, &welcome);
    if (arcp_buf_status(&welcome) != ARCP_OK) {
        arcp_secret_free(secret);
        arcp_buf_fini(&welcome);
        return ARCP_E_NO_MEMORY;
    }
    arcp_buf_fini(&session->welcome);
    session->welcome = welcome;
    arcp_secret_free(session->resume_token);
    session->resume_token = secret;
    session->has_session = secret != NULL;

    session->features = read_features(session, frame->payload);
    arcp_json_ref window =
        arcp_json_member(json, frame->payload, ARCP_SPAN_LITERAL("resume_window_sec"));
    session->resume_window_ns =
        arcp_json_is_missing(json, window) ? RESUME_WINDOW_DEFAULT_NS : seconds_of(json, window);
    session->heartbeat_ns = 0;
    if (arcp__client_session_has(session, ARCP_FEATURE_HEARTBEAT)) {
        session->heartbeat_ns =
            seconds_of(json, arcp_json_member(json, frame->payload,
                                              ARCP_SPAN_LITERAL("heartbeat_interval_sec")));
        /* An interval shorter than this would only be noise on the wire. */
        if (session->heartbeat_ns != 0 && session->heartbeat_ns < 50 * ARCP_NS_PER_MS) {
            session->heartbeat_ns = 50 * ARCP_NS_PER_MS;
        }
    }
    return ARCP_OK;
}

static arcp_status go_live(arcp__client_session *session, arcp_client_event_type type)
{
    arcp_status status = arcp__client_tell(session, type, NULL, 0);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__client_enter(session, ARCP__SESSION_LIVE, ARCP_TIME_NEVER);
    session->was_live = true;
    session->welcomed_at = arcp__client_progress(session);
    session->welcome_ns = session->now.mono_ns;
    session->pinged_ns = session->now.mono_ns;
    session->acked_ns = session->now.mono_ns;
    arcp__client_requests_flush(session);
    return ARCP_OK;
}

/* The runtime began another session instead of resuming ours. */
static arcp_status ask_again(arcp__client_session *session, arcp_span new_id)
{
    if (session->state == ARCP__SESSION_RESUMING) {
        arcp__client_break(session, ARCP_E_RESUME_WINDOW_EXPIRED,
                           "the runtime did not resume the session but began a new one");
        return ARCP_OK;
    }
    arcp_buf_clear(&session->interim_id);
    arcp_buf_append(&session->interim_id, new_id);
    arcp_status status = arcp_buf_status(&session->interim_id);
    if (status == ARCP_OK) {
        status = arcp__client_send_resume(session);
    }
    if (status == ARCP_OK) {
        arcp__client_enter(session, ARCP__SESSION_RESUMING, session->wait_until_ns);
    }
    return status;
}

/* A runtime that says which message the welcome answers says so for every answer. */
static bool names_hello(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp_span hello = arcp_span_make(session->hello_id, ARCP__MESSAGE_ID_SIZE);
    return arcp_span_equal(arcp__client_frame_id(session, frame->payload, "request_id"), hello) ||
           arcp_span_equal(arcp__client_frame_id(session, frame->payload, "reply_to"), hello);
}

arcp_status arcp__client_on_welcome(arcp__client_session *session, const arcp__client_frame *frame)
{
    if (!arcp__client_is_handshaking(session)) {
        arcp__client_notice(session, "ignored a second welcome");
        return ARCP_OK;
    }
    arcp_span id = frame->session_id;
    if (id.size == 0) {
        id = arcp__client_frame_id(session, frame->payload, "session_id");
    }
    if (id.size == 0) {
        arcp__client_break(session, ARCP_E_INVALID_REQUEST,
                           "the runtime's welcome names no session");
        return ARCP_OK;
    }
    bool resumes = session->has_session;
    if (resumes && !arcp_span_equal(id, arcp_buf_span(&session->id))) {
        return ask_again(session, id);
    }
    arcp_buf_clear(&session->interim_id);
    if (!resumes) {
        arcp_buf_clear(&session->id);
        arcp_buf_append(&session->id, id);
        if (arcp_buf_status(&session->id) != ARCP_OK) {
            return ARCP_E_NO_MEMORY;
        }
    }
    session->tells_requests = names_hello(session, frame);
    arcp_status status = take_terms(session, frame);
    if (status != ARCP_OK) {
        return status;
    }
    return go_live(session, resumes ? ARCP_CLIENT_RESUMED : ARCP_CLIENT_CONNECTED);
}

/* ---- session.error ---- */

/* Codes that concern the session, whatever was asked last. */
static bool concerns_session(arcp_status status)
{
    return status == ARCP_E_UNAUTHENTICATED || status == ARCP_E_RESUME_WINDOW_EXPIRED ||
           status == ARCP_E_HEARTBEAT_LOST;
}

static void note_trouble(arcp__client_session *session, const arcp_failure *failure)
{
    if (session->trouble.error.status == ARCP_OK) {
        (void)arcp__client_failure_copy(&session->trouble, failure);
    }
}

/* In the draft a session.error is fatal: the transport closes after it. Some runtimes refuse
 * requests with it and go on. So it refuses the request it belongs to, if there is one, and
 * else is remembered as the reason should the connection close. */
static arcp_status on_live_error(arcp__client_session *session, const arcp__client_frame *frame,
                                 const arcp_failure *failure)
{
    arcp__client_binding binding = arcp__client_bind_by_name(session, frame);
    if (binding.request == NULL && !binding.names_request &&
        !concerns_session(failure->error.status)) {
        binding.request = arcp__client_bind_error(session, frame);
    }
    arcp_status status = ARCP_OK;
    if (binding.request != NULL) {
        status = arcp__client_over_refused(session, binding.request, failure);
    }
    if (binding.names_request || status != ARCP_OK) {
        return status;
    }
    if (session->state == ARCP__SESSION_CLOSING) {
        session->wait_until_ns = session->now.mono_ns; /* session.close is not known: bye */
        return ARCP_OK;
    }
    note_trouble(session, failure);
    return ARCP_OK;
}

/* [arcp:EG-8] [arcp:EG-13] */
arcp_status arcp__client_on_session_error(arcp__client_session *session,
                                          const arcp__client_frame *frame)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    arcp_status status =
        arcp__client_failure_read(&failure, &session->json, frame->payload, &session->scratch);
    if (status != ARCP_OK) {
        arcp_failure_fini(&failure);
        return status;
    }
    if (!arcp__client_is_handshaking(session)) {
        status = on_live_error(session, frame, &failure);
        if (status == ARCP_OK) {
            status = arcp__client_session_announce_held(session);
        }
    } else {
        /* While resuming, a runtime that knows no session.resume says so in its own way. */
        if (session->state == ARCP__SESSION_RESUMING && !concerns_session(failure.error.status)) {
            (void)arcp__client_failure_set(&failure, ARCP_E_RESUME_WINDOW_EXPIRED,
                                           "the runtime did not resume the session");
        }
        note_trouble(session, &failure);
        session->action = ARCP__SESSION_CLOSE;
    }
    arcp_failure_fini(&failure);
    return status;
}
