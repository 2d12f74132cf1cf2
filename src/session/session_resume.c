/* Resume (§6.3): the same session on a new link, with everything it has not seen.
 *
 * Asked for in three ways: hello.payload.resume{...}, the same members flat in the hello,
 * or a session.resume message. The token is compared in constant time against hashes of
 * the current and, until the new link has spoken, the previous one. A failed attempt
 * changes nothing. */
#include "session/session_state.h"

#include <arcp/secret.h>

static bool token_matches(const arcp__session *session, const uint8_t hash[32], bool *is_previous)
{
    arcp_span given = arcp_span_make((const char *)hash, 32);
    bool current = arcp_bytes_equal_constant_time(
        given, arcp_span_make((const char *)session->token_hash, 32));
    bool previous = arcp_bytes_equal_constant_time(
        given, arcp_span_make((const char *)session->previous_hash, 32));
    *is_previous = !current && previous && session->has_previous;
    return current || *is_previous;
}

/* By id, or, when the client gave none, by its token. */
static arcp__session *find(arcp__sessions *sessions, const arcp__resume_request *resume,
                           const uint8_t hash[32], bool *is_previous)
{
    if (resume->session_id.size != 0) {
        arcp__session *session = arcp__session_find(sessions, resume->session_id);
        return session != NULL && token_matches(session, hash, is_previous) ? session : NULL;
    }
    for (arcp__session *at = sessions->all; at != NULL; at = at->hh.next) {
        if (token_matches(at, hash, is_previous)) {
            return at;
        }
    }
    return NULL;
}

/* `aimed_at`: the session that the token or, failing that, the request names. */
static void refuse(arcp__sessions *sessions, arcp__link *link, const arcp__principal *principal,
                   arcp_span aimed_at, arcp_status status, const char *message)
{
    const arcp__refusal refusal = {.peer = link->peer, .rule = "resume token", .is_audited = true};
    arcp_error error = {0};
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
                                .target = aimed_at,
                                .more = {{"request", ARCP_SPAN_LITERAL("session.resume")}}});
    }
    (void)arcp_error_set(&error, status, "%s", message);
    arcp__link_fail(sessions, link, &error, ARCP__NOTHING, 1008);
}

/* Submits of which the client may have seen nothing get their job.accepted again. */
static void repeat_accepted(arcp__sessions *sessions, arcp__session *session,
                            uint64_t last_event_seq)
{
    arcp__observation *newest = session->observations; /* whose `previous` is the oldest */
    for (arcp__observation *at = newest == NULL ? NULL : newest->previous; at != NULL;
         at = at == newest ? NULL : at->previous) {
        bool unseen = at->first_seq == 0 || at->first_seq > last_event_seq;
        if (!at->may_cancel || !unseen || at->observer.job->parent_id[0] != '\0') {
            continue;
        }
        arcp_buf frame = ARCP_BUF_INIT;
        arcp__session_format_accepted(sessions, session, at->observer.job, &frame);
        arcp__session_send_revealed(sessions, session, arcp_span_cstr(at->observer.job->id),
                                    &frame);
    }
}

/* [arcp:6.3-3] [arcp:6.3-4] [arcp:7.7-3] */
void arcp__session_resume(arcp__sessions *sessions, arcp__link *link, arcp__principal *principal,
                          const arcp__envelope *envelope, const arcp__resume_request *resume)
{
    uint8_t hash[32];
    bool is_previous = false;
    arcp__context_sha256(sessions->context, resume->token, hash);
    arcp__session *session = find(sessions, resume, hash, &is_previous);
    const arcp_span aimed_at = session != NULL ? arcp_span_cstr(session->id) : resume->session_id;
    if (session == NULL) {
        refuse(sessions, link, principal, aimed_at, ARCP_E_RESUME_WINDOW_EXPIRED,
               "no session can be resumed with this token: start a new one");
        return;
    }
    if (principal != NULL ? session->principal != principal : !session->is_anonymous) {
        refuse(sessions, link, principal, aimed_at, ARCP_E_UNAUTHENTICATED,
               "the session belongs to another principal");
        return;
    }
    if (session->state == ARCP__SESSION_LOADING) {
        refuse(sessions, link, principal, aimed_at, ARCP_E_INTERNAL_ERROR,
               "the session is still being read; try again");
        return;
    }
    if (resume->last_event_seq >= session->next_seq) {
        refuse(sessions, link, principal, aimed_at, ARCP_E_RESUME_WINDOW_EXPIRED,
               "last_event_seq is beyond what this session was sent");
        return;
    }
    if (resume->last_event_seq < session->floor_seq) {
        refuse(sessions, link, principal, aimed_at, ARCP_E_RESUME_WINDOW_EXPIRED,
               "events after last_event_seq are no longer kept");
        return;
    }
    if (session->link != NULL) {
        arcp__link_close(sessions, session->link, 1000, "the session was resumed elsewhere", false);
    }
    arcp_buf token = ARCP_BUF_SECRET_INIT;
    /* The new token is made, the one just used stays good until the new link speaks. [arcp:6.3-1]
     */
    memcpy(session->previous_hash, hash, sizeof(hash));
    session->has_previous = true;
    arcp__session_make_token(sessions, session, &token);
    if (token.failed) {
        arcp_buf_fini(&token);
        arcp__context_no_memory(sessions->context);
        return;
    }
    /* The rules may have been changed, or not yet been there when it was restored. */
    session->profile =
        arcp__peer_profile_of(sessions, arcp_span_cstr(session->client_name), session->principal);
    arcp__session_attach(sessions, session, link);
    arcp__session_audit(sessions, link, session, "session.resume");
    sessions->metrics.sessions_resumed++;
    session->sent_seq = resume->last_event_seq;
    session->backlog_bytes = 0;
    arcp__session_store(sessions, session);
    arcp__session_welcome(sessions, session, envelope->id, arcp_buf_span(&token));
    arcp_buf_fini(&token);
    if (arcp__session_has_feature(session, ARCP_FEATURE_ACCEPTED_AGAIN)) {
        repeat_accepted(sessions, session, resume->last_event_seq);
    }
    /* The replay follows the welcome, which waits for the new token to be durable. */
    arcp__session_mark(sessions, session);
    session->opens_at = arcp__batch_open_id(sessions->log);
    arcp__session_heartbeat_start(sessions, session);
}
