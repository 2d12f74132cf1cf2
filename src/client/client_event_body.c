/* Reads event bodies into arcp_event_body. One row per member: the draft's name first, then names
 * that other runtimes use. */
#include <arcp/client.h>

#include "base/alloc.h"
#include "client/client_session.h"

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
        ARCP_EVENT_##kind, {__VA_ARGS__}, form, offsetof(arcp_event_body, field)                   \
    }

static const member_row member_rows[] = {
    ROW(LOG, TEXT, log.level, "level"),
    ROW(LOG, TEXT, log.message, "message"),
    ROW(THOUGHT, TEXT, thought.text, "text"),
    ROW(TOOL_CALL, TEXT, tool_call.tool, "tool", "name"),
    ROW(TOOL_CALL, TEXT, tool_call.call_id, "call_id", "tool_call_id"),
    ROW(TOOL_CALL, JSON, tool_call.args, "args", "arguments"),
    ROW(TOOL_RESULT, TEXT, tool_result.call_id, "call_id", "tool_call_id"),
    ROW(TOOL_RESULT, JSON, tool_result.result, "result", "output"),
    ROW(TOOL_RESULT, JSON, tool_result.error, "error"),
    ROW(STATUS, TEXT, status.phase, "phase"),
    ROW(STATUS, TEXT, status.message, "message"),
    ROW(METRIC, TEXT, metric.name, "name"),
    ROW(METRIC, TEXT, metric.value, "value"),
    ROW(METRIC, TEXT, metric.unit, "unit"),
    ROW(METRIC, JSON, metric.dimensions, "dimensions", "dims", "attributes"),
    ROW(ARTIFACT_REF, TEXT, artifact_ref.uri, "uri", "artifact_id"),
    ROW(ARTIFACT_REF, TEXT, artifact_ref.content_type, "content_type", "media_type"),
    ROW(ARTIFACT_REF, TEXT, artifact_ref.byte_size, "byte_size", "size_bytes"),
    ROW(ARTIFACT_REF, TEXT, artifact_ref.sha256, "sha256"),
    ROW(DELEGATE, TEXT, delegate.delegate_id, "delegate_id"),
    ROW(DELEGATE, TEXT, delegate.child_job_id, "child_job_id"),
    ROW(DELEGATE, TEXT, delegate.agent, "agent"),
    ROW(DELEGATE, JSON, delegate.input, "input"),
    ROW(PROGRESS, TEXT, progress.current, "current"),
    ROW(PROGRESS, TEXT, progress.total, "total"),
    ROW(PROGRESS, TEXT, progress.units, "units"),
    ROW(PROGRESS, TEXT, progress.message, "message"),
    ROW(RESULT_CHUNK, TEXT, result_chunk.result_id, "result_id"),
    ROW(RESULT_CHUNK, TEXT, result_chunk.chunk_seq, "chunk_seq"),
    ROW(RESULT_CHUNK, TEXT, result_chunk.data, "data"),
    ROW(RESULT_CHUNK, TEXT, result_chunk.encoding, "encoding"),
};
#define MEMBER_ROWS (sizeof member_rows / sizeof member_rows[0])

/* The largest member of the union, so that all of it is empty. */
#define EMPTY_BODY                                                                                 \
    {                                                                                              \
        .kind = ARCP_EVENT_UNKNOWN, .result_chunk = {                                              \
            .result_id = {"", 0},                                                                  \
            .chunk_seq = {"", 0},                                                                  \
            .data = {"", 0},                                                                       \
            .encoding = {"", 0}                                                                    \
        }                                                                                          \
    }

struct arcp__client_event_text {
    arcp_event_body body;
    size_t size;
    char bytes[]; /* what the spans of `body` point to */
};

/* Copies the value at `ref`, with a NUL behind it. */
static arcp_span keep(arcp__client_event_text *text, const arcp_json *json, arcp_json_ref ref,
                      bool is_raw, arcp_buf *scratch)
{
    const arcp_span value =
        is_raw ? arcp_json_raw(json, ref) : arcp_json_string(json, ref, scratch);
    char *copy = text->bytes + text->size;
    if (value.size != 0) {
        memcpy(copy, value.data, value.size);
    }
    copy[value.size] = '\0';
    text->size += value.size + 1;
    return arcp_span_make(copy, value.size);
}

static void read_body(const arcp_json *json, arcp_event_kind kind, arcp_buf *scratch,
                      arcp__client_event_text *text)
{
    arcp_event_body *body = &text->body;
    for (size_t i = 0; i < MEMBER_ROWS; i++) {
        const member_row *row = &member_rows[i];
        arcp_json_ref ref = ARCP_JSON_ABSENT;
        if (row->kind != kind) {
            continue;
        }
        body->kind = kind;
        for (size_t name = 0;
             name < 3 && row->names[name] != NULL && arcp_json_is_missing(json, ref); name++) {
            ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(row->names[name]));
        }
        if (!arcp_json_is_missing(json, ref)) {
            const bool is_raw = row->form == JSON || arcp_json_is(json, ref, ARCP_JSON_NUMBER);
            arcp_span *field = (arcp_span *)(void *)((char *)body + row->offset);
            *field = keep(text, json, ref, is_raw, scratch);
        }
    }
    if (kind == ARCP_EVENT_RESULT_CHUNK) {
        const arcp_json_ref more =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("more"));
        body->result_chunk.more = arcp_json_is(json, more, ARCP_JSON_TRUE);
    }
    if (kind == ARCP_EVENT_STATUS &&
        arcp_span_equal_cstr(body->status.phase, "credential_rotated")) {
        /* The credential's id, in any of the places where runtimes put it; never its value. */
        const char *const places[] = {"id", "credential_id", "details", "fields"};
        arcp_json_ref ref = ARCP_JSON_ABSENT;
        for (size_t i = 0; i < 4 && arcp_json_is_missing(json, ref); i++) {
            ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(places[i]));
            ref = i < 2 ? ref : arcp_json_member(json, ref, ARCP_SPAN_LITERAL("id"));
        }
        body->status.credential_id = keep(text, json, ref, false, scratch);
    }
}

const arcp_event_body *arcp_client_event_body(const arcp_client_event *event)
{
    static const arcp_event_body none = EMPTY_BODY;
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    arcp__client_item *item = event->item;
    if (item == NULL || item->text != NULL) {
        return item == NULL ? &none : &item->text->body;
    }
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    /* Enough for all members, each read once, and for the NULs behind them. */
    arcp__client_event_text *text = arcp__alloc(sizeof *text + event->body.size + MEMBER_ROWS);
    if (text != NULL && arcp_buf_reserve(&scratch, event->body.size)) {
        text->body = none;
        if (arcp_json_scan(&json, event->body, &limits, NULL) == ARCP_OK &&
            arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
            read_body(&json, event->kind, &scratch, text);
        }
        item->text = text;
        text = NULL;
    }
    arcp__free(text);
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
    return item->text == NULL ? &none : &item->text->body;
}

arcp_span arcp_client_event_payload(const arcp_client_event *event)
{
    arcp__client_item *item = event->item;
    if (item == NULL) {
        return ARCP_SPAN_LITERAL("");
    }
    if (event->body.size == 0) {
        return item->payload;
    }
    /* The body is kept separately: the payload is assembled when it is first asked for. */
    const size_t size = item->payload.size + event->body.size;
    if (item->whole == NULL) {
        item->whole = arcp__alloc(size + 1);
        if (item->whole == NULL) {
            return ARCP_SPAN_LITERAL("");
        }
        char *body = item->whole + item->body_at;
        memcpy(item->whole, item->payload.data, item->body_at);
        memcpy(body, event->body.data, event->body.size);
        memcpy(body + event->body.size, item->payload.data + item->body_at,
               item->payload.size - item->body_at);
    }
    return arcp_span_make(item->whole, size);
}
