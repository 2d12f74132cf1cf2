/* session.hello and session.welcome (§6.1, §6.2): who is it, what do both sides speak. */
#include "engine/parts.h"

#include <arcp/secret.h>

#include <stdio.h>

#include "base/base64.h"
#include "json/json_put.h"

static void refuse(arcp__engine *engine, arcp__link *link, arcp_status status, const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, status, "%s", message);
    arcp__link_fail(engine, link, &error, arcp_span_make(NULL, 0), 1008);
}

/* Whether auth.scheme is one that we know. An absent token is empty: the verifier refuses it unless
 * the operator wants no authentication. [arcp:6.1-1] */
static bool names_known_scheme(const arcp_json *json, const arcp__hello *hello)
{
    return arcp_json_is_missing(json, hello->auth_scheme) ||
           arcp_json_string_equals(json, hello->auth_scheme, ARCP_SPAN_LITERAL("bearer")) ||
           arcp_json_string_equals(json, hello->auth_scheme, ARCP_SPAN_LITERAL("none")) ||
           arcp_json_string_equals(json, hello->auth_scheme, ARCP_SPAN_LITERAL("anonymous"));
}

/* [arcp:6.2-1] [arcp:6.2-3] */
static arcp_feature_set read_features(const arcp_json *json, arcp_json_ref list, arcp_buf *scratch)
{
    arcp_feature_set features = 0;
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        arcp_feature feature = arcp_feature_from_wire(arcp_json_string(json, at, scratch));
        if (feature != ARCP_FEATURE_NONE) {
            features |= ARCP_FEATURE_BIT(feature);
        }
    }
    return features & ARCP_FEATURES_ALL;
}

/* Encodings are optional; when they are named, json must be among them. */
static bool speaks_json(const arcp_json *json, arcp_json_ref list)
{
    if (arcp_json_is_missing(json, list)) {
        return true;
    }
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        if (arcp_json_string_equals(json, at, ARCP_SPAN_LITERAL("json"))) {
            return true;
        }
    }
    return false;
}

static arcp_span client_text(arcp_span in_client, arcp_span flat)
{
    return arcp_span_first(in_client.size != 0 ? in_client : flat, 256);
}

/* The form in which it is refused while there is no session. */
static void note_profile(arcp__engine *engine, arcp__link *link, const arcp__hello *hello,
                         const arcp__principal *principal)
{
    link->profile = arcp__peer_profile_of(
        engine, client_text(hello->client_name, hello->flat_client_name), principal);
}

/* Whether it asks for a session to be resumed, in resume{} or beside it. [arcp:6.5-7] */
static bool asks_to_resume(const arcp_json *json, const arcp__message *in,
                           arcp__resume_request *out)
{
    const bool is_flat = arcp_json_is_missing(json, in->hello.resume);
    *out = is_flat ? in->hello.flat_resumed : in->hello.resumed;
    if (!is_flat && out->token.data == NULL) {
        out->token = in->hello.older_token;
    }
    if (out->session_id.data == NULL) {
        out->session_id = in->envelope.session_id;
    }
    return out->token.data != NULL;
}

/* Token and shape first: nothing else of an unauthenticated peer is looked at, but the name that
 * says in which form it is refused. */
void arcp__session_hello(arcp__engine *engine, arcp__link *link, arcp_span frame, arcp__message *in)
{
    arcp_error error = {0};
    arcp_status status = arcp__message_read_payload(&engine->context, in, &error);
    note_profile(engine, link, &in->hello, NULL);
    if (status != ARCP_OK) {
        arcp__link_fail(engine, link, &error, arcp_span_make(NULL, 0), 1008);
        return;
    }
    if (!names_known_scheme(&engine->context.json, &in->hello)) {
        refuse(engine, link, ARCP_E_UNAUTHENTICATED, "auth.scheme must be \"bearer\"");
        return;
    }
    arcp_buf_clear(&link->hello);
    arcp_buf_append(&link->hello, frame);
    if (link->hello.failed) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    link->state = ARCP__LINK_AUTHENTICATING;
    link->auth_id = ++engine->next_auth_id;
    if (link->preset_principal != NULL) {
        arcp__session_authenticated(engine, link, ARCP_OK, arcp_span_cstr(link->preset_principal),
                                    false);
        return;
    }
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    if (arcp_json_string_equals(&engine->context.json, in->hello.auth_scheme,
                                ARCP_SPAN_LITERAL("bearer"))) {
        arcp_buf_append(&text, in->hello.token);
    }
    arcp__effect_push(engine->log, &link->port,
                      &(arcp__effect){.kind = ARCP__EFFECT_AUTHENTICATE, .id = link->auth_id},
                      &text, false);
}

void arcp__session_make_token(arcp__engine *engine, arcp__session *session, arcp_buf *token)
{
    uint8_t bytes[32];
    arcp__context_random(&engine->context, bytes, sizeof(bytes));
    arcp_buf_append_cstr(token, "rt_");
    arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof(bytes)), ARCP__BASE64_URL,
                        token);
    arcp__context_sha256(&engine->context, arcp_buf_span(token), session->token_hash);
    arcp_wipe(bytes, sizeof(bytes));
}

static void write_features(arcp_feature_set features, arcp_json_writer *writer)
{
    arcp__put_array(writer, "features");
    for (int feature = 0; feature < ARCP_FEATURE_COUNT; feature++) {
        if ((features & ARCP_FEATURE_BIT(feature)) != 0) {
            arcp_json_write_cstr(writer, arcp_feature_name((arcp_feature)feature));
        }
    }
    arcp_json_end_array(writer);
}

/* [arcp:6.2-2] */
static void format_welcome(const arcp__engine *engine, const arcp__session *session,
                           arcp_span request_id, arcp_span token, arcp_buf *payload)
{
    arcp_json_writer writer = arcp__put_begin(payload);
    arcp__put_object(&writer, "runtime");
    arcp__put_cstr(&writer, "name", engine->options.runtime_name);
    arcp__put_cstr(&writer, "version", engine->options.runtime_version);
    arcp_json_end_object(&writer);
    arcp__put_cstr(&writer, "session_id", session->id);
    arcp__write_timestamp(&writer, "accepted_at", engine->context.now.wall_ns);
    arcp__put_string(&writer, "resume_token", token);
    arcp__put_u64(&writer, "resume_window_sec", engine->context.settings.session_resume_window_sec);
    if (arcp__session_has_feature(session, ARCP_FEATURE_HEARTBEAT)) {
        arcp__put_u64(&writer, "heartbeat_interval_sec",
                      engine->context.settings.session_heartbeat_interval_sec);
    }
    arcp__put_object(&writer, "capabilities");
    arcp__put_array(&writer, "encodings");
    arcp_json_write_cstr(&writer, "json");
    arcp_json_end_array(&writer);
    write_features(session->features, &writer);
    arcp__agents_write(&engine->jobs,
                       arcp__session_has_feature(session, ARCP_FEATURE_AGENT_VERSIONS), &writer);
    arcp_json_end_object(&writer);
    arcp__put_string(&writer, "request_id", request_id);
    arcp__put_string(&writer, "reply_to", request_id);
    arcp_json_end_object(&writer);
}

void arcp__session_welcome(arcp__engine *engine, arcp__session *session, arcp_span request_id,
                           arcp_span token)
{
    arcp_buf payload = ARCP_BUF_SECRET_INIT;
    arcp_buf frame = ARCP_BUF_SECRET_INIT;
    format_welcome(engine, session, request_id, token, &payload);
    arcp__envelope_format(&(arcp__envelope_head){.type = "session.welcome",
                                                 .id = request_id,
                                                 .session_id = arcp_span_cstr(session->id)},
                          arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    if (frame.size > engine->context.settings.limits_frame_bytes) {
        arcp_error error = {0};
        arcp_buf_fini(&frame);
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "the list of agents is too large for one frame (limits.frame_bytes)");
        arcp__effect_log(engine->log, ARCP__LOG_ERROR, "no session can be opened: %s",
                         error.message);
        arcp__link_fail(engine, session->link, &error, ARCP__FRAME_LIMIT, 1011);
        return;
    }
    arcp__session_send(engine, session, &frame, true);
}

static bool copy_client(arcp__engine *engine, arcp__session *session, const arcp__hello *hello)
{
    const arcp_span name = client_text(hello->client_name, hello->flat_client_name);
    const arcp_span version = client_text(hello->client_version, hello->flat_client_version);
    session->client_name = arcp__copy_cstr(name.data, name.size);
    session->client_version = arcp__copy_cstr(version.data, version.size);
    session->profile = arcp__peer_profile_of(engine, name, session->principal);
    if (session->client_name == NULL || session->client_version == NULL) {
        arcp__context_no_memory(&engine->context);
        return false;
    }
    return true;
}

static bool may_go(const arcp__session *session)
{
    return session->said_goodbye && session->link == NULL && !session->loading &&
           session->submits_first == NULL && !arcp__session_has_live_jobs(session);
}

/* Sessions that said goodbye and have no live jobs may still be resumed, but not at the price of
 * a newcomer: a script that calls `arcp` a thousand times would lock its user out. The oldest
 * one goes, of `principal`, or of anybody's (NULL). */
static void make_room(arcp__engine *engine, const arcp__principal *principal)
{
    arcp__session *at = principal == NULL ? engine->sessions : principal->oldest_session;
    while (at != NULL && !may_go(at)) {
        at = principal == NULL ? at->hh.next : at->own_next;
    }
    if (at != NULL) {
        arcp__session_end(engine, at, "it said goodbye, and its place was needed");
    }
}

static void make_room_within_caps(arcp__engine *engine, arcp__principal *principal)
{
    bool is_full = principal->sessions >= engine->context.settings.limits_sessions_per_principal;
    principal->sessions++; /* the newcomer's: its principal must not go with its last session */
    if (is_full) {
        make_room(engine, principal);
    }
    if (engine->session_count >= engine->context.settings.limits_sessions) {
        make_room(engine, NULL);
    }
    principal->sessions--;
}

/* [arcp:14-19] */
static bool within_caps(arcp__engine *engine, arcp__link *link, arcp__principal *principal)
{
    make_room_within_caps(engine, principal);
    arcp_error error = {0};
    const char *limit = NULL;
    if (engine->session_count >= engine->context.settings.limits_sessions) {
        limit = "sessions";
    } else if (principal->sessions >= engine->context.settings.limits_sessions_per_principal) {
        limit = "sessions_per_principal";
    }
    if (limit == NULL) {
        return true;
    }
    char details[96];
    (void)snprintf(details, sizeof(details), "{\"limit\":\"limits.%s\"}", limit);
    (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR, "too many sessions (limits.%s)", limit);
    arcp__link_fail(engine, link, &error, arcp_span_cstr(details), 1008);
    return false;
}

void arcp__session_audit(arcp__engine *engine, const arcp__link *link, const arcp__session *session,
                         const char *request)
{
    const char *rule = "token";
    if (session->is_anonymous) {
        rule = "no_auth";
    } else if (link->preset_principal != NULL) {
        rule = "transport";
    }
    arcp__audit(engine->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_AUTHENTICATION,
                                    .decision = "allowed",
                                    .who = arcp__session_who(session, NULL),
                                    .rule = rule,
                                    .more = {{"request", arcp_span_cstr(request)},
                                             {"client", arcp_span_cstr(session->client_name)}}});
}

static void open_session(arcp__engine *engine, arcp__link *link, arcp__principal *principal,
                         const arcp__message *in, bool is_anonymous)
{
    if (!within_caps(engine, link, principal)) {
        return;
    }
    arcp__session *session = arcp__session_new(engine, principal);
    if (session == NULL) {
        return;
    }
    session->is_anonymous = is_anonymous;
    session->features =
        read_features(&engine->context.json, in->hello.features, &engine->context.scratch);
    if (!arcp__credentials_are_offered(&engine->credentials, is_anonymous,
                                       arcp__link_is_private(link))) {
        session->features &= ~ARCP_FEATURE_BIT(ARCP_FEATURE_PROVISIONED_CREDENTIALS);
    }
    arcp_buf token = ARCP_BUF_SECRET_INIT;
    arcp__session_make_token(engine, session, &token);
    if (!copy_client(engine, session, &in->hello) || token.failed) {
        arcp_buf_fini(&token);
        arcp__session_end(engine, session, "out of memory");
        return;
    }
    arcp__session_attach(engine, session, link);
    arcp__session_audit(engine, link, session, "session.hello");
    engine->metrics.sessions_opened++;
    arcp__session_store(engine, session);
    arcp__session_welcome(engine, session, in->envelope.id, arcp_buf_span(&token));
    session->opens_at = arcp__batch_open_id(engine->log);
    arcp_buf_fini(&token);
    arcp__session_heartbeat_start(engine, session);
}

/* The hello again, now that its sender is known. */
static void continue_hello(arcp__engine *engine, arcp__link *link, arcp_span principal_name,
                           bool is_anonymous)
{
    arcp_span frame = arcp_buf_span(&link->hello);
    arcp__message in;
    if (!arcp__message_read(&engine->context, frame, &in)) {
        /* It was read before: there is no memory for its size any more. */
        arcp__link_close(engine, link, 1011, "there is no memory for a frame of this size", false);
        return;
    }
    if (!speaks_json(&engine->context.json, in.hello.encodings)) {
        refuse(engine, link, ARCP_E_INVALID_REQUEST,
               "capabilities.encodings must include \"json\"");
        return;
    }
    arcp__principal *principal = arcp__principal_get(&engine->jobs, principal_name);
    if (principal == NULL) {
        return;
    }
    principal->is_held = true; /* a session that cannot be made must not take it along */
    note_profile(engine, link, &in.hello, principal);
    arcp__resume_request resume;
    if (asks_to_resume(&engine->context.json, &in, &resume)) {
        arcp__session_resume(engine, link, is_anonymous ? NULL : principal, &in.envelope, &resume);
    } else {
        open_session(engine, link, principal, &in, is_anonymous);
    }
    principal->is_held = false;
    arcp__principal_maybe_free(&engine->jobs, principal);
}

static void audit_refusal(arcp__engine *engine, const arcp__link *link, arcp_status code)
{
    const arcp__refusal refusal = {.peer = link->peer,
                                   .rule = code == ARCP_E_UNAUTHENTICATED ? "token"
                                                                          : "token, not verified",
                                   .is_audited = true};
    engine->metrics.authentications_refused++;
    if (arcp__refusal_is_written(engine, &refusal)) {
        arcp__audit(engine->log, &(arcp__audit_line){.event = ARCP__AUDIT_AUTHENTICATION,
                                                     .decision = "denied",
                                                     .code = code,
                                                     .rule = "token",
                                                     .peer = link->peer});
    }
}

void arcp__session_authenticated(arcp__engine *engine, arcp__link *link, arcp_status status,
                                 arcp_span principal, bool is_anonymous)
{
    if (status == ARCP_E_INTERNAL_ERROR) {
        audit_refusal(engine, link, ARCP_E_INTERNAL_ERROR);
        refuse(engine, link, ARCP_E_INTERNAL_ERROR,
               "the token cannot be verified right now; try again later");
    } else if (status != ARCP_OK || principal.size == 0) {
        audit_refusal(engine, link, ARCP_E_UNAUTHENTICATED);
        refuse(engine, link, ARCP_E_UNAUTHENTICATED, "the token is missing or not valid");
    } else if (arcp__log_is_failing(engine->log)) {
        refuse(engine, link, ARCP_E_INTERNAL_ERROR,
               "the runtime cannot store sessions right now; try again later");
    } else {
        continue_hello(engine, link, principal, is_anonymous);
    }
    if (link->state == ARCP__LINK_AUTHENTICATING) {
        link->state = ARCP__LINK_NEW;
    }
    arcp__link_authenticated(engine, link);
}
