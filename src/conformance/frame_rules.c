#include "conformance/conformance.h"

#include <inttypes.h>

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

void arcp__frame_rules_negotiate(arcp__frame_rules *rules, const arcp_json *welcome,
                                 arcp_span requested)
{
    arcp_json own = ARCP__JSON_INIT;
    arcp_error err = {0};
    arcp_buf_clear(&rules->session);
    arcp_buf_append(&rules->session,
                    arcp_json_raw(welcome, arcp__frame_member(welcome, "session_id")));
    const bool is_list = arcp__wire_scan(&own, requested, &err) == ARCP_OK;
    rules->may_progress = is_list && is_in_both(&own, welcome, "progress");
    rules->may_chunk = is_list && is_in_both(&own, welcome, "result_chunk");
    arcp__json_fini(&own);
}

/* ---- the rules ---- */

static bool fail_rule(const char **section, arcp_buf *why, const char *which, const char *what,
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

/* The types of members, for all frames and for some. */
static const struct {
    const char *type; /* of the frame; NULL: every type */
    bool in_payload;
    const char *name;
    unsigned types; /* a bit for each valid type */
    const char *section, *what;
} member_rules[] = {
    {NULL, false, "type", 1u << ARCP_JSON_STRING, "5", "the envelope's type is not a string"},
    {NULL, false, "arcp", 1u << ARCP_JSON_STRING, "5",
     "the envelope has no protocol version (arcp)"},
    {NULL, false, "payload", 1u << ARCP_JSON_OBJECT, "5", "the payload is not an object"},
    {"job.event", true, "kind", 1u << ARCP_JSON_STRING, "8.1",
     "an event's payload.kind is not a string"},
    {"job.event", true, "body", 1u << ARCP_JSON_OBJECT, "8.1",
     "an event's payload.body is not an object"},
    {"job.event", false, "job_id", 1u << ARCP_JSON_STRING, "8.1",
     "an event's job_id is not a string"},
    {"job.error", true, "code", 1u << ARCP_JSON_STRING, "12",
     "an error's payload.code is not a string"},
    {"session.error", true, "code", 1u << ARCP_JSON_STRING, "12",
     "an error's payload.code is not a string"},
    {"job.error", true, "retryable", 1u << ARCP_JSON_TRUE | 1u << ARCP_JSON_FALSE, "12",
     "an error has no boolean payload.retryable"},
    {"session.error", true, "retryable", 1u << ARCP_JSON_TRUE | 1u << ARCP_JSON_FALSE, "12",
     "an error has no boolean payload.retryable"},
};

/* Checks the rules for every frame, or those for the type of this frame. */
static bool check_members(const arcp_json *json, bool of_all, const char **section, arcp_buf *why)
{
    for (size_t row = 0; row < sizeof member_rules / sizeof member_rules[0]; row++) {
        if (of_all
                ? member_rules[row].type != NULL
                : member_rules[row].type == NULL || !arcp__frame_is(json, member_rules[row].type)) {
            continue;
        }
        const arcp_json_ref value = member_rules[row].in_payload
                                        ? arcp__payload_member(json, member_rules[row].name)
                                        : arcp__frame_member(json, member_rules[row].name);
        if (value == ARCP_JSON_ABSENT ||
            (member_rules[row].types >> arcp_json_type_of(json, value) & 1) == 0) {
            return fail_rule(section, why, member_rules[row].section, member_rules[row].what, json,
                             value);
        }
    }
    return true;
}

/* Event numbers rise by one; heartbeats have none. */
static bool check_number(arcp__frame_rules *rules, const arcp_json *json, const char **section,
                         arcp_buf *why)
{
    const arcp_json_ref seq = arcp__frame_member(json, "event_seq");
    uint64_t number = 0;
    const bool is_event = arcp__frame_is(json, "job.event");
    if (arcp_json_is_missing(json, seq)) {
        return is_event || arcp__frame_is(json, "job.result")
                   ? fail_rule(section, why, "8.1", "an event has no event_seq", json,
                               ARCP_JSON_ABSENT)
                   : true;
    }
    if (arcp__frame_is(json, "session.ping") || arcp__frame_is(json, "session.pong")) {
        return fail_rule(section, why, "6.4", "a heartbeat has an event_seq", json, seq);
    }
    if (!arcp_json_u64(json, seq, &number)) {
        return fail_rule(section, why, "8.3", "event_seq is not an event number", json, seq);
    }
    if (rules->has_number && number != rules->number + 1) {
        *section = "8.3";
        arcp_buf_append_format(why, "event_seq %" PRIu64 " follows %" PRIu64, number,
                               rules->number);
        return false;
    }
    rules->before = rules->has_number ? rules->before : number - (number != 0);
    rules->has_number = true;
    rules->number = number;
    return true;
}

/* Checks members of the payload that depend on each other or on the features. */
static bool check_payload(const arcp__frame_rules *rules, const arcp_json *json,
                          const char **section, arcp_buf *why)
{
    const arcp_json_ref kind = arcp__payload_member(json, "kind");
    const arcp_json_ref code = arcp__payload_member(json, "code");
    const bool is_true =
        arcp_json_is(json, arcp__payload_member(json, "retryable"), ARCP_JSON_TRUE);
    if (arcp__frame_is(json, "job.event")) {
        const bool may_come =
            (rules->may_progress ||
             !arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("progress"))) &&
            (rules->may_chunk ||
             !arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("result_chunk")));
        return may_come || fail_rule(section, why, "6.2",
                                     "the kind of the event was not negotiated", json, kind);
    }
    if (arcp__frame_is(json, "job.error") || arcp__frame_is(json, "session.error")) {
        const bool never =
            arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("LEASE_EXPIRED")) ||
            arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("BUDGET_EXHAUSTED"));
        const bool always =
            arcp_json_string_equals(json, code, ARCP_SPAN_LITERAL("INTERNAL_ERROR"));
        return !(is_true ? never : always) ||
               fail_rule(section, why, "12", "this code excludes that value of retryable", json,
                         code);
    }
    return true;
}

bool arcp__frame_rules_check(arcp__frame_rules *rules, const arcp_json *json, const char **section,
                             arcp_buf *why)
{
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return fail_rule(section, why, "5", "a frame is not a JSON object", json, ARCP_JSON_ROOT);
    }
    if (!check_members(json, true, section, why)) {
        return false;
    }
    const arcp_json_ref session = arcp__frame_member(json, "session_id");
    if (rules->session.size != 0 && !arcp_json_is_missing(json, session) &&
        !arcp_span_equal(arcp_json_raw(json, session), arcp_buf_span(&rules->session))) {
        return fail_rule(section, why, "5", "the frame belongs to another session", json, session);
    }
    return check_number(rules, json, section, why) && check_members(json, false, section, why) &&
           check_payload(rules, json, section, why);
}
