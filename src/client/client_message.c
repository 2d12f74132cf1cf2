#include "client/client_session.h"
#include "core/decode.h"

#define MEMBER(member, text, kind) ARCP__MEMBER(arcp__client_message, member, text, kind)

static const arcp__member envelope_rows[] = {
    {MEMBER(version, "arcp", ANY)},
    {MEMBER(type_text, "type", LOOSE)},
    {MEMBER(id, "id", LOOSE)},
    {MEMBER(session_id, "session_id", LOOSE)},
    {MEMBER(envelope_job_id, "job_id", LOOSE)},
    {MEMBER(envelope_trace_id, "trace_id", LOOSE)},
    {MEMBER(event_seq, "event_seq", COUNT)},
    {MEMBER(payload, "payload", OBJECT)},
};
static const arcp__members envelope_members = ARCP__MEMBERS(envelope_rows);

/* What an answer may have beside them, and in its payload. */
static const arcp__member named_rows[] = {
    {MEMBER(names[3], "correlation_id", LOOSE)},
    {MEMBER(names[4], "reply_to", LOOSE)},
};
static const arcp__member answer_rows[] = {
    {MEMBER(job_id, "job_id", STRING)},          {MEMBER(trace_id, "trace_id", LOOSE)},
    {MEMBER(names[0], "request_id", LOOSE)},     {MEMBER(names[1], "reply_to", LOOSE)},
    {MEMBER(names[2], "correlation_id", LOOSE)},
};
static const arcp__members named_members = ARCP__MEMBERS(named_rows);
static const arcp__members answer_members = ARCP__MEMBERS(answer_rows);

static const arcp__member capabilities_rows[] = {
    {MEMBER(welcome.features, "features", ARRAY)},
};
static const arcp__members capabilities_members = ARCP__MEMBERS(capabilities_rows);
static const arcp__member welcome_rows[] = {
    {MEMBER(welcome.session_id, "session_id", LOOSE)},
    {MEMBER(welcome.resume_token, "resume_token", LOOSE)},
    {ARCP__CHECKED("capabilities", OBJECT), .parts = &capabilities_members},
    {MEMBER(welcome.resume_window_sec, "resume_window_sec", ANY)},
    {MEMBER(welcome.heartbeat_interval_sec, "heartbeat_interval_sec", NUMBER)},
};
static const arcp__member ping_rows[] = {
    {MEMBER(nonce.value, "nonce", ANY)},
};
static const arcp__member pong_rows[] = {
    {MEMBER(nonce.text, "ping_nonce", LOOSE)},
    {MEMBER(nonce.older, "nonce", LOOSE)},
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
    {MEMBER(description.parent_job_id, "parent_job_id", LOOSE)},
    {MEMBER(description.delegate_id, "delegate_id", LOOSE)},
    {MEMBER(description.lease, "lease", OBJECT), .parts = &lease_members},
    {MEMBER(description.lease_constraints, "lease_constraints", OBJECT)},
    {MEMBER(description.budget, "budget", OBJECT)},
    {MEMBER(description.credentials, "credentials", ARRAY)},
    {MEMBER(description.current_status, "current_status", ANY)},
    {MEMBER(description.replayed, "replayed", ANY)},
    {MEMBER(description.subscribed_from, "subscribed_from", COUNT)},
};
static const arcp__member event_rows[] = {
    {MEMBER(job_id, "job_id", STRING)},
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

static const arcp__members payloads[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_SESSION_WELCOME] = ARCP__MEMBERS(welcome_rows),
    [ARCP_MESSAGE_SESSION_PING] = ARCP__MEMBERS(ping_rows),
    [ARCP_MESSAGE_SESSION_PONG] = ARCP__MEMBERS(pong_rows),
    [ARCP_MESSAGE_SESSION_JOBS] = ARCP__MEMBERS(jobs_rows),
    [ARCP_MESSAGE_JOB_ACCEPTED] = ARCP__MEMBERS(description_rows),
    [ARCP_MESSAGE_JOB_SUBSCRIBED] = ARCP__MEMBERS(description_rows),
    [ARCP_MESSAGE_JOB_EVENT] = ARCP__MEMBERS(event_rows),
    [ARCP_MESSAGE_JOB_RESULT] = ARCP__MEMBERS(end_rows),
    [ARCP_MESSAGE_JOB_ERROR] = ARCP__MEMBERS(end_rows),
};

/* What some runtimes call a type. */
static const struct {
    const char *name;
    arcp_message_type type;
} older_types[] = {
    {"ping", ARCP_MESSAGE_SESSION_PING},
    {"pong", ARCP_MESSAGE_SESSION_PONG},
    {"nack", ARCP_MESSAGE_SESSION_ERROR},
};

/* Nothing is required, so nothing can be wrong. */
static void read(arcp__client_session *session, arcp_json_ref object, const arcp__members *members)
{
    (void)!arcp__decode_row(&session->json, &session->scratch, object, members, &session->in);
}

/* Scans; what was written with white space is put on one line first, so that payloads can be
 * handed on as they are. */
static arcp_status scan(arcp__client_session *session, arcp_span text, arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, session->given.frame_bytes_max};
    arcp_status status = arcp_json_scan(&session->json, text, &limits, err);
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

/* `arcp` is "1.1"; runtimes of the same major version, and ones that leave it out, are
 * understood. */
static bool is_understood(arcp__client_session *session)
{
    arcp_span version = arcp_json_string(&session->json, session->in.version, &session->scratch);
    return arcp_json_is_missing(&session->json, session->in.version) ||
           arcp_span_equal_cstr(version, "1") ||
           arcp_span_starts_with(version, ARCP_SPAN_LITERAL("1."));
}

/* [arcp:5-1] [arcp:5-2] */
arcp_status arcp__client_message_read(arcp__client_session *session, arcp_span text,
                                      arcp_error *err)
{
    arcp__client_message *in = &session->in;
    *in = (arcp__client_message){.type = ARCP_MESSAGE_UNKNOWN};
    arcp_buf_clear(&session->scratch);
    arcp_status status = scan(session, text, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(&session->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "the runtime sent no JSON object");
    }
    read(session, ARCP_JSON_ROOT, &envelope_members);
    if (!is_understood(session)) {
        arcp_span raw = arcp_span_first(arcp_json_raw(&session->json, in->version), 32);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the runtime speaks ARCP %.*s, this client speaks 1.1", (int)raw.size,
                              raw.data);
    }
    if (in->type_text.size == 0 || in->type_text.size > ARCP__ID_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the runtime sent a frame without a type");
    }
    in->type = arcp_message_type_from_wire(in->type_text);
    for (size_t row = 0; row < sizeof(older_types) / sizeof(older_types[0]); row++) {
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
    read(session, in->payload, &payloads[in->type]);
    if (in->job_id.size > ARCP__ID_BYTES_MAX) {
        in->job_id = arcp_span_make(NULL, 0);
    }
    return session->scratch.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : ARCP_OK;
}
