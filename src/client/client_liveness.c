/* Heartbeats (§6.4) and acknowledgements (§6.5).
 *
 * A ping goes out when for an interval nothing was sent, or nothing was received: some
 * runtimes only ever answer. Any frame that comes is a sign of life; two intervals without one
 * are the end of the connection, not of the session. While the program does not read, frames
 * wait in the transport, and silence means nothing. */
#include "client/client_session.h"

/* [arcp:6.4-1] */
static int64_t ping_due(const arcp__client_session *session)
{
    int64_t quiet = session->sent_ns;
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
    if (!session->reading) {
        return ARCP_TIME_NEVER;
    }
    return arcp__client_after(arcp__client_after(session->received_ns, session->heartbeat_ns),
                              session->heartbeat_ns);
}

int64_t arcp__client_liveness_deadline(const arcp__client_session *session)
{
    if (session->heartbeat_ns == 0) {
        return ARCP_TIME_NEVER;
    }
    int64_t ping = ping_due(session);
    int64_t lost = lost_due(session);
    return ping < lost ? ping : lost;
}

void arcp__client_liveness_tick(arcp__client_session *session)
{
    if (session->heartbeat_ns == 0) {
        return;
    }
    if (session->now.mono_ns >= lost_due(session)) {
        arcp__client_break(
            session, ARCP_E_HEARTBEAT_LOST,
            "nothing was heard from the runtime for two heartbeat intervals (%lld ms)",
            2 * (long long)(session->heartbeat_ns / ARCP_NS_PER_MS));
        return;
    }
    if (session->now.mono_ns >= ping_due(session)) {
        session->pinged_ns = session->now.mono_ns;
        if (arcp__client_send_ping(session) != ARCP_OK) {
            arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a ping");
        }
    }
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
    return !session->options.given.manual_ack &&
           arcp__client_session_has(session, ARCP_FEATURE_ACK);
}

/* [arcp:6.5-5] */
static bool acks_by_count(const arcp__client_session *session)
{
    return session->handed_seq - session->acked_seq >= session->options.given.ack_events;
}

/* [arcp:6.5-5] */
int64_t arcp__client_ack_deadline(const arcp__client_session *session)
{
    if (!acks_itself(session) || session->handed_seq <= session->acked_seq) {
        return ARCP_TIME_NEVER;
    }
    return arcp__client_after(session->acked_ns, arcp__client_ms(session->options.given.ack_ms));
}

static void acknowledge(arcp__client_session *session, uint64_t event_seq)
{
    if (arcp__client_send_ack(session, event_seq) == ARCP_OK) {
        session->acked_seq = event_seq;
    }
    /* When memory is short the next turn tries again: an ack is only advice. */
    session->acked_ns = session->now.mono_ns;
}

/* [arcp:6.5-1] */
void arcp__client_ack_tick(arcp__client_session *session)
{
    if (session->now.mono_ns >= arcp__client_ack_deadline(session)) {
        acknowledge(session, session->handed_seq);
    }
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
        acks_itself(session) && acks_by_count(session)) {
        acknowledge(session, session->handed_seq);
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
