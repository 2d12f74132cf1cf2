/* Heartbeats (§6.4) and acknowledgements (§6.5).
 *
 * A ping goes out when for an interval nothing was sent, or nothing was received: some
 * runtimes only ever answer. Any frame that comes is a sign of life; two intervals without one
 * are the end of the connection, not of the session. While the program does not read, frames
 * wait in the transport, and silence means nothing. */
#include <stdio.h>

#include "client/client_session.h"

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

/* ---- acknowledging ---- */

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
    (void)snprintf(payload, sizeof(payload), "{\"last_processed_seq\":%llu}",
                   (unsigned long long)event_seq);
    const arcp__client_envelope ack = {.type = "session.ack", .payload = arcp_span_cstr(payload)};
    if (arcp__client_send(session, ack)) { /* [arcp:6.5-6] */
        session->acked_seq = event_seq;
    }
    /* When memory is short the next turn tries again: an ack is only advice. */
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

/* ---- both ---- */

int64_t arcp__client_liveness_deadline(const arcp__client_session *session)
{
    int64_t due = ack_due(session);
    due = ping_due(session) < due ? ping_due(session) : due;
    return lost_due(session) < due ? lost_due(session) : due;
}

void arcp__client_liveness_tick(arcp__client_session *session)
{
    int64_t now_ns = session->now.mono_ns;
    if (now_ns >= lost_due(session)) {
        arcp__client_break(
            session, ARCP_E_HEARTBEAT_LOST,
            "nothing was heard from the runtime for two heartbeat intervals (%lld ms)",
            2 * (long long)(session->heartbeat_ns / ARCP_NS_PER_MS));
    } else if (now_ns >= ping_due(session)) {
        session->pinged_ns = now_ns;
        if (!arcp__client_send_ping(session)) {
            arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a ping");
        }
    }
    if (now_ns >= ack_due(session)) { /* [arcp:6.5-1] */
        acknowledge(session, session->handed_seq);
    }
}
