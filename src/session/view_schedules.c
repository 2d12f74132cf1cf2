/* x-vendor.arcpd.schedules: a page of schedules, in the order of their names. A principal without a
 * role sees its own. */
#include "session/view.h"

#include <stdio.h>

#define NAME_BYTES_MAX 64u

static void write_due(arcp_json_writer *writer, const char *name, int64_t due)
{
    if (due != ARCP__DUE_NEVER) {
        arcp__write_timestamp(writer, name, due * ARCP_NS_PER_SEC);
    }
}

static void write_schedule(const arcp__schedule_view *schedule, arcp_buf *out)
{
    arcp_json_writer object = arcp__put_begin(out);
    arcp_json_writer *writer = &object;
    arcp__put_cstr(writer, "name", schedule->name);
    arcp__put_cstr(writer, "agent", schedule->agent);
    arcp__put_cstr(writer, "principal", schedule->principal);
    write_due(writer, "next_due", schedule->next);
    write_due(writer, "last_due", schedule->last);
    arcp__put_word(writer, "last_job", schedule->last_job);
    arcp__put_raw(writer, "waiting",
                  schedule->waiting != 0 ? ARCP_SPAN_LITERAL("true") : ARCP_SPAN_LITERAL("false"));
    arcp_json_end_object(writer);
}

void arcp__view_schedules_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_schedules *in = &call->in.schedules;
    const arcp__session *session = call->session;
    char last[NAME_BYTES_MAX + 1] = "";
    if (in->limit > ARCP__VIEW_LIMIT_MAX || in->cursor.size > NAME_BYTES_MAX) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             in->limit > ARCP__VIEW_LIMIT_MAX
                                 ? "payload.limit must be from 1 to 500"
                                 : "payload.cursor is not that of a page");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    memcpy(last, in->cursor.data == NULL ? "" : in->cursor.data, in->cursor.size);
    if (session->role != ARCP_ROLE_NONE) {
        arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    }
    arcp__view_listing listing = arcp__view_listing_begin(sessions, call, "schedules", in->limit);
    arcp__schedule_view schedule;
    char at[NAME_BYTES_MAX + 1];
    memcpy(at, last, sizeof at);
    while (!listing.is_full &&
           arcp__schedule_next(sessions->schedules, at[0] == '\0' ? NULL : at, &schedule)) {
        (void)snprintf(at, sizeof at, "%s", schedule.name);
        if (session->role == ARCP_ROLE_NONE &&
            strcmp(schedule.principal, session->principal->name) != 0) {
            continue;
        }
        arcp_buf row = arcp__context_take_buf(sessions->context);
        write_schedule(&schedule, &row);
        if (arcp__view_listing_add(&listing, &row)) {
            memcpy(last, at, sizeof last);
        }
    }
    arcp__view_listing_answer(&listing, last);
}
