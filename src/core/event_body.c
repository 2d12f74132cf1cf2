#include "core/event_body.h"

#include "core/error_payload.h"
#include "json/json_put.h"

#define BODY(member, kind) ARCP__MEMBER(arcp__event_body, member, #member, kind)

/* [arcp:8.2-1] [arcp:8.2.1-1] [arcp:8.2.1-2] [arcp:8.4-4] */
static const arcp__member log_rows[] = {
    {BODY(level, STRING), .required = true,
     .text = "debug, info, warn or error; other spellings (`WARNING`, `fatal`, `trace`) are mapped "
             "to these"},
    {ARCP__CHECKED("message", TEXT), .required = true, .text = "the text"},
};
static const arcp__member thought_rows[] = {
    {ARCP__CHECKED("text", TEXT), .required = true, .text = "the text"},
};
static const arcp__member tool_call_rows[] = {
    {BODY(tool, STRING), .older = "name", .required = true,
     .text = "name of the tool; the gate decides `tool.call` on it"},
    {BODY(args, ANY), .older = "arguments", .text = "arguments, any JSON (default: `{}`)"},
    {BODY(call_id, STRING), .older = "tool_call_id", .required = true,
     .text = "id of the call; its result has the same one"},
};
static const arcp__member tool_result_rows[] = {
    {BODY(call_id, STRING), .older = "tool_call_id", .required = true, .text = "id of the call"},
    {BODY(result, ANY), .older = "output",
     .text = "value that the tool returned; a result has either this member or `error`"},
    {BODY(error, OBJECT),
     .text = "error of the tool: `code`, `message`, and optionally `retryable`, `details`"},
};
static const arcp__member status_rows[] = {
    {BODY(phase, STRING), .required = true,
     .text = "short name of the phase; only the runtime sends queued, running, back_pressure, "
             "credential_rotated, credential_revoked, enforcement, denied and worker_away"},
    {ARCP__CHECKED("message", TEXT), .text = "text for people"},
};
static const arcp__member metric_rows[] = {
    {BODY(name, STRING), .required = true,
     .text = "name; `cost.` with a currency as unit is subtracted from the budget; only the "
             "runtime sends cost.budget.*"},
    {BODY(value, NUMBER), .required = true, .text = "the number; a cost is 0 or more"},
    {BODY(unit, STRING), .text = "unit; of a cost the currency"},
    {ARCP__CHECKED("dimensions", OBJECT), .older = "dims", .text = "object of labels"},
};
static const arcp__member artifact_ref_rows[] = {
    {ARCP__CHECKED("uri", STRING), .required = true, .text = "where the artifact can be fetched"},
    {ARCP__CHECKED("content_type", STRING), .older = "media_type", .required = true,
     .text = "media type"},
    {ARCP__CHECKED("byte_size", COUNT), .older = "size_bytes", .text = "size in bytes"},
    {ARCP__CHECKED("sha256", STRING), .text = "SHA-256 of the content in hex"},
};
static const arcp__member progress_rows[] = {
    {ARCP__CHECKED("current", NOT_NEGATIVE), .required = true, .text = "work that is done"},
    {ARCP__CHECKED("total", NOT_NEGATIVE), .text = "all work, when it is known"},
    {ARCP__CHECKED("units", TEXT), .text = "what is counted, such as files"},
    {ARCP__CHECKED("message", TEXT), .text = "text for people"},
};
static const arcp__member result_chunk_rows[] = {
    {ARCP__CHECKED("data", TEXT), .required = true, .text = "next piece of the result"},
    {ARCP__CHECKED("encoding", STRING), .required = true, .text = "utf8 or base64"},
    {ARCP__CHECKED("more", BOOL), .required = true, .text = "false in the last piece"},
};
static const arcp__member delegate_rows[] = {
    {BODY(agent, STRING), .required = true, .text = "agent of the child job: name or name@version"},
    {BODY(input, ANY), .text = "input of the child job"},
    {BODY(lease_request, OBJECT), .text = "requested lease; a subset of the lease of this job"},
    {BODY(lease_constraints, OBJECT), .text = "`expires_at` of the lease"},
    {BODY(delegate_id, STRING), .text = "id that names one child of the job"},
    {BODY(wait, ANY), .text = "true: the reply comes when the child has ended"},
};

static const arcp__members bodies[ARCP_EVENT_COUNT] = {
    [ARCP_EVENT_LOG] = ARCP__MEMBERS(log_rows),
    [ARCP_EVENT_THOUGHT] = ARCP__MEMBERS(thought_rows),
    [ARCP_EVENT_TOOL_CALL] = ARCP__MEMBERS(tool_call_rows),
    [ARCP_EVENT_TOOL_RESULT] = ARCP__MEMBERS(tool_result_rows),
    [ARCP_EVENT_STATUS] = ARCP__MEMBERS(status_rows),
    [ARCP_EVENT_METRIC] = ARCP__MEMBERS(metric_rows),
    [ARCP_EVENT_ARTIFACT_REF] = ARCP__MEMBERS(artifact_ref_rows),
    [ARCP_EVENT_PROGRESS] = ARCP__MEMBERS(progress_rows),
    [ARCP_EVENT_RESULT_CHUNK] = ARCP__MEMBERS(result_chunk_rows),
    [ARCP_EVENT_DELEGATE] = ARCP__MEMBERS(delegate_rows),
};

const arcp__members *arcp__event_body_members(arcp_event_kind kind)
{
    return &bodies[kind];
}

/* When a member occurs under both names, the draft's counts and the older one is not relayed: a
 * reader of the older name would see a call that the gate did not check. */
arcp_status arcp__event_body_read(arcp__decoder *decoder, arcp_event_kind kind, arcp_json_ref body,
                                  arcp__event_body *out, arcp_error *err)
{
    *out = (arcp__event_body){.kind = kind,
                              .value = ARCP_JSON_ABSENT,
                              .args = ARCP_JSON_ABSENT,
                              .result = ARCP_JSON_ABSENT,
                              .error = ARCP_JSON_ABSENT,
                              .input = ARCP_JSON_ABSENT,
                              .lease_request = ARCP_JSON_ABSENT,
                              .lease_constraints = ARCP_JSON_ABSENT,
                              .wait = ARCP_JSON_ABSENT};
    if (!arcp_json_is(decoder->json, body, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s must be an object", decoder->where);
    }
    return arcp__decode(decoder, body, &bodies[kind], out, err);
}

/* Maps the level names of common loggers to the draft's four levels; NULL: unknown. */
static const char *log_level(arcp_span text)
{
    static const struct {
        const char *written;
        const char *level;
    } levels[] = {
        {"debug", "debug"}, {"info", "info"},    {"warn", "warn"}, {"error", "error"},
        {"trace", "debug"}, {"warning", "warn"}, {"err", "error"}, {"critical", "error"},
        {"fatal", "error"}, {"notice", "info"},
    };
    for (size_t row = 0; row < sizeof levels / sizeof levels[0]; row++) {
        if (strlen(levels[row].written) == text.size &&
            strncasecmp(levels[row].written, text.data, text.size) == 0) {
            return levels[row].level;
        }
    }
    return NULL;
}

/* A tool_result has exactly one of `result` and `error`. Many writers set the unused one to null,
 * which then counts as absent and is not relayed. [arcp:8.2-1] */
static arcp_status check_tool_result(const arcp_json *json, const arcp__event_body *body,
                                     arcp_buf *scratch, arcp_error *err)
{
    if (arcp_json_is_missing(json, body->error)) {
        return body->result != ARCP_JSON_ABSENT
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                    "body has neither result nor error, must have one of them");
    }
    if (!arcp_json_is_missing(json, body->result)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "body has both result and error, must have one of them");
    }
    arcp__error_payload parsed; /* `retryable` may be missing or wrong */
    return arcp__error_payload_parse(json, body->error, scratch, &parsed, err);
}

/* What these report only the runtime knows; an agent that reported them would be believed. */
static bool is_runtime_phase(arcp_span phase)
{
    static const char *const phases[] = {
        "queued",      "running", "back_pressure", "credential_rotated", "credential_revoked",
        "enforcement", "denied",  "worker_away"};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        if (arcp_span_equal_cstr(phase, phases[i])) {
            return true;
        }
    }
    return false;
}

/* Checks the rules of a kind beyond its table. `rewrite` is set when the body cannot be relayed
 * unchanged. */
static arcp_status check_kind(const arcp_json *json, arcp__event_body *body, arcp_buf *scratch,
                              bool *rewrite, arcp_error *err)
{
    if (body->kind == ARCP_EVENT_LOG) {
        const char *known = log_level(body->level);
        if (known == NULL) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "body.level is \"%.*s\", must be debug, info, warn or error",
                                  (int)arcp_span_first(body->level, 32).size, body->level.data);
        }
        *rewrite = *rewrite || !arcp_span_equal_cstr(body->level, known);
    } else if (body->kind == ARCP_EVENT_STATUS) {
        if (is_runtime_phase(body->phase)) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "status phase \"%.*s\": only the runtime reports this phase",
                                  (int)body->phase.size, body->phase.data);
        }
    } else if (body->kind == ARCP_EVENT_METRIC) {
        if (arcp_span_starts_with(body->name, ARCP_SPAN_LITERAL("cost.budget."))) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "metric \"%.*s\": only the runtime reports cost.budget.* metrics",
                                  (int)arcp_span_first(body->name, 64).size, body->name.data);
        }
        if (arcp_span_starts_with(body->name, ARCP_SPAN_LITERAL("cost."))) {
            body->is_spend = body->unit.size != 0;
            return arcp_decimal_parse_spend(arcp_json_raw(json, body->value), &body->amount, err);
        }
    } else if (body->kind == ARCP_EVENT_TOOL_CALL) {
        *rewrite = *rewrite || body->args == ARCP_JSON_ABSENT;
    } else if (body->kind == ARCP_EVENT_TOOL_RESULT) {
        *rewrite = *rewrite || body->error != ARCP_JSON_ABSENT;
        return check_tool_result(json, body, scratch, err);
    }
    return ARCP_OK;
}

/* ---- bodies that cannot be relayed unchanged ---- */

static void rewrite_body(const arcp_json *json, arcp_json_ref object, const arcp__event_body *body,
                         arcp_buf *scratch, arcp_buf *out)
{
    const arcp_event_kind kind = body->kind;
    arcp_json_writer writer = arcp__put_begin(out);
    for (arcp_json_ref name = arcp_json_first(json, object); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, object, name)) {
        const arcp_json_ref value = name + 1;
        const arcp_span written = arcp_json_string(json, name, scratch);
        const arcp__member *older = NULL; /* the row whose older name it has */
        for (size_t i = 0; i < bodies[kind].count && older == NULL; i++) {
            const arcp__member *row = &bodies[kind].rows[i];
            older = row->older != NULL && arcp_span_equal_cstr(written, row->older) ? row : NULL;
        }
        const bool is_shadowed =
            older != NULL &&
            arcp_json_member(json, object, arcp_span_cstr(older->name)) != ARCP_JSON_ABSENT;
        /* The null of the unused one of `result` and `error`. */
        const bool is_unused_half =
            kind == ARCP_EVENT_TOOL_RESULT && arcp_json_is(json, value, ARCP_JSON_NULL) &&
            (value == body->error || (!arcp_json_is_missing(json, body->error) &&
                                      (arcp_span_equal_cstr(written, "result") ||
                                       arcp_span_equal_cstr(written, "output"))));
        if (is_shadowed || is_unused_half) {
            continue;
        }
        arcp__error_payload error;
        arcp_json_name_span(&writer, older == NULL ? written : arcp_span_cstr(older->name));
        if (kind == ARCP_EVENT_TOOL_RESULT && value == body->error &&
            arcp__error_payload_parse(json, value, scratch, &error, NULL) == ARCP_OK) {
            /* With a corrected code, message and retryable. */
            arcp_json_begin_object(&writer);
            arcp__error_payload_members(&writer, error.status, error.code, error.message,
                                        error.retryable, arcp_json_raw(json, error.details));
            arcp_json_end_object(&writer);
        } else if (kind == ARCP_EVENT_LOG && arcp_span_equal_cstr(written, "level")) {
            arcp_json_write_cstr(&writer, log_level(arcp_json_string(json, value, scratch)));
        } else {
            arcp_json_write_raw(&writer, ARCP_SPAN_LITERAL(""));
            arcp_json_compact(json, value, out);
        }
    }
    if (kind == ARCP_EVENT_TOOL_CALL && body->args == ARCP_JSON_ABSENT) {
        arcp__put_object(&writer, "args");
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
}

/* The call that a cost names, without unescaping it: the ids of gateways have nothing to escape. */
static arcp_span cost_call(const arcp_json *json, arcp_json_ref body)
{
    const arcp_json_ref labels = arcp_json_member(json, body, ARCP_SPAN_LITERAL("dimensions"));
    const arcp_json_ref id = arcp_json_member(json, labels, ARCP_SPAN_LITERAL("call_id"));
    const arcp_span raw = arcp_json_is(json, id, ARCP_JSON_STRING) ? arcp_json_raw(json, id)
                                                                   : arcp_span_make(NULL, 0);
    return raw.size < 2 ? arcp_span_make(NULL, 0) : arcp_span_make(raw.data + 1, raw.size - 2);
}

/* The gateway's own costs are marked with dimensions.source; an agent's would pass for them. */
static bool is_from_gateway(const arcp_json *json, arcp_json_ref body)
{
    static const char *const names[] = {"dimensions", "dims"};
    bool is_marked = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const arcp_json_ref labels = arcp_json_member(json, body, arcp_span_cstr(names[i]));
        const arcp_json_ref source = arcp_json_member(json, labels, ARCP_SPAN_LITERAL("source"));
        is_marked =
            is_marked || (arcp_json_is(json, source, ARCP_JSON_STRING) &&
                          arcp_json_string_equals(json, source, ARCP_SPAN_LITERAL("gateway")));
    }
    return is_marked;
}

arcp_status arcp__event_check(const arcp_json *json, arcp_span kind_text, arcp_json_ref body,
                              arcp_buf *scratch, arcp_buf *out, arcp__event_body *read,
                              arcp_error *err)
{
    const arcp_event_kind kind = arcp_event_kind_from_wire(kind_text);
    if (kind == ARCP_EVENT_UNKNOWN) {
        const arcp_span shown = arcp_span_first(kind_text, 64);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "event kind \"%.*s\" is neither one of the draft's nor x-vendor.*",
                              (int)shown.size, shown.size == 0 ? "" : shown.data);
    }
    if (arcp_json_is_missing(json, body) && kind == ARCP_EVENT_VENDOR) {
        *read = (arcp__event_body){.kind = kind};
        arcp_buf_append(out, ARCP_SPAN_LITERAL("{}"));
        return arcp_buf_status(out);
    }
    arcp__decoder decoder = {.json = json, .scratch = scratch, .where = "body"};
    arcp_status status = arcp__event_body_read(&decoder, kind, body, read, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (kind == ARCP_EVENT_METRIC && is_from_gateway(json, body)) {
        return arcp_error_set(
            err, ARCP_E_INVALID_REQUEST,
            "dimensions.source is \"gateway\": only the runtime reports this source");
    }
    bool rewrite = decoder.has_older;
    status = check_kind(json, read, scratch, &rewrite, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (read->is_spend) {
        read->call_id = cost_call(json, body);
    }
    if (rewrite) {
        rewrite_body(json, body, read, scratch, out);
    } else {
        arcp_json_compact(json, body, out);
    }
    if (out->failed || scratch->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return ARCP_OK;
}

/* ---- bodies that the runtime writes ---- */

void arcp__event_write_log(arcp_span level, arcp_span message, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"level\":");
    arcp_json_quote(level, out);
    arcp_buf_append_cstr(out, ",\"message\":");
    arcp_json_quote(message, out);
    arcp_buf_append_byte(out, '}');
}

void arcp__event_write_metric(arcp_span name, arcp_span value, arcp_span unit, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"name\":");
    arcp_json_quote(name, out);
    arcp_buf_append_cstr(out, ",\"value\":");
    arcp_buf_append(out, value);
    if (unit.data != NULL) {
        arcp_buf_append_cstr(out, ",\"unit\":");
        arcp_json_quote(unit, out);
    }
    arcp_buf_append_byte(out, '}');
}

void arcp__event_write_refusal(arcp_span call_id, const arcp_error *error, arcp_span details,
                               arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"call_id\":");
    arcp_json_quote(call_id, out);
    arcp_buf_append_cstr(out, ",\"error\":");
    arcp__error_payload_format(error, details, out);
    arcp_buf_append_byte(out, '}');
}
