/* x-vendor.arcpd.schedules: a page of schedules, in the order of their names. A principal without a
 * role sees its own. */
#include "session/view.h"

#include <stdio.h>

#define LIMIT_DEFAULT  100u
#define LIMIT_MAX      500u
#define PAGE_BYTES_MAX 1048576u
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
    const uint64_t limit = in->limit == 0 ? LIMIT_DEFAULT : in->limit;
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - 128;
    const size_t bytes_max = frame_max < PAGE_BYTES_MAX ? frame_max : PAGE_BYTES_MAX;
    char last[NAME_BYTES_MAX + 1] = "";
    if (limit > LIMIT_MAX || in->cursor.size > NAME_BYTES_MAX) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             limit > LIMIT_MAX ? "payload.limit must be from 1 to 500"
                                               : "payload.cursor is not that of a page");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    memcpy(last, in->cursor.data == NULL ? "" : in->cursor.data, in->cursor.size);
    if (session->role != ARCP_ROLE_NONE) {
        arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    }
    arcp_buf out = arcp_buf_init();
    arcp_buf_append_cstr(&out, "{\"schedules\":[");
    arcp__schedule_view schedule;
    uint64_t shown = 0;
    bool is_full = false;
    char at[NAME_BYTES_MAX + 1];
    memcpy(at, last, sizeof at);
    while (!is_full &&
           arcp__schedule_next(sessions->schedules, at[0] == '\0' ? NULL : at, &schedule)) {
        (void)snprintf(at, sizeof at, "%s", schedule.name);
        if (session->role == ARCP_ROLE_NONE &&
            strcmp(schedule.principal, session->principal->name) != 0) {
            continue;
        }
        arcp_buf row = arcp__context_take_buf(sessions->context);
        write_schedule(&schedule, &row);
        is_full = shown == limit || (shown != 0 && out.size + row.size + 1 > bytes_max);
        if (!is_full) {
            arcp_buf_append(&out, shown == 0 ? ARCP__NOTHING : ARCP_SPAN_LITERAL(","));
            arcp_buf_append(&out, arcp_buf_span(&row));
            out.failed = out.failed || row.failed;
            memcpy(last, at, sizeof last);
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
