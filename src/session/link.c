/* Links: one per transport connection. How links are closed and when they are not read, and
 * heartbeats (§6.4).
 *
 * A ping is sent when nothing was sent or nothing came for an interval; two intervals without any
 * frame end the link, never a job. Pings are sent at common instants, INSTANTS_OF_INTERVAL per
 * interval, so that thousands of idle sessions do not wake the process once each. A ping goes out
 * at the last instant before the interval ends, so it is never late. The deadline of a silent peer
 * is exact: it is not rounded to these instants. */
#include "session/session_state.h"

#define INSTANTS_OF_INTERVAL 128

arcp__link *arcp__link_new(arcp__sessions *sessions, const arcp__link_options *options)
{
    arcp__link *link = arcp__alloc(sizeof *link);
    if (link == NULL) {
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    link->port.user = options->user;
    link->is_local = options->is_local;
    link->is_encrypted = options->is_encrypted;
    link->peer = options->peer;
    link->hello.secret = link->next_frame.secret = true; /* a hello contains tokens */
    if (options->principal.size != 0) {
        link->preset_role = options->role;
        link->is_from_door = options->by != NULL;
        link->preset_origin =
            options->by != NULL ? options->by->origin : arcp__origin_of_transport();
        link->preset_principal = arcp__copy_cstr(options->principal.data, options->principal.size);
        if (link->preset_principal == NULL) {
            arcp__context_no_memory(sessions->context);
        }
    }
    DL_APPEND2(sessions->links, link, previous, next);
    arcp__context_arm(sessions->context, &link->hello_timer, sessions->timer_kinds.link, link,
                      arcp__context_after_sec(
                          sessions->context, sessions->context->settings.limits_hello_timeout_sec) -
                          options->waited_ms * ARCP_NS_PER_MS);
    if (sessions->context->stopping) {
        arcp__link_close(sessions, link, 1001, "the runtime is stopping", false);
    }
    return link;
}

bool arcp__link_is_private(const arcp__link *link)
{
    return link->is_local || link->is_encrypted;
}

void arcp__link_close(arcp__sessions *sessions, arcp__link *link, int close_code,
                      const char *reason, bool durable)
{
    if (link->port.is_closed) {
        return;
    }
    arcp__port_close(sessions->log, &link->port, close_code, reason, durable);
    arcp__context_disarm(sessions->context, &link->hello_timer);
    arcp__context_disarm(sessions->context, &link->throttle_timer);
    if (link->session != NULL) {
        arcp__session_detach(sessions, link->session);
    }
}

/* [arcp:EG-7] */
void arcp__link_fail(arcp__sessions *sessions, arcp__link *link, const arcp_error *error,
                     arcp_span details, int close_code)
{
    if (link->port.is_closed) {
        return;
    }
    /* Every frame that is sent has a session_id, even before there is a session: existing clients
     * ignore frames without one (docs/protocol.md, Envelope). */
    char id[ARCP__ID_SIZE];
    char fresh[ARCP__ID_SIZE];
    arcp_span session_id = {NULL, 0};
    if (link->session != NULL) {
        session_id = arcp_span_cstr(link->session->id);
    } else {
        arcp__context_make_id(sessions->context, "sess_", fresh);
        session_id = arcp_span_cstr(fresh);
    }
    arcp__context_make_id(sessions->context, "msg_", id);
    arcp_buf payload = arcp_buf_init();
    arcp_buf frame = arcp_buf_init();
    const bool is_job_error =
        link->session == NULL && link->profile != NULL && link->profile->refuses_hello_as_job_error;
    if (is_job_error) {
        /* For a client that does not know session.error: as the end of a job that does not
         * exist. */
        arcp_json_writer writer = arcp__put_begin(&payload);
        arcp__error_payload_local(&writer, error, details);
        arcp__put_cstr(&writer, "final_status", "error");
        arcp_json_end_object(&writer);
    } else {
        arcp__error_payload_format(error, details, &payload);
    }
    arcp__envelope_format(
        &(arcp__envelope_head){.type = is_job_error ? "job.error" : "session.error",
                               .id = arcp_span_cstr(id),
                               .session_id = session_id},
        arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    arcp__port_send(sessions->log, &link->port, &frame, false);
    arcp__link_close(sessions, link, close_code, error->message, false);
}

/* A failed engine closes its links without a queue: nothing here allocates. */
bool arcp__links_next_close(arcp__sessions *sessions, arcp__effect *out)
{
    if (!sessions->is_closing_links) {
        sessions->is_closing_links = true;
        sessions->next_to_close = sessions->links;
    }
    while (sessions->next_to_close != NULL) {
        const arcp__link *link = sessions->next_to_close;
        sessions->next_to_close = link->next;
        if (!link->is_disconnected) {
            *out = (arcp__effect){.kind = ARCP__EFFECT_CLOSE,
                                  .link_user = link->port.user,
                                  .close_code = 1011,
                                  .text = ARCP_SPAN_LITERAL("the runtime ran out of memory")};
            return true;
        }
    }
    return false;
}

/* ---- a peer that does not read its responses is not read ---- */

#define UNSENT_PAUSE_BYTES 1048576u

/* Whether the link takes frames. is_full counts the memory that the peer's requests take: responses
 * as soon as they are made, wherever they wait, and submits that wait for their turn. It does not
 * count events of jobs, whose frames are made only when the link can take them. */
static bool takes_frames(arcp__sessions *sessions, arcp__link *link)
{
    const arcp__session *session = link->session;
    const uint64_t unsent = (uint64_t)link->port.queued + link->port.unsent +
                            (session == NULL ? 0 : session->refusal_bytes + session->held_bytes);
    link->is_full = unsent > (link->is_full ? UNSENT_PAUSE_BYTES / 2 : UNSENT_PAUSE_BYTES);
    const bool is_ahead =
        session != NULL &&
        arcp__principal_is_ahead(sessions->jobs, session->principal, link->is_ahead);
    if (is_ahead && !link->is_ahead) {
        LL_PREPEND2(sessions->ahead, link, next_ahead);
    } else if (!is_ahead && link->is_ahead) {
        LL_DELETE2(sessions->ahead, link, next_ahead);
    }
    link->is_ahead = is_ahead;
    return !link->is_full && !link->has_next_frame && !link->is_throttled && !is_ahead;
}

void arcp__links_committed(arcp__sessions *sessions)
{
    for (arcp__link *link = sessions->ahead, *next = NULL; link != NULL; link = next) {
        next = link->next_ahead;
        arcp__link_resume(sessions, link);
    }
}

void arcp__link_resume(arcp__sessions *sessions, arcp__link *link)
{
    if (!link->paused || link->port.is_closed || !takes_frames(sessions, link)) {
        return;
    }
    link->paused = false;
    if (link->session != NULL) { /* it was not read meanwhile */
        link->session->last_received_ns = sessions->context->now.mono_ns;
        arcp__session_heartbeat_start(sessions, link->session);
    }
    arcp__effect_push(sessions->log, &link->port, &(arcp__effect){.kind = ARCP__EFFECT_RESUME_LINK},
                      NULL, false);
}

void arcp__link_throttle(arcp__sessions *sessions, arcp__link *link, int64_t for_ns)
{
    const int64_t until_ns = sessions->context->now.mono_ns + for_ns;
    if (!link->port.is_closed && link->state == ARCP__LINK_OPEN &&
        (!link->is_throttled || link->throttle_timer.at_ns < until_ns)) {
        link->is_throttled = true;
        arcp__context_arm(sessions->context, &link->throttle_timer, sessions->timer_kinds.link,
                          link, until_ns);
    }
}

/* Most frames take microseconds; frames with large leases, or leases that are hard to compare, take
 * up to milliseconds and delay all principals. The links of the principal pause for four times what
 * a frame takes beyond SLOW_FRAME_NS, so that such frames get at most a fifth of the loop's time.
 */
#define SLOW_FRAME_NS  (ARCP_NS_PER_MS / 4)
#define SLOW_FRAME_FEE 4

bool arcp__link_took(arcp__sessions *sessions, const arcp__link *link, int64_t took_ns)
{
    if (took_ns <= SLOW_FRAME_NS || link->session == NULL) {
        return false;
    }
    const arcp__principal *principal = link->session->principal;
    bool has_others = sessions->jobs->running > principal->running_jobs;
    for (const arcp__link *other = sessions->links; other != NULL && !has_others;
         other = other->next) {
        has_others = other->session != NULL && other->session->principal != principal;
    }
    for (arcp__link *other = has_others ? sessions->links : NULL; other != NULL;
         other = other->next) {
        if (other->session != NULL && other->session->principal == principal) {
            arcp__link_throttle(sessions, other, (took_ns - SLOW_FRAME_NS) * SLOW_FRAME_FEE);
        }
    }
    return has_others;
}

bool arcp__link_takes_more(arcp__sessions *sessions, arcp__link *link)
{
    link->paused = !takes_frames(sessions, link);
    return !link->paused;
}

void arcp__link_drained(arcp__sessions *sessions, arcp__link *link, size_t unsent)
{
    link->port.unsent = unsent;
    if (link->port.is_closed || link->state != ARCP__LINK_OPEN) {
        return;
    }
    arcp__link_resume(sessions, link);
    if (link->session->sent_seq < link->session->durable_seq || link->session->answers != NULL) {
        arcp__session_wake(sessions, link->session);
    } else {
        /* The link has got everything: only unsent bytes still paused the agents. */
        arcp__session_drained(sessions, link->session);
    }
}

/* ---- heartbeats ---- */

static int64_t interval_ns(const arcp__sessions *sessions)
{
    return (int64_t)sessions->context->settings.session_heartbeat_interval_sec * ARCP_NS_PER_SEC;
}

/* When the next ping is due: at least an interval after the last one. [arcp:6.4-1] */
static int64_t ping_due(const arcp__sessions *sessions, const arcp__session *session)
{
    const int64_t sent_ns = session->link->port.last_sent_ns;
    int64_t quiet_ns = sent_ns < session->last_received_ns ? sent_ns : session->last_received_ns;
    quiet_ns = quiet_ns < session->last_ping_ns ? session->last_ping_ns : quiet_ns;
    const int64_t due = quiet_ns + interval_ns(sessions);
    return due - due % (interval_ns(sessions) / INSTANTS_OF_INTERVAL);
}

/* When the peer counts as lost; never when it has closed its input, or while it reads but is not
 * read itself. [arcp:6.4-4] [arcp:EG-12] */
static int64_t lost_due(const arcp__sessions *sessions, const arcp__session *session)
{
    const arcp__link *link = session->link;
    if (link->input_over || link->is_throttled || (link->paused && link->port.unsent == 0)) {
        return ARCP_TIME_NEVER;
    }
    return session->last_received_ns + 2 * interval_ns(sessions);
}

static void arm(arcp__sessions *sessions, arcp__session *session)
{
    const int64_t ping = ping_due(sessions, session);
    const int64_t lost = lost_due(sessions, session);
    arcp__context_arm(sessions->context, &session->heartbeat_timer, sessions->timer_kinds.session,
                      session, ping < lost ? ping : lost);
}

void arcp__session_heartbeat_start(arcp__sessions *sessions, arcp__session *session)
{
    if (session->link != NULL && arcp__session_has_feature(session, ARCP_FEATURE_HEARTBEAT)) {
        arm(sessions, session);
    }
}

/* [arcp:6.4-2] [arcp:6.4-7] */
void arcp__session_heartbeat_due(arcp__sessions *sessions, arcp__session *session)
{
    if (session->link == NULL) {
        return;
    }
    if (sessions->context->now.mono_ns >= lost_due(sessions, session)) {
        arcp_error error = {0};
        (void)arcp_error_set(
            &error, ARCP_E_HEARTBEAT_LOST,
            "no frame arrived for two heartbeat intervals; the session can be resumed");
        arcp__effect_log(sessions->log, ARCP__LOG_INFO, "session %s: heartbeat lost", session->id);
        arcp__link_fail(sessions, session->link, &error, ARCP__NOTHING, 1001);
        return;
    }
    if (sessions->context->now.mono_ns >= ping_due(sessions, session)) {
        char id[ARCP__ID_SIZE];
        arcp_buf payload = arcp_buf_init();
        arcp__context_make_id(sessions->context, "msg_", id);
        arcp_json_writer writer = arcp__put_begin(&payload);
        arcp__put_cstr(&writer, "nonce", id);
        arcp__write_timestamp(&writer, "sent_at", sessions->context->now.wall_ns);
        arcp_json_end_object(&writer);
        arcp_buf frame = arcp__session_frame(session, "session.ping", arcp_span_cstr(id), &payload);
        session->link->port.last_sent_ns = sessions->context->now.mono_ns;
        session->last_ping_ns = sessions->context->now.mono_ns;
        arcp__session_send(sessions, session, &frame, false);
    }
    arm(sessions, session);
}

/* ---- closing links ---- */

void arcp__links_fail(arcp__sessions *sessions, const arcp_error *error, int close_code)
{
    for (arcp__link *link = sessions->links, *next = NULL; link != NULL; link = next) {
        next = link->next;
        arcp__link_fail(sessions, link, error, ARCP__NOTHING, close_code);
    }
}

void arcp__links_recheck_roles(arcp__sessions *sessions)
{
    const bool is_failing = arcp__log_is_failing(sessions->log);
    for (arcp__link *link = sessions->links, *next = NULL; link != NULL; link = next) {
        next = link->next;
        if (link->session != NULL && link->session->role != ARCP_ROLE_NONE) {
            /* Behind the response to the reload, which waits for the store. */
            arcp__link_close(sessions, link, 1000,
                             "the tokens were read again: resume to have the role checked",
                             !is_failing);
        }
    }
}

void arcp__links_stop(arcp__sessions *sessions, bool drain_is_over)
{
    const bool is_failing = arcp__log_is_failing(sessions->log);
    for (arcp__link *link = sessions->links, *next = NULL; link != NULL; link = next) {
        const arcp__session *session = link->session;
        const bool has_unsent = session != NULL && (session->sent_seq + 1 < session->next_seq ||
                                                    session->answers != NULL);
        next = link->next;
        if (!has_unsent || is_failing || drain_is_over) {
            arcp__link_close(sessions, link, 1001, "the runtime is stopping", !is_failing);
        }
    }
}

/* Whether the peer has got everything. The cheap checks come first, because this runs on each
 * tick. */
static bool has_nothing_left(const arcp__link *link)
{
    const arcp__session *session = link->session;
    if (link->port.waiting != NULL || link->port.unsent != 0 || session->in_outbox ||
        session->submits != NULL || session->waits_for != 0 ||
        session->sent_seq + 1 != session->next_seq || session->answers != NULL ||
        arcp__session_has_live_jobs(session)) {
        return false;
    }
    const arcp__observation *observation = session->observations;
    while (observation != NULL && observation->read == NULL) {
        observation = observation->next;
    }
    return observation == NULL; /* none is catching up */
}

void arcp__links_close_finished(arcp__sessions *sessions)
{
    if (!sessions->has_inputs_over) {
        return;
    }
    sessions->has_inputs_over = false;
    for (arcp__link *link = sessions->links, *next = NULL; link != NULL; link = next) {
        next = link->next;
        if (!link->input_over || link->port.is_closed) {
            continue;
        }
        if (link->state == ARCP__LINK_NEW) {
            arcp__link_close(sessions, link, 1000, "bye", false);
        } else if (link->state == ARCP__LINK_OPEN && has_nothing_left(link)) {
            link->session->closed_by_client = true;
            arcp__link_close(sessions, link, 1000, "bye", true);
        } else {
            sessions->has_inputs_over = true;
        }
    }
}

void arcp__link_input_over(arcp__sessions *sessions, arcp__link *link)
{
    link->input_over = true;
    sessions->has_inputs_over = true;
    arcp__links_close_finished(sessions);
}

void arcp__link_disconnect_failed(arcp__link *link)
{
    link->is_disconnected = true;
}

void arcp__link_disconnect(arcp__sessions *sessions, arcp__link *link)
{
    if (link->session != NULL) {
        arcp__session_detach(sessions, link->session);
    }
    arcp__port_drop(sessions->log, &link->port);
    arcp__context_disarm(sessions->context, &link->hello_timer);
    arcp__context_disarm(sessions->context, &link->throttle_timer);
    if (link->is_ahead) {
        LL_DELETE2(sessions->ahead, link, next_ahead);
    }
    DL_DELETE2(sessions->links, link, previous, next);
    arcp_buf_fini(&link->hello);
    arcp_buf_fini(&link->next_frame);
    arcp__free(link->preset_principal);
    arcp__free(link);
}
