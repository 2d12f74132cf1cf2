#include <stdarg.h>

#include "base/alloc.h"
#include "client/client_job.h"

void arcp__client_item_free(arcp__client_item *item)
{
    if (item == NULL) {
        return;
    }
    arcp__client_job_drop(item->event.job);
    arcp_failure_fini(&item->failure);
    arcp__client_job_drop_handle(item->reply.job);
    arcp_job_page_free(item->reply.page);
    if (item->is_secret) {
        arcp_wipe(item->bytes, item->size);
    }
    arcp__free(item);
}

arcp__client_item *arcp__client_item_new(arcp_client_event_type type, arcp_job *job, size_t bytes)
{
    size_t size = 0;
    if (__builtin_add_overflow(sizeof(arcp__client_item), bytes, &size)) {
        return NULL;
    }
    arcp__client_item *item = arcp__alloc(size);
    if (item == NULL) {
        return NULL;
    }
    item->event.type = type;
    item->event.kind = ARCP_EVENT_UNKNOWN;
    item->failure = (arcp_failure)ARCP_FAILURE_INIT;
    if (job != NULL) {
        arcp__client_job_hold(job);
        item->event.job = job;
    }
    return item;
}

arcp_span arcp__client_item_place(arcp__client_item *item, arcp_span text)
{
    char *at = item->bytes + item->size;
    if (text.size != 0) {
        memcpy(at, text.data, text.size);
    }
    item->size += text.size;
    return arcp_span_make(at, text.size);
}

void arcp__client_item_queue(arcp__client_session *session, arcp__client_item *item)
{
    item->floor_seq = session->last_seq;
    DL_APPEND(session->items, item);
}

arcp__client_item *arcp__client_session_next_item(arcp__client_session *session)
{
    arcp__client_item *item = session->items;
    if (item != NULL) {
        DL_DELETE(session->items, item);
    }
    return item;
}

bool arcp__client_tell(arcp__client_session *session, arcp_client_event_type type,
                       const arcp_failure *failure, int64_t retry_in_ms)
{
    bool is_last = type == ARCP_CLIENT_CLOSED;
    arcp__client_item *item = is_last ? session->closed : arcp__client_item_new(type, NULL, 0);
    if (item == NULL) {
        return false;
    }
    session->closed = is_last ? NULL : session->closed;
    if (failure != NULL) {
        (void)arcp__client_failure_copy(&item->failure, failure);
        item->event.failure = &item->failure;
    }
    item->event.retry_in_ms = retry_in_ms;
    arcp__client_item_queue(session, item);
    return true;
}

void arcp__client_notice(arcp__client_session *session, const char *format, ...)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    va_list arguments;
    va_start(arguments, format);
    (void)arcp__client_failure_set_v(&failure, ARCP_E_INVALID_REQUEST, format, arguments);
    va_end(arguments);
    /* For want of memory it goes unsaid: nothing depends on it. */
    (void)arcp__client_tell(session, ARCP_CLIENT_NOTICE, &failure, 0);
}

void arcp__client_break(arcp__client_session *session, arcp_status status, const char *format, ...)
{
    if (session->action == ARCP__SESSION_ABORT || session->state == ARCP__SESSION_CLOSED) {
        return;
    }
    session->action = ARCP__SESSION_ABORT;
    if (session->trouble.error.status == ARCP_OK) {
        va_list arguments;
        va_start(arguments, format);
        (void)arcp__client_failure_set_v(&session->trouble, status, format, arguments);
        va_end(arguments);
    }
}

void arcp__client_end_input(arcp__client_session *session)
{
    if (session->failed) {
        session->failed = false;
        arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory");
    }
}
