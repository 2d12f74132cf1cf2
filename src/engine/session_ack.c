/* session.ack (§6.5): how far a session has read. What it has acknowledged need not be kept for
 * it; when it falls behind, it is told once. */
#include "engine/parts.h"

/* Events that were numbered for the session and that it has not acknowledged. */
static uint64_t lag_of(const arcp__session *session)
{
    return session->next_seq - 1 - session->acked_seq;
}

/* [arcp:6.5-2] */
static void acknowledge(arcp__engine *engine, arcp__session *session, uint64_t seq)
{
    if (seq <= session->acked_seq) {
        return;
    }
    session->acked_seq = seq;
    if (session->back_pressured &&
        lag_of(session) < engine->context.settings.session_ack_lag_events) {
        session->back_pressured = false;
    }
    arcp__session_forget_acked(engine, session);
}

/* [arcp:6.5-6] */
void arcp__session_ack(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    if (in->last_processed_seq > request->session->sent_seq) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "last_processed_seq is beyond what this session was sent");
        arcp__request_refuse(engine, request, &error, arcp_span_make(NULL, 0),
                             arcp_span_make(NULL, 0));
        return;
    }
    acknowledge(engine, request->session, in->last_processed_seq);
}

/* One back_pressure status when a session that acknowledges falls behind. [arcp:6.5-4] */
void arcp__session_note_lag(arcp__engine *engine, arcp__observation *observation)
{
    arcp__session *session = observation->session;
    if (!arcp__observation_is_owner(observation) || session->back_pressured ||
        !arcp__session_has_feature(session, ARCP_FEATURE_ACK) ||
        arcp__job_has_ended(observation->observer.job) ||
        lag_of(session) <= engine->context.settings.session_ack_lag_events) {
        return;
    }
    session->back_pressured = true;
    engine->metrics.back_pressure++;
    arcp__job_emit_status(&engine->jobs, observation->observer.job, "back_pressure",
                          ARCP_SPAN_LITERAL("events are acknowledged more slowly than they come"));
}
