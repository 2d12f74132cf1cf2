/* job.accepted: its form for the peer profile, and its order (docs/protocol.md, Sessions). Clients
 * match responses to their submits by order.
 *
 * The refusal of a submit is a numbered record of the session, which is sent after all records with
 * lower numbers (session_outbox.c). job.accepted is a frame without a number and would overtake it.
 * So a job.accepted that is made while such a refusal is unsent waits here, and so do later ones:
 * they are sent directly after the refusal, before the next number, once their batch is durable.
 * The records of the job have higher numbers and so still follow its job.accepted.
 *
 * Waiting responses belong to the link: they are dropped when it closes. */
#include "session/session_state.h"

struct arcp__answer {
    arcp__answer *prev, *next;
    uint64_t after_seq; /* number of the refusal before it */
    uint64_t batch_id;  /* it waits until this batch is durable */
    arcp_buf frame;     /* owned */
    bool closes;        /* session.closed: the link is closed after it */
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
    arcp__answer *answer = arcp__alloc(sizeof *answer);
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
    *frame = arcp_buf_init();
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
        first->batch_id > sessions->log->committed_id) {
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

/* ---- form ---- */

void arcp__accepted_format(arcp__sessions *sessions, arcp_span accepted,
                           const arcp__peer_profile *profile, arcp_buf *out)
{
    if (!profile->omits_lease && !profile->budget_as_text) {
        arcp_buf_append(out, accepted);
        return;
    }
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    if (arcp_json_scan(&json, accepted, &limits, NULL) != ARCP_OK) {
        arcp__json_fini(&json);
        out->failed = true; /* it is valid JSON, so only memory can be missing */
        return;
    }
    arcp_json_writer writer = arcp__put_begin(out);
    for (arcp_json_ref name = arcp_json_first(&json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(&json, ARCP_JSON_ROOT, name)) {
        const arcp_span text = arcp_json_string(&json, name, &sessions->context->scratch);
        if (profile->omits_lease && arcp_span_equal_cstr(text, "lease")) {
            continue;
        }
        arcp_json_name_span(&writer, text);
        if (!profile->budget_as_text || !arcp_span_equal_cstr(text, "budget")) {
            arcp_json_write_raw(&writer, arcp_json_raw(&json, name + 1));
            continue;
        }
        /* {"USD": 5} as {"USD": "USD:5"} */
        arcp_json_begin_object(&writer);
        for (arcp_json_ref item = arcp_json_first(&json, name + 1); item != ARCP_JSON_ABSENT;
             item = arcp_json_next(&json, name + 1, item)) {
            const arcp_span currency = arcp_json_string(&json, item, &sessions->context->scratch);
            arcp_buf value = arcp_buf_init();
            arcp_buf_append(&value, currency);
            arcp_buf_append_byte(&value, ':');
            arcp_buf_append(&value, arcp_json_raw(&json, item + 1));
            arcp_json_name_span(&writer, currency);
            arcp_json_write_string(&writer, arcp_buf_span(&value));
            out->failed = out->failed || value.failed;
            arcp_buf_fini(&value);
        }
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    arcp__json_fini(&json);
}

void arcp__session_format_accepted(arcp__sessions *sessions, const arcp__session *session,
                                   const arcp__job *job, arcp_buf *frame)
{
    char id[ARCP__ID_SIZE];
    arcp_buf payload = arcp_buf_init();
    arcp__context_make_id(sessions->context, "msg_", id);
    arcp__accepted_format(sessions, arcp_span_cstr(job->accepted), session->profile, &payload);
    arcp__envelope_format(&(arcp__envelope_head){.type = "job.accepted",
                                                 .id = arcp_span_cstr(id),
                                                 .session_id = arcp_span_cstr(session->id),
                                                 .trace_id = arcp_span_cstr(job->trace_id),
                                                 .job_id = arcp_span_cstr(job->id)},
                          arcp_buf_span(&payload), frame);
    frame->failed = frame->failed || payload.failed;
    arcp_buf_fini(&payload);
}
