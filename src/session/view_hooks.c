/* x-vendor.arcpd.hooks: a page of the notifications that wait in the outbox, the oldest first; and
 * retry_notification, drop_notification: what operators decide about one. */
#include "session/view.h"

#include <stdio.h>

#define LIMIT_DEFAULT  100u
#define LIMIT_MAX      500u
#define PAGE_BYTES_MAX 1048576u

static void write_notification(const arcp__notification_view *view, arcp_buf *out)
{
    arcp_json_writer object = arcp__put_begin(out);
    arcp_json_writer *writer = &object;
    arcp__put_cstr(writer, "id", view->id);
    arcp__put_cstr(writer, "hook", view->hook);
    arcp__put_cstr(writer, "event", view->event);
    arcp__put_cstr(writer, "job_id", view->job_id);
    arcp__put_word(writer, "target", view->target);
    arcp__write_timestamp(writer, "at", view->at_wall_ns);
    arcp__put_cstr(writer, "state", view->state);
    arcp__put_u64(writer, "tries", view->tries);
    if (view->next_wall_ns != 0) {
        arcp__write_timestamp(writer, "next_at", view->next_wall_ns);
    }
    arcp__put_word(writer, "last_error", view->error);
    arcp_json_end_object(writer);
}

void arcp__view_hooks_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_hooks *in = &call->in.hooks;
    const uint64_t limit = in->limit == 0 ? LIMIT_DEFAULT : in->limit;
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - 128;
    const size_t bytes_max = frame_max < PAGE_BYTES_MAX ? frame_max : PAGE_BYTES_MAX;
    char last[ARCP__ID_SIZE] = "";
    if (limit > LIMIT_MAX || in->cursor.size >= sizeof last) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             limit > LIMIT_MAX ? "payload.limit must be from 1 to 500"
                                               : "payload.cursor is not that of a page");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    memcpy(last, in->cursor.data == NULL ? "" : in->cursor.data, in->cursor.size);
    arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    arcp_buf out = arcp_buf_init();
    arcp_buf_append_cstr(&out, "{\"notifications\":[");
    arcp__notification_view view;
    uint64_t shown = 0;
    bool is_full = false;
    while (!is_full && arcp__notification_next(sessions->hooks, last, &view)) {
        arcp_buf row = arcp__context_take_buf(sessions->context);
        write_notification(&view, &row);
        is_full = shown == limit || (shown != 0 && out.size + row.size + 1 > bytes_max);
        if (!is_full) {
            arcp_buf_append(&out, shown == 0 ? ARCP__NOTHING : ARCP_SPAN_LITERAL(","));
            arcp_buf_append(&out, arcp_buf_span(&row));
            out.failed = out.failed || row.failed;
            (void)snprintf(last, sizeof last, "%s", view.id);
            shown++;
        }
        arcp__context_give_buf(sessions->context, &row);
    }
    arcp_buf_append_cstr(&out, "],\"next_cursor\":");
    if (is_full) {
        arcp_json_quote(arcp_span_cstr(last), &out);
    } else {
        arcp_buf_append_cstr(&out, "null");
    }
    arcp_buf_append_byte(&out, '}');
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}

static void decide(arcp__sessions *sessions, arcp__view_call *call,
                   bool (*act)(arcp__hooks *hooks, arcp_span id))
{
    const arcp_span id = call->in.hooks.id;
    if (!act(sessions->hooks, id)) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "there is no notification \"%.*s\" (it may have been delivered)",
                             (int)(id.size < 64 ? id.size : 64), id.data);
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    arcp__view_audit(sessions, call, NULL, id, ARCP_OK, NULL);
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&out);
    arcp__put_string(&writer, "id", id);
    arcp_json_end_object(&writer);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}

void arcp__view_retry_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    decide(sessions, call, arcp__notification_retry);
}

void arcp__view_drop_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    decide(sessions, call, arcp__notification_drop);
}
