/* Frames of a session's client: the table of message types, and the handlers of the simple ones. */
#include "session/page_key.h"

/* ---- messages that are no requests ---- */

/* A ping is answered even if heartbeats were not negotiated. False: the nonce is too large to be
 * repeated. [arcp:6.4-3] [arcp:6.4-7] */
static bool take_ping(arcp__sessions *sessions, arcp__session *session, const arcp__message *in)
{
    const arcp_span id = in->envelope.id;
    const arcp_span nonce = arcp_json_raw(&sessions->context->json, in->nonce);
    arcp_buf payload = arcp_buf_init();
    if (nonce.size > ARCP__REPEATED_MAX) {
        return false;
    }
    arcp_json_writer writer = arcp__put_begin(&payload);
    if (!arcp_json_is_missing(&sessions->context->json, in->nonce)) {
        arcp__put_raw(&writer, "ping_nonce", nonce);
    }
    arcp__write_timestamp(&writer, "received_at", sessions->context->now.wall_ns);
    arcp__put_string(&writer, "request_id", id);
    arcp__put_string(&writer, "reply_to", id);
    arcp_json_end_object(&writer);
    arcp_buf frame = arcp__session_frame(session, "session.pong", id, &payload);
    arcp__session_send(sessions, session, &frame, false);
    return true;
}

/* Nothing to do: any frame shows that the peer is alive. */
static bool take_pong(arcp__sessions *sessions, arcp__session *session, const arcp__message *in)
{
    return true;
}

/* session.close (§6.7): the client disconnects, and its jobs continue. The response is sent after
 * those to earlier submits. [arcp:6.7-1] */
static bool take_close(arcp__sessions *sessions, arcp__session *session, const arcp__message *in)
{
    const arcp_span id = in->envelope.id;
    arcp__session_settle_refusal(sessions, session);
    arcp__page_key_end(sessions, session);
    session->closed_by_client = true;
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_string(&writer, "request_id", id);
    arcp__put_string(&writer, "reply_to", id);
    arcp_json_end_object(&writer);
    arcp_buf frame = arcp__session_frame(session, "session.closed", id, &payload);
    arcp__session_send_in_order(sessions, session, ARCP__NOTHING, &frame, true);
    return true;
}

static bool take_bye(arcp__sessions *sessions, arcp__session *session, const arcp__message *in)
{
    session->closed_by_client = true;
    arcp__link_close(sessions, session->link, 1000, "bye", true);
    return true;
}

/* ---- simple requests ---- */

static void refuse_ping(arcp__sessions *sessions, arcp__request *request, const arcp__message *in)
{
    arcp__request_refuse_with(sessions, request, ARCP_E_INVALID_REQUEST,
                              "payload.nonce is larger than 4096 bytes");
}

static void refuse_hello(arcp__sessions *sessions, arcp__request *request, const arcp__message *in)
{
    arcp__request_refuse_with(
        sessions, request, ARCP_E_INVALID_REQUEST,
        "the session is open already: session.hello and session.resume must come first");
}

/* session.ack (§6.5): acknowledged records need not be kept for the session. [arcp:6.5-2]
 * [arcp:6.5-6] */
static void acknowledge(arcp__sessions *sessions, arcp__request *request, const arcp__message *in)
{
    arcp__session *session = request->session;
    if (in->last_processed_seq > session->sent_seq) {
        arcp__request_refuse_with(sessions, request, ARCP_E_INVALID_REQUEST,
                                  "last_processed_seq is beyond what this session was sent");
        return;
    }
    if (in->last_processed_seq > session->acked_seq) {
        session->acked_seq = in->last_processed_seq;
        if (arcp__session_lag(session) < sessions->context->settings.session_ack_lag_events) {
            session->back_pressured = false;
        }
        arcp__session_discard_runs(sessions, session, session->acked_seq, 0);
    }
}

typedef struct message_row {
    arcp_feature feature; /* the feature that it needs */
    bool is_remembered;   /* it changes something: a duplicate gets the cached response */
    bool names_job;       /* by payload.job_id, which a refusal for lack of the feature shows */
    /* For messages that are no requests; false: handle it as a request. */
    bool (*take)(arcp__sessions *sessions, arcp__session *session, const arcp__message *in);
    void (*handle)(arcp__sessions *sessions, arcp__request *request, const arcp__message *in);
} message_row;

/* What clients may send. The first hello of a link is handled in session_hello.c. */
static const message_row messages[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_SESSION_HELLO] = {ARCP_FEATURE_NONE, .handle = refuse_hello},
    [ARCP_MESSAGE_SESSION_RESUME] = {ARCP_FEATURE_NONE, .handle = refuse_hello},
    [ARCP_MESSAGE_SESSION_PING] = {ARCP_FEATURE_NONE, .take = take_ping, .handle = refuse_ping},
    [ARCP_MESSAGE_SESSION_PONG] = {ARCP_FEATURE_NONE, .take = take_pong},
    [ARCP_MESSAGE_SESSION_CLOSE] = {ARCP_FEATURE_NONE, .take = take_close},
    [ARCP_MESSAGE_SESSION_BYE] = {ARCP_FEATURE_NONE, .take = take_bye},
    [ARCP_MESSAGE_SESSION_ACK] = {ARCP_FEATURE_ACK, .handle = acknowledge},
    [ARCP_MESSAGE_SESSION_LIST_JOBS] = {ARCP_FEATURE_LIST_JOBS, .handle = arcp__session_list_jobs},
    [ARCP_MESSAGE_JOB_SUBMIT] = {ARCP_FEATURE_NONE, .is_remembered = true,
                                 .handle = arcp__session_submit},
    [ARCP_MESSAGE_JOB_CANCEL] = {ARCP_FEATURE_NONE, .is_remembered = true,
                                 .handle = arcp__session_cancel},
    [ARCP_MESSAGE_JOB_SUBSCRIBE] = {ARCP_FEATURE_SUBSCRIBE, .is_remembered = true,
                                    .names_job = true, .handle = arcp__session_subscribe},
    [ARCP_MESSAGE_JOB_UNSUBSCRIBE] = {ARCP_FEATURE_SUBSCRIBE, .is_remembered = true,
                                      .names_job = true, .handle = arcp__session_unsubscribe},
};

static bool is_ours(const arcp__session *session, const arcp__envelope *envelope)
{
    return envelope->session_id.size == 0 ||
           arcp_span_equal_cstr(envelope->session_id, session->id);
}

/* [arcp:6.2-4] [arcp:9.5-9] [arcp:LA-11] */
void arcp__session_receive(arcp__sessions *sessions, arcp__session *session, arcp__message *in)
{
    const arcp__envelope *envelope = &in->envelope;
    if (session->closed_by_client) {
        return; /* earlier requests are still answered */
    }
    session->last_received_ns = sessions->context->now.mono_ns;
    arcp__page_key_use(sessions, session);
    if (session->has_previous) {
        /* The new link has sent a frame: the previous token is invalid from here on. */
        session->has_previous = false;
        arcp__session_store(sessions, session);
    }
    if (envelope->version_missing) {
        arcp__effect_log(sessions->log, ARCP__LOG_DEBUG,
                         "session %s: frame without \"arcp\":\"1.1\"", session->id);
    }
    if (envelope->type == ARCP_MESSAGE_VENDOR) {
        arcp__view_receive(sessions, session, envelope);
        return;
    }
    arcp_error error = {0};
    (void)arcp__message_read_payload(sessions->context, in, &error);
    const message_row *row = &messages[envelope->type];
    if (row->take != NULL && is_ours(session, envelope) && row->take(sessions, session, in)) {
        return;
    }
    session->last_activity_ns = sessions->context->now.mono_ns;
    const uint64_t hash = arcp__hash_bytes(envelope->id.data, envelope->id.size);
    bool is_repeated = false;
    if (row->is_remembered) {
        const arcp__cached_request *cached = arcp__cache_find(session, hash);
        is_repeated = cached != NULL && !cached->is_repeatable;
        if (is_repeated ? !cached->answered : !arcp__cache_add(sessions, session, hash)) {
            return; /* a duplicate of an unanswered request gets no response of its own */
        }
    }
    arcp__request *request = arcp__session_new_request(sessions, session, envelope, hash);
    if (request == NULL) {
        return;
    }
    arcp_span job_id = ARCP__NOTHING;
    if (!arcp_message_type_is_from_client(envelope->type)) {
        const arcp_span shown = arcp_span_first(envelope->type_text, 64);
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "\"%.*s\" is not a message that a client can send", (int)shown.size,
                             shown.data);
    } else if (!is_ours(session, envelope)) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "the frame's session_id is not this session's");
    } else if (error.status == ARCP_OK && !arcp__session_has_feature(session, row->feature)) {
        job_id = row->names_job ? arcp_span_first(in->job.job_id, ARCP__ENVELOPE_ID_MAX) : job_id;
        (void)arcp_error_set(
            &error, ARCP_E_INVALID_REQUEST, "%s needs the feature \"%s\", which was not negotiated",
            arcp_message_type_name(envelope->type), arcp_feature_name(row->feature));
    }
    if (is_repeated) { /* the repeated response to a submit keeps its order, too */
        request->is_repeated = true;
        arcp__request_finish(sessions, request);
    } else if (error.status != ARCP_OK) {
        arcp__request_refuse(sessions, request, &error, job_id, ARCP__NOTHING);
    } else {
        row->handle(sessions, request, in);
    }
    if (envelope->type != ARCP_MESSAGE_JOB_SUBMIT) {
        arcp__session_free_request(request);
    }
}
