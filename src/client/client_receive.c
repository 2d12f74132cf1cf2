/* What becomes of a frame: read, checked against the numbering, handed to who knows its
 * type.
 *
 * A session has one numbering. The Python SDK's runtime has others besides: what a subscriber is
 * sent of a job is numbered by itself, from 1, and the history comes before the answer to the
 * subscribe, which then says in `replayed` how many records that were. Such numbers are checked
 * the same way, and never acknowledged: a frame that has one counts as having none. */
#include "client/client_job.h"

/* The runtime says goodbye: what comes next is the transport's end. */
static void on_goodbye(arcp__client_session *session)
{
    session->action = ARCP__SESSION_CLOSE;
    if (session->state != ARCP__SESSION_CLOSING && session->trouble.error.status == ARCP_OK) {
        (void)arcp__client_failure_set(&session->trouble, ARCP_E_CLOSED,
                                       "the runtime closed the session");
    }
}

/* What runtimes say. */
static const struct {
    arcp__client_handler *handle;
    bool is_early; /* it means something before the welcome */
} handlers[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_SESSION_WELCOME] = {arcp__client_on_welcome, true},
    [ARCP_MESSAGE_SESSION_ERROR] = {arcp__client_on_session_error, true},
    [ARCP_MESSAGE_SESSION_PING] = {arcp__client_on_ping, true},
    [ARCP_MESSAGE_SESSION_PONG] = {arcp__client_on_pong, false},
    [ARCP_MESSAGE_SESSION_JOBS] = {arcp__client_on_jobs, false},
    [ARCP_MESSAGE_SESSION_CLOSED] = {on_goodbye, true},
    [ARCP_MESSAGE_SESSION_BYE] = {on_goodbye, true},
    [ARCP_MESSAGE_JOB_ACCEPTED] = {arcp__client_on_accepted, false},
    [ARCP_MESSAGE_JOB_CANCELLED] = {arcp__client_on_cancelled, false},
    [ARCP_MESSAGE_JOB_SUBSCRIBED] = {arcp__client_on_subscribed, false},
    [ARCP_MESSAGE_JOB_EVENT] = {arcp__client_on_job_event, false},
    [ARCP_MESSAGE_JOB_RESULT] = {arcp__client_on_job_end, false},
    [ARCP_MESSAGE_JOB_ERROR] = {arcp__client_on_job_end, false},
};

static void dispatch(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (handlers[in->type].handle != NULL) {
        handlers[in->type].handle(session);
    } else if (in->type != ARCP_MESSAGE_VENDOR) {
        arcp__client_notice(session, "ignored a frame of the unknown type %.*s",
                            (int)in->type_text.size, in->type_text.data);
    }
}

/* The last number of the numbering that the frame's job has to itself; NULL when the session's
 * holds, or may hold. */
static uint64_t *own_numbering(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (session->tells_requests || in->event_seq == 0 || in->job_id.size == 0 ||
        arcp__client_bind_refusal(session).names_request) {
        return NULL;
    }
    arcp_job *job = arcp__client_session_find_job(session, in->job_id);
    if (job != NULL && job->numbers_apart) {
        return &job->apart_seq;
    }
    arcp__client_request *asked = arcp__client_bind_by_job(session, ARCP__CLIENT_ASK_SUBSCRIBE);
    bool is_early = asked != NULL && (job == NULL || asked->early_seq != 0);
    return is_early && in->event_seq <= asked->early_seq + 1 ? &asked->early_seq : NULL;
}

static void receive_live(arcp__client_session *session)
{
    arcp__client_message *in = &session->in;
    const uint64_t seq = in->event_seq;
    bool is_error = in->type == ARCP_MESSAGE_SESSION_ERROR && !in->is_older;
    if (in->session_id.size != 0 && !is_error &&
        !arcp_span_equal(in->session_id, arcp_buf_span(&session->id))) {
        arcp__client_notice(session, "ignored a frame of another session");
        return;
    }
    /* A repeated frame is dropped; a gap breaks the connection, and the resume brings what was
     * missed. [arcp:8.3-2] */
    uint64_t *own = own_numbering(session);
    const uint64_t next_seq = 1 + (own != NULL ? *own : session->last_seq);
    if (own != NULL && seq > next_seq) {
        arcp__client_break(session, ARCP_E_IO, "event %llu of a subscription came, %llu was next",
                           (unsigned long long)seq, (unsigned long long)next_seq);
    } else if (seq > next_seq) {
        session->broken++;
        arcp__client_break(session, session->broken > ARCP__BROKEN_MAX ? ARCP_E_CORRUPT : ARCP_E_IO,
                           "event %llu came, %llu was next", (unsigned long long)seq,
                           (unsigned long long)next_seq);
    }
    if (seq != 0 && seq != next_seq) {
        return;
    }
    if (own != NULL) { /* the frame leaves it */
        *own = seq;
        in->event_seq = 0;
    }
    dispatch(session);
    if (!session->failed && in->event_seq != 0) {
        session->last_seq = in->event_seq;
        session->broken = 0;
    }
    if (session->failed && own != NULL) {
        /* It counts as not received. Where its number was kept may have gone with the request that
         * it answered: it is looked for again. */
        in->event_seq = seq;
        uint64_t *kept_in = own_numbering(session);
        if (kept_in == own) {
            *kept_in = seq - 1;
        }
    }
}

void arcp__client_session_receive(arcp__client_session *session, arcp_time now, arcp_span text)
{
    const arcp__client_message *in = &session->in;
    session->now = now;
    bool is_live = session->state == ARCP__SESSION_LIVE || session->state == ARCP__SESSION_CLOSING;
    if ((!is_live && !arcp__client_is_handshaking(session)) ||
        session->action == ARCP__SESSION_ABORT) {
        return;
    }
    session->received_ns = now.mono_ns;
    arcp_error err = {0};
    arcp_status status = arcp__client_message_read(session, text, &err);
    if (status != ARCP_OK) {
        session->broken++;
        bool hopeless = status != ARCP_E_NO_MEMORY && session->broken > ARCP__BROKEN_MAX;
        arcp__client_break(session, hopeless ? ARCP_E_CORRUPT : status,
                           "a frame could not be read: %s", err.message);
        return;
    }
    /* The Java SDK's runtime refuses a handshake with a job.error that names no job. */
    bool is_refusal = in->type == ARCP_MESSAGE_JOB_ERROR && in->envelope_job_id.size == 0;
    if (is_live) {
        receive_live(session);
    } else if (is_refusal) {
        arcp__client_on_session_error(session);
    } else if (handlers[in->type].is_early && !in->is_older) {
        dispatch(session);
    } else {
        arcp__client_notice(session, "ignored a %.*s before the welcome", (int)in->type_text.size,
                            in->type_text.data);
    }
    arcp__client_end_input(session);
}
