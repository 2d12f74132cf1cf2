/* Hello, welcome and resume (§6.2, §6.3).
 *
 * A hello that resumes names the session. A runtime that ignores this begins a new session; then a
 * session.resume is sent within it. The welcome must finally have the id of the old session;
 * otherwise the session is lost. */
#include "client/client_job.h"
#include "core/decimal.h"

/* For a runtime that sends a resume token without a resume window. */
#define RESUME_WINDOW_DEFAULT_NS (600 * ARCP_NS_PER_SEC)

/* A number of seconds, possibly with a fraction, as nanoseconds; 0 if it is not a number. */
static int64_t seconds_of(const arcp_json *json, arcp_json_ref ref)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    if (!arcp_json_is(json, ref, ARCP_JSON_NUMBER) ||
        arcp_decimal_parse_spend(arcp_json_raw(json, ref), &value, NULL) != ARCP_OK) {
        return 0;
    }
    const arcp__units ns = arcp__decimal_units(value) / ARCP_NS_PER_SEC; /* 10^-18 s to 10^-9 s */
    return ns > ARCP_TIME_NEVER ? ARCP_TIME_NEVER : (int64_t)ns;
}

/* Stores the contents of the welcome: token, features, intervals. False when out of memory.
 * [arcp:6.2-3] */
static bool take_terms(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp__client_message *in = &session->in;
    const arcp_span token = in->welcome.resume_token;
    arcp_secret *secret = token.size == 0 ? NULL : arcp_secret_new(token);
    arcp_buf welcome = arcp_buf_init();
    arcp__client_credentials_redact(json, in->payload, &welcome);
    if (welcome.failed || (token.size != 0 && secret == NULL)) {
        arcp_secret_free(secret);
        arcp_buf_fini(&welcome);
        return false;
    }
    arcp_buf_fini(&session->welcome);
    session->welcome = welcome;
    arcp_secret_free(session->resume_token);
    session->resume_token = secret;
    session->has_session = secret != NULL;

    session->features = 0;
    for (arcp_json_ref item = arcp_json_first(json, in->welcome.features); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, in->welcome.features, item)) {
        const arcp_feature feature =
            arcp_feature_from_wire(arcp_json_string(json, item, &session->scratch));
        if (feature != ARCP_FEATURE_NONE) {
            session->features |= ARCP_FEATURE_BIT(feature) & session->given.features;
        }
    }
    session->resume_window_ns = arcp_json_is_missing(json, in->welcome.resume_window_sec)
                                    ? RESUME_WINDOW_DEFAULT_NS
                                    : seconds_of(json, in->welcome.resume_window_sec);
    session->heartbeat_ns = 0;
    if (arcp__client_session_has(session, ARCP_FEATURE_HEARTBEAT)) {
        session->heartbeat_ns = seconds_of(json, in->welcome.heartbeat_interval_sec);
        /* A shorter interval would only cause useless traffic. */
        if (session->heartbeat_ns != 0 && session->heartbeat_ns < 50 * ARCP_NS_PER_MS) {
            session->heartbeat_ns = 50 * ARCP_NS_PER_MS;
        }
    }
    return true;
}

void arcp__client_on_welcome(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (!arcp__client_is_handshaking(session)) {
        arcp__client_notice(session, "ignored a second welcome");
        return;
    }
    const arcp_span id = in->session_id.size != 0 ? in->session_id : in->welcome.session_id;
    if (id.size == 0) {
        arcp__client_break(session, ARCP_E_INVALID_REQUEST,
                           "the runtime's welcome names no session");
        return;
    }
    const bool resumes = session->has_session;
    const bool is_other = resumes && !arcp_span_equal(id, arcp_buf_span(&session->id));
    arcp_buf_clear(&session->interim_id);
    if (is_other && session->state == ARCP__SESSION_RESUMING) {
        arcp__client_break(session, ARCP_E_RESUME_WINDOW_EXPIRED,
                           "the runtime did not resume the session but began a new one");
        return;
    }
    if (is_other) { /* a new session instead of ours: request the resume within it */
        arcp_buf_append(&session->interim_id, id);
        if (session->interim_id.failed || !arcp__client_send_resume(session)) {
            session->failed = true;
            return;
        }
        arcp__client_enter(session, ARCP__SESSION_RESUMING, session->wait_until_ns);
        return;
    }
    if (!resumes) {
        arcp_buf_clear(&session->id);
        arcp_buf_append(&session->id, id);
        (void)arcp_buf_cstr(&session->id);
    }
    /* A runtime whose welcome names the hello names the request in every response. */
    const arcp_span hello = arcp_span_make(session->hello_id, ARCP__MESSAGE_ID_SIZE);
    session->names_requests =
        arcp_span_equal(in->names[0], hello) || arcp_span_equal(in->names[1], hello);
    if (session->id.failed || !take_terms(session) ||
        !arcp__client_notify(session, resumes ? ARCP_CLIENT_RESUMED : ARCP_CLIENT_CONNECTED, NULL,
                             0)) {
        session->failed = true;
        return;
    }
    arcp__client_enter(session, ARCP__SESSION_LIVE, ARCP_TIME_NEVER);
    session->was_live = true;
    session->welcomed_at = arcp__client_progress(session);
    session->welcome_ns = session->now.mono_ns;
    session->pinged_ns = session->now.mono_ns;
    session->acked_ns = session->now.mono_ns;
    arcp__client_watch_again(session);
    arcp__client_requests_flush(session);
}

/* ---- session.error ---- */

/* In the draft a session.error is fatal: the transport closes after it. But some runtimes refuse
 * requests with it and continue. So it refuses the request it belongs to, if there is one;
 * otherwise it is kept as the reason in case the connection closes. [arcp:EG-8] [arcp:EG-13] */
void arcp__client_on_session_error(arcp__client_session *session)
{
    arcp_buf details = arcp_buf_init();
    arcp_error error = {.details = &details};
    arcp__client_binding binding = {NULL, false};
    const bool is_handshaking = arcp__client_is_handshaking(session);
    arcp__client_error_read(session, &error);
    /* Codes that concern the session and not a request. */
    const arcp_status status = error.status;
    const bool is_general = status == ARCP_E_UNAUTHENTICATED ||
                            status == ARCP_E_RESUME_WINDOW_EXPIRED ||
                            status == ARCP_E_HEARTBEAT_LOST;
    if (!is_handshaking) {
        binding = arcp__client_bind_by_name(session);
        if (binding.request == NULL && !binding.names_request && !is_general) {
            binding.request = arcp__client_bind_error(session);
        }
        if (binding.request != NULL) {
            arcp__client_silent_refused(session, binding.request, &error);
        }
        arcp__client_session_announce_held(session);
    } else if (session->state == ARCP__SESSION_RESUMING && !is_general) {
        /* A runtime that does not support session.resume refuses it with any code. */
        (void)arcp_error_set(&error, ARCP_E_RESUME_WINDOW_EXPIRED,
                             "the runtime did not resume the session");
    }
    if (!session->failed && !binding.names_request) {
        if (session->state == ARCP__SESSION_CLOSING) {
            session->wait_until_ns = session->now.mono_ns; /* no session.close: try session.bye */
        } else if (session->connection_error.status == ARCP_OK) {
            (void)arcp_error_copy(&session->connection_error, &error);
        }
        session->action = is_handshaking ? ARCP__SESSION_CLOSE : session->action;
    }
    arcp_buf_fini(&details);
}
