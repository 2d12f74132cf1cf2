/* Event bodies under the draft's names. One row per member; `older` are spellings that other
 * runtimes use. */
#include <arcp/client.h>

#include "base/alloc.h"

/* TEXT: a string, or a number's literal. */
typedef enum member_form { TEXT, JSON } member_form;

typedef struct member_row {
    arcp_event_kind kind;
    const char *names[3]; /* the draft's first */
    member_form form;
    size_t offset;
} member_row;

#define ROW(kind, form, field, ...)                                                                \
    {                                                                                              \
        ARCP_EVENT_##kind, {__VA_ARGS__}, form, offsetof(arcp_event_view, field)                   \
    }

static const member_row member_rows[] = {
    ROW(LOG, TEXT, level, "level"),
    ROW(LOG, TEXT, message, "message"),
    ROW(THOUGHT, TEXT, text, "text"),
    ROW(TOOL_CALL, TEXT, tool, "tool", "name"),
    ROW(TOOL_CALL, TEXT, call_id, "call_id", "tool_call_id"),
    ROW(TOOL_CALL, JSON, args, "args", "arguments"),
    ROW(TOOL_RESULT, TEXT, call_id, "call_id", "tool_call_id"),
    ROW(TOOL_RESULT, JSON, result, "result", "output"),
    ROW(TOOL_RESULT, JSON, error, "error"),
    ROW(STATUS, TEXT, phase, "phase"),
    ROW(STATUS, TEXT, message, "message"),
    ROW(METRIC, TEXT, name, "name"),
    ROW(METRIC, TEXT, value, "value"),
    ROW(METRIC, TEXT, unit, "unit"),
    ROW(METRIC, JSON, dimensions, "dimensions", "dims", "attributes"),
    ROW(ARTIFACT_REF, TEXT, uri, "uri", "artifact_id"),
    ROW(ARTIFACT_REF, TEXT, content_type, "content_type", "media_type"),
    ROW(ARTIFACT_REF, TEXT, byte_size, "byte_size", "size_bytes"),
    ROW(ARTIFACT_REF, TEXT, sha256, "sha256"),
    ROW(DELEGATE, TEXT, delegate_id, "delegate_id"),
    ROW(DELEGATE, TEXT, child_job_id, "child_job_id"),
    ROW(DELEGATE, TEXT, agent, "agent"),
    ROW(DELEGATE, JSON, input, "input"),
    ROW(PROGRESS, TEXT, current, "current"),
    ROW(PROGRESS, TEXT, total, "total"),
    ROW(PROGRESS, TEXT, units, "units"),
    ROW(PROGRESS, TEXT, message, "message"),
    ROW(RESULT_CHUNK, TEXT, result_id, "result_id"),
    ROW(RESULT_CHUNK, TEXT, chunk_seq, "chunk_seq"),
    ROW(RESULT_CHUNK, TEXT, data, "data"),
    ROW(RESULT_CHUNK, TEXT, encoding, "encoding"),
};
#define MEMBER_ROWS (sizeof(member_rows) / sizeof(member_rows[0]))

arcp_status arcp_event_view_read(arcp_event_view *view, const arcp_client_event *event,
                                 arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    const arcp_json *json = &view->json;
    /* The memory is used again. */
    *view = (arcp_event_view){.json = view->json, .scratch = view->scratch, .kind = event->kind};
    arcp_buf_clear(&view->scratch);
    arcp_status status = arcp_json_scan(&view->json, event->body, &limits, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "the event's body is no object");
    }
    /* Room for all strings, each read once, so that none moves. */
    if (!arcp_buf_reserve(&view->scratch, event->body.size)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t at = 0; at < MEMBER_ROWS; at++) {
        const member_row *row = &member_rows[at];
        arcp_json_ref ref = ARCP_JSON_ABSENT;
        if (row->kind != event->kind) {
            continue;
        }
        for (size_t name = 0;
             name < 3 && row->names[name] != NULL && arcp_json_is_missing(json, ref); name++) {
            ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(row->names[name]));
        }
        bool is_raw = row->form == JSON || arcp_json_is(json, ref, ARCP_JSON_NUMBER);
        arcp_span *field = (arcp_span *)(void *)((char *)view + row->offset);
        *field = is_raw && !arcp_json_is_missing(json, ref)
                     ? arcp_json_raw(json, ref)
                     : arcp_json_string(json, ref, &view->scratch);
    }
    arcp_json_ref more = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("more"));
    view->more = arcp_json_is(json, more, ARCP_JSON_TRUE);
    if (arcp_span_equal_cstr(view->phase, "credential_rotated")) {
        /* The credential's id, wherever the runtime puts it; never its value. */
        const char *const places[] = {"id", "credential_id", "details", "fields"};
        arcp_json_ref ref = ARCP_JSON_ABSENT;
        for (size_t at = 0; at < 4 && arcp_json_is_missing(json, ref); at++) {
            ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(places[at]));
            ref = at < 2 ? ref : arcp_json_member(json, ref, ARCP_SPAN_LITERAL("id"));
        }
        view->credential_id = arcp_json_string(json, ref, &view->scratch);
    }
    return ARCP_OK;
}

void arcp_event_view_fini(arcp_event_view *view)
{
    arcp_json_fini(&view->json);
    arcp_buf_fini(&view->scratch);
    *view = (arcp_event_view)ARCP_EVENT_VIEW_INIT;
}
