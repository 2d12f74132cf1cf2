#include "client/client_session.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/options.h"
#include "client/client_job.h"

/* ---- making and freeing ---- */

static arcp_status check_options(const arcp_client_options *from, arcp_error *err)
{
    if (from->url.size == 0 && from->dial == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "options need a url or a dial function");
    }
    if ((from->resume.session_id.size == 0) != (from->resume.resume_token.size == 0)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "options.resume needs both a session id and a resume token");
    }
    const struct {
        const char *name;
        int64_t value;
        int64_t least;
    } numbers[] = {
        {"connect_timeout_ms", from->connect_timeout_ms, 1},
        {"connect_retry_ms", from->connect_retry_ms, 0},
        {"request_timeout_ms", from->request_timeout_ms, 1},
        {"backoff_first_ms", from->backoff_first_ms, 1},
        {"backoff_max_ms", from->backoff_max_ms, 1},
        {"give_up_ms", from->give_up_ms, 0},
        {"ack_events", from->ack_events, 1},
        {"ack_ms", from->ack_ms, 1},
        {"unread_bytes_max",
         from->unread_bytes_max > INT64_MAX ? INT64_MAX : (int64_t)from->unread_bytes_max, 1},
        {"frame_bytes_max",
         from->frame_bytes_max > UINT32_MAX / 2 ? 0 : (int64_t)from->frame_bytes_max, 1024},
    };
    for (size_t row = 0; row < sizeof numbers / sizeof numbers[0]; row++) {
        if (numbers[row].value < numbers[row].least) {
            return arcp_error_set(err, ARCP_E_USAGE, "option %s is %lld, must be at least %lld",
                                  numbers[row].name, (long long)numbers[row].value,
                                  (long long)numbers[row].least);
        }
    }
    return ARCP_OK;
}

/* Replaces the span by a NUL-terminated copy; an empty span gets no data. */
static bool copy_span(arcp__arena *strings, arcp_span *span)
{
    char *copy = span->size == 0 ? NULL : arcp__arena_take(strings, span->size + 1);
    const bool failed = span->size != 0 && copy == NULL;
    if (copy != NULL) {
        memcpy(copy, span->data, span->size);
        copy[span->size] = '\0';
    }
    *span = arcp_span_make(copy, copy == NULL ? 0 : span->size);
    return !failed;
}

arcp_status arcp__client_session_new(const arcp_client_options *given, arcp__random_fn random,
                                     void *owner, arcp__client_session **out, arcp_error *err)
{
    arcp_client_options options = arcp_client_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_client_options", err);
    if (status == ARCP_OK) {
        status = check_options(&options, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__client_session *session = arcp__alloc(sizeof *session);
    if (session == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const bool resumes = options.resume.session_id.size != 0;
    const uint64_t last_seq = resumes ? options.resume.last_event_seq : 0;
    *session = (arcp__client_session){
        .given = options,
        .id_source = {.random = random, .user = owner},
        .owner = owner,
        .json = ARCP__JSON_INIT,
        .compact = arcp_buf_secret_init(),
        .scratch = arcp_buf_secret_init(),
        .reading = true,
        .wait_until_ns = ARCP_TIME_NEVER,
        .give_up_ns = ARCP_TIME_NEVER,
        .closed = arcp__client_item_new(ARCP_CLIENT_CLOSED, NULL, 0),
        .last_seq = last_seq,
        .handed_seq = last_seq,
        .acked_seq = last_seq,
        .has_session = resumes,
        .is_adopted = resumes,
    };
    session->connection_error.details = &session->connection_error_details;
    session->failure.details = &session->failure_details;
    arcp_client_options *kept = &session->given;
    if (kept->client_name.size == 0) {
        kept->client_name = ARCP_SPAN_LITERAL("libarcp");
    }
    if (kept->client_version.size == 0) {
        kept->client_version = ARCP_SPAN_LITERAL(ARCP_VERSION_STRING);
    }
    /* Secrets are not copied into the arena, which is not wiped. */
    session->token = options.token.size == 0 ? NULL : arcp_secret_new(options.token);
    session->resume_token = resumes ? arcp_secret_new(options.resume.resume_token) : NULL;
    arcp_buf_append(&session->id, options.resume.session_id);
    (void)arcp_buf_cstr(&session->id); /* hooks are given it */
    kept->token = arcp_span_make(NULL, 0);
    kept->resume = (arcp_session_state){0};
    const bool is_whole = copy_span(&session->strings, &kept->url) &&
                          copy_span(&session->strings, &kept->client_name) &&
                          copy_span(&session->strings, &kept->client_version) &&
                          copy_span(&session->strings, &kept->tls_ca_file);
    if (!is_whole || session->closed == NULL || session->id.failed ||
        (options.token.size != 0 && session->token == NULL) ||
        (resumes && session->resume_token == NULL)) {
        arcp__client_session_free(session);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = session;
    return ARCP_OK;
}

void arcp__client_session_free(arcp__client_session *session)
{
    if (session == NULL) {
        return;
    }
    while (session->requests != NULL) {
        arcp__client_request_free(session, session->requests);
    }
    while (session->items != NULL) {
        arcp__client_item_free(arcp__client_session_next_item(session));
    }
    arcp_job *job = NULL;
    arcp_job *next = NULL;
    HASH_ITER (hh, session->jobs, job, next) {
        HASH_DELETE(hh, session->jobs, job);
        job->session = NULL;
        job->owner = NULL;
        while (job->held != NULL) { /* held items reference the job, which would leak */
            arcp__client_item *item = job->held;
            DL_DELETE(job->held, item);
            arcp__client_item_free(item);
        }
        arcp__client_job_drop(job);
    }
    arcp__free(session->removed);
    arcp__free(session->watch.principals);
    arcp__client_item_free(session->closed);
    arcp_buf_fini(&session->frames);
    arcp__timer_heap_fini(&session->timers);
    arcp_secret_free(session->resume_token);
    arcp_buf_fini(&session->id);
    arcp_buf_fini(&session->interim_id);
    arcp_buf_fini(&session->welcome);
    arcp_buf_fini(&session->compact);
    arcp_buf_fini(&session->scratch);
    arcp__json_fini(&session->json);
    arcp_buf_fini(&session->connection_error_details);
    arcp_buf_fini(&session->failure_details);
    arcp_secret_free(session->token);
    arcp__arena_fini(&session->strings);
    arcp__free(session);
}

/* ---- the session's life ---- */

#define STATE(state) (1u << (unsigned)ARCP__SESSION_##state)

void arcp__client_enter(arcp__client_session *session, arcp__client_session_state state,
                        int64_t until_ns)
{
    static const unsigned followers[] = {
        [ARCP__SESSION_IDLE] = STATE(CONNECTING) | STATE(CLOSED),
        [ARCP__SESSION_WAITING] = STATE(CONNECTING) | STATE(CLOSED),
        [ARCP__SESSION_CONNECTING] = STATE(HELLO) | STATE(WAITING) | STATE(CLOSED),
        [ARCP__SESSION_HELLO] =
            STATE(RESUMING) | STATE(LIVE) | STATE(WAITING) | STATE(CLOSING) | STATE(CLOSED),
        [ARCP__SESSION_RESUMING] = STATE(LIVE) | STATE(WAITING) | STATE(CLOSING) | STATE(CLOSED),
        [ARCP__SESSION_LIVE] = STATE(WAITING) | STATE(CLOSING) | STATE(CLOSED),
        [ARCP__SESSION_CLOSING] = STATE(CLOSED),
        [ARCP__SESSION_CLOSED] = 0,
    };
    assert((followers[session->state] & (1u << (unsigned)state)) != 0);
    session->state = state;
    session->wait_until_ns = until_ns;
}

static void dial(arcp__client_session *session)
{
    arcp__client_enter(session, ARCP__SESSION_CONNECTING,
                       arcp__client_in_ms(session, session->given.connect_timeout_ms));
    session->action = ARCP__SESSION_DIAL;
}

void arcp__client_session_start(arcp__client_session *session, arcp_time now)
{
    session->now = now;
    if (session->state != ARCP__SESSION_IDLE) {
        return;
    }
    session->give_up_ns = arcp__client_in_ms(session, session->given.connect_retry_ms);
    dial(session);
}

void arcp__client_session_connected(arcp__client_session *session, arcp_time now)
{
    session->now = now;
    if (session->state != ARCP__SESSION_CONNECTING) {
        return;
    }
    arcp__client_enter(session, ARCP__SESSION_HELLO, session->wait_until_ns);
    session->received_ns = now.mono_ns;
    session->pinged_ns = now.mono_ns;
    session->reading = true;
    session->bye_sent = false;
    arcp_buf_clear(&session->interim_id);
    session->failed = !arcp__client_send_hello(session) || session->failed;
    arcp__client_end_input(session);
}

/* Ends the session with a failure (NULL: closed by the program). */
static void finish(arcp__client_session *session, const arcp_error *error)
{
    if (error != NULL) {
        (void)arcp_error_copy(&session->failure, error);
    }
    arcp__client_enter(session, ARCP__SESSION_CLOSED, ARCP_TIME_NEVER);
    arcp__client_requests_fail(session, error);
    arcp__client_session_announce_held(session); /* if memory runs out, they are lost */
    (void)arcp__client_notify(session, ARCP_CLIENT_CLOSED, error, 0);
}

/* The connection was lost: waits for another attempt, or ends the session. [arcp:7.7-2] */
static void on_connection_lost(arcp__client_session *session)
{
    const arcp_client_options *given = &session->given;
    const arcp_error *why = &session->connection_error;
    const int64_t now_ns = session->now.mono_ns;
    if (session->state == ARCP__SESSION_LIVE) {
        /* Keep the backoff for a runtime that closes the connection right after its welcome. */
        const bool was_useful =
            session->welcomed_at != arcp__client_progress(session) ||
            now_ns - session->welcome_ns >= arcp__client_ms(given->backoff_max_ms);
        session->attempt = was_useful ? 0 : session->attempt;
        const int64_t give_up_ns =
            given->give_up_ms != 0 ? arcp__client_ms(given->give_up_ms) : session->resume_window_ns;
        session->give_up_ns = arcp__client_after(now_ns, give_up_ns);
        arcp__client_requests_unsend(session);
    }
    /* Failures that another attempt cannot cure. Others may be temporary: they are retried until
     * give_up_ns. */
    const arcp_status status = why->status;
    const bool is_final = status == ARCP_E_RESUME_WINDOW_EXPIRED ||
                          status == ARCP_E_UNAUTHENTICATED || status == ARCP_E_PERMISSION_DENIED ||
                          status == ARCP_E_CORRUPT || status == ARCP_E_USAGE;
    /* The runtime refused the handshake, and would do so again. */
    const bool is_refused =
        arcp__client_is_handshaking(session) && why->code[0] != '\0' && !why->retryable;
    const bool can_come_back = session->was_live ? session->has_session && !given->no_reconnect
                                                 : given->connect_retry_ms != 0;
    /* Exponential backoff, half of each pause random, so that the clients of a restarted runtime do
     * not all reconnect at the same time. */
    int64_t pause_ms = given->backoff_first_ms;
    for (unsigned step = 0; step < session->attempt && pause_ms < given->backoff_max_ms; step++) {
        pause_ms *= 2;
    }
    pause_ms = pause_ms > given->backoff_max_ms ? given->backoff_max_ms : pause_ms;
    uint64_t random = 0;
    session->id_source.random(session->id_source.user, &random, sizeof random);
    pause_ms += (int64_t)(random % (uint64_t)(pause_ms / 2 + 1)) - pause_ms / 2;

    const int64_t next_ns = arcp__client_in_ms(session, pause_ms);
    if (is_final || is_refused || !can_come_back || next_ns > session->give_up_ns) {
        finish(session, why);
        return;
    }
    session->attempt++;
    arcp__client_enter(session, ARCP__SESSION_WAITING, next_ns);
    (void)arcp__client_notify(session, ARCP_CLIENT_DISCONNECTED, why, pause_ms);
}

void arcp__client_session_disconnected(arcp__client_session *session, arcp_time now,
                                       const arcp_error *why)
{
    session->now = now;
    session->action = ARCP__SESSION_NOTHING;
    session->frames_taken = session->frames.size;
    arcp_span frame = {NULL, 0};
    (void)arcp__client_session_next_frame(session, &frame); /* drops the queued frames */
    if (session->state == ARCP__SESSION_IDLE || session->state == ARCP__SESSION_WAITING ||
        session->state == ARCP__SESSION_CLOSED) {
        return;
    }
    if (session->state == ARCP__SESSION_CLOSING) {
        finish(session, NULL);
        return;
    }
    if (session->connection_error.status == ARCP_OK) {
        (void)arcp_error_copy(&session->connection_error, why);
    }
    if (session->state == ARCP__SESSION_LIVE &&
        (why->status == ARCP_E_LIMIT || why->status == ARCP_E_INVALID_REQUEST)) {
        arcp__client_requests_blame(session, why);
    }
    on_connection_lost(session);
    session->connection_error = (arcp_error){.details = &session->connection_error_details};
}

arcp__client_session_action arcp__client_session_take_action(arcp__client_session *session)
{
    const arcp__client_session_action action = session->action;
    /* An ABORT stays until the connection is closed: further input is ignored. */
    if (action != ARCP__SESSION_ABORT) {
        session->action = ARCP__SESSION_NOTHING;
    }
    return action;
}

void arcp__client_session_postpone(arcp__client_session *session, arcp_time now, int64_t delay_ms)
{
    session->now = now;
    if (session->state != ARCP__SESSION_CONNECTING) {
        return;
    }
    arcp__client_enter(session, ARCP__SESSION_WAITING, arcp__client_in_ms(session, delay_ms));
    if (session->wait_until_ns > session->give_up_ns) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_DEADLINE, "the session is in use by another process");
        finish(session, &error);
    }
}

arcp_status arcp__client_session_set_resume_token(arcp__client_session *session, arcp_span token)
{
    arcp_secret *copy = arcp_secret_new(token);
    if (copy == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_secret_free(session->resume_token);
    session->resume_token = copy;
    return ARCP_OK;
}

/* Some runtimes require a reason. */
#define DONE ARCP_SPAN_LITERAL("{\"reason\":\"done\"}")

/* [arcp:6.7-1] */
void arcp__client_session_close(arcp__client_session *session, arcp_time now)
{
    session->now = now;
    if (session->state == ARCP__SESSION_CLOSED || session->state == ARCP__SESSION_CLOSING) {
        return;
    }
    const bool is_live = session->state == ARCP__SESSION_LIVE;
    if (!is_live && !arcp__client_is_handshaking(session)) {
        const bool is_dialing = session->state == ARCP__SESSION_CONNECTING;
        finish(session, NULL);
        session->action = is_dialing ? ARCP__SESSION_ABORT : ARCP__SESSION_NOTHING;
        return;
    }
    arcp__client_enter(session, ARCP__SESSION_CLOSING,
                       arcp__client_in_ms(session, ARCP__CLOSE_WAIT_MS));
    arcp__client_requests_fail(session, NULL);
    const arcp__client_envelope close = {.type = "session.close", .payload = DONE};
    if (!is_live || session->action == ARCP__SESSION_ABORT || !arcp__client_send(session, close)) {
        session->action = ARCP__SESSION_ABORT;
    }
}

/* ---- heartbeats (§6.4) and acknowledgements (§6.5) ---- */

/* A ping is sent when nothing was sent, or nothing was received, for an interval: some runtimes
 * never send pings themselves. Any received frame is a sign of life; after two intervals without
 * one the connection is given up, but not the session. While the program does not read, frames wait
 * in the transport, so silence means nothing. */

/* [arcp:6.4-1] */
static int64_t ping_due(const arcp__client_session *session)
{
    int64_t quiet = session->sent_ns;
    if (session->heartbeat_ns == 0) {
        return ARCP_TIME_NEVER;
    }
    if (session->reading && session->received_ns < quiet) {
        quiet = session->received_ns;
    }
    if (session->pinged_ns > quiet) {
        quiet = session->pinged_ns;
    }
    return arcp__client_after(quiet, session->heartbeat_ns);
}

/* [arcp:6.4-4] [arcp:EG-12] */
static int64_t lost_due(const arcp__client_session *session)
{
    if (!session->reading || session->heartbeat_ns == 0) {
        return ARCP_TIME_NEVER;
    }
    return arcp__client_after(arcp__client_after(session->received_ns, session->heartbeat_ns),
                              session->heartbeat_ns);
}

void arcp__client_session_set_reading(arcp__client_session *session, arcp_time now, bool reading)
{
    session->now = now;
    if (reading && !session->reading) {
        session->received_ns = now.mono_ns;
    }
    session->reading = reading;
}

static bool acks_itself(const arcp__client_session *session)
{
    return !session->given.manual_ack && arcp__client_session_has(session, ARCP_FEATURE_ACK);
}

/* [arcp:6.5-5] */
static int64_t ack_due(const arcp__client_session *session)
{
    if (!acks_itself(session) || session->handed_seq <= session->acked_seq) {
        return ARCP_TIME_NEVER;
    }
    return arcp__client_after(session->acked_ns, arcp__client_ms(session->given.ack_ms));
}

static void acknowledge(arcp__client_session *session, uint64_t event_seq)
{
    char payload[64];
    (void)snprintf(payload, sizeof payload, "{\"last_processed_seq\":%llu}",
                   (unsigned long long)event_seq);
    const arcp__client_envelope ack = {.type = "session.ack", .payload = arcp_span_cstr(payload)};
    if (arcp__client_send(session, ack)) { /* [arcp:6.5-6] */
        session->acked_seq = event_seq;
    }
    /* Out of memory, the next turn tries again: acknowledgements are not essential. */
    session->acked_ns = session->now.mono_ns;
}

void arcp__client_session_handed_over(arcp__client_session *session, arcp_time now,
                                      uint64_t event_seq)
{
    session->now = now;
    if (event_seq <= session->handed_seq) {
        return;
    }
    session->handed_seq = event_seq;
    if (session->state == ARCP__SESSION_LIVE && session->action == ARCP__SESSION_NOTHING &&
        acks_itself(session) && event_seq - session->acked_seq >= session->given.ack_events) {
        acknowledge(session, event_seq);
    }
}

arcp_status arcp__client_session_ack(arcp__client_session *session, arcp_time now,
                                     uint64_t event_seq, arcp_error *err)
{
    session->now = now;
    if (event_seq > session->last_seq) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "event %llu cannot be acknowledged, the last one is %llu",
                              (unsigned long long)event_seq, (unsigned long long)session->last_seq);
    }
    if (session->state == ARCP__SESSION_LIVE &&
        arcp__client_session_has(session, ARCP_FEATURE_ACK) && event_seq > session->acked_seq) {
        acknowledge(session, event_seq);
    }
    return ARCP_OK;
}

/* ---- time ---- */

int64_t arcp__client_session_deadline(const arcp__client_session *session)
{
    if (session->state == ARCP__SESSION_CLOSED || session->state == ARCP__SESSION_IDLE) {
        return ARCP_TIME_NEVER;
    }
    int64_t due = arcp__timer_heap_next(&session->timers);
    due = session->wait_until_ns < due ? session->wait_until_ns : due;
    if (session->state == ARCP__SESSION_LIVE && session->action != ARCP__SESSION_ABORT) {
        const int64_t dues[] = {ack_due(session), ping_due(session), lost_due(session)};
        for (size_t i = 0; i < sizeof dues / sizeof dues[0]; i++) {
            due = dues[i] < due ? dues[i] : due;
        }
    }
    return due;
}

void arcp__client_session_tick(arcp__client_session *session, arcp_time now)
{
    const arcp__client_envelope bye = {.type = "session.bye", .payload = DONE};
    session->now = now;
    if (session->state == ARCP__SESSION_CLOSED || session->state == ARCP__SESSION_IDLE) {
        return;
    }
    const arcp__timer *timer = arcp__timer_heap_pop_due(&session->timers, now.mono_ns);
    const bool is_due = timer != NULL;
    for (; timer != NULL; timer = arcp__timer_heap_pop_due(&session->timers, now.mono_ns)) {
        arcp__client_request *request = timer->owner;
        if (request->is_internal) {
            arcp__client_silent_expire(session, request);
        } else {
            arcp__client_request_expire(session, request);
        }
    }
    if (is_due) {
        arcp__client_session_announce_held(session);
    }
    arcp__client_end_input(session);
    const bool is_late = now.mono_ns >= session->wait_until_ns;
    if (is_late && session->state == ARCP__SESSION_WAITING) {
        dial(session);
    } else if (is_late && session->state == ARCP__SESSION_CLOSING) {
        /* No response to session.close: some runtimes support only session.bye. Send that and wait
         * for the transport's close; if that does not come either, abort. */
        session->wait_until_ns = arcp__client_in_ms(session, 4 * (int64_t)ARCP__CLOSE_WAIT_MS);
        session->action = ARCP__SESSION_CLOSE;
        if (session->bye_sent || !arcp__client_send(session, bye)) {
            session->action = ARCP__SESSION_ABORT;
            session->wait_until_ns = ARCP_TIME_NEVER;
        }
        session->bye_sent = true;
    } else if (is_late) {
        session->wait_until_ns = ARCP_TIME_NEVER;
        arcp__client_break(session, ARCP_E_DEADLINE,
                           "the runtime did not complete the handshake in %lld ms",
                           (long long)session->given.connect_timeout_ms);
    }
    if (session->state != ARCP__SESSION_LIVE || session->action == ARCP__SESSION_ABORT) {
        return;
    }
    if (now.mono_ns >= lost_due(session)) {
        arcp__client_break(
            session, ARCP_E_HEARTBEAT_LOST,
            "nothing was received from the runtime for two heartbeat intervals (%lld ms)",
            2 * (long long)(session->heartbeat_ns / ARCP_NS_PER_MS));
    } else if (now.mono_ns >= ping_due(session)) {
        session->pinged_ns = now.mono_ns;
        if (!arcp__client_send_ping(session)) {
            arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a ping");
        }
    }
    if (now.mono_ns >= ack_due(session)) { /* [arcp:6.5-1] */
        acknowledge(session, session->handed_seq);
    }
}
