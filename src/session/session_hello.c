/* From a link's first frame to a session (§6.1, §6.2): authentication and negotiation. Later frames
 * go to the session.
 *
 * A resume (§6.3) puts an existing session on a new link and replays what its client has not got.
 * It can be requested in three ways: hello.payload.resume{...}, the same members flat in the hello,
 * or a session.resume message. The resume token is compared in constant time with hashes of the
 * current token and, until the new link has sent a frame, of the previous one. A failed attempt
 * changes nothing. */
#include "session/session_state.h"

#include <arcp/secret.h>

#include <stdio.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "core/role.h"
#include "session/page_key.h"

static void refuse(arcp__sessions *sessions, arcp__link *link, arcp_status status,
                   const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, status, "%s", message);
    arcp__link_fail(sessions, link, &error, ARCP__NOTHING, 1008);
}

/* ---- the welcome ---- */

/* [arcp:6.2-2] */
static void write_viewer(arcp__sessions *sessions, arcp__session *session, arcp_json_writer *writer)
{
    arcp_buf key = arcp_buf_secret_init();
    arcp__put_object(writer, arcp_feature_name(ARCP_FEATURE_VIEW));
    arcp__put_cstr(writer, "principal", session->principal->name);
    if (session->role != ARCP_ROLE_NONE) {
        arcp__put_cstr(writer, "role", arcp__role_name(session->role));
    }
    arcp__page_key_make(sessions, session, &key);
    if (key.size != 0) {
        arcp__put_string(writer, "page_key", arcp_buf_span(&key));
    }
    arcp_json_end_object(writer);
    arcp_buf_fini(&key);
}

static void welcome(arcp__sessions *sessions, arcp__session *session, arcp_span request_id,
                    arcp_span token)
{
    const arcp_settings *settings = &sessions->context->settings;
    arcp_buf payload = arcp_buf_secret_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_object(&writer, "runtime");
    arcp__put_cstr(&writer, "name", sessions->runtime_name);
    arcp__put_cstr(&writer, "version", sessions->runtime_version);
    arcp_json_end_object(&writer);
    arcp__put_cstr(&writer, "session_id", session->id);
    arcp__write_timestamp(&writer, "accepted_at", sessions->context->now.wall_ns);
    arcp__put_string(&writer, "resume_token", token);
    arcp__put_u64(&writer, "resume_window_sec", settings->session_resume_window_sec);
    if (arcp__session_has_feature(session, ARCP_FEATURE_HEARTBEAT)) {
        arcp__put_u64(&writer, "heartbeat_interval_sec", settings->session_heartbeat_interval_sec);
    }
    arcp__put_object(&writer, "capabilities");
    arcp__put_array(&writer, "encodings");
    arcp_json_write_cstr(&writer, "json");
    arcp_json_end_array(&writer);
    arcp__put_array(&writer, "features");
    for (int feature = 0; feature < ARCP_FEATURE_COUNT; feature++) {
        if ((session->features & ARCP_FEATURE_BIT(feature)) != 0) {
            arcp_json_write_cstr(&writer, arcp_feature_name((arcp_feature)feature));
        }
    }
    arcp_json_end_array(&writer);
    arcp__agents_write(sessions->jobs,
                       arcp__session_has_feature(session, ARCP_FEATURE_AGENT_VERSIONS), &writer);
    arcp_json_end_object(&writer);
    if (arcp__session_has_feature(session, ARCP_FEATURE_VIEW)) {
        write_viewer(sessions, session, &writer);
    }
    arcp__put_string(&writer, "request_id", request_id);
    arcp__put_string(&writer, "reply_to", request_id);
    arcp_json_end_object(&writer);
    arcp_buf frame = arcp__session_frame(session, "session.welcome", request_id, &payload);
    if (frame.size > settings->limits_frame_bytes) {
        arcp_error error = {0};
        arcp_buf_fini(&frame);
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "the list of agents is too large for one frame (limits.frame_bytes)");
        arcp__effect_log(sessions->log, ARCP__LOG_ERROR, "no session can be opened: %s",
                         error.message);
        arcp__link_fail(sessions, session->link, &error, ARCP__FRAME_LIMIT, 1011);
        return;
    }
    arcp__session_send(sessions, session, &frame, true);
}

/* Attaches the session to the link under a new resume token. */
static void begin(arcp__sessions *sessions, arcp__session *session, arcp__link *link,
                  arcp_span request_id, const char *request)
{
    uint8_t bytes[32];
    arcp_buf token = arcp_buf_secret_init();
    arcp__context_random(sessions->context, bytes, sizeof bytes);
    arcp_buf_append_cstr(&token, "rt_");
    arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof bytes), ARCP__BASE64_URL,
                        &token);
    arcp_wipe(bytes, sizeof bytes);
    if (token.failed || session->client_name == NULL || session->client_version == NULL) {
        arcp_buf_fini(&token);
        arcp__context_no_memory(sessions->context);
        return;
    }
    arcp__context_sha256(sessions->context, arcp_buf_span(&token), session->token_hash);
    /* The rules may have changed, or were not set yet when the session was restored. */
    session->profile =
        arcp__peer_profile_of(sessions, arcp_span_cstr(session->client_name), session->principal);
    if (session->role == ARCP_ROLE_NONE) {
        session->features &= ~ARCP_FEATURE_BIT(ARCP_FEATURE_OPERATE);
    }
    arcp__session_attach(sessions, session, link);
    const char *rule = "token";
    if (session->is_anonymous) {
        rule = "no_auth";
    } else if (session->has_page_key) {
        rule = "page key";
    } else if (link->preset_principal != NULL && !link->is_from_door) {
        rule = "transport";
    }
    arcp__audit_line line = {.event = ARCP__AUDIT_AUTHENTICATION,
                             .decision = "allowed",
                             .who = arcp__session_who(session, NULL),
                             .rule = rule,
                             .more = {{"request", arcp_span_cstr(request)},
                                      {"client", arcp_span_cstr(session->client_name)}}};
    if (session->role != ARCP_ROLE_NONE) {
        line.more[2].name = "role";
        line.more[2].value = arcp_span_cstr(arcp__role_name(session->role));
    }
    arcp__audit(sessions->log, &line);
    arcp__session_store(sessions, session);
    welcome(sessions, session, request_id, arcp_buf_span(&token));
    arcp_buf_fini(&token);
    session->welcome_batch_id = arcp__batch_open_id(sessions->log);
    arcp__session_heartbeat_start(sessions, session);
}

/* ---- opening ---- */

static bool is_evictable(const arcp__session *session)
{
    return session->closed_by_client && session->state == ARCP__SESSION_AWAY &&
           session->submits == NULL && !arcp__session_has_live_jobs(session);
}

/* Evicts the oldest closed session without live jobs, of `principal` or, for NULL, of any. Such a
 * session can be resumed, but must not keep a new one out: else a script that calls `arcp` a
 * thousand times would lock its user out. */
static void evict_closed(arcp__sessions *sessions, const arcp__principal *principal)
{
    arcp__session *session = principal == NULL ? sessions->all : principal->oldest_session;
    while (session != NULL && !is_evictable(session)) {
        session = principal == NULL ? session->hh.next : session->own_next;
    }
    if (session != NULL) {
        arcp__session_end(sessions, session, "it was closed, and its place was needed");
    }
}

static size_t count_all(const arcp__sessions *sessions)
{
    return sessions->count_of_all == NULL ? sessions->count : *sessions->count_of_all;
}

/* [arcp:14-19] */
static bool within_caps(arcp__sessions *sessions, arcp__link *link, arcp__principal *principal)
{
    const arcp_settings *settings = &sessions->context->settings;
    const bool is_full = principal->sessions >= settings->limits_sessions_per_principal;
    principal
        ->sessions++; /* for the new session: the principal must not be freed with its last one */
    if (is_full) {
        evict_closed(sessions, principal);
    }
    if (count_all(sessions) >= settings->limits_sessions) {
        evict_closed(sessions, NULL);
    }
    principal->sessions--;
    const char *limit = NULL;
    if (count_all(sessions) >= settings->limits_sessions) {
        limit = "sessions";
    } else if (principal->sessions >= settings->limits_sessions_per_principal) {
        limit = "sessions_per_principal";
    } else {
        return true;
    }
    char details[96];
    arcp_error error = {0};
    (void)snprintf(details, sizeof details, "{\"limit\":\"limits.%s\"}", limit);
    (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR, "too many sessions (limits.%s)", limit);
    arcp__link_fail(sessions, link, &error, arcp_span_cstr(details), 1008);
    return false;
}

/* [arcp:6.2-1] [arcp:6.2-3] */
static void open_session(arcp__sessions *sessions, arcp__link *link, arcp__principal *principal,
                         const arcp__message *in, const arcp__authentication *by)
{
    const arcp__hello *hello = &in->hello;
    const arcp_json *json = &sessions->context->json;
    if (!within_caps(sessions, link, principal)) {
        return;
    }
    arcp__session *session = arcp__session_new(sessions, principal, ARCP__NOTHING);
    if (session == NULL) {
        return;
    }
    session->is_anonymous = by->is_anonymous;
    session->role = by->role;
    session->origin = by->origin;
    session->is_by_page = by->page != ARCP__PAGE_NONE;
    session->has_page_key = by->page == ARCP__PAGE_KEY;
    memcpy(session->page_hash, by->page_hash, sizeof session->page_hash);
    for (arcp_json_ref item = arcp_json_first(json, hello->features); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, hello->features, item)) {
        const arcp_feature feature =
            arcp_feature_from_wire(arcp_json_string(json, item, &sessions->context->scratch));
        session->features |= feature == ARCP_FEATURE_NONE ? 0 : ARCP_FEATURE_BIT(feature);
    }
    session->features &= ARCP_FEATURES_ALL;
    if (!arcp__credentials_are_offered(sessions->credentials, by->is_anonymous,
                                       arcp__link_is_private(link))) {
        session->features &= ~ARCP_FEATURE_BIT(ARCP_FEATURE_PROVISIONED_CREDENTIALS);
    }
    session->client_name = arcp__copy_cstr(hello->client_name.data, hello->client_name.size);
    session->client_version =
        arcp__copy_cstr(hello->client_version.data, hello->client_version.size);
    sessions->metrics.sessions_opened++;
    begin(sessions, session, link, in->envelope.id, "session.hello");
}

/* ---- resuming ---- */

static bool token_matches(const arcp__session *session, const uint8_t hash[32])
{
    const arcp_span given = arcp_span_make((const char *)hash, 32);
    const bool current = arcp_bytes_equal_constant_time(
        given, arcp_span_make((const char *)session->token_hash, 32));
    const bool previous = arcp_bytes_equal_constant_time(
        given, arcp_span_make((const char *)session->previous_hash, 32));
    return current || (previous && session->has_previous);
}

/* Finds the session by id or, when the client gave none, by its token. */
static arcp__session *find_resumed(arcp__sessions *sessions, const arcp__resume_request *resume,
                                   const uint8_t hash[32])
{
    if (resume->session_id.size != 0) {
        arcp__session *session = arcp__session_find(sessions, resume->session_id);
        return session != NULL && token_matches(session, hash) ? session : NULL;
    }
    for (arcp__session *session = sessions->all; session != NULL; session = session->hh.next) {
        if (token_matches(session, hash)) {
            return session;
        }
    }
    return NULL;
}

/* `target`: the session that the token belongs to or, if unknown, that the request names. */
static void refuse_resume(arcp__sessions *sessions, arcp__link *link,
                          const arcp__principal *principal, arcp_span target, arcp_status status,
                          const char *message)
{
    const arcp__refusal refusal = {.peer = link->peer, .rule = "resume token", .is_audited = true};
    if (arcp__refusal_is_written(sessions, &refusal)) {
        arcp__audit(
            sessions->log,
            &(arcp__audit_line){.event = ARCP__AUDIT_AUTHENTICATION,
                                .decision = "denied",
                                .who = {.principal = principal == NULL ? NULL : principal->name},
                                .code = status,
                                .rule = refusal.rule,
                                .reason = message,
                                .peer = link->peer,
                                .target = target,
                                .more = {{"request", ARCP_SPAN_LITERAL("session.resume")}}});
    }
    refuse(sessions, link, status, message);
}

/* [arcp:6.3-3] [arcp:6.3-4] [arcp:7.7-3] */
static void resume_session(arcp__sessions *sessions, arcp__link *link, arcp__principal *principal,
                           const arcp__message *in, const arcp__authentication *by)
{
    static const char no_session[] = "no session can be resumed with this token: start a new one";
    const arcp__resume_request *resume = &in->hello.resumed;
    uint8_t hash[32];
    arcp__context_sha256(sessions->context, resume->token, hash);
    arcp__session *session = find_resumed(sessions, resume, hash);
    const arcp_span target = session != NULL ? arcp_span_cstr(session->id) : resume->session_id;
    if (session == NULL) {
        refuse_resume(sessions, link, principal, target, ARCP_E_RESUME_WINDOW_EXPIRED, no_session);
        return;
    }
    if (session->principal != principal && sessions->is_one_of_many) {
        refuse_resume(sessions, link, principal, target, ARCP_E_RESUME_WINDOW_EXPIRED, no_session);
        return;
    }
    if (principal != NULL ? session->principal != principal : !session->is_anonymous) {
        refuse_resume(sessions, link, principal, target, ARCP_E_UNAUTHENTICATED,
                      "the session belongs to another principal");
        return;
    }
    if (session->state == ARCP__SESSION_LOADING) {
        refuse_resume(sessions, link, principal, target, ARCP_E_INTERNAL_ERROR,
                      "the session is still being restored; try again");
        return;
    }
    if (resume->last_event_seq >= session->next_seq) {
        refuse_resume(sessions, link, principal, target, ARCP_E_RESUME_WINDOW_EXPIRED,
                      "last_event_seq is beyond what this session was sent");
        return;
    }
    if (resume->last_event_seq < session->floor_seq) {
        refuse_resume(sessions, link, principal, target, ARCP_E_RESUME_WINDOW_EXPIRED,
                      "events after last_event_seq are no longer kept");
        return;
    }
    if (session->link != NULL) {
        arcp__link_close(sessions, session->link, 1000, "the session was resumed elsewhere", false);
    }
    /* A new token is made; the one just used stays valid until the new link sends a frame.
     * [arcp:6.3-1] */
    memcpy(session->previous_hash, hash, sizeof hash);
    session->has_previous = true;
    session->sent_seq = resume->last_event_seq;
    session->role = by->role;
    session->origin = by->origin;
    session->is_by_page = by->page != ARCP__PAGE_NONE;
    session->backlog_bytes = 0;
    sessions->metrics.sessions_resumed++;
    begin(sessions, session, link, in->envelope.id, "session.resume");
    /* Submits of which the client may have got nothing get their job.accepted again. */
    const bool repeats = arcp__session_has_feature(session, ARCP_FEATURE_ACCEPTED_AGAIN);
    const arcp__observation *newest = session->observations; /* whose `previous` is the oldest */
    for (arcp__observation *observation = newest == NULL || !repeats ? NULL : newest->previous;
         observation != NULL; observation = observation == newest ? NULL : observation->previous) {
        const arcp__job *job = observation->observer.job;
        const bool is_unseen =
            observation->first_seq == 0 || observation->first_seq > resume->last_event_seq;
        if (observation->may_cancel && is_unseen && job->parent_id[0] == '\0') {
            arcp_buf frame = arcp_buf_init();
            arcp__session_format_accepted(sessions, session, job, &frame);
            arcp__session_send_revealed(sessions, session, arcp_span_cstr(job->id), &frame);
        }
    }
    /* The replay follows the welcome, which waits for the new token to be durable. */
    arcp__session_mark(sessions, session);
}

/* ---- session.hello ---- */

/* Continues with the hello after its sender was authenticated. */
static void continue_hello(arcp__sessions *sessions, arcp__link *link,
                           const arcp__authentication *by)
{
    const arcp_span frame = arcp_buf_span(&link->hello);
    arcp__message in;
    if (!arcp__message_read(sessions->context, frame, &in)) {
        /* It was read before, so only memory can be missing. */
        arcp__link_close(sessions, link, 1011, "there is no memory for a frame of this size",
                         false);
        return;
    }
    const arcp_json *json = &sessions->context->json;
    const arcp_json_ref encodings = in.hello.encodings; /* optional */
    bool accepts_json = arcp_json_is_missing(json, encodings);
    for (arcp_json_ref item = arcp_json_first(json, encodings); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, encodings, item)) {
        accepts_json =
            accepts_json || arcp_json_string_equals(json, item, ARCP_SPAN_LITERAL("json"));
    }
    if (!accepts_json) {
        refuse(sessions, link, ARCP_E_INVALID_REQUEST,
               "capabilities.encodings must include \"json\"");
        return;
    }
    arcp__principal *principal = arcp__principal_get(sessions->jobs, by->principal);
    if (principal == NULL) {
        return;
    }
    principal->is_held = true; /* must not be freed if no session is made */
    link->profile = arcp__peer_profile_of(sessions, in.hello.client_name, principal);
    if (in.hello.resumed.token.data != NULL) {
        resume_session(sessions, link, by->is_anonymous ? NULL : principal, &in, by);
    } else {
        open_session(sessions, link, principal, &in, by);
    }
    principal->is_held = false;
    arcp__principal_maybe_free(sessions->jobs, principal);
}

static void handle_frame(arcp__sessions *sessions, arcp__link *link, arcp_span frame);

/* Takes the result of the authentication, then handles the frame that came after the hello. */
static void take_authentication(arcp__sessions *sessions, arcp__link *link,
                                const arcp__authentication *by)
{
    if (by->status != ARCP_OK || by->principal.size == 0) {
        const bool is_known =
            by->status != ARCP_E_INTERNAL_ERROR; /* else it cannot be verified now */
        const arcp_status code = is_known ? ARCP_E_UNAUTHENTICATED : ARCP_E_INTERNAL_ERROR;
        const arcp__refusal refusal = {.peer = link->peer,
                                       .rule = is_known ? "token" : "token, not verified",
                                       .is_audited = true};
        sessions->metrics.authentications_refused++;
        sessions->wrong_codes += sessions->is_door && by->page == ARCP__PAGE_CODE;
        if (arcp__refusal_is_written(sessions, &refusal)) {
            arcp__audit(sessions->log, &(arcp__audit_line){.event = ARCP__AUDIT_AUTHENTICATION,
                                                           .decision = "denied",
                                                           .code = code,
                                                           .rule = "token",
                                                           .peer = link->peer});
        }
        refuse(sessions, link, code,
               is_known ? "the token is missing or not valid"
                        : "the token cannot be verified right now; try again later");
    } else if (arcp__log_is_failing(sessions->log)) {
        refuse(sessions, link, ARCP_E_INTERNAL_ERROR,
               "the runtime cannot store sessions right now; try again later");
    } else {
        continue_hello(sessions, link, by);
    }
    if (link->state == ARCP__LINK_AUTHENTICATING) {
        arcp__link_enter(link, ARCP__LINK_NEW);
    }
    arcp_buf_fini(&link->hello);
    if (link->has_next_frame && !link->port.is_closed) {
        handle_frame(sessions, link, arcp_buf_span(&link->next_frame));
    }
    link->has_next_frame = false;
    arcp_buf_fini(&link->next_frame);
}

/* Of an unauthenticated peer only the form of the hello, the token, and the client name, which
 * chooses the form of a refusal, are read. An absent token counts as empty: the verifier refuses it
 * unless authentication is disabled. [arcp:6.1-1] */
static void take_hello(arcp__sessions *sessions, arcp__link *link, arcp_span frame,
                       arcp__message *in)
{
    const arcp_json *json = &sessions->context->json;
    arcp_error error = {0};
    const arcp_status status = arcp__message_read_payload(sessions->context, in, &error);
    link->profile = arcp__peer_profile_of(sessions, in->hello.client_name, NULL);
    if (status != ARCP_OK) {
        arcp__link_fail(sessions, link, &error, ARCP__NOTHING, 1008);
        return;
    }
    const arcp_json_ref scheme = in->hello.auth_scheme;
    const bool is_bearer = arcp_json_string_equals(json, scheme, ARCP_SPAN_LITERAL("bearer"));
    if (!is_bearer && !arcp_json_is_missing(json, scheme) &&
        !arcp_json_string_equals(json, scheme, ARCP_SPAN_LITERAL("none")) &&
        !arcp_json_string_equals(json, scheme, ARCP_SPAN_LITERAL("anonymous"))) {
        refuse(sessions, link, ARCP_E_UNAUTHENTICATED, "auth.scheme must be \"bearer\"");
        return;
    }
    arcp_buf_clear(&link->hello);
    arcp_buf_append(&link->hello, frame);
    if (link->hello.failed) {
        arcp__context_no_memory(sessions->context);
        return;
    }
    arcp__link_enter(link, ARCP__LINK_AUTHENTICATING);
    link->auth_id = ++sessions->next_auth_id;
    if (link->preset_principal != NULL) {
        const arcp__authentication preset = {.principal = arcp_span_cstr(link->preset_principal),
                                             .role = link->preset_role,
                                             .origin = link->preset_origin};
        take_authentication(sessions, link, &preset);
        return;
    }
    const bool is_page = is_bearer && arcp__page_is_bearer(in->hello.token);
    if (is_page && (!sessions->is_door || !arcp__page_may_try(sessions, in->hello.token))) {
        arcp__authentication page;
        arcp__page_authenticate(sessions, in->hello.token, &page);
        take_authentication(sessions, link, &page);
        return;
    }
    arcp_buf text = arcp_buf_secret_init();
    if (is_bearer) {
        arcp_buf_append(&text, in->hello.token);
    }
    if (sessions->is_door && !is_page) {
        arcp__link_blank_token(json, frame, &link->hello);
    }
    arcp__effect_push(sessions->log, &link->port,
                      &(arcp__effect){.kind = ARCP__EFFECT_AUTHENTICATE, .id = link->auth_id},
                      &text, false);
}

/* ---- frames ---- */

static void handle_frame(arcp__sessions *sessions, arcp__link *link, arcp_span frame)
{
    arcp__message in = {0};
    arcp_error error = {0};
    const arcp_json_limits limits = arcp__context_json_limits(
        sessions->context, sessions->context->settings.limits_frame_bytes);
    const arcp_status status =
        arcp__context_read_frame(sessions->context, frame, &limits, &in.envelope, &error);
    if (status == ARCP_E_NO_MEMORY) { /* the peer chose the size */
        arcp__link_close(sessions, link, 1011, "there is no memory for a frame of this size",
                         false);
        return;
    }
    if (status != ARCP_OK) {
        /* A frame that is not an envelope closes the link; the session can be resumed. */
        arcp__link_fail(sessions, link, &error, ARCP__NOTHING,
                        arcp__utf8_is_valid(frame) ? 1008 : 1007);
        return;
    }
    if (link->session != NULL) {
        arcp__session_receive(sessions, link->session, &in);
        return;
    }
    if (in.envelope.type == ARCP_MESSAGE_SESSION_HELLO ||
        in.envelope.type == ARCP_MESSAGE_SESSION_RESUME) {
        take_hello(sessions, link, frame, &in);
        return;
    }
    const arcp_span shown = arcp_span_first(in.envelope.type_text, 64);
    (void)arcp_error_set(&error, ARCP_E_UNAUTHENTICATED, "%.*s arrived before session.hello",
                         (int)shown.size, shown.data);
    arcp__link_fail(sessions, link, &error, ARCP__NOTHING, 1008);
}

void arcp__link_receive(arcp__sessions *sessions, arcp__link *link, arcp_span frame)
{
    if (link->port.is_closed) {
        return;
    }
    assert(!link->has_next_frame);
    if (frame.size > sessions->context->settings.limits_frame_bytes) {
        arcp__link_close(sessions, link, 1009, "the frame is larger than limits.frame_bytes",
                         false);
    } else if (link->state == ARCP__LINK_AUTHENTICATING) {
        link->has_next_frame = true;
        arcp_buf_append(&link->next_frame, frame);
        if (link->next_frame.failed) { /* the peer, not authenticated yet, chose the size */
            arcp__link_close(sessions, link, 1011, "there is no memory for a frame of this size",
                             false);
        }
    } else {
        handle_frame(sessions, link, frame);
    }
}

arcp__link *arcp__link_authenticated(arcp__sessions *sessions, uint64_t auth_id,
                                     const arcp__authentication *result)
{
    arcp__link *link = arcp__link_find_authenticating(sessions, auth_id);
    if (link != NULL) {
        take_authentication(sessions, link, result);
    }
    return link;
}
