/* session.close and session.bye (§6.7): a client that leaves. Its jobs go on. And one that has
 * asked for all it wants, and waits for the rest: the end of its input. */
#include "engine/parts.h"

/* It is answered behind the submits that came before it. [arcp:6.7-1] */
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
    arcp__session_send_closed(engine, session, &frame);
}

void arcp__session_bye(arcp__engine *engine, arcp__session *session)
{
    session->said_goodbye = true;
    arcp__link_close(engine, session->link, 1000, "bye", true);
}

static bool catches_up(const arcp__session *session)
{
    for (const arcp__observation *at = session->observations; at != NULL; at = at->next) {
        if (at->read != NULL) {
            return true;
        }
    }
    return false;
}

/* The cheap questions first: it is asked in each round. */
static bool has_nothing_left(const arcp__engine *engine, const arcp__link *link)
{
    const arcp__session *session = link->session;
    return link->port.waiting == NULL && link->port.unsent == 0 && !session->in_outbox &&
           session->submits_first == NULL && session->waits_for == 0 &&
           session->sent_seq + 1 == session->next_seq && session->answers_first == NULL &&
           !arcp__session_has_live_jobs(session) && !catches_up(session);
}

void arcp__sessions_leave(arcp__engine *engine)
{
    if (!engine->has_inputs_over) {
        return;
    }
    engine->has_inputs_over = false;
    for (arcp__link *link = engine->links, *next = NULL; link != NULL; link = next) {
        next = link->next;
        if (!link->input_over || link->port.is_closed) {
            continue;
        }
        if (link->state == ARCP__LINK_NEW) {
            arcp__link_close(engine, link, 1000, "bye", false);
        } else if (link->state == ARCP__LINK_OPEN && has_nothing_left(engine, link)) {
            arcp__session_bye(engine, link->session);
        } else {
            engine->has_inputs_over = true;
        }
    }
}

void arcp__link_input_over(arcp__engine *engine, arcp__link *link)
{
    link->input_over = true;
    engine->has_inputs_over = true;
    arcp__sessions_leave(engine);
}
