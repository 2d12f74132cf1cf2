/* Rows of the table OUTBOX, one for each notification. */
#include "core/decode.h"
#include "hook/hook_state.h"
#include "json/json_put.h"

typedef struct outbox_row {
    arcp_span hook, event, job_id, error;
    int64_t at, since;
    bool failed;
    arcp_json_ref body;
} outbox_row;

#define MEMBER(member, kind) ARCP__MEMBER(outbox_row, member, #member, kind)

static const arcp__member rows[] = {
    {MEMBER(hook, STRING), .required = true},
    {MEMBER(event, STRING), .required = true},
    {MEMBER(job_id, STRING), .required = true},
    {MEMBER(at, INSTANT), .required = true},
    {MEMBER(since, INSTANT), .required = true},
    {MEMBER(failed, BOOL)},
    {MEMBER(error, TEXT)},
    {MEMBER(body, OBJECT), .required = true},
};
static const arcp__members members = ARCP__MEMBERS(rows);

void arcp__notification_store(arcp__hooks *hooks, const arcp__notification *notification)
{
    const outbox_row row = {.hook = arcp_span_cstr(notification->hook->name),
                            .event = arcp_span_cstr(arcp__hook_event_name(notification->event)),
                            .job_id = arcp_span_cstr(notification->job_id),
                            .at = notification->at_wall_ns,
                            .since = notification->since_wall_ns,
                            .failed = notification->state == ARCP__NOTIFICATION_FAILED,
                            .error = arcp_span_cstr(notification->error),
                            .body = ARCP_JSON_ABSENT};
    arcp_buf text = arcp__context_take_buf(hooks->context);
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__encode_row(&writer, &members, &row);
    arcp__put_raw(&writer, "body", arcp_span_make(notification->body, notification->body_size));
    arcp_json_end_object(&writer);
    arcp__context_check_text(hooks->context, &text);
    arcp__batch_put(hooks->log, ARCP_STORE_OUTBOX, arcp_span_cstr(notification->id),
                    arcp_buf_span(&text));
    arcp__context_give_buf(hooks->context, &text);
}

static arcp__hook_event event_of(arcp_span name)
{
    arcp__hook_event event = ARCP__HOOK_END;
    while (event < ARCP__HOOK_EVENT_COUNT &&
           !arcp_span_equal_cstr(name, arcp__hook_event_name(event))) {
        event++;
    }
    return event;
}

arcp_status arcp__hook_restore_row(arcp__hooks *hooks, arcp_span key, arcp_error *err)
{
    const arcp_json *json = &hooks->context->json;
    outbox_row row = {.body = ARCP_JSON_ABSENT};
    char id[ARCP__ID_SIZE];
    if (!arcp__decode_row(json, &hooks->context->scratch, ARCP_JSON_ROOT, &members, &row) ||
        event_of(row.event) == ARCP__HOOK_EVENT_COUNT || row.job_id.size >= ARCP__ID_SIZE ||
        key.size == 0 || key.size >= sizeof id) {
        return arcp__row_damaged("notification", key, err);
    }
    memcpy(id, key.data, key.size);
    id[key.size] = '\0';
    arcp__hook *hook = arcp__hook_get(hooks, row.hook);
    arcp__notification *notification =
        hook == NULL ? NULL
                     : arcp__notification_add(hooks, hook, id, arcp_json_raw(json, row.body));
    if (notification == NULL) {
        return arcp__row_out_of_memory(err);
    }
    notification->event = event_of(row.event);
    memcpy(notification->job_id, row.job_id.data, row.job_id.size);
    notification->at_wall_ns = row.at;
    notification->since_wall_ns = row.since;
    const size_t size =
        row.error.size < ARCP__HOOK_ERROR_MAX ? row.error.size : ARCP__HOOK_ERROR_MAX;
    memcpy(notification->error, row.error.data == NULL ? "" : row.error.data, size);
    arcp__notification_enter(hooks, notification,
                             row.failed ? ARCP__NOTIFICATION_FAILED : ARCP__NOTIFICATION_DUE);
    return ARCP_OK;
}
