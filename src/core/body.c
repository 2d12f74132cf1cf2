#include "core/body.h"

#include "core/error_payload.h"

typedef enum shape {
    ANY,
    STRING,
    TEXT, /* a string that may be empty */
    OBJECT,
    ARRAY,
    STRINGS,
    BOOL,
    COUNT,
    POSITIVE,
    NUMBER,
    NOT_NEGATIVE
} shape;

static const char *const shape_texts[] = {
    [ANY] = "any value",
    [STRING] = "a non-empty string",
    [TEXT] = "a string",
    [OBJECT] = "an object",
    [ARRAY] = "an array",
    [STRINGS] = "an array of strings",
    [BOOL] = "true or false",
    [COUNT] = "a whole number of 0 or more",
    [POSITIVE] = "a whole number of 1 or more",
    [NUMBER] = "a number",
    [NOT_NEGATIVE] = "a number of 0 or more",
};

static bool is_strings(const arcp_json *json, arcp_json_ref ref)
{
    if (!arcp_json_is(json, ref, ARCP_JSON_ARRAY)) {
        return false;
    }
    for (arcp_json_ref at = arcp_json_first(json, ref); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, ref, at)) {
        if (!arcp_json_is(json, at, ARCP_JSON_STRING)) {
            return false;
        }
    }
    return true;
}

/* -0 is zero; every other number with a minus sign is below it. */
static bool is_not_negative(arcp_span number)
{
    if (number.size == 0 || number.data[0] != '-') {
        return true;
    }
    for (size_t at = 1; at < number.size && number.data[at] != 'e' && number.data[at] != 'E';
         at++) {
        if (number.data[at] >= '1' && number.data[at] <= '9') {
            return false;
        }
    }
    return true;
}

static bool has_shape(const arcp_json *json, arcp_json_ref ref, shape wanted)
{
    uint64_t number = 0;
    switch (wanted) {
    case ANY:
        return true;
    case STRING:
        return arcp_json_is(json, ref, ARCP_JSON_STRING) && json->nodes[ref].size > 2;
    case TEXT:
        return arcp_json_is(json, ref, ARCP_JSON_STRING);
    case OBJECT:
        return arcp_json_is(json, ref, ARCP_JSON_OBJECT);
    case ARRAY:
        return arcp_json_is(json, ref, ARCP_JSON_ARRAY);
    case STRINGS:
        return is_strings(json, ref);
    case BOOL:
        return arcp_json_is(json, ref, ARCP_JSON_TRUE) || arcp_json_is(json, ref, ARCP_JSON_FALSE);
    case COUNT:
        return arcp_json_u64(json, ref, &number);
    case POSITIVE:
        return arcp_json_u64(json, ref, &number) && number >= 1;
    case NUMBER:
        return arcp_json_is(json, ref, ARCP_JSON_NUMBER);
    case NOT_NEGATIVE:
        return arcp_json_is(json, ref, ARCP_JSON_NUMBER) &&
               is_not_negative(arcp_json_raw(json, ref));
    }
    return false;
}

typedef struct body_row {
    arcp_message_type type;
    const char *path; /* "member" or "member.inner" */
    shape wanted;
    bool required;
} body_row;

static const body_row body_rows[] = {
#define ARCP_BODY(message, path, shape, required) {ARCP_MESSAGE_##message, path, shape, required},
#include "core/message_body.def"
#undef ARCP_BODY
};

static arcp_json_ref member_at_path(const arcp_json *json, arcp_json_ref object, const char *path)
{
    const char *dot = strchr(path, '.');
    while (dot != NULL) {
        object = arcp_json_member(json, object, arcp_span_make(path, (size_t)(dot - path)));
        path = dot + 1;
        dot = strchr(path, '.');
    }
    return arcp_json_member(json, object, arcp_span_cstr(path));
}

static arcp_status refuse_member(const arcp_json *json, arcp_json_ref ref, const char *where,
                                 const char *path, shape wanted, arcp_error *err)
{
    if (arcp_json_is_missing(json, ref)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s.%s is missing, must be %s", where,
                              path, shape_texts[wanted]);
    }
    arcp_span raw = arcp_span_first(arcp_json_raw(json, ref), 40);
    return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, json->nodes[ref].start,
                             "%s.%s is %.*s, must be %s", where, path, (int)raw.size, raw.data,
                             shape_texts[wanted]);
}

arcp_status arcp__message_body_check(arcp_message_type type, const arcp_json *json,
                                     arcp_json_ref payload, arcp_error *err)
{
    for (size_t row = 0; row < sizeof(body_rows) / sizeof(body_rows[0]); row++) {
        const body_row *rule = &body_rows[row];
        if (rule->type != type) {
            continue;
        }
        arcp_json_ref ref = member_at_path(json, payload, rule->path);
        bool missing = arcp_json_is_missing(json, ref);
        if (missing ? rule->required : !has_shape(json, ref, rule->wanted)) {
            return refuse_member(json, ref, "payload", rule->path, rule->wanted, err);
        }
    }
    return ARCP_OK;
}

typedef struct event_row {
    arcp_event_kind kind;
    const char *name;
    const char *older;
    shape wanted;
    bool required;
} event_row;

static const event_row event_rows[] = {
#define ARCP_EVENT_BODY(kind, name, older, shape, required)                                        \
    {ARCP_EVENT_##kind, name, older, shape, required},
#include "core/event_body.def"
#undef ARCP_EVENT_BODY
};
#define EVENT_ROW_COUNT (sizeof(event_rows) / sizeof(event_rows[0]))

/* The member a row speaks of, under its own or its older name. When both are there the
 * draft's counts, and the other is not relayed: a reader of the older spelling would see a
 * call that nobody asked the gate about. */
static arcp_json_ref event_member(const arcp_json *json, arcp_json_ref body, const event_row *row,
                                  bool *older_used)
{
    arcp_json_ref ref = arcp_json_member(json, body, arcp_span_cstr(row->name));
    if (row->older[0] != '\0') {
        arcp_json_ref older = arcp_json_member(json, body, arcp_span_cstr(row->older));
        *older_used = *older_used || older != ARCP_JSON_ABSENT;
        ref = ref == ARCP_JSON_ABSENT ? older : ref;
    }
    return ref;
}

/* The draft's four levels, or NULL. Loggers write them in many ways. */
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
    for (size_t row = 0; row < sizeof(levels) / sizeof(levels[0]); row++) {
        if (strlen(levels[row].written) == text.size &&
            strncasecmp(levels[row].written, text.data, text.size) == 0) {
            return levels[row].level;
        }
    }
    return NULL;
}

static bool is_runtime_phase(arcp_span phase)
{
    return arcp_span_equal_cstr(phase, "running") || arcp_span_equal_cstr(phase, "back_pressure") ||
           arcp_span_equal_cstr(phase, "credential_rotated");
}

static arcp_status check_metric(const arcp_json *json, arcp_json_ref body, arcp_buf *scratch,
                                arcp__event_facts *facts, arcp_error *err)
{
    arcp_span name =
        arcp_json_string(json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("name")), scratch);
    if (arcp_span_starts_with(name, ARCP_SPAN_LITERAL("cost.budget."))) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "metric \"%.*s\": only the runtime reports cost.budget.* metrics",
                              (int)arcp_span_first(name, 64).size, name.data);
    }
    if (!arcp_span_starts_with(name, ARCP_SPAN_LITERAL("cost."))) {
        return ARCP_OK;
    }
    arcp_json_ref value = arcp_json_member(json, body, ARCP_SPAN_LITERAL("value"));
    arcp_status status = arcp_decimal_parse_spend(arcp_json_raw(json, value), &facts->amount, err);
    if (status != ARCP_OK) {
        return status;
    }
    facts->unit =
        arcp_json_string(json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("unit")), scratch);
    facts->is_spend = facts->unit.size != 0;
    return ARCP_OK;
}

/* Exactly one of `result` and `error`. Many writers set the one that is not meant to null: that one
 * is as if it were not there, and is not relayed. [arcp:8.2-1] */
static arcp_status check_tool_result(const arcp_json *json, arcp_json_ref body, arcp_buf *scratch,
                                     bool *rewrite, arcp_error *err)
{
    const arcp_json_ref error = arcp_json_member(json, body, ARCP_SPAN_LITERAL("error"));
    arcp_json_ref result = arcp_json_member(json, body, ARCP_SPAN_LITERAL("result"));
    if (result == ARCP_JSON_ABSENT) {
        result = arcp_json_member(json, body, ARCP_SPAN_LITERAL("output"));
    }
    *rewrite = *rewrite || error != ARCP_JSON_ABSENT;
    if (arcp_json_is_missing(json, error)) {
        return result != ARCP_JSON_ABSENT
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                    "body has neither result nor error, must have one of them");
    }
    if (!arcp_json_is_missing(json, result)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "body has both result and error, must have one of them");
    }
    arcp__error_payload parsed; /* `retryable` may be missing or against the rules */
    return arcp__error_payload_parse(json, error, scratch, &parsed, err);
}

/* Whether a member is the null of the two of them that is not meant. */
static bool is_unused_half(const arcp_json *json, arcp_json_ref body, arcp_event_kind kind,
                           arcp_json_ref name)
{
    if (kind != ARCP_EVENT_TOOL_RESULT || !arcp_json_is(json, name + 1, ARCP_JSON_NULL)) {
        return false;
    }
    const bool is_result = arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("result")) ||
                           arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("output"));
    const arcp_json_ref error = arcp_json_member(json, body, ARCP_SPAN_LITERAL("error"));
    return is_result ? !arcp_json_is_missing(json, error)
                     : arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("error"));
}

/* What a kind demands beyond its table. `rewrite` is set when the body cannot be relayed
 * as it is. */
static arcp_status check_kind(const arcp_json *json, arcp_json_ref body, arcp_buf *scratch,
                              arcp__event_facts *facts, bool *rewrite, arcp_error *err)
{
    if (facts->kind == ARCP_EVENT_LOG) {
        arcp_span level = arcp_json_string(
            json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("level")), scratch);
        const char *known = log_level(level);
        if (known == NULL) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "body.level is \"%.*s\", must be debug, info, warn or error",
                                  (int)arcp_span_first(level, 32).size, level.data);
        }
        *rewrite = *rewrite || !arcp_span_equal_cstr(level, known);
    } else if (facts->kind == ARCP_EVENT_STATUS) {
        arcp_span phase = arcp_json_string(
            json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("phase")), scratch);
        if (is_runtime_phase(phase)) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "status phase \"%.*s\" is the runtime's to report",
                                  (int)phase.size, phase.data);
        }
    } else if (facts->kind == ARCP_EVENT_METRIC) {
        return check_metric(json, body, scratch, facts, err);
    } else if (facts->kind == ARCP_EVENT_TOOL_CALL) {
        *rewrite = *rewrite ||
                   (arcp_json_member(json, body, ARCP_SPAN_LITERAL("args")) == ARCP_JSON_ABSENT);
    } else if (facts->kind == ARCP_EVENT_TOOL_RESULT) {
        return check_tool_result(json, body, scratch, rewrite, err);
    }
    return ARCP_OK;
}

/* Copies an error object with its code, message and retryable made right; extra members
 * stay. */
static void rewrite_error(const arcp_json *json, arcp_json_ref error, arcp_buf *scratch,
                          arcp_json_writer *writer)
{
    arcp__error_payload parsed;
    if (arcp__error_payload_parse(json, error, scratch, &parsed, NULL) != ARCP_OK) {
        return; /* checked before */
    }
    arcp_json_begin_object(writer);
    arcp__error_payload_members(writer, parsed.status, parsed.code, parsed.message,
                                parsed.retryable, arcp_json_raw(json, parsed.details));
    arcp_json_end_object(writer);
}

/* The row whose older spelling a member has, or NULL. */
static const event_row *row_of_older(arcp_event_kind kind, const arcp_json *json,
                                     arcp_json_ref name)
{
    for (size_t row = 0; row < EVENT_ROW_COUNT; row++) {
        const event_row *rule = &event_rows[row];
        if (rule->kind == kind && rule->older[0] != '\0' &&
            arcp_json_string_equals(json, name, arcp_span_cstr(rule->older))) {
            return rule;
        }
    }
    return NULL;
}

static void write_event_member(const arcp_json *json, arcp_json_ref name, const char *renamed,
                               arcp_event_kind kind, arcp_buf *scratch, arcp_json_writer *writer)
{
    arcp_json_ref value = name + 1;
    arcp_span written = arcp_json_string(json, name, scratch);
    arcp_json_name_span(writer, renamed != NULL ? arcp_span_cstr(renamed) : written);
    if (kind == ARCP_EVENT_TOOL_RESULT && arcp_span_equal_cstr(written, "error") &&
        arcp_json_is(json, value, ARCP_JSON_OBJECT)) {
        rewrite_error(json, value, scratch, writer);
    } else if (kind == ARCP_EVENT_LOG && arcp_span_equal_cstr(written, "level")) {
        arcp_json_write_cstr(writer, log_level(arcp_json_string(json, value, scratch)));
    } else {
        arcp_buf compact = ARCP_BUF_INIT;
        arcp_json_compact(json, value, &compact);
        writer->out->failed = writer->out->failed || compact.failed;
        arcp_json_write_raw(writer, arcp_buf_span(&compact));
        arcp_buf_fini(&compact);
    }
}

static void rewrite_body(const arcp_json *json, arcp_json_ref body, arcp_event_kind kind,
                         arcp_buf *scratch, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    for (arcp_json_ref name = arcp_json_first(json, body); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, body, name)) {
        const event_row *older = row_of_older(kind, json, name);
        if (older != NULL &&
            arcp_json_member(json, body, arcp_span_cstr(older->name)) != ARCP_JSON_ABSENT) {
            continue;
        }
        if (is_unused_half(json, body, kind, name)) {
            continue;
        }
        write_event_member(json, name, older == NULL ? NULL : older->name, kind, scratch, &writer);
    }
    if (kind == ARCP_EVENT_TOOL_CALL &&
        arcp_json_member(json, body, ARCP_SPAN_LITERAL("args")) == ARCP_JSON_ABSENT &&
        arcp_json_member(json, body, ARCP_SPAN_LITERAL("arguments")) == ARCP_JSON_ABSENT) {
        arcp_json_name(&writer, "args");
        arcp_json_begin_object(&writer);
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
}

static arcp_status check_rows(const arcp_json *json, arcp_json_ref body, arcp_event_kind kind,
                              bool *rewrite, arcp_error *err)
{
    for (size_t row = 0; row < EVENT_ROW_COUNT; row++) {
        const event_row *rule = &event_rows[row];
        if (rule->kind != kind) {
            continue;
        }
        arcp_json_ref ref = event_member(json, body, rule, rewrite);
        bool missing = arcp_json_is_missing(json, ref);
        if (missing ? rule->required : !has_shape(json, ref, rule->wanted)) {
            return refuse_member(json, ref, "body", rule->name, rule->wanted, err);
        }
    }
    return ARCP_OK;
}

/* Which tool, and which call it is about. */
static void note_call(const arcp_json *json, arcp_json_ref body, arcp_buf *scratch,
                      arcp__event_facts *facts)
{
    bool older = false;
    for (size_t row = 0; row < EVENT_ROW_COUNT; row++) {
        const event_row *rule = &event_rows[row];
        if (rule->kind != facts->kind) {
            continue;
        }
        arcp_json_ref ref = event_member(json, body, rule, &older);
        if (strcmp(rule->name, "tool") == 0) {
            facts->tool = arcp_json_string(json, ref, scratch);
        } else if (strcmp(rule->name, "call_id") == 0) {
            facts->call_id = arcp_json_string(json, ref, scratch);
        }
    }
}

arcp_status arcp__event_check(const arcp_json *json, arcp_span kind_text, arcp_json_ref body,
                              arcp_buf *scratch, arcp_buf *out, arcp__event_facts *facts,
                              arcp_error *err)
{
    *facts = (arcp__event_facts){.kind = arcp_event_kind_from_wire(kind_text)};
    if (facts->kind == ARCP_EVENT_UNKNOWN) {
        arcp_span shown = arcp_span_first(kind_text, 64);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "event kind \"%.*s\" is neither one of the draft's nor x-vendor.*",
                              (int)shown.size, shown.size == 0 ? "" : shown.data);
    }
    if (arcp_json_is_missing(json, body) && facts->kind == ARCP_EVENT_VENDOR) {
        arcp_buf_append(out, ARCP_SPAN_LITERAL("{}"));
        return arcp_buf_status(out);
    }
    if (!arcp_json_is(json, body, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "body must be an object");
    }
    bool rewrite = false;
    arcp_status status = check_rows(json, body, facts->kind, &rewrite, err);
    if (status == ARCP_OK) {
        status = check_kind(json, body, scratch, facts, &rewrite, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (facts->kind == ARCP_EVENT_TOOL_CALL || facts->kind == ARCP_EVENT_TOOL_RESULT) {
        note_call(json, body, scratch, facts);
    }
    if (rewrite) {
        rewrite_body(json, body, facts->kind, scratch, out);
    } else {
        arcp_json_compact(json, body, out);
    }
    if (out->failed || scratch->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return ARCP_OK;
}
