#include "conformance/conformance.h"

#include <inttypes.h>
#include <string.h>

void arcp__look_fini(arcp__look *look)
{
    arcp_buf_fini(&look->session);
    memset(look, 0, sizeof(*look));
}

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
    arcp_error err;
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

typedef struct member_rule {
    const char *name;
    bool in_payload;
    arcp_json_type type;
    const char *what; /* is wrong when it has another one */
} member_rule;

static bool look_at_members(const member_rule *rules, size_t count, const char *which,
                            const arcp_json *json, const char **section, arcp_buf *why)
{
    for (size_t at = 0; at < count; at++) {
        arcp_json_ref value = rules[at].in_payload ? arcp__payload_member(json, rules[at].name)
                                                   : arcp__frame_member(json, rules[at].name);
        if (!arcp_json_is(json, value, rules[at].type)) {
            return wrong(section, why, which, rules[at].what, json, value);
        }
    }
    return true;
}

static bool look_at_envelope(const arcp__look *look, const arcp_json *json, const char **section,
                             arcp_buf *why)
{
    static const member_rule rules[] = {
        {"type", false, ARCP_JSON_STRING, "the envelope's type is no string"},
        {"arcp", false, ARCP_JSON_STRING, "the envelope does not say which protocol it is (arcp)"},
        {"payload", false, ARCP_JSON_OBJECT, "the payload is no object"},
    };
    if (!look_at_members(rules, sizeof(rules) / sizeof(rules[0]), "5", json, section, why)) {
        return false;
    }
    arcp_json_ref session = arcp__frame_member(json, "session_id");
    if (look->session.size != 0 && !arcp_json_is_missing(json, session) &&
        !arcp_span_equal(arcp_json_raw(json, session), arcp_buf_span(&look->session))) {
        return wrong(section, why, "5", "the frame is of another session", json, session);
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

static bool look_at_event(const arcp__look *look, const arcp_json *json, const char **section,
                          arcp_buf *why)
{
    static const member_rule rules[] = {
        {"kind", true, ARCP_JSON_STRING, "an event's payload.kind is no string"},
        {"body", true, ARCP_JSON_OBJECT, "an event's payload.body is no object"},
        {"job_id", false, ARCP_JSON_STRING, "an event's job_id is no string"},
    };
    if (!look_at_members(rules, sizeof(rules) / sizeof(rules[0]), "8.1", json, section, why)) {
        return false;
    }
    arcp_json_ref kind = arcp__payload_member(json, "kind");
    if ((!look->may_progress &&
         arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("progress"))) ||
        (!look->may_chunk &&
         arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("result_chunk")))) {
        return wrong(section, why, "6.2", "an event of a kind that was not negotiated", json, kind);
    }
    return true;
}

static bool look_at_error(const arcp_json *json, const char **section, arcp_buf *why)
{
    arcp_json_ref code = arcp__payload_member(json, "code");
    arcp_json_ref retryable = arcp__payload_member(json, "retryable");
    const bool is_true = arcp_json_is(json, retryable, ARCP_JSON_TRUE);
    if (!arcp_json_is(json, code, ARCP_JSON_STRING)) {
        return wrong(section, why, "12", "an error's payload.code is no string", json, code);
    }
    if (!is_true && !arcp_json_is(json, retryable, ARCP_JSON_FALSE)) {
        return wrong(section, why, "12", "an error does not say whether it is retryable", json,
                     retryable);
    }
    bool never = arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("LEASE_EXPIRED")) ||
                 arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("BUDGET_EXHAUSTED"));
    bool always = arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("INTERNAL_ERROR"));
    if (is_true ? never : always) {
        return wrong(section, why, "12", "retryable cannot be that with this code", json, code);
    }
    return true;
}

bool arcp__look_at(arcp__look *look, const arcp_json *json, const char **section, arcp_buf *why)
{
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return wrong(section, why, "5", "a frame is no JSON object", json, ARCP_JSON_ROOT);
    }
    if (!look_at_envelope(look, json, section, why) || !look_at_number(look, json, section, why)) {
        return false;
    }
    if (arcp__frame_is(json, "job.event")) {
        return look_at_event(look, json, section, why);
    }
    if (arcp__frame_is(json, "job.error") || arcp__frame_is(json, "session.error")) {
        return look_at_error(json, section, why);
    }
    return true;
}
