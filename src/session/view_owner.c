/* Requests x-vendor.arcpd.* that the engine's owner answers: reload, audit, workers. The request
 * waits, as one that goes on in the next turn does, and is dropped with the session's link. */
#include "session/view.h"

const char *const arcp__view_audit_filters[ARCP__VIEW_AUDIT_FILTERS] = {
    "event", "decision", "principal", "session_id", "job_id", "agent"};

#define AUDIT_LIMIT_DEFAULT 100u
#define AUDIT_LIMIT_MAX     500u

/* Passes the request on, with what the owner needs of its payload. */
static void ask_owner(arcp__sessions *sessions, arcp__view_call *call, arcp_buf *payload)
{
    arcp__view_wait *wait = arcp__view_later(sessions, call);
    if (wait == NULL) {
        arcp_buf_fini(payload);
        return;
    }
    wait->owner_id = ++sessions->next_owner_id;
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_cstr(&writer, "request", call->row->name);
    arcp__put_cstr(&writer, "principal", call->session->principal->name);
    arcp__put_raw(&writer, "payload", arcp_buf_span(payload));
    arcp_json_end_object(&writer);
    text.failed = text.failed || payload->failed;
    arcp_buf_fini(payload);
    arcp__effect_push(sessions->log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_ASK_OWNER, .id = wait->owner_id}, &text,
                      false);
}

void arcp__view_reload_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp_buf payload = arcp_buf_init();
    arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    arcp_buf_append_cstr(&payload, "{}");
    ask_owner(sessions, call, &payload);
}

void arcp__view_audit_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_audit_tail *in = &call->in.audit;
    arcp_buf payload = arcp_buf_init();
    if (in->limit > AUDIT_LIMIT_MAX) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "payload.limit must be from 1 to %u",
                             AUDIT_LIMIT_MAX);
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_object(&writer, "filter");
    for (size_t i = 0; i < ARCP__VIEW_AUDIT_FILTERS; i++) {
        if (in->filter[i].size != 0) {
            arcp__put_string(&writer, arcp__view_audit_filters[i], in->filter[i]);
        }
    }
    arcp_json_end_object(&writer);
    arcp__put_u64(&writer, "before", in->before);
    arcp__put_u64(&writer, "limit", in->limit == 0 ? AUDIT_LIMIT_DEFAULT : in->limit);
    arcp_json_end_object(&writer);
    ask_owner(sessions, call, &payload);
}

void arcp__view_workers_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp_buf payload = arcp_buf_init();
    arcp__view_audit(sessions, call, NULL, call->in.worker, ARCP_OK, NULL);
    arcp_json_writer writer = arcp__put_begin(&payload);
    if (call->in.worker.size != 0) {
        arcp__put_string(&writer, "name", call->in.worker);
    }
    arcp_json_end_object(&writer);
    ask_owner(sessions, call, &payload);
}

static arcp__view_wait *find_wait(const arcp__sessions *sessions, uint64_t id)
{
    for (const arcp__session *session = sessions->all; session != NULL;
         session = session->hh.next) {
        for (arcp__view_wait *wait = session->view_waits; wait != NULL; wait = wait->next) {
            if (wait->owner_id == id) {
                return wait;
            }
        }
    }
    return NULL;
}

void arcp__sessions_owner_answered(arcp__sessions *sessions, uint64_t id, arcp_status status,
                                   arcp_span text)
{
    arcp__view_wait *wait = find_wait(sessions, id);
    arcp__view_call call;
    if (wait == NULL || !arcp__view_call_again(sessions, wait, &call)) {
        return;
    }
    if (status == ARCP_OK) {
        arcp_buf payload = arcp_buf_init();
        arcp_buf_append(&payload, text);
        arcp__view_answer(sessions, &call, &payload);
        arcp_buf_fini(&payload);
    } else {
        arcp_error error = {0};
        const arcp_span shown = arcp_span_first(text, 400);
        (void)arcp_error_set(&error, status, "%.*s", (int)shown.size,
                             shown.size == 0 ? "" : shown.data);
        arcp__view_refuse(sessions, &call, &error, ARCP__NOTHING);
    }
    arcp__view_wait_free(wait);
}
