#include "client/client_session.h"

/* Room for every id that one frame can make us unescape, read a few times over. */
#define IDS_ROOM ((size_t)64 * ARCP__ID_BYTES_MAX)

arcp_span arcp__client_frame_id(arcp__client_session *session, arcp_json_ref object,
                                const char *member)
{
    const arcp_json *json = &session->json;
    arcp_json_ref ref = arcp_json_member(json, object, arcp_span_cstr(member));
    /* An escape takes at most six bytes per byte of text. */
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING) ||
        arcp_json_raw(json, ref).size > 2 + 6 * ARCP__ID_BYTES_MAX) {
        return arcp_span_make(NULL, 0);
    }
    if (session->ids.capacity - session->ids.size < arcp_json_raw(json, ref).size) {
        return arcp_span_make(NULL, 0);
    }
    arcp_span text = arcp_json_string(json, ref, &session->ids);
    return text.size > ARCP__ID_BYTES_MAX ? arcp_span_make(NULL, 0) : text;
}

arcp_span arcp__client_frame_job(arcp__client_session *session, const arcp__client_frame *frame)
{
    arcp_span id = arcp__client_frame_id(session, frame->payload, "job_id");
    return id.size != 0 ? id : frame->job_id;
}

/* Scans; what was written with white space is put on one line first, so that payloads can be
 * handed on as they are. */
static arcp_status scan(arcp__client_session *session, arcp_span text, arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, session->options.given.frame_bytes_max};
    arcp_status status = arcp_json_scan(&session->json, text, &limits, err);
    if (status != ARCP_OK || !session->json.has_space) {
        return status;
    }
    arcp_buf_clear(&session->compact);
    arcp_json_compact(&session->json, ARCP_JSON_ROOT, &session->compact);
    if (arcp_buf_status(&session->compact) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return arcp_json_scan(&session->json, arcp_buf_span(&session->compact), &limits, err);
}

/* `arcp` is "1.1"; runtimes of the same major version, and ones that leave it out, are
 * understood. */
static arcp_status check_version(arcp__client_session *session, arcp_error *err)
{
    arcp_json_ref ref = arcp_json_member(&session->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("arcp"));
    if (arcp_json_is_missing(&session->json, ref)) {
        return ARCP_OK;
    }
    arcp_span version = arcp__client_frame_id(session, ARCP_JSON_ROOT, "arcp");
    if (arcp_span_equal_cstr(version, "1") ||
        arcp_span_starts_with(version, ARCP_SPAN_LITERAL("1."))) {
        return ARCP_OK;
    }
    arcp_span raw = arcp_span_first(arcp_json_raw(&session->json, ref), 32);
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                          "the runtime speaks ARCP %.*s, this client speaks 1.1", (int)raw.size,
                          raw.data);
}

/* [arcp:5-1] [arcp:5-2] */
arcp_status arcp__client_frame_read(arcp__client_session *session, arcp_span text,
                                    arcp__client_frame *out, arcp_error *err)
{
    *out = (arcp__client_frame){.type = ARCP_MESSAGE_UNKNOWN, .payload = ARCP_JSON_ABSENT};
    arcp_buf_clear(&session->ids);
    arcp_buf_clear(&session->scratch);
    if (!arcp_buf_reserve(&session->ids, IDS_ROOM)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = scan(session, text, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(&session->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "the runtime sent no JSON object");
    }
    status = check_version(session, err);
    if (status != ARCP_OK) {
        return status;
    }
    out->type_text = arcp__client_frame_id(session, ARCP_JSON_ROOT, "type");
    if (out->type_text.size == 0) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the runtime sent a frame without a type");
    }
    out->type = arcp_message_type_from_wire(out->type_text);
    out->id = arcp__client_frame_id(session, ARCP_JSON_ROOT, "id");
    out->session_id = arcp__client_frame_id(session, ARCP_JSON_ROOT, "session_id");
    out->job_id = arcp__client_frame_id(session, ARCP_JSON_ROOT, "job_id");
    out->trace_id = arcp__client_frame_id(session, ARCP_JSON_ROOT, "trace_id");
    arcp_json_ref seq =
        arcp_json_member(&session->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("event_seq"));
    if (!arcp_json_u64(&session->json, seq, &out->event_seq)) {
        out->event_seq = 0;
    }
    arcp_json_ref payload =
        arcp_json_member(&session->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    if (arcp_json_is(&session->json, payload, ARCP_JSON_OBJECT)) {
        out->payload = payload;
    }
    return ARCP_OK;
}
