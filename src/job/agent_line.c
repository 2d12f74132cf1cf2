/* The line protocol between runtime and agent (man/arcp-agent.7): what an agent writes, one JSON
 * object or plain text per line. */
#include "job/job_state.h"

#include <stdio.h>

#define CHUNK_NEEDS                                                                                \
    "a result chunk needs data (a string), encoding (utf8 or base64) and more (true or false)"

/* An agent that ended its job has this long to go by itself. */
#define WIND_DOWN_MS 5000u

typedef struct line {
    arcp_span type;
    arcp_span id; /* empty: no reply wanted */
    arcp_json_ref payload;
    /* its members */
    arcp_span kind, capability, target;
    arcp_json_ref body, data, encoding, result, summary;
    bool more;
} line;

#define MEMBER(member, kind) ARCP__MEMBER(line, member, #member, kind)

static const arcp__member line_rows[] = {
    {MEMBER(type, LOOSE)},
    {MEMBER(id, LOOSE)},
    {MEMBER(payload, ANY)},
};
static const arcp__member event_rows[] = {
    {MEMBER(kind, LOOSE)},
    {MEMBER(body, ANY)},
};
static const arcp__member authorize_rows[] = {
    {MEMBER(capability, TEXT), .required = true},
    {MEMBER(target, TEXT), .required = true},
};
static const arcp__member chunk_rows[] = {
    {MEMBER(data, TEXT), .required = true},
    {MEMBER(encoding, TEXT), .required = true},
    {MEMBER(more, BOOL), .required = true},
};
static const arcp__member result_rows[] = {
    {MEMBER(result, ANY)},
    {MEMBER(summary, TEXT)},
};
static const arcp__members line_members = ARCP__MEMBERS(line_rows);
static const arcp__members chunk_members = ARCP__MEMBERS(chunk_rows);

/* False when what is required is not there, or is something else. */
static bool read_members(arcp__jobs *jobs, arcp_json_ref object, const arcp__members *members,
                         line *in)
{
    return arcp__decode_row(&jobs->context->json, &jobs->context->scratch, object, members, in);
}

static void reply_status(arcp__jobs *jobs, arcp__job *job, const line *in, arcp_status status,
                         const arcp_error *error, const arcp_buf *details)
{
    if (status == ARCP_OK) {
        arcp__agent_reply(jobs, job, in->id, ARCP_SPAN_LITERAL("{}"));
        return;
    }
    if (in->id.size != 0) {
        arcp__agent_reply_error(jobs, job, in->id, error, arcp__details(details));
    } else if (status == ARCP_E_INVALID_REQUEST) {
        /* Nobody waits for the error: it must not be lost. */
        arcp__job_emit_log(jobs, job, "error", arcp_span_cstr(error->message));
    }
    arcp__job_after_denial(jobs, job, status);
}

static void take_chunk(arcp__jobs *jobs, arcp__job *job, line *in)
{
    const arcp_json *json = &jobs->context->json;
    const bool is_base64 = arcp_json_string_equals(json, in->encoding, ARCP_SPAN_LITERAL("base64"));
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    if (is_base64 || arcp_json_string_equals(json, in->encoding, ARCP_SPAN_LITERAL("utf8"))) {
        status =
            arcp__job_chunk(jobs, job, arcp_json_string(json, in->data, &jobs->context->scratch),
                            arcp_json_raw(json, in->data), is_base64, in->more, &error);
    } else {
        status = arcp_error_set(&error, ARCP_E_INVALID_REQUEST, CHUNK_NEEDS);
    }
    reply_status(jobs, job, in, status, &error, &(arcp_buf)ARCP_BUF_INIT);
}

static void delegate(arcp__jobs *jobs, arcp__job *job, const line *in, arcp_json_ref body)
{
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    arcp_status status =
        arcp__job_delegate(jobs, job, &jobs->context->json, body, in->id, &details, &error);
    if (status != ARCP_OK) {
        reply_status(jobs, job, in, status, &error, &details);
    }
    arcp_buf_fini(&details);
}

static void take_delegate(arcp__jobs *jobs, arcp__job *job, line *in)
{
    delegate(jobs, job, in, in->payload);
}

static void refuse(arcp__jobs *jobs, arcp__job *job, const line *in, const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "%s", message);
    reply_status(jobs, job, in, error.status, &error, &(arcp_buf)ARCP_BUF_INIT);
}

static void take_event(arcp__jobs *jobs, arcp__job *job, line *in)
{
    if (arcp_span_equal_cstr(in->kind, "result_chunk")) {
        if (read_members(jobs, in->body, &chunk_members, in)) {
            take_chunk(jobs, job, in);
        } else {
            refuse(jobs, job, in, CHUNK_NEEDS);
        }
        return;
    }
    if (arcp_span_equal_cstr(in->kind, "delegate")) {
        delegate(jobs, job, in, in->body);
        return;
    }
    arcp_error error = {0};
    arcp_buf text = ARCP_BUF_INIT; /* details, or the answer */
    arcp_status status =
        arcp__job_agent_event(jobs, job, in->kind, &jobs->context->json, in->body, &text, &error);
    if (status == ARCP_OK && in->id.size != 0 && arcp_span_equal_cstr(in->kind, "metric")) {
        /* The answer to a metric says what is left, where something is counted. */
        arcp_buf_clear(&text);
        arcp_json_writer writer = arcp__put_begin(&text);
        arcp__budget_write_available(job, &writer);
        arcp_json_end_object(&writer);
        arcp__context_check_text(jobs->context, &text);
        arcp__agent_reply(jobs, job, in->id, arcp_buf_span(&text));
    } else {
        reply_status(jobs, job, in, status, &error, &text);
    }
    arcp_buf_fini(&text);
}

/* [arcp:LB-2] */
static void take_authorize(arcp__jobs *jobs, arcp__job *job, line *in)
{
    arcp_target_scratch scratch;
    arcp__job_message message;
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    const bool is_allowed =
        arcp__job_port_authorize(&job->live->port, jobs->context->now, in->capability, in->target,
                                 &scratch, &details, &message, &error);
    arcp__job_hear(jobs, job, &message);
    if (is_allowed) {
        arcp__agent_reply(jobs, job, in->id, ARCP_SPAN_LITERAL("{\"allow\":true}"));
    } else {
        reply_status(jobs, job, in, error.status, &error, &details);
    }
    arcp_buf_fini(&details);
}

static void take_result(arcp__jobs *jobs, arcp__job *job, line *in)
{
    const arcp_json *json = &jobs->context->json;
    arcp_buf result = arcp__context_take_buf(jobs->context);
    arcp_buf summary = arcp__context_take_buf(jobs->context);
    arcp_json_compact(json, in->result, &result);
    if (arcp_json_is(json, in->summary, ARCP_JSON_STRING)) {
        arcp_json_compact(json, in->summary, &summary);
    }
    job->said_end = true;
    arcp__job_succeed(jobs, job, arcp_buf_span(&result), arcp_buf_span(&summary));
    arcp__context_give_buf(jobs->context, &result);
    arcp__context_give_buf(jobs->context, &summary);
}

/* [arcp:EG-4] [arcp:EG-5] */
static void take_error(arcp__jobs *jobs, arcp__job *job, line *in)
{
    arcp__error_payload payload;
    arcp_error error = {0};
    job->said_end = true;
    if (arcp__error_payload_parse(&jobs->context->json, in->payload, &jobs->context->scratch,
                                  &payload, &error) != ARCP_OK) {
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR, "the agent's job.error has no code");
        return;
    }
    /* Only the fifteen codes travel: anything else an agent throws is INTERNAL_ERROR. */
    bool known = arcp_status_is_wire_code(payload.code);
    if (!known) {
        char message[128];
        arcp_span shown = arcp_span_first(payload.code, 64);
        (void)snprintf(message, sizeof(message),
                       "the agent's error code \"%.*s\" is not one of the draft's", (int)shown.size,
                       shown.data);
        arcp__job_log(jobs, ARCP__LOG_WARN, job, message);
    }
    arcp_buf details = ARCP_BUF_INIT;
    arcp_status status = payload.status;
    arcp_json_compact(&jobs->context->json, payload.details, &details);
    if (!known || status == ARCP_E_INTERNAL_ERROR) {
        arcp_status translated = arcp__credential_translate(
            jobs->credentials, &job->live->credential, &jobs->context->json, in->payload);
        if (translated != ARCP_OK) {
            status = translated;
            payload.code = arcp_span_cstr(arcp_status_wire_code(translated));
            payload.retryable = arcp_status_is_retryable_by_default(translated);
            known = true;
        }
    }
    arcp__job_fail(jobs, job, status, known ? payload.code : ARCP_SPAN_LITERAL("INTERNAL_ERROR"),
                   payload.message, known ? payload.retryable : true, arcp__details(&details));
    arcp_buf_fini(&details);
}

/* What a job takes that has not ended. */
static const struct {
    const char *type;
    arcp__members members;
    const char *needs; /* said when members that are required are not there */
    void (*take)(arcp__jobs *jobs, arcp__job *job, line *in);
} lines[] = {
    {"job.event", ARCP__MEMBERS(event_rows), "", take_event},
    {"authorize", ARCP__MEMBERS(authorize_rows),
     "authorize needs capability and target, both strings", take_authorize},
    {"delegate", {NULL, 0}, "", take_delegate},
    {"result.chunk", ARCP__MEMBERS(chunk_rows), CHUNK_NEEDS, take_chunk},
    {"job.result", ARCP__MEMBERS(result_rows), "", take_result},
    {"job.error", {NULL, 0}, "", take_error},
};

/* Unknown types are ignored, both ways. */
static void dispatch(arcp__jobs *jobs, arcp__job *job, line *in)
{
    for (size_t at = 0; at < sizeof(lines) / sizeof(lines[0]); at++) {
        if (!arcp_span_equal_cstr(in->type, lines[at].type)) {
            continue;
        }
        if (read_members(jobs, in->payload, &lines[at].members, in)) {
            lines[at].take(jobs, job, in);
        } else {
            refuse(jobs, job, in, lines[at].needs);
        }
        return;
    }
}

static void take_json_line(arcp__jobs *jobs, arcp__job *job, arcp_span text)
{
    arcp_json *json = &jobs->context->json;
    const arcp_json_limits limits =
        arcp__context_json_limits(jobs->context, jobs->context->settings.limits_agent_line_bytes);
    arcp_error error = {0};
    arcp_status status = arcp__context_can_read(jobs->context, text)
                             ? arcp_json_scan(json, text, &limits, &error)
                             : ARCP_E_NO_MEMORY;
    if (status == ARCP_E_NO_MEMORY) { /* its agent chose its size */
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR,
                            "there is no memory for a line of this size");
        return;
    }
    if (status != ARCP_OK) {
        job->output = ARCP__OUTPUT_BROKEN;
        arcp__job_emit_log(jobs, job, "error", arcp_span_cstr(error.message));
        return;
    }
    line in = {0};
    if (read_members(jobs, ARCP_JSON_ROOT, &line_members, &in)) {
        dispatch(jobs, job, &in);
    }
    if (arcp__job_has_ended(job) && job->said_end && job->agent_state == ARCP__AGENT_RUNNING &&
        job->live->grace_timer.place == 0) {
        arcp__context_arm(jobs->context, &job->live->grace_timer, jobs->timer_kind, job,
                          arcp__context_after_ms(jobs->context, WIND_DOWN_MS));
    }
}

void arcp__job_agent_line(arcp__jobs *jobs, arcp__job *job, arcp_span text)
{
    if (text.size != 0 && text.data[text.size - 1] == '\r') {
        text.size--;
    }
    if (!arcp__job_has_ended(job) && text.size != 0) {
        if (text.data[0] == '{') {
            take_json_line(jobs, job, text);
        } else {
            arcp__job_emit_log(jobs, job, "info", text);
        }
    }
}
