/* session.close and session.bye (§6.7): a client that leaves. Its jobs go on. */
#include "engine/parts.h"

/* [arcp:6.7-1] */
void arcp__session_close(arcp__engine *engine, arcp__session *session,
                         const arcp__envelope *envelope)
{
    session->said_goodbye = true;
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf frame = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&payload, "{\"request_id\":");
    arcp_json_quote(envelope->id, &payload);
    arcp_buf_append_cstr(&payload, ",\"reply_to\":");
    arcp_json_quote(envelope->id, &payload);
    arcp_buf_append_byte(&payload, '}');
    arcp__envelope_format(&(arcp__envelope_head){.type = "session.closed",
                                                 .id = envelope->id,
                                                 .session_id = arcp_span_cstr(session->id)},
                          arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    arcp__session_send(engine, session, &frame, true);
    arcp__link_close(engine, session->link, 1000, "closed", true);
}

void arcp__session_bye(arcp__engine *engine, arcp__session *session)
{
    session->said_goodbye = true;
    arcp__link_close(engine, session->link, 1000, "bye", true);
}
