#include "session/session_state.h"

#define MEMBER(member, text, kind) ARCP__MEMBER(arcp__message, member, text, kind)

static const arcp__member client_rows[] = {
    {MEMBER(hello.client_name, "name", STRING), .text = "name of the client program"},
    {MEMBER(hello.client_version, "version", STRING), .text = "its version"},
};
static const arcp__member auth_rows[] = {
    {MEMBER(hello.auth_scheme, "scheme", ANY), .text = "`bearer`"},
    {MEMBER(hello.token, "token", LOOSE), .text = "the token"},
};
static const arcp__member capabilities_rows[] = {
    {MEMBER(hello.encodings, "encodings", STRINGS),
     .text = "encodings that the client reads; `json` is the only one"},
    {MEMBER(hello.features, "features", STRINGS), .text = "features that the client wants"},
};
static const arcp__member resume_rows[] = {
    {MEMBER(hello.resumed.session_id, "session_id", STRING), .text = "session to resume"},
    {MEMBER(hello.resumed.token, "resume_token", STRING), .text = "token of the last welcome"},
    {MEMBER(hello.resumed.last_event_seq, "last_event_seq", COUNT),
     .text = "number of the last event that the client has"},
    {MEMBER(hello.older_token, "token", LOOSE), .text = "older name of `resume_token`"},
};
static const arcp__members client_members = ARCP__MEMBERS(client_rows);
static const arcp__members auth_members = ARCP__MEMBERS(auth_rows);
static const arcp__members capabilities_members = ARCP__MEMBERS(capabilities_rows);
static const arcp__members resume_members = ARCP__MEMBERS(resume_rows);

static const arcp__member hello_rows[] = {
    {ARCP__CHECKED("client", OBJECT), .parts = &client_members, .text = "the client program"},
    {MEMBER(hello.flat_client_name, "client_name", STRING), .text = "older place of `client.name`"},
    {MEMBER(hello.flat_client_version, "client_version", STRING),
     .text = "older place of `client.version`"},
    {ARCP__CHECKED("auth", OBJECT), .parts = &auth_members, .text = "how the client authenticates"},
    {ARCP__CHECKED("capabilities", OBJECT), .parts = &capabilities_members,
     .text = "what the client can do"},
    {MEMBER(hello.resume, "resume", OBJECT), .parts = &resume_members, .text = "resumes a session"},
    {MEMBER(hello.flat_resumed.token, "resume_token", STRING),
     .text = "older place of `resume.resume_token`"},
    {MEMBER(hello.flat_resumed.last_event_seq, "last_event_seq", COUNT),
     .text = "older place of `resume.last_event_seq`"},
    {MEMBER(hello.flat_resumed.session_id, "session_id", LOOSE),
     .text = "older place of `resume.session_id`"},
};
/* Other members that a hello may have are read in the same way. */
static const arcp__member session_resume_rows[] = {
    {MEMBER(hello.flat_resumed.session_id, "session_id", STRING),
     .text = "session to resume (default: that of the envelope)"},
    {MEMBER(hello.flat_resumed.token, "resume_token", STRING), .required = true,
     .text = "token of the last welcome"},
    {MEMBER(hello.flat_resumed.last_event_seq, "last_event_seq", COUNT),
     .text = "number of the last event that the client has (default: 0)"},
    {ARCP__CHECKED("auth", OBJECT), .parts = &auth_members, .text = "how the client authenticates"},
    {ARCP__CHECKED("client", OBJECT), .parts = &client_members, .text = "the client program"},
    {MEMBER(hello.flat_client_name, "client_name", STRING), .text = "older place of `client.name`"},
    {MEMBER(hello.flat_client_version, "client_version", STRING),
     .text = "older place of `client.version`"},
    {ARCP__CHECKED("capabilities", OBJECT), .parts = &capabilities_members,
     .text = "what the client can do"},
    {MEMBER(hello.resume, "resume", OBJECT), .parts = &resume_members,
     .text = "the same members as in a hello"},
};

static const arcp__member ping_rows[] = {
    {MEMBER(nonce, "nonce", ANY), .text = "value that the pong returns"},
};
static const arcp__member ack_rows[] = {
    {MEMBER(last_processed_seq, "last_processed_seq", COUNT), .required = true,
     .text = "number of the last event that the client has processed"},
};

static const arcp__member filter_rows[] = {
    {MEMBER(list_jobs.filter.statuses, "status", STRINGS), .text = "job statuses"},
    {MEMBER(list_jobs.filter.agent, "agent", STRING), .text = "agent: name or name@version"},
    {MEMBER(list_jobs.filter.created_after, "created_after", STRING),
     .text = "jobs created after this time"},
    {MEMBER(list_jobs.filter.created_before, "created_before", STRING),
     .text = "jobs created before this time"},
};
static const arcp__members filter_members = ARCP__MEMBERS(filter_rows);
static const arcp__member list_jobs_rows[] = {
    {ARCP__CHECKED("filter", OBJECT), .parts = &filter_members,
     .text = "which jobs (default: all of the principal)"},
    {MEMBER(list_jobs.limit, "limit", POSITIVE),
     .text = "most rows of the page (default: 100, at most 1000)"},
    {MEMBER(list_jobs.cursor, "cursor", STRING), .text = "`next_cursor` of the page before"},
};

static const arcp__member submit_rows[] = {
    {MEMBER(submit.agent, "agent", STRING), .required = true,
     .text = "agent: name or name@version"},
    {MEMBER(submit.input, "input", ANY), .text = "input of the agent, any JSON"},
    {MEMBER(submit.lease_request, "lease_request", OBJECT),
     .text = "requested lease: capability to list of patterns"},
    {MEMBER(submit.lease_constraints, "lease_constraints", OBJECT),
     .text = "`expires_at` of the lease"},
    {MEMBER(submit.idempotency_key, "idempotency_key", STRING),
     .text = "name of the request: a second submit with the same key finds the same job"},
    {MEMBER(submit.max_runtime_sec, "max_runtime_sec", POSITIVE),
     .text = "seconds after which the job ends with TIMEOUT"},
};

static const arcp__member cancel_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .text = "job to cancel (default: that of the envelope)"},
    {MEMBER(job.reason, "reason", STRING),
     .text = "text for the agent, the job's error and the audit log"},
};
static const arcp__member subscribe_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true, .text = "job to observe"},
    {MEMBER(job.from_event_seq, "from_event_seq", COUNT),
     .text = "with `history`: number after which the events begin, in the owner's "
             "numbering (default: 0)"},
    {MEMBER(job.history, "history", BOOL),
     .text = "whether the events that are kept are sent first (default: false)"},
};
static const arcp__member unsubscribe_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true, .text = "job to observe no longer"},
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

const arcp__members *arcp__message_members(arcp_message_type type)
{
    return &payloads[type];
}

/* Settles members that a hello may have in one of several places. [arcp:6.5-7] */
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
    message->hello = (arcp__hello){0}; /* the largest member of the union */
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
    /* The frame was read before: limits that were lowered since do not apply. */
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    return arcp__context_read_frame(context, frame, &limits, &out->envelope, NULL) == ARCP_OK &&
           arcp__message_read_payload(context, out, NULL) == ARCP_OK;
}
