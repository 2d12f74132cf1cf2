/* The line protocol between runtime and agent (man/arcp-agent.7): what an agent writes, one JSON
 * object or plain text per line, and what it is answered. */
#include "engine/job_log.h"
#include "engine/parts.h"
#include "json/json_put.h"

#include <stdio.h>

/* What most job.start lines take without their input: one allocation where growing took
 * several. */
#define START_BYTES 448u

#define CHUNK_NEEDS                                                                                \
    "a result chunk needs data (a string), encoding (utf8 or base64) and more (true or false)"

/* ---- runtime to agent ---- */

void arcp__agent_say(arcp__engine *engine, arcp__job *job, arcp_buf *line)
{
    /* An answer means that what was said is durable: it waits for the batch. */
    arcp__effect_push(engine->log, &job->live->agent_port,
                      &(arcp__effect){.kind = ARCP__EFFECT_AGENT_LINE, .job = job}, line, true);
}

void arcp__agent_reply(arcp__engine *engine, arcp__job *job, arcp_span reply_to, arcp_span payload)
{
    if (reply_to.size == 0 || job->agent_state != ARCP__AGENT_RUNNING || job->over_limit != NULL) {
        return;
    }
    arcp_buf line = arcp__context_take_buf(&engine->context);
    arcp_buf_append_cstr(&line, "{\"type\":\"reply\",\"re\":");
    arcp_json_quote(reply_to, &line);
    arcp_buf_append_cstr(&line, ",\"payload\":");
    arcp_buf_append(&line, payload);
    arcp_buf_append_byte(&line, '}');
    arcp__agent_say(engine, job, &line);
}

void arcp__agent_reply_error(arcp__engine *engine, arcp__job *job, arcp_span reply_to,
                             const arcp_error *error, arcp_span details)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&payload, "{\"error\":");
    arcp__error_payload_format(error, details, &payload);
    arcp_buf_append_byte(&payload, '}');
    arcp__context_check_text(&engine->context, &payload);
    arcp__agent_reply(engine, job, reply_to, arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
}

/* [arcp:11-2] */
static void write_trace(const arcp__job *job, arcp_json_writer *writer)
{
    arcp__put_cstr(writer, "trace_id", job->trace_id);
    arcp__put_cstr(writer, "traceparent", job->live->trace.traceparent);
    if (job->live->tracestate != NULL) {
        arcp__put_cstr(writer, "tracestate", job->live->tracestate);
    }
}

/* Most jobs have those of the job before. */
static void write_features(arcp__engine *engine, arcp_feature_set features,
                           arcp_json_writer *writer)
{
    arcp_buf *text = &engine->features_text;
    if (text->size == 0 || text->failed || engine->features_written != features) {
        arcp_json_writer array;
        arcp_buf_clear(text);
        arcp_json_writer_init(&array, text);
        arcp_json_begin_array(&array);
        for (int feature = 0; feature < ARCP_FEATURE_COUNT; feature++) {
            if ((features & ARCP_FEATURE_BIT(feature)) != 0) {
                arcp_json_write_cstr(&array, arcp_feature_name((arcp_feature)feature));
            }
        }
        arcp_json_end_array(&array);
        engine->features_written = features;
    }
    arcp__write_formatted(writer, text);
}

void arcp__agent_format_start(arcp__engine *engine, const arcp__job *job, arcp_buf *out)
{
    arcp_buf text = arcp__context_take_buf(&engine->context);
    (void)arcp_buf_reserve(out, START_BYTES + arcp_span_cstr(job->live->input).size);
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "type", "job.start");
    arcp__put_object(&writer, "payload");
    arcp__put_cstr(&writer, "job_id", job->id);
    arcp__put_cstr(&writer, "agent", job->agent_text);
    arcp__put_raw(&writer, "input", arcp_span_cstr(job->live->input));
    arcp_json_name(&writer, "lease");
    arcp_lease_format(job->live->lease, &text);
    arcp__write_formatted(&writer, &text);
    if (arcp_lease_has_expiry(job->live->lease)) {
        arcp_buf_clear(&text);
        arcp_json_name(&writer, "lease_constraints");
        arcp_lease_format_constraints(job->live->lease, &text);
        arcp__write_formatted(&writer, &text);
    }
    arcp__budget_write_available(job, &writer);
    arcp__credentials_write(&engine->credentials, &job->live->credential, &writer);
    write_trace(job, &writer);
    if (job->parent_id[0] != '\0') {
        arcp__put_cstr(&writer, "parent_job_id", job->parent_id);
    }
    arcp_json_name(&writer, "features");
    write_features(engine, job->features, &writer);
    arcp_json_name(&writer, "cwd");
    if (job->live->cwd != NULL) {
        arcp_json_write_cstr(&writer, job->live->cwd);
    } else {
        arcp_json_write_null(&writer);
    }
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    out->failed = out->failed || text.failed;
    arcp__context_give_buf(&engine->context, &text);
}

/* ---- agent to runtime ---- */

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
static bool read_members(arcp__engine *engine, arcp_json_ref object, const arcp__members *members,
                         line *in)
{
    return arcp__decode_row(&engine->context.json, &engine->context.scratch, object, members, in);
}

static void reply_status(arcp__engine *engine, arcp__job *job, const line *in, arcp_status status,
                         const arcp_error *error, const arcp_buf *details)
{
    if (status == ARCP_OK) {
        arcp__agent_reply(engine, job, in->id, ARCP_SPAN_LITERAL("{}"));
        return;
    }
    if (in->id.size != 0) {
        arcp__agent_reply_error(engine, job, in->id, error, arcp__details(details));
    } else if (status == ARCP_E_INVALID_REQUEST) {
        /* Nobody waits for the error: it must not be lost. */
        arcp__job_emit_log(engine, job, "error", arcp_span_cstr(error->message));
    }
    arcp__job_after_denial(engine, job, status);
}

/* The answer to a metric says what is left, where something is counted. */
static void reply_budget(arcp__engine *engine, arcp__job *job, const line *in)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__budget_write_available(job, &writer);
    arcp_json_end_object(&writer);
    arcp__context_check_text(&engine->context, &payload);
    arcp__agent_reply(engine, job, in->id, arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
}

static void take_chunk(arcp__engine *engine, arcp__job *job, line *in)
{
    const arcp_json *json = &engine->context.json;
    const bool is_base64 = arcp_json_string_equals(json, in->encoding, ARCP_SPAN_LITERAL("base64"));
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    if (is_base64 || arcp_json_string_equals(json, in->encoding, ARCP_SPAN_LITERAL("utf8"))) {
        status =
            arcp__job_chunk(engine, job, arcp_json_string(json, in->data, &engine->context.scratch),
                            arcp_json_raw(json, in->data), is_base64, in->more, &error);
    } else {
        status = arcp_error_set(&error, ARCP_E_INVALID_REQUEST, CHUNK_NEEDS);
    }
    reply_status(engine, job, in, status, &error, &(arcp_buf)ARCP_BUF_INIT);
}

static void delegate(arcp__engine *engine, arcp__job *job, const line *in, arcp_json_ref body)
{
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    arcp_status status =
        arcp__job_delegate(engine, job, &engine->context.json, body, in->id, &details, &error);
    if (status != ARCP_OK) {
        reply_status(engine, job, in, status, &error, &details);
    }
    arcp_buf_fini(&details);
}

static void take_delegate(arcp__engine *engine, arcp__job *job, line *in)
{
    delegate(engine, job, in, in->payload);
}

static void refuse(arcp__engine *engine, arcp__job *job, const line *in, const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "%s", message);
    reply_status(engine, job, in, error.status, &error, &(arcp_buf)ARCP_BUF_INIT);
}

static void take_event(arcp__engine *engine, arcp__job *job, line *in)
{
    if (arcp_span_equal_cstr(in->kind, "result_chunk")) {
        if (read_members(engine, in->body, &chunk_members, in)) {
            take_chunk(engine, job, in);
        } else {
            refuse(engine, job, in, CHUNK_NEEDS);
        }
        return;
    }
    if (arcp_span_equal_cstr(in->kind, "delegate")) {
        delegate(engine, job, in, in->body);
        return;
    }
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    arcp_status status = arcp__job_agent_event(engine, job, in->kind, &engine->context.json,
                                               in->body, &details, &error);
    if (status == ARCP_OK && in->id.size != 0 && arcp_span_equal_cstr(in->kind, "metric")) {
        reply_budget(engine, job, in);
    } else {
        reply_status(engine, job, in, status, &error, &details);
    }
    arcp_buf_fini(&details);
}

/* [arcp:LB-2] */
static void take_authorize(arcp__engine *engine, arcp__job *job, line *in)
{
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    if (arcp__job_authorize(engine, job, in->capability, in->target, &details, &error)) {
        arcp__agent_reply(engine, job, in->id, ARCP_SPAN_LITERAL("{\"allow\":true}"));
    } else {
        reply_status(engine, job, in, error.status, &error, &details);
    }
    arcp_buf_fini(&details);
}

static void take_result(arcp__engine *engine, arcp__job *job, line *in)
{
    const arcp_json *json = &engine->context.json;
    arcp_buf result = arcp__context_take_buf(&engine->context);
    arcp_buf summary = arcp__context_take_buf(&engine->context);
    arcp_json_compact(json, in->result, &result);
    if (arcp_json_is(json, in->summary, ARCP_JSON_STRING)) {
        arcp_json_compact(json, in->summary, &summary);
    }
    job->said_end = true;
    arcp__job_succeed(engine, job, arcp_buf_span(&result), arcp_buf_span(&summary));
    arcp__context_give_buf(&engine->context, &result);
    arcp__context_give_buf(&engine->context, &summary);
}

/* [arcp:EG-4] [arcp:EG-5] */
static void take_error(arcp__engine *engine, arcp__job *job, line *in)
{
    arcp__error_payload payload;
    arcp_error error = {0};
    job->said_end = true;
    if (arcp__error_payload_parse(&engine->context.json, in->payload, &engine->context.scratch,
                                  &payload, &error) != ARCP_OK) {
        arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR,
                            "the agent's job.error has no code");
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
        arcp__job_log(engine, ARCP__LOG_WARN, job, message);
    }
    arcp_buf details = ARCP_BUF_INIT;
    arcp_status status = payload.status;
    arcp_json_compact(&engine->context.json, payload.details, &details);
    if (!known || status == ARCP_E_INTERNAL_ERROR) {
        arcp_status translated = arcp__credential_translate(
            &engine->credentials, &job->live->credential, &engine->context.json, in->payload);
        if (translated != ARCP_OK) {
            status = translated;
            payload.code = arcp_span_cstr(arcp_status_wire_code(translated));
            payload.retryable = arcp_status_is_retryable_by_default(translated);
            known = true;
        }
    }
    arcp__job_fail(engine, job, status, known ? payload.code : ARCP_SPAN_LITERAL("INTERNAL_ERROR"),
                   payload.message, known ? payload.retryable : true, arcp__details(&details));
    arcp_buf_fini(&details);
}

/* What a job takes that has not ended. */
static const struct {
    const char *type;
    arcp__members members;
    const char *needs; /* said when members that are required are not there */
    void (*take)(arcp__engine *engine, arcp__job *job, line *in);
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
static void dispatch(arcp__engine *engine, arcp__job *job, line *in)
{
    for (size_t at = 0; at < sizeof(lines) / sizeof(lines[0]); at++) {
        if (!arcp_span_equal_cstr(in->type, lines[at].type)) {
            continue;
        }
        if (read_members(engine, in->payload, &lines[at].members, in)) {
            lines[at].take(engine, job, in);
        } else {
            refuse(engine, job, in, lines[at].needs);
        }
        return;
    }
}

/* An agent that ended its job has this long to go by itself. */
#define WIND_DOWN_MS 5000u

static void take_json_line(arcp__engine *engine, arcp__job *job, arcp_span text)
{
    arcp_json *json = &engine->context.json;
    const arcp_json_limits limits = arcp__context_json_limits(
        &engine->context, engine->context.settings.limits_agent_line_bytes);
    arcp_error error = {0};
    arcp_status status = arcp__context_can_read(&engine->context, text)
                             ? arcp_json_scan(json, text, &limits, &error)
                             : ARCP_E_NO_MEMORY;
    if (status == ARCP_E_NO_MEMORY) { /* its agent chose its size */
        arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR,
                            "there is no memory for a line of this size");
        return;
    }
    if (status != ARCP_OK) {
        job->bad_line = true;
        arcp__job_emit_log(engine, job, "error", arcp_span_cstr(error.message));
        return;
    }
    line in = {0};
    if (read_members(engine, ARCP_JSON_ROOT, &line_members, &in)) {
        dispatch(engine, job, &in);
    }
    if (arcp__job_has_ended(job) && job->said_end && job->agent_state == ARCP__AGENT_RUNNING &&
        job->live->grace_timer.place == 0) {
        arcp__context_arm(&engine->context, &job->live->grace_timer, ARCP__TIMER_JOB_GRACE, job,
                          arcp__context_after_ms(&engine->context, WIND_DOWN_MS));
    }
}

void arcp__job_agent_line(arcp__engine *engine, arcp__job *job, arcp_span text)
{
    if (text.size != 0 && text.data[text.size - 1] == '\r') {
        text.size--;
    }
    if (!arcp__job_has_ended(job) && text.size != 0) {
        if (text.data[0] == '{') {
            take_json_line(engine, job, text);
        } else {
            arcp__job_emit_log(engine, job, "info", text);
        }
    }
}

/* ---- back-pressure: a full pipe ---- */

void arcp__job_update_pressure(arcp__engine *engine, arcp__job *job)
{
    const bool wanted = !arcp__job_has_ended(job) && (job->is_held || engine->agents_paused);
    if (wanted == job->paused || job->agent_state != ARCP__AGENT_RUNNING ||
        engine->context.closing) {
        return;
    }
    const arcp__effect effect = {
        .kind = wanted ? ARCP__EFFECT_PAUSE_AGENT : ARCP__EFFECT_RESUME_AGENT, .job = job};
    arcp__effect_push(engine->log, &job->live->agent_port, &effect, NULL, false);
    job->paused = wanted;
    engine->metrics.agent_pauses += wanted;
}

void arcp__job_hold(arcp__engine *engine, arcp__job *job, bool is_held)
{
    job->is_held = is_held;
    arcp__job_update_pressure(engine, job);
}

void arcp__engine_update_pressure(arcp__engine *engine)
{
    uint64_t limit = engine->context.settings.limits_store_queue_bytes;
    bool wanted = arcp__log_is_failing(engine->log) ||
                  arcp__log_queue_bytes(engine->log) > (engine->agents_paused ? limit / 2 : limit);
    if (wanted == engine->agents_paused) {
        return;
    }
    engine->agents_paused = wanted;
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        arcp__job_update_pressure(engine, job);
    }
}
