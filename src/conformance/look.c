#include "conformance/conformance.h"

#include <inttypes.h>
#include <string.h>

arcp_json_ref arcp__capability(const arcp_json *welcome, const char *name)
{
    return arcp_json_member(welcome, arcp__payload_member(welcome, "capabilities"),
                            arcp_span_cstr(name));
}

bool arcp__list_has(const arcp_json *json, arcp_json_ref list, arcp_span word)
{
    arcp_json_ref item =
        arcp_json_is(json, list, ARCP_JSON_ARRAY) ? arcp_json_first(json, list) : ARCP_JSON_ABSENT;
    while (item != ARCP_JSON_ABSENT && !arcp_json_string_equals(json, item, word)) {
        item = arcp_json_next(json, list, item);
    }
    return item != ARCP_JSON_ABSENT;
}

static bool is_in_both(const arcp_json *own, const arcp_json *welcome, const char *feature)
{
    const arcp_span word = arcp_span_cstr(feature);
    return arcp__list_has(own, ARCP_JSON_ROOT, word) &&
           arcp__list_has(welcome, arcp__capability(welcome, "features"), word);
}

void arcp__look_welcome(arcp__look *look, const arcp_json *welcome, arcp_span asked)
{
    arcp_json own = ARCP_JSON_INIT;
    arcp_error err = {0};
    arcp_buf_clear(&look->session);
    arcp_buf_append(&look->session,
                    arcp_json_raw(welcome, arcp__frame_member(welcome, "session_id")));
    const bool is_list = arcp__wire_scan(&own, asked, &err) == ARCP_OK;
    look->may_progress = is_list && is_in_both(&own, welcome, "progress");
    look->may_chunk = is_list && is_in_both(&own, welcome, "result_chunk");
    arcp_json_fini(&own);
}

/* ---- looking ---- */

static bool wrong(const char **section, arcp_buf *why, const char *which, const char *what,
                  const arcp_json *json, arcp_json_ref value)
{
    *section = which;
    arcp_buf_append_cstr(why, what);
    if (value != ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(why, ": ");
        arcp__append_value(why, json, value);
    }
    return false;
}

/* What members must be, of all frames and of some. */
static const struct {
    const char *type; /* of the frame; NULL: every one */
    bool in_payload;
    const char *name;
    unsigned types; /* a bit for each that is right */
    const char *section, *what;
} rules[] = {
    {NULL, false, "type", 1u << ARCP_JSON_STRING, "5", "the envelope's type is no string"},
    {NULL, false, "arcp", 1u << ARCP_JSON_STRING, "5",
     "the envelope does not say which protocol it is (arcp)"},
    {NULL, false, "payload", 1u << ARCP_JSON_OBJECT, "5", "the payload is no object"},
    {"job.event", true, "kind", 1u << ARCP_JSON_STRING, "8.1",
     "an event's payload.kind is no string"},
    {"job.event", true, "body", 1u << ARCP_JSON_OBJECT, "8.1",
     "an event's payload.body is no object"},
    {"job.event", false, "job_id", 1u << ARCP_JSON_STRING, "8.1", "an event's job_id is no string"},
    {"job.error", true, "code", 1u << ARCP_JSON_STRING, "12",
     "an error's payload.code is no string"},
    {"session.error", true, "code", 1u << ARCP_JSON_STRING, "12",
     "an error's payload.code is no string"},
    {"job.error", true, "retryable", 1u << ARCP_JSON_TRUE | 1u << ARCP_JSON_FALSE, "12",
     "an error does not say whether it is retryable"},
    {"session.error", true, "retryable", 1u << ARCP_JSON_TRUE | 1u << ARCP_JSON_FALSE, "12",
     "an error does not say whether it is retryable"},
};

/* The rules of every frame, or those of its type. */
static bool look_at_members(const arcp_json *json, bool of_all, const char **section, arcp_buf *why)
{
    for (size_t row = 0; row < sizeof(rules) / sizeof(rules[0]); row++) {
        if (of_all ? rules[row].type != NULL
                   : rules[row].type == NULL || !arcp__frame_is(json, rules[row].type)) {
            continue;
        }
        arcp_json_ref value = rules[row].in_payload ? arcp__payload_member(json, rules[row].name)
                                                    : arcp__frame_member(json, rules[row].name);
        if (value == ARCP_JSON_ABSENT ||
            (rules[row].types >> arcp_json_type_of(json, value) & 1) == 0) {
            return wrong(section, why, rules[row].section, rules[row].what, json, value);
        }
    }
    return true;
}

/* Numbers rise by one; what is no event has none. */
static bool look_at_number(arcp__look *look, const arcp_json *json, const char **section,
                           arcp_buf *why)
{
    arcp_json_ref seq = arcp__frame_member(json, "event_seq");
    uint64_t number = 0;
    bool is_event = arcp__frame_is(json, "job.event");
    if (arcp_json_is_missing(json, seq)) {
        return is_event || arcp__frame_is(json, "job.result")
                   ? wrong(section, why, "8.1", "an event has no event_seq", json, ARCP_JSON_ABSENT)
                   : true;
    }
    if (arcp__frame_is(json, "session.ping") || arcp__frame_is(json, "session.pong")) {
        return wrong(section, why, "6.4", "a heartbeat has an event_seq", json, seq);
    }
    if (!arcp_json_u64(json, seq, &number)) {
        return wrong(section, why, "8.3", "event_seq is no number of an event", json, seq);
    }
    if (look->has_number && number != look->number + 1) {
        *section = "8.3";
        arcp_buf_append_format(why, "event_seq %" PRIu64 " follows %" PRIu64, number, look->number);
        return false;
    }
    look->before = look->has_number ? look->before : number - (number != 0);
    look->has_number = true;
    look->number = number;
    return true;
}

/* What goes together within a payload. */
static bool look_at_payload(const arcp__look *look, const arcp_json *json, const char **section,
                            arcp_buf *why)
{
    arcp_json_ref kind = arcp__payload_member(json, "kind");
    arcp_json_ref code = arcp__payload_member(json, "code");
    const bool is_true =
        arcp_json_is(json, arcp__payload_member(json, "retryable"), ARCP_JSON_TRUE);
    if (arcp__frame_is(json, "job.event")) {
        const bool may_come =
            (look->may_progress ||
             !arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("progress"))) &&
            (look->may_chunk ||
             !arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("result_chunk")));
        return may_come ||
               wrong(section, why, "6.2", "an event of a kind that was not negotiated", json, kind);
    }
    if (arcp__frame_is(json, "job.error") || arcp__frame_is(json, "session.error")) {
        const bool never =
            arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("LEASE_EXPIRED")) ||
            arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("BUDGET_EXHAUSTED"));
        const bool always =
            arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("INTERNAL_ERROR"));
        return !(is_true ? never : always) ||
               wrong(section, why, "12", "retryable cannot be that with this code", json, code);
    }
    return true;
}

bool arcp__look_at(arcp__look *look, const arcp_json *json, const char **section, arcp_buf *why)
{
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return wrong(section, why, "5", "a frame is no JSON object", json, ARCP_JSON_ROOT);
    }
    if (!look_at_members(json, true, section, why)) {
        return false;
    }
    arcp_json_ref session = arcp__frame_member(json, "session_id");
    if (look->session.size != 0 && !arcp_json_is_missing(json, session) &&
        !arcp_span_equal(arcp_json_raw(json, session), arcp_buf_span(&look->session))) {
        return wrong(section, why, "5", "the frame is of another session", json, session);
    }
    return look_at_number(look, json, section, why) && look_at_members(json, false, section, why) &&
           look_at_payload(look, json, section, why);
}
