/* Answers that keep their order (docs/protocol.md, Sessions): clients bind the answers to their
 * submits by order.
 *
 * A refusal of a submit is a numbered record of the session, which leaves when the link has taken
 * all numbers before it (session_outbox.c). job.accepted is a frame without a number, which would
 * overtake it. So a job.accepted that is made while such a refusal has not left yet waits here,
 * and with it all that keep its order: it leaves directly behind the refusal, before the next
 * number, when the batch that it shows is durable. The records of its job have later numbers, and
 * so still come behind it.
 *
 * What waits here belongs to the link: it goes when the link does. */
#include "session/session_state.h"

struct arcp__answer {
    arcp__answer *prev, *next;
    uint64_t after_seq; /* of the refusal before it */
    uint64_t batch_id;  /* what it shows is durable with this one */
    arcp_buf frame;     /* owned */
    bool closes;        /* session.closed: the link is closed behind it */
};

void arcp__session_send_in_order(arcp__sessions *sessions, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame, bool closes)
{
    arcp__session_reveal(sessions, session, job_id, frame);
    if (session->link == NULL ||
        (session->answers == NULL && session->refused_seq <= session->sent_seq)) {
        arcp__session_send(sessions, session, frame, true);
        if (closes) {
            arcp__link_close(sessions, session->link, 1000, "closed", true);
        }
        return;
    }
    arcp__answer *answer = arcp__alloc(sizeof(*answer));
    if (answer == NULL || frame->failed) {
        arcp__free(answer);
        arcp_buf_fini(frame);
        arcp__context_no_memory(sessions->context);
        return;
    }
    arcp__session_mark(sessions, session); /* the commit of the open batch wakes the session */
    *answer = (arcp__answer){.after_seq = session->refused_seq,
                             .batch_id = arcp__batch_open_id(sessions->log),
                             .frame = *frame,
                             .closes = closes};
    *frame = (arcp_buf)ARCP_BUF_INIT;
    DL_APPEND(session->answers, answer);
    session->link->port.queued += answer->frame.size;
}

static arcp__answer *take_first(arcp__session *session)
{
    arcp__answer *first = session->answers;
    DL_DELETE(session->answers, first);
    session->link->port.queued -= first->frame.size;
    return first;
}

bool arcp__session_next_answer(arcp__sessions *sessions, arcp__session *session)
{
    const arcp__answer *first = session->answers;
    if (first == NULL || first->after_seq > session->sent_seq ||
        first->batch_id > arcp__log_committed_id(sessions->log)) {
        return false;
    }
    arcp__answer *answer = take_first(session);
    arcp_buf_fini(&sessions->sending);
    sessions->sending = answer->frame;
    if (answer->closes) {
        arcp__link_close(sessions, session->link, 1000, "closed", false);
    }
    arcp__free(answer);
    return true;
}

void arcp__session_drop_answers(arcp__session *session)
{
    while (session->answers != NULL) {
        arcp__answer *answer = take_first(session);
        arcp_buf_fini(&answer->frame);
        arcp__free(answer);
    }
}
