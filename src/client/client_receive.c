/* Processes a received frame: reads it, checks its number, and calls the handler of its type.
 *
 * A session has one numbering. The Python SDK's runtime has others, too: the frames that a
 * subscriber gets about a job are numbered separately, from 1, and the history is sent before the
 * response to the subscribe, whose `replayed` is then the number of records. Such numbers are
 * checked in the same way, but not acknowledged: the frame then counts as one without a number. */
#include "client/client_job.h"
#include "core/decode.h"

/* ---- reading ---- */

#define MEMBER(member, text, kind) ARCP__MEMBER(arcp__client_message, member, text, kind)

static const arcp__member envelope_rows[] = {
    {MEMBER(version, "arcp", ANY)},
    {MEMBER(type_text, "type", ID)},
    {MEMBER(id, "id", ID)},
    {MEMBER(session_id, "session_id", ID)},
    {MEMBER(envelope_job_id, "job_id", ID)},
    {MEMBER(envelope_trace_id, "trace_id", ID)},
    {MEMBER(event_seq, "event_seq", COUNT)},
    {MEMBER(payload, "payload", OBJECT)},
};
static const arcp__members envelope_members = ARCP__MEMBERS(envelope_rows);

/* Additional members of a response, in its envelope and in its payload. */
static const arcp__member named_rows[] = {
    {MEMBER(names[3], "correlation_id", ID)},
    {MEMBER(names[4], "reply_to", ID)},
};
static const arcp__member answer_rows[] = {
    {MEMBER(job_id, "job_id", ID)},           {MEMBER(trace_id, "trace_id", ID)},
    {MEMBER(names[0], "request_id", ID)},     {MEMBER(names[1], "reply_to", ID)},
    {MEMBER(names[2], "correlation_id", ID)},
};
static const arcp__members named_members = ARCP__MEMBERS(named_rows);
static const arcp__members answer_members = ARCP__MEMBERS(answer_rows);

static const arcp__member capabilities_rows[] = {
    {MEMBER(welcome.features, "features", ARRAY)},
};
static const arcp__members capabilities_members = ARCP__MEMBERS(capabilities_rows);
static const arcp__member welcome_rows[] = {
    {MEMBER(welcome.session_id, "session_id", ID)},
    {MEMBER(welcome.resume_token, "resume_token", LOOSE)},
    {ARCP__CHECKED("capabilities", OBJECT), .parts = &capabilities_members},
    {MEMBER(welcome.resume_window_sec, "resume_window_sec", ANY)},
    {MEMBER(welcome.heartbeat_interval_sec, "heartbeat_interval_sec", NUMBER)},
};
static const arcp__member ping_rows[] = {
    {MEMBER(nonce.value, "nonce", ANY)},
};
static const arcp__member pong_rows[] = {
    {MEMBER(nonce.text, "ping_nonce", ID)},
    {MEMBER(nonce.older, "nonce", ID)},
};
static const arcp__member jobs_rows[] = {
    {MEMBER(jobs.rows, "jobs", ARRAY)},
    {MEMBER(jobs.next_cursor, "next_cursor", LOOSE)},
};
static const arcp__member lease_rows[] = {
    {MEMBER(description.patterns, "cost.budget", ARRAY)},
};
static const arcp__members lease_members = ARCP__MEMBERS(lease_rows);
static const arcp__member description_rows[] = {
    {MEMBER(description.agent, "agent", LOOSE)},
    {MEMBER(description.parent_job_id, "parent_job_id", ID)},
    {MEMBER(description.delegate_id, "delegate_id", ID)},
    {MEMBER(description.lease, "lease", OBJECT), .parts = &lease_members},
    {MEMBER(description.lease_constraints, "lease_constraints", OBJECT)},
    {MEMBER(description.budget, "budget", OBJECT)},
    {MEMBER(description.credentials, "credentials", ARRAY)},
    {MEMBER(description.current_status, "current_status", ANY)},
    {MEMBER(description.replayed, "replayed", ANY)},
    {MEMBER(description.subscribed_from, "subscribed_from", COUNT)},
};
static const arcp__member event_rows[] = {
    {MEMBER(job_id, "job_id", ID)},
    {MEMBER(event.kind, "kind", LOOSE)},
    {MEMBER(event.ts, "ts", LOOSE)},
    {MEMBER(event.body, "body", ANY)},
};
static const arcp__member end_rows[] = {
    {MEMBER(end.final_status, "final_status", LOOSE)},
    {MEMBER(end.summary, "summary", LOOSE)},
    {MEMBER(end.result_id, "result_id", LOOSE)},
    {MEMBER(end.code, "code", LOOSE)},
    {MEMBER(end.result, "result", ANY), .older = "output"},
    {MEMBER(end.older_result, "value", ANY)},
    {MEMBER(end.result_size, "result_size", COUNT)},
};

/* The runtime has closed the session; it will close the connection next. */
static void on_session_closed(arcp__client_session *session)
{
    session->action = ARCP__SESSION_CLOSE;
    if (session->state != ARCP__SESSION_CLOSING && session->connection_error.status == ARCP_OK) {
        (void)arcp_error_set(&session->connection_error, ARCP_E_CLOSED,
                             "the runtime closed the session");
    }
}

/* The handlers of messages that a runtime sends. */
static const struct {
    arcp__client_handler *handle;
    bool is_early; /* also valid before the welcome */
    arcp__members payload;
} messages[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_SESSION_WELCOME] = {arcp__client_on_welcome, true, ARCP__MEMBERS(welcome_rows)},
    [ARCP_MESSAGE_SESSION_ERROR] = {arcp__client_on_session_error, true, {NULL, 0}},
    [ARCP_MESSAGE_SESSION_PING] = {arcp__client_on_ping, true, ARCP__MEMBERS(ping_rows)},
    [ARCP_MESSAGE_VENDOR] = {arcp__client_on_vendor, false, {NULL, 0}},
    [ARCP_MESSAGE_SESSION_PONG] = {arcp__client_on_pong, false, ARCP__MEMBERS(pong_rows)},
    [ARCP_MESSAGE_SESSION_JOBS] = {arcp__client_on_jobs, false, ARCP__MEMBERS(jobs_rows)},
    [ARCP_MESSAGE_SESSION_CLOSED] = {on_session_closed, true, {NULL, 0}},
    [ARCP_MESSAGE_SESSION_BYE] = {on_session_closed, true, {NULL, 0}},
    [ARCP_MESSAGE_JOB_ACCEPTED] = {arcp__client_on_accepted, false,
                                   ARCP__MEMBERS(description_rows)},
    [ARCP_MESSAGE_JOB_CANCELLED] = {arcp__client_on_cancelled, false, {NULL, 0}},
    [ARCP_MESSAGE_JOB_SUBSCRIBED] = {arcp__client_on_subscribed, false,
                                     ARCP__MEMBERS(description_rows)},
    [ARCP_MESSAGE_JOB_EVENT] = {arcp__client_on_job_event, false, ARCP__MEMBERS(event_rows)},
    [ARCP_MESSAGE_JOB_RESULT] = {arcp__client_on_job_end, false, ARCP__MEMBERS(end_rows)},
    [ARCP_MESSAGE_JOB_ERROR] = {arcp__client_on_job_end, false, ARCP__MEMBERS(end_rows)},
};

/* Other names of types, used by some runtimes. */
static const struct {
    const char *name;
    arcp_message_type type;
} older_types[] = {
    {"ping", ARCP_MESSAGE_SESSION_PING},
    {"pong", ARCP_MESSAGE_SESSION_PONG},
    {"nack", ARCP_MESSAGE_SESSION_ERROR},
};

/* No member is required, so this cannot fail. */
static void read(arcp__client_session *session, arcp_json_ref object, const arcp__members *members)
{
    (void)!arcp__decode_row(&session->json, &session->scratch, object, members, &session->in);
}

/* Scans the frame. A frame with white space between tokens is compacted first, so that payloads can
 * be passed on unchanged. */
static arcp_status scan(arcp__client_session *session, arcp_span text, arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, session->given.frame_bytes_max};
    const arcp_status status = arcp_json_scan(&session->json, text, &limits, err);
    if (status != ARCP_OK || !session->json.has_space) {
        return status;
    }
    arcp_buf_clear(&session->compact);
    arcp_json_compact(&session->json, ARCP_JSON_ROOT, &session->compact);
    if (arcp_buf_status(&session->compact) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return arcp_json_scan(&session->json, arcp_buf_span(&session->compact), &limits, err);
}

/* Scans the frame into session->json and fills session->in. ARCP_E_INVALID_REQUEST if it is not a
 * valid frame. [arcp:5-1] [arcp:5-2] */
static arcp_status read_message(arcp__client_session *session, arcp_span text, arcp_error *err)
{
    arcp__client_message *in = &session->in;
    *in = (arcp__client_message){.type = ARCP_MESSAGE_UNKNOWN};
    arcp_buf_clear(&session->scratch);
    const arcp_status status = scan(session, text, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(&session->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the runtime sent a frame that is not a JSON object");
    }
    read(session, ARCP_JSON_ROOT, &envelope_members);
    /* `arcp` should be "1.1"; other versions with the same major number, and a missing version, are
     * accepted. */
    const arcp_span version = arcp_json_string(&session->json, in->version, &session->scratch);
    if (!arcp_json_is_missing(&session->json, in->version) && !arcp_span_equal_cstr(version, "1") &&
        !arcp_span_starts_with(version, ARCP_SPAN_LITERAL("1."))) {
        const arcp_span raw = arcp_span_first(arcp_json_raw(&session->json, in->version), 32);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the runtime speaks ARCP %.*s, this client speaks 1.1", (int)raw.size,
                              raw.data);
    }
    if (in->type_text.size == 0) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the runtime sent a frame without a type");
    }
    in->type = arcp_message_type_from_wire(in->type_text);
    for (size_t row = 0; row < sizeof older_types / sizeof older_types[0]; row++) {
        if (in->type == ARCP_MESSAGE_UNKNOWN &&
            arcp_span_equal_cstr(in->type_text, older_types[row].name)) {
            in->type = older_types[row].type;
            in->is_older = true;
        }
    }
    if (!arcp_json_is(&session->json, in->payload, ARCP_JSON_OBJECT)) {
        in->payload = ARCP_JSON_ABSENT;
    }
    in->text = in->payload == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("{}")
                                               : arcp_json_raw(&session->json, in->payload);
    in->job_id = in->envelope_job_id;
    if (in->type != ARCP_MESSAGE_JOB_EVENT) {
        read(session, ARCP_JSON_ROOT, &named_members);
        read(session, in->payload, &answer_members);
    }
    read(session, in->payload, &messages[in->type].payload);
    return session->scratch.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : ARCP_OK;
}

/* ---- dispatch ---- */

static void dispatch(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (messages[in->type].handle != NULL) {
        messages[in->type].handle(session);
    } else {
        arcp__client_notice(session, "ignored a frame of the unknown type %.*s",
                            (int)in->type_text.size, in->type_text.data);
    }
}

/* The last number in the separate numbering of the frame's job; NULL when the frame is, or may be,
 * numbered by the session. */
static uint64_t *own_numbering(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (session->names_requests || in->event_seq == 0 || in->job_id.size == 0 ||
        arcp__client_bind_refusal(session).names_request) {
        return NULL;
    }
    arcp_job *job = arcp__client_session_find_job(session, in->job_id);
    if (job != NULL && job->has_own_numbers) {
        return &job->own_seq;
    }
    arcp__client_request *subscribe =
        arcp__client_bind_by_job(session, ARCP__CLIENT_REQUEST_SUBSCRIBE);
    const bool is_early = subscribe != NULL && (job == NULL || subscribe->early_seq != 0);
    return is_early && in->event_seq <= subscribe->early_seq + 1 ? &subscribe->early_seq : NULL;
}

static void receive_live(arcp__client_session *session)
{
    arcp__client_message *in = &session->in;
    const uint64_t seq = in->event_seq;
    const bool is_error = in->type == ARCP_MESSAGE_SESSION_ERROR && !in->is_older;
    if (in->session_id.size != 0 && !is_error &&
        !arcp_span_equal(in->session_id, arcp_buf_span(&session->id))) {
        arcp__client_notice(session, "ignored a frame of another session");
        return;
    }
    /* A repeated frame is dropped. A gap breaks the connection, and the resume delivers the missing
     * frames. [arcp:8.3-2] */
    uint64_t *own = own_numbering(session);
    const uint64_t next_seq = 1 + (own != NULL ? *own : session->last_seq);
    if (own != NULL && seq > next_seq) {
        arcp__client_break(session, ARCP_E_IO,
                           "received event %llu of a subscription, expected %llu",
                           (unsigned long long)seq, (unsigned long long)next_seq);
    } else if (seq > next_seq) {
        session->broken++;
        arcp__client_break(session, session->broken > ARCP__BROKEN_MAX ? ARCP_E_CORRUPT : ARCP_E_IO,
                           "received event %llu, expected %llu", (unsigned long long)seq,
                           (unsigned long long)next_seq);
    }
    if (seq != 0 && seq != next_seq) {
        return;
    }
    if (own != NULL) { /* further processing treats the frame as unnumbered */
        *own = seq;
        in->event_seq = 0;
    }
    dispatch(session);
    if (!session->failed && in->event_seq != 0) {
        session->last_seq = in->event_seq;
        session->broken = 0;
    }
    if (session->failed && own != NULL) {
        /* The frame counts as not received. The request that held its number may have been freed,
         * so look the number up again. */
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
    const bool is_live =
        session->state == ARCP__SESSION_LIVE || session->state == ARCP__SESSION_CLOSING;
    if ((!is_live && !arcp__client_is_handshaking(session)) ||
        session->action == ARCP__SESSION_ABORT) {
        return;
    }
    session->received_ns = now.mono_ns;
    session->frames_received++;
    arcp_error err = {0};
    const arcp_status status = read_message(session, text, &err);
    if (status != ARCP_OK) {
        session->broken++;
        const bool is_final = status != ARCP_E_NO_MEMORY && session->broken > ARCP__BROKEN_MAX;
        arcp__client_break(session, is_final ? ARCP_E_CORRUPT : status,
                           "a frame could not be read: %s", err.message);
        return;
    }
    /* The Java SDK's runtime refuses a handshake with a job.error that names no job. */
    const bool is_refusal = in->type == ARCP_MESSAGE_JOB_ERROR && in->envelope_job_id.size == 0;
    if (is_live) {
        receive_live(session);
    } else if (is_refusal) {
        arcp__client_on_session_error(session);
    } else if (messages[in->type].is_early && !in->is_older) {
        dispatch(session);
    } else {
        arcp__client_notice(session, "ignored a %.*s before the welcome", (int)in->type_text.size,
                            in->type_text.data);
    }
    arcp__client_end_input(session);
}
