#include "session/view.h"

arcp__view_wait *arcp__view_later(arcp__sessions *sessions, arcp__view_call *call)
{
    if (call->wait == NULL) {
        arcp__view_wait *wait = arcp__alloc(sizeof *wait);
        if (wait == NULL) {
            arcp__context_no_memory(sessions->context);
            return NULL;
        }
        wait->sessions = sessions;
        wait->session = call->session;
        arcp_buf_append(&wait->frame, call->frame);
        arcp__context_check_text(sessions->context, &wait->frame);
        DL_APPEND(call->session->view_waits, wait);
        call->wait = wait;
    }
    arcp__view_arm(sessions, call->session);
    return call->wait;
}

static void take_page(void *user, void *owner, const arcp__page *page)
{
    arcp__sessions *sessions = user;
    arcp__view_wait *wait = owner;
    arcp__read_end(sessions->log, &wait->read);
    wait->is_read = true;
    wait->read_status = page->status;
    wait->read_from = page->first;
    for (size_t i = 0; i < page->count; i++) {
        arcp_buf_append(&wait->records, page->records[i]);
        arcp_buf_append_byte(&wait->records, '\n'); /* no record has one */
    }
    arcp__context_check_text(sessions->context, &wait->records);
    arcp__view_arm(sessions, wait->session);
}

arcp__view_wait *arcp__view_read(arcp__sessions *sessions, arcp__view_call *call,
                                 const char *stream, uint64_t from, size_t count_max,
                                 size_t bytes_max)
{
    arcp__view_wait *wait = arcp__view_later(sessions, call);
    if (wait != NULL) {
        wait->is_read = false;
        arcp_buf_clear(&wait->records);
        wait->read = arcp__read_start_behind(sessions->log, arcp_span_cstr(stream), from, count_max,
                                             bytes_max, take_page, sessions, wait);
    }
    return wait;
}

bool arcp__view_next_record(arcp_span *records, arcp_span *record)
{
    const char *end = records->size == 0 ? NULL : memchr(records->data, '\n', records->size);
    if (end == NULL) {
        return false;
    }
    *record = arcp_span_first(*records, (size_t)(end - records->data));
    *records = arcp_span_from(*records, record->size + 1);
    return true;
}

void arcp__view_wait_free(arcp__view_wait *wait)
{
    if (wait == NULL) {
        return;
    }
    arcp__read_end(wait->sessions->log, &wait->read);
    DL_DELETE(wait->session->view_waits, wait);
    arcp_buf_fini(&wait->frame);
    arcp_buf_fini(&wait->records);
    arcp_buf_fini(&wait->out);
    arcp__free(wait);
}

arcp__view_wait *arcp__view_ready(const arcp__session *session)
{
    arcp__view_wait *wait = session->view_waits;
    while (wait != NULL && (wait->read != NULL || wait->owner_id != 0)) {
        wait = wait->next;
    }
    return wait;
}

void arcp__view_arm(arcp__sessions *sessions, arcp__session *session)
{
    arcp__context_arm(sessions->context, &session->view_timer, sessions->timer_kinds.session,
                      session, sessions->context->now.mono_ns + 1);
}

void arcp__view_drop(arcp__sessions *sessions, arcp__session *session)
{
    arcp__context_disarm(sessions->context, &session->view_timer);
    while (session->view_waits != NULL) {
        arcp__view_wait_free(session->view_waits);
    }
    arcp__watch_end(sessions, session);
}
