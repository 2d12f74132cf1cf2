/* Heartbeats (§6.4): a ping when nothing was sent or nothing came for an interval; two
 * intervals without any frame end the link, never a job.
 *
 * Pings go out on common instants, so many of them in an interval: thousands of idle sessions
 * would wake the process thousands of times otherwise, once for each. An instant is the last one
 * before the interval is over, so nobody waits for longer than that. A peer that is silent is
 * given up at its own time, and not a nanosecond earlier: pings do not move that. */
#include "engine/parts.h"

#include "json/json_put.h"

#define INSTANTS_OF_INTERVAL 128

static int64_t interval_ns(const arcp__engine *engine)
{
    return (int64_t)engine->context.settings.session_heartbeat_interval_sec * ARCP_NS_PER_SEC;
}

/* Who was asked and has not answered is not asked again before an interval is over.
 * [arcp:6.4-1] */
static int64_t ping_due(const arcp__engine *engine, const arcp__session *session)
{
    const int64_t sent_ns = session->link->port.last_sent_ns;
    int64_t quiet_ns = sent_ns < session->last_received_ns ? sent_ns : session->last_received_ns;
    quiet_ns = quiet_ns < session->last_ping_ns ? session->last_ping_ns : quiet_ns;
    int64_t due = quiet_ns + interval_ns(engine);
    return due - due % (interval_ns(engine) / INSTANTS_OF_INTERVAL);
}

/* Who said that nothing more comes is not missed, nor who is not read although it reads.
 * [arcp:6.4-4] [arcp:EG-12] */
static int64_t lost_due(const arcp__engine *engine, const arcp__session *session)
{
    const arcp__link *link = session->link;
    if (link->input_over || link->rests || (link->paused && link->port.unsent == 0)) {
        return ARCP_TIME_NEVER;
    }
    return session->last_received_ns + 2 * interval_ns(engine);
}

static void arm(arcp__engine *engine, arcp__session *session)
{
    int64_t ping = ping_due(engine, session);
    int64_t lost = lost_due(engine, session);
    arcp__context_arm(&engine->context, &session->heartbeat_timer, ARCP__TIMER_HEARTBEAT, session,
                      ping < lost ? ping : lost);
}

void arcp__session_heartbeat_start(arcp__engine *engine, arcp__session *session)
{
    if (session->link != NULL && arcp__session_has_feature(session, ARCP_FEATURE_HEARTBEAT)) {
        arm(engine, session);
    }
}

/* [arcp:6.4-2] [arcp:6.4-7] */
static void send_ping(arcp__engine *engine, arcp__session *session)
{
    char id[ARCP__ID_SIZE];
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf frame = ARCP_BUF_INIT;
    arcp__context_make_id(&engine->context, "msg_", id);
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "nonce", id);
    arcp__write_timestamp(&writer, "sent_at", engine->context.now.wall_ns);
    arcp_json_end_object(&writer);
    arcp__envelope_format(&(arcp__envelope_head){.type = "session.ping",
                                                 .id = arcp_span_cstr(id),
                                                 .session_id = arcp_span_cstr(session->id)},
                          arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    session->link->port.last_sent_ns = engine->context.now.mono_ns;
    session->last_ping_ns = engine->context.now.mono_ns;
    arcp__session_send(engine, session, &frame, false);
}

void arcp__session_heartbeat_due(arcp__engine *engine, arcp__session *session)
{
    if (session->link == NULL) {
        return;
    }
    if (engine->context.now.mono_ns >= lost_due(engine, session)) {
        arcp_error error = {0};
        (void)arcp_error_set(
            &error, ARCP_E_HEARTBEAT_LOST,
            "nothing came for two heartbeat intervals; the session can be resumed");
        arcp__effect_log(engine->log, ARCP__LOG_INFO, "session %s: heartbeat lost", session->id);
        arcp__link_fail(engine, session->link, &error, arcp_span_make(NULL, 0), 1001);
        return;
    }
    if (engine->context.now.mono_ns >= ping_due(engine, session)) {
        send_ping(engine, session);
    }
    arm(engine, session);
}

/* Answers a session.ping; negotiated or not, it costs nothing to be polite. [arcp:6.4-3]
 * [arcp:6.4-7] */
bool arcp__session_pong(arcp__engine *engine, arcp__session *session, const arcp__message *in)
{
    const arcp__envelope *envelope = &in->envelope;
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf frame = ARCP_BUF_INIT;
    const arcp_json_ref nonce = in->nonce;
    if (arcp_json_raw(&engine->context.json, nonce).size > ARCP__REPEATED_MAX) {
        return false;
    }
    arcp_json_writer writer = arcp__put_begin(&payload);
    if (!arcp_json_is_missing(&engine->context.json, nonce)) {
        arcp__put_raw(&writer, "ping_nonce", arcp_json_raw(&engine->context.json, nonce));
    }
    arcp__write_timestamp(&writer, "received_at", engine->context.now.wall_ns);
    arcp__put_string(&writer, "request_id", envelope->id);
    arcp__put_string(&writer, "reply_to", envelope->id);
    arcp_json_end_object(&writer);
    arcp__envelope_format(&(arcp__envelope_head){.type = "session.pong",
                                                 .id = envelope->id,
                                                 .session_id = arcp_span_cstr(session->id)},
                          arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    arcp__session_send(engine, session, &frame, false);
    return true;
}
