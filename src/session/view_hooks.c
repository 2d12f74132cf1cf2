/* x-vendor.arcpd.hooks: a page of the notifications that wait in the outbox, the oldest first; and
 * retry_notification, drop_notification: what operators decide about one. */
#include "session/view.h"

#include <stdio.h>

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
    char last[ARCP__ID_SIZE] = "";
    if (in->limit > ARCP__VIEW_LIMIT_MAX || in->cursor.size >= sizeof last) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             in->limit > ARCP__VIEW_LIMIT_MAX
                                 ? "payload.limit must be from 1 to 500"
                                 : "payload.cursor is not that of a page");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    memcpy(last, in->cursor.data == NULL ? "" : in->cursor.data, in->cursor.size);
    arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    arcp__view_listing listing =
        arcp__view_listing_begin(sessions, call, "notifications", in->limit);
    arcp__notification_view view;
    while (!listing.is_full && arcp__notification_next(sessions->hooks, last, &view)) {
        arcp_buf row = arcp__context_take_buf(sessions->context);
        write_notification(&view, &row);
        if (arcp__view_listing_add(&listing, &row)) {
            (void)snprintf(last, sizeof last, "%s", view.id);
        }
    }
    arcp__view_listing_answer(&listing, last);
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
