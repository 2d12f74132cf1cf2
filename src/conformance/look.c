#include "conformance/conformance.h"

#include <inttypes.h>
#include <string.h>

#include "conformance/match.h"

void arcp__look_fini(arcp__look *look)
{
    arcp_buf_fini(&look->session);
    memset(look, 0, sizeof(*look));
}

/* ---- reading ---- */

arcp_json_ref arcp__frame_member(const arcp_json *json, const char *name)
{
    return arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
}

arcp_json_ref arcp__payload_member(const arcp_json *json, const char *name)
{
    return arcp_json_member(json, arcp__frame_member(json, "payload"), arcp_span_cstr(name));
}

bool arcp__frame_is(const arcp_json *json, const char *type)
{
    return arcp_json_string_equals(json, arcp__frame_member(json, "type"), arcp_span_cstr(type));
}

bool arcp__frame_begins(const arcp_json *json, const char *prefix)
{
    arcp_span raw = arcp_json_raw(json, arcp__frame_member(json, "type"));
    return raw.size > 2 && arcp_span_starts_with(arcp_span_from(raw, 1), arcp_span_cstr(prefix));
}

static bool lists(const arcp_json *json, arcp_json_ref list, const char *word)
{
    for (arcp_json_ref item = arcp_json_first(json, list); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, list, item)) {
        if (arcp_json_string_equals(json, item, arcp_span_cstr(word))) {
            return true;
        }
    }
    return false;
}

void arcp__look_welcome(arcp__look *look, const arcp_json *welcome, arcp_span asked)
{
    arcp_json own = ARCP_JSON_INIT;
    arcp_error err;
    arcp_buf_clear(&look->session);
    arcp_buf_append(&look->session,
                    arcp_json_raw(welcome, arcp__frame_member(welcome, "session_id")));
    arcp_json_ref capabilities = arcp__payload_member(welcome, "capabilities");
    arcp_json_ref theirs =
        arcp_json_is(welcome, capabilities, ARCP_JSON_OBJECT)
            ? arcp_json_member(welcome, capabilities, ARCP_SPAN_LITERAL("features"))
            : ARCP_JSON_ABSENT;
    look->may_progress = look->may_chunk = false;
    if (arcp__wire_scan(&own, asked, &err) == ARCP_OK &&
        arcp_json_is(welcome, theirs, ARCP_JSON_ARRAY)) {
        look->may_progress =
            lists(&own, ARCP_JSON_ROOT, "progress") && lists(welcome, theirs, "progress");
        look->may_chunk =
            lists(&own, ARCP_JSON_ROOT, "result_chunk") && lists(welcome, theirs, "result_chunk");
    }
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
    arcp_span said = arcp_json_raw(json, retryable);
    if (!arcp_json_is(json, code, ARCP_JSON_STRING)) {
        return wrong(section, why, "12", "an error's payload.code is no string", json, code);
    }
    if (!arcp_span_equal_cstr(said, "true") && !arcp_span_equal_cstr(said, "false")) {
        return wrong(section, why, "12", "an error does not say whether it is retryable", json,
                     retryable);
    }
    bool never = arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("LEASE_EXPIRED")) ||
                 arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("BUDGET_EXHAUSTED"));
    bool always = arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("INTERNAL_ERROR"));
    if ((never && said.size == 4) || (always && said.size == 5)) {
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
