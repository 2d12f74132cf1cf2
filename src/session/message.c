#include "session/session_state.h"

#define MEMBER(member, text, kind) ARCP__MEMBER(arcp__message, member, text, kind)

static const arcp__member client_rows[] = {
    {MEMBER(hello.client_name, "name", STRING)},
    {MEMBER(hello.client_version, "version", STRING)},
};
static const arcp__member auth_rows[] = {
    {MEMBER(hello.auth_scheme, "scheme", ANY)},
    {MEMBER(hello.token, "token", LOOSE)},
};
static const arcp__member capabilities_rows[] = {
    {MEMBER(hello.encodings, "encodings", STRINGS)},
    {MEMBER(hello.features, "features", STRINGS)},
};
static const arcp__member resume_rows[] = {
    {MEMBER(hello.resumed.session_id, "session_id", STRING)},
    {MEMBER(hello.resumed.token, "resume_token", STRING)},
    {MEMBER(hello.resumed.last_event_seq, "last_event_seq", COUNT)},
    {MEMBER(hello.older_token, "token", LOOSE)},
};
static const arcp__members client_members = ARCP__MEMBERS(client_rows);
static const arcp__members auth_members = ARCP__MEMBERS(auth_rows);
static const arcp__members capabilities_members = ARCP__MEMBERS(capabilities_rows);
static const arcp__members resume_members = ARCP__MEMBERS(resume_rows);

static const arcp__member hello_rows[] = {
    {ARCP__CHECKED("client", OBJECT), .parts = &client_members},
    {MEMBER(hello.flat_client_name, "client_name", STRING)},
    {MEMBER(hello.flat_client_version, "client_version", STRING)},
    {ARCP__CHECKED("auth", OBJECT), .parts = &auth_members},
    {ARCP__CHECKED("capabilities", OBJECT), .parts = &capabilities_members},
    {MEMBER(hello.resume, "resume", OBJECT), .parts = &resume_members},
    {MEMBER(hello.flat_resumed.token, "resume_token", STRING)},
    {MEMBER(hello.flat_resumed.last_event_seq, "last_event_seq", COUNT)},
    {MEMBER(hello.flat_resumed.session_id, "session_id", LOOSE)},
};
/* What a hello may have beside it is read in the same way. */
static const arcp__member session_resume_rows[] = {
    {MEMBER(hello.flat_resumed.session_id, "session_id", STRING)},
    {MEMBER(hello.flat_resumed.token, "resume_token", STRING), .required = true},
    {MEMBER(hello.flat_resumed.last_event_seq, "last_event_seq", COUNT)},
    {ARCP__CHECKED("auth", OBJECT), .parts = &auth_members},
    {ARCP__CHECKED("client", OBJECT), .parts = &client_members},
    {MEMBER(hello.flat_client_name, "client_name", STRING)},
    {MEMBER(hello.flat_client_version, "client_version", STRING)},
    {ARCP__CHECKED("capabilities", OBJECT), .parts = &capabilities_members},
    {MEMBER(hello.resume, "resume", OBJECT), .parts = &resume_members},
};

static const arcp__member ping_rows[] = {
    {MEMBER(nonce, "nonce", ANY)},
};
static const arcp__member ack_rows[] = {
    {MEMBER(last_processed_seq, "last_processed_seq", COUNT), .required = true},
};

static const arcp__member filter_rows[] = {
    {MEMBER(list_jobs.statuses, "status", STRINGS)},
    {MEMBER(list_jobs.agent, "agent", STRING)},
    {MEMBER(list_jobs.created_after, "created_after", STRING)},
    {MEMBER(list_jobs.created_before, "created_before", STRING)},
};
static const arcp__members filter_members = ARCP__MEMBERS(filter_rows);
static const arcp__member list_jobs_rows[] = {
    {ARCP__CHECKED("filter", OBJECT), .parts = &filter_members},
    {MEMBER(list_jobs.limit, "limit", POSITIVE)},
    {MEMBER(list_jobs.cursor, "cursor", STRING)},
};

static const arcp__member submit_rows[] = {
    {MEMBER(submit.agent, "agent", STRING), .required = true},
    {MEMBER(submit.input, "input", ANY)},
    {MEMBER(submit.lease_request, "lease_request", OBJECT)},
    {MEMBER(submit.lease_constraints, "lease_constraints", OBJECT)},
    {MEMBER(submit.idempotency_key, "idempotency_key", STRING)},
    {MEMBER(submit.max_runtime_sec, "max_runtime_sec", POSITIVE)},
};

static const arcp__member cancel_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING)},
    {MEMBER(job.reason, "reason", STRING)},
};
static const arcp__member subscribe_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true},
    {MEMBER(job.from_event_seq, "from_event_seq", COUNT)},
    {MEMBER(job.history, "history", BOOL)},
};
static const arcp__member unsubscribe_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true},
};

static const arcp__members payloads[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_SESSION_HELLO] = ARCP__MEMBERS(hello_rows),
    [ARCP_MESSAGE_SESSION_RESUME] = ARCP__MEMBERS(session_resume_rows),
    [ARCP_MESSAGE_SESSION_PING] = ARCP__MEMBERS(ping_rows),
    [ARCP_MESSAGE_SESSION_ACK] = ARCP__MEMBERS(ack_rows),
    [ARCP_MESSAGE_SESSION_LIST_JOBS] = ARCP__MEMBERS(list_jobs_rows),
    [ARCP_MESSAGE_JOB_SUBMIT] = ARCP__MEMBERS(submit_rows),
    [ARCP_MESSAGE_JOB_CANCEL] = ARCP__MEMBERS(cancel_rows),
    [ARCP_MESSAGE_JOB_SUBSCRIBE] = ARCP__MEMBERS(subscribe_rows),
    [ARCP_MESSAGE_JOB_UNSUBSCRIBE] = ARCP__MEMBERS(unsubscribe_rows),
};

/* What a hello says in one of several places. [arcp:6.5-7] */
static void settle_hello(const arcp_json *json, arcp__message *message)
{
    arcp__hello *hello = &message->hello;
    arcp_span *name = &hello->client_name;
    arcp_span *version = &hello->client_version;
    *name = arcp_span_first(name->size != 0 ? *name : hello->flat_client_name, 256);
    *version = arcp_span_first(version->size != 0 ? *version : hello->flat_client_version, 256);
    if (arcp_json_is_missing(json, hello->resume)) {
        hello->resumed = hello->flat_resumed;
    } else if (hello->resumed.token.data == NULL) {
        hello->resumed.token = hello->older_token;
    }
    if (hello->resumed.session_id.data == NULL) {
        hello->resumed.session_id = message->envelope.session_id;
    }
}

arcp_status arcp__message_read_payload(arcp__context *context, arcp__message *message,
                                       arcp_error *err)
{
    arcp__decoder decoder = {
        .json = &context->json, .scratch = &context->scratch, .where = "payload"};
    message->hello = (arcp__hello){0}; /* the largest */
    const arcp_message_type type = message->envelope.type;
    const arcp_status status =
        arcp__decode(&decoder, message->envelope.payload, &payloads[type], message, err);
    if (type == ARCP_MESSAGE_SESSION_HELLO || type == ARCP_MESSAGE_SESSION_RESUME) {
        settle_hello(decoder.json, message);
    }
    return status;
}

bool arcp__message_read(arcp__context *context, arcp_span frame, arcp__message *out)
{
    /* It was read before and held: settings that were lowered since do not count. */
    const arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    return arcp__context_read_frame(context, frame, &limits, &out->envelope, NULL) == ARCP_OK &&
           arcp__message_read_payload(context, out, NULL) == ARCP_OK;
}
