/* What becomes of a frame: read, checked against the numbering, handed to who knows its
 * type.
 *
 * A session has one numbering. The Python SDK's runtime has others besides: what a subscriber is
 * sent of a job is numbered by itself, from 1, and the history comes before the answer to the
 * subscribe, which then says in `replayed` how many records that were. Such numbers are checked
 * the same way, and never acknowledged: a frame that has one counts as having none. */
#include "client/client_job.h"

/* The runtime says goodbye: what comes next is the transport's end. */
static arcp_status on_goodbye(arcp__client_session *session, const arcp__client_frame *frame)
{
    session->action = ARCP__SESSION_CLOSE;
    if (session->state != ARCP__SESSION_CLOSING && session->trouble.error.status == ARCP_OK) {
        (void)arcp__client_failure_set(&session->trouble, ARCP_E_CLOSED,
                                       "the runtime closed the session");
    }
    return ARCP_OK;
}

static arcp_status on_other(arcp__client_session *session, const arcp__client_frame *frame)
{
    if (arcp_span_equal_cstr(frame->type_text, "ping")) {
        return arcp__client_send_pong(session, frame);
    }
    if (arcp_span_equal_cstr(frame->type_text, "pong")) {
        return arcp__client_on_pong(session, frame);
    }
    if (arcp_span_equal_cstr(frame->type_text, "nack")) {
        return arcp__client_on_session_error(session, frame);
    }
    if (frame->type != ARCP_MESSAGE_VENDOR) {
        arcp__client_notice(session, "ignored a frame of the unknown type %.*s",
                            (int)frame->type_text.size, frame->type_text.data);
    }
    return ARCP_OK;
}

static arcp_status dispatch(arcp__client_session *session, const arcp__client_frame *frame)
{
    switch (frame->type) {
    case ARCP_MESSAGE_SESSION_WELCOME:
        return arcp__client_on_welcome(session, frame);
    case ARCP_MESSAGE_SESSION_ERROR:
        return arcp__client_on_session_error(session, frame);
    case ARCP_MESSAGE_SESSION_PING:
        return arcp__client_send_pong(session, frame); /* [arcp:6.4-3] */
    case ARCP_MESSAGE_SESSION_PONG:
        return arcp__client_on_pong(session, frame);
    case ARCP_MESSAGE_SESSION_JOBS:
        return arcp__client_on_jobs(session, frame);
    case ARCP_MESSAGE_SESSION_CLOSED:
    case ARCP_MESSAGE_SESSION_BYE:
        return on_goodbye(session, frame);
    case ARCP_MESSAGE_JOB_ACCEPTED:
        return arcp__client_on_accepted(session, frame);
    case ARCP_MESSAGE_JOB_CANCELLED:
        return arcp__client_on_cancelled(session, frame);
    case ARCP_MESSAGE_JOB_SUBSCRIBED:
        return arcp__client_on_subscribed(session, frame);
    case ARCP_MESSAGE_JOB_EVENT:
        return arcp__client_on_job_event(session, frame);
    case ARCP_MESSAGE_JOB_RESULT:
    case ARCP_MESSAGE_JOB_ERROR:
        if (arcp__client_is_handshaking(session)) {
            return arcp__client_on_session_error(session, frame);
        }
        return arcp__client_on_job_end(session, frame);
    case ARCP_MESSAGE_SESSION_HELLO:
    case ARCP_MESSAGE_SESSION_RESUME:
    case ARCP_MESSAGE_SESSION_ACK:
    case ARCP_MESSAGE_SESSION_LIST_JOBS:
    case ARCP_MESSAGE_SESSION_CLOSE:
    case ARCP_MESSAGE_JOB_SUBMIT:
    case ARCP_MESSAGE_JOB_CANCEL:
    case ARCP_MESSAGE_JOB_SUBSCRIBE:
    case ARCP_MESSAGE_JOB_UNSUBSCRIBE:
    case ARCP_MESSAGE_VENDOR:
    case ARCP_MESSAGE_UNKNOWN:
    case ARCP_MESSAGE_COUNT:
        break;
    }
    return on_other(session, frame);
}

/* Before the welcome only the handshake's answers mean anything. The Java SDK's runtime refuses
 * with a job.error that names no job. */
static bool is_handshake(const arcp__client_frame *frame)
{
    return (frame->type == ARCP_MESSAGE_JOB_ERROR && frame->job_id.size == 0) ||
           frame->type == ARCP_MESSAGE_SESSION_WELCOME ||
           frame->type == ARCP_MESSAGE_SESSION_ERROR || frame->type == ARCP_MESSAGE_SESSION_PING ||
           frame->type == ARCP_MESSAGE_SESSION_BYE || frame->type == ARCP_MESSAGE_SESSION_CLOSED;
}

/* Whether the frame is the next one. A repeated one is dropped; a gap breaks the connection,
 * and the resume brings what was missed. [arcp:8.3-2] */
static bool is_next(arcp__client_session *session, const arcp__client_frame *frame)
{
    if (frame->event_seq == 0 || frame->event_seq == session->last_seq + 1) {
        return true;
    }
    if (frame->event_seq > session->last_seq) {
        session->broken++;
        arcp__client_break(session, session->broken > ARCP__BROKEN_MAX ? ARCP_E_CORRUPT : ARCP_E_IO,
                           "event %llu came, %llu was next", (unsigned long long)frame->event_seq,
                           (unsigned long long)session->last_seq + 1);
    }
    return false;
}

/* The last number of the numbering that the frame's job has to itself; NULL when the session's
 * holds, or may hold. */
static uint64_t *own_numbering(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp_span id = arcp__client_frame_job(session, frame);
    if (session->tells_requests || frame->event_seq == 0 || id.size == 0 ||
        arcp__client_bind_refusal(session, frame).names_request) {
        return NULL;
    }
    arcp_job *job = arcp__client_session_find_job(session, id);
    if (job != NULL && job->numbers_apart) {
        return &job->apart_seq;
    }
    arcp__client_request *asked =
        arcp__client_bind_by_job(session, frame, ARCP__CLIENT_ASK_SUBSCRIBE);
    bool is_early = asked != NULL && (job == NULL || asked->early_seq != 0);
    return is_early && frame->event_seq <= asked->early_seq + 1 ? &asked->early_seq : NULL;
}

/* Whether the frame is the next one of a numbering of its own, which it leaves. */
static bool is_next_apart(arcp__client_session *session, arcp__client_frame *frame,
                          uint64_t *last_seq)
{
    uint64_t seq = frame->event_seq;
    if (seq > *last_seq + 1) {
        arcp__client_break(session, ARCP_E_IO, "event %llu of a subscription came, %llu was next",
                           (unsigned long long)seq, (unsigned long long)*last_seq + 1);
    }
    if (seq != *last_seq + 1) {
        return false;
    }
    *last_seq = seq;
    frame->event_seq = 0;
    return true;
}

/* The frame counts as not received. Where its number was kept may have gone with the request that
 * it answered: it is looked for again. */
static void take_back(arcp__client_session *session, arcp__client_frame *frame, uint64_t seq,
                      const uint64_t *kept_in)
{
    frame->event_seq = seq;
    uint64_t *own = own_numbering(session, frame);
    if (own != NULL && own == kept_in) {
        *own = seq - 1;
    }
}

static void receive_live(arcp__client_session *session, arcp__client_frame *frame)
{
    if (frame->session_id.size != 0 && frame->type != ARCP_MESSAGE_SESSION_ERROR &&
        !arcp_span_equal(frame->session_id, arcp_buf_span(&session->id))) {
        arcp__client_notice(session, "ignored a frame of another session");
        return;
    }
    uint64_t seq = frame->event_seq;
    uint64_t *own = own_numbering(session, frame);
    if (own != NULL ? !is_next_apart(session, frame, own) : !is_next(session, frame)) {
        return;
    }
    if (dispatch(session, frame) != ARCP_OK) {
        /* The only way to fail. It counts as not received: the resume brings it again. */
        if (own != NULL) {
            take_back(session, frame, seq, own);
        }
        arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a frame");
        return;
    }
    if (frame->event_seq != 0) {
        session->last_seq = frame->event_seq;
        session->broken = 0;
    }
}

void arcp__client_session_receive(arcp__client_session *session, arcp_time now, arcp_span text)
{
    session->now = now;
    bool is_live = session->state == ARCP__SESSION_LIVE || session->state == ARCP__SESSION_CLOSING;
    if ((!is_live && !arcp__client_is_handshaking(session)) ||
        session->action == ARCP__SESSION_ABORT) {
        return;
    }
    session->received_ns = now.mono_ns;
    arcp__client_frame frame;
    arcp_error err = {0};
    arcp_status status = arcp__client_frame_read(session, text, &frame, &err);
    if (status != ARCP_OK) {
        session->broken++;
        bool hopeless = status != ARCP_E_NO_MEMORY && session->broken > ARCP__BROKEN_MAX;
        arcp__client_break(session, hopeless ? ARCP_E_CORRUPT : status,
                           "a frame could not be read: %s", err.message);
        return;
    }
    if (is_live) {
        receive_live(session, &frame);
    } else if (is_handshake(&frame)) {
        if (dispatch(session, &frame) != ARCP_OK) {
            arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory for a frame");
        }
    } else {
        arcp__client_notice(session, "ignored a %.*s before the welcome", (int)frame.type_text.size,
                            frame.type_text.data);
    }
}
