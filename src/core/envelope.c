#include "core/envelope.h"

/* The size of most envelopes without their payload, to allocate once. */
#define HEAD_BYTES 320u

static arcp_status read_id(const arcp_json *json, const char *name, arcp_buf *scratch,
                           arcp_span *out, arcp_error *err)
{
    const arcp_json_ref ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    if (arcp_json_is_missing(json, ref)) {
        return ARCP_OK;
    }
    const size_t offset = json->nodes[ref].start;
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, offset,
                                 "envelope member \"%s\" must be a string", name);
    }
    const arcp_span text = arcp_json_string(json, ref, scratch);
    if (text.size == 0 || text.size > ARCP__ENVELOPE_ID_MAX) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, offset,
                                 "envelope member \"%s\" has %zu bytes, must have 1 to %d", name,
                                 text.size, ARCP__ENVELOPE_ID_MAX);
    }
    if (memchr(text.data, '\0', text.size) != NULL) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, offset,
                                 "envelope member \"%s\" contains a NUL character", name);
    }
    *out = text;
    return ARCP_OK;
}

/* [arcp:5-1] [arcp:5-2] */
arcp_status arcp__envelope_parse(const arcp_json *json, arcp_buf *scratch, arcp__envelope *out,
                                 arcp_error *err)
{
    *out = (arcp__envelope){
        .type = ARCP_MESSAGE_UNKNOWN, .payload = ARCP_JSON_ABSENT, .extensions = ARCP_JSON_ABSENT};
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, 0,
                                 "a frame must be a JSON object (an envelope)");
    }
    const struct {
        const char *name;
        arcp_span *to;
        bool is_required;
    } ids[] = {{"id", &out->id, true},
               {"type", &out->type_text, true},
               {"session_id", &out->session_id, false},
               {"job_id", &out->job_id, false}};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const arcp_status status = read_id(json, ids[i].name, scratch, ids[i].to, err);
        if (status != ARCP_OK) {
            return status;
        }
        if (ids[i].is_required && ids[i].to->size == 0) {
            return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, 0,
                                     "envelope member \"%s\" is missing", ids[i].name);
        }
    }
    /* "1.1"; "1" and absent are accepted with a warning. */
    const arcp_json_ref version = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("arcp"));
    out->version_missing = arcp_json_is_missing(json, version) ||
                           arcp_json_string_equals(json, version, ARCP_SPAN_LITERAL("1"));
    if (!out->version_missing &&
        !arcp_json_string_equals(json, version, ARCP_SPAN_LITERAL("1.1"))) {
        const arcp_span raw = arcp_span_first(arcp_json_raw(json, version), 32);
        return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, json->nodes[version].start,
                                 "envelope member \"arcp\" is %.*s, must be \"1.1\"", (int)raw.size,
                                 raw.data);
    }
    const struct {
        const char *name;
        arcp_json_ref *to;
    } objects[] = {{"payload", &out->payload}, {"extensions", &out->extensions}};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        const arcp_json_ref ref =
            arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(objects[i].name));
        if (arcp_json_is(json, ref, ARCP_JSON_OBJECT)) {
            *objects[i].to = ref;
        } else if (!arcp_json_is_missing(json, ref)) {
            return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, json->nodes[ref].start,
                                     "envelope member \"%s\" must be an object", objects[i].name);
        }
    }
    out->type = arcp_message_type_from_wire(out->type_text);
    /* A malformed trace is never a reason to refuse (docs/protocol.md, Envelope). */
    out->trace_id = arcp_json_string(
        json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("trace_id")), scratch);
    return ARCP_OK;
}

static void format_member(arcp_buf *out, const char *name, arcp_span value)
{
    if (value.size == 0) {
        return;
    }
    arcp_buf_append_cstr(out, ",\"");
    arcp_buf_append_cstr(out, name);
    arcp_buf_append_cstr(out, "\":");
    arcp_json_quote(value, out);
}

/* [arcp:5-1] */
void arcp__envelope_format(const arcp__envelope_head *head, arcp_span payload, arcp_buf *out)
{
    (void)arcp_buf_reserve(out, payload.size + HEAD_BYTES);
    arcp_buf_append_cstr(out, "{\"arcp\":\"1.1\"");
    format_member(out, "id", head->id);
    format_member(out, "type", arcp_span_cstr(head->type));
    format_member(out, "session_id", head->session_id);
    format_member(out, "trace_id", head->trace_id);
    format_member(out, "job_id", head->job_id);
    if (head->event_seq != 0) {
        arcp_buf_append_cstr(out, ",\"event_seq\":");
        arcp_buf_append_u64(out, head->event_seq);
    }
    arcp_buf_append_cstr(out, ",\"payload\":");
    arcp_buf_append(out, payload.size == 0 ? ARCP_SPAN_LITERAL("{}") : payload);
    arcp_buf_append_byte(out, '}');
}
