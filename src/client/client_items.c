/* What is delivered to the program: errors, items, and pages of a listing. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "client/client_job.h"
#include "core/decode.h"
#include "core/error_payload.h"

/* ---- errors ---- */

/* [arcp:EG-4] */
void arcp__client_error_read(arcp__client_session *session, arcp_error *err)
{
    const arcp_json *json = &session->json;
    const arcp_json_ref object = session->in.payload;
    arcp__error_payload parsed;
    if (arcp__error_payload_parse(json, object, &session->scratch, &parsed, NULL) != ARCP_OK) {
        const arcp_json_ref text = arcp_json_member(json, object, ARCP_SPAN_LITERAL("message"));
        parsed = (arcp__error_payload){.status = ARCP_E_INTERNAL_ERROR,
                                       .message = arcp_json_string(json, text, &session->scratch)};
        if (parsed.message.size == 0) {
            parsed.message = ARCP_SPAN_LITERAL("the runtime sent an error without a code");
        }
    }
    (void)arcp_error_set(err, parsed.status, "%.*s", (int)parsed.message.size, parsed.message.data);
    err->retryable = parsed.retryable;
    const size_t size = arcp__utf8_cut(parsed.code, ARCP_ERROR_CODE_MAX - 1);
    if (size != 0) {
        memcpy(err->code, parsed.code.data, size);
    }
    err->code[size] = '\0';
    arcp_json_ref details = arcp_json_member(json, object, ARCP_SPAN_LITERAL("details"));
    if (arcp_json_is_missing(json, details)) {
        details = arcp_json_member(json, object, ARCP_SPAN_LITERAL("detail"));
    }
    if (!arcp_json_is_missing(json, details)) {
        arcp_error_set_details(err, arcp_json_raw(json, details));
        session->failed = session->failed || err->details->failed;
    }
    session->failed = session->failed || session->scratch.failed;
}

/* ---- items ---- */

void arcp__client_item_free(arcp__client_item *item)
{
    if (item == NULL) {
        return;
    }
    arcp__client_job_drop(item->event.job);
    arcp_buf_fini(&item->error_details);
    arcp_buf_fini(&item->answer);
    arcp__free(item->text);
    arcp__client_job_drop_handle(item->reply.job);
    arcp_job_page_free(item->reply.page);
    if (item->is_secret) {
        arcp_wipe(item->bytes, item->size);
        arcp_wipe(item->whole, item->whole == NULL ? 0 : strlen(item->whole));
    }
    arcp__free(item->whole);
    arcp__free(item);
}

/* The most texts in an item; each has a NUL behind it. */
#define ITEM_TEXTS 4

arcp__client_item *arcp__client_item_new(arcp_client_event_type type, arcp_job *job, size_t bytes)
{
    size_t size = 0;
    if (__builtin_add_overflow(sizeof(arcp__client_item) + ITEM_TEXTS, bytes, &size)) {
        return NULL;
    }
    arcp__client_item *item = arcp__alloc(size);
    if (item == NULL) {
        return NULL;
    }
    item->event.type = type;
    item->event.kind = ARCP_EVENT_UNKNOWN;
    item->event.item = item;
    item->event.kind_text = ARCP_SPAN_LITERAL("");
    item->event.ts = ARCP_SPAN_LITERAL("");
    item->event.body = ARCP_SPAN_LITERAL("");
    item->payload = ARCP_SPAN_LITERAL("");
    item->error.details = &item->error_details;
    if (job != NULL) {
        arcp__client_job_hold(job);
        item->event.job = job;
    }
    return item;
}

arcp_span arcp__client_item_join(arcp__client_item *item, arcp_span first, arcp_span second)
{
    char *copy = item->bytes + item->size;
    const size_t size = first.size + second.size;
    if (first.size != 0) {
        memcpy(copy, first.data, first.size);
    }
    if (second.size != 0) {
        memcpy(copy + first.size, second.data, second.size);
    }
    copy[size] = '\0';
    item->size += size + 1;
    return arcp_span_make(copy, size);
}

void arcp__client_item_queue(arcp__client_session *session, arcp__client_item *item)
{
    item->floor_seq = session->last_seq;
    DL_APPEND(session->items, item);
}

arcp_span arcp__client_append_text(arcp_buf *out, arcp_span text)
{
    const size_t start = out->size;
    arcp_buf_append(out, text);
    arcp_buf_append_byte(out, '\0');
    return arcp_span_make(out->data + start, text.size);
}

arcp__client_item *arcp__client_session_next_item(arcp__client_session *session)
{
    arcp__client_item *item = session->items;
    if (item != NULL) {
        DL_DELETE(session->items, item);
    }
    return item;
}

bool arcp__client_notify(arcp__client_session *session, arcp_client_event_type type,
                         const arcp_error *error, int64_t retry_in_ms)
{
    const bool is_last = type == ARCP_CLIENT_CLOSED;
    arcp__client_item *item = is_last ? session->closed : arcp__client_item_new(type, NULL, 0);
    if (item == NULL) {
        return false;
    }
    session->closed = is_last ? NULL : session->closed;
    if (error != NULL) {
        (void)arcp_error_copy(&item->error, error);
        item->event.error = &item->error;
    }
    item->event.retry_in_ms = retry_in_ms;
    arcp__client_item_queue(session, item);
    return true;
}

void arcp__client_notice(arcp__client_session *session, const char *format, ...)
{
    char text[ARCP_ERROR_MESSAGE_MAX];
    arcp_error error = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "%s", text);
    /* Without memory there is no notice: nothing depends on it. */
    (void)arcp__client_notify(session, ARCP_CLIENT_NOTICE, &error, 0);
}

void arcp__client_break(arcp__client_session *session, arcp_status status, const char *format, ...)
{
    if (session->action == ARCP__SESSION_ABORT || session->state == ARCP__SESSION_CLOSED) {
        return;
    }
    session->action = ARCP__SESSION_ABORT;
    if (session->connection_error.status == ARCP_OK) {
        char text[ARCP_ERROR_MESSAGE_MAX];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        (void)arcp_error_set(&session->connection_error, status, "%s", text);
    }
}

void arcp__client_end_input(arcp__client_session *session)
{
    if (session->failed) {
        session->failed = false;
        arcp__client_break(session, ARCP_E_NO_MEMORY, "out of memory");
    }
}

/* ---- pages of a listing (§6.6) ---- */

struct arcp_job_page {
    arcp__arena strings;
    arcp_job_row *rows; /* owned array */
    size_t count;
    arcp_span next_cursor;
};

void arcp_job_page_free(arcp_job_page *page)
{
    if (page != NULL) {
        arcp__arena_fini(&page->strings);
        arcp__free(page->rows);
        arcp__free(page);
    }
}

/* Some runtimes use an older name for the creation time; if both are present, the later row wins.
 */
static const arcp__member row_rows[] = {
    {ARCP__MEMBER(arcp_job_row, job_id, "job_id", LOOSE)},
    {ARCP__MEMBER(arcp_job_row, agent, "agent", LOOSE)},
    {ARCP__MEMBER(arcp_job_row, status_text, "status", LOOSE)},
    {ARCP__MEMBER(arcp_job_row, created_at, "submitted_at", STRING)},
    {ARCP__MEMBER(arcp_job_row, created_at, "created_at", STRING)},
    {ARCP__MEMBER(arcp_job_row, parent_job_id, "parent_job_id", LOOSE)},
    {ARCP__MEMBER(arcp_job_row, trace_id, "trace_id", LOOSE)},
    {ARCP__MEMBER(arcp_job_row, last_event_seq, "last_event_seq", COUNT)},
};
static const arcp__members row_table = ARCP__MEMBERS(row_rows);

/* Copies the row's texts out of the frame. False when out of memory. */
static bool keep(arcp_job_page *page, arcp_job_row *row)
{
    arcp_span *const spans[] = {&row->job_id,     &row->agent,    &row->status_text,
                                &row->created_at, &row->trace_id, &row->parent_job_id,
                                &row->json};
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        *spans[i] = arcp__arena_copy(&page->strings, *spans[i]);
        if (spans[i]->data == NULL) {
            return false;
        }
    }
    return true;
}

arcp_job_page *arcp__client_job_page_new(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp_json_ref jobs = session->in.jobs.rows;
    arcp_job_page *page = arcp__alloc(sizeof *page);
    if (page == NULL) {
        session->failed = true;
        return NULL;
    }
    page->rows = arcp__alloc_array(arcp_json_count(json, jobs) + 1, sizeof *page->rows);
    page->next_cursor = arcp__arena_copy(&page->strings, session->in.jobs.next_cursor);
    bool is_whole = page->rows != NULL && page->next_cursor.data != NULL;
    for (arcp_json_ref item = arcp_json_first(json, jobs); is_whole && item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, jobs, item)) {
        if (!arcp_json_is(json, item, ARCP_JSON_OBJECT)) {
            continue;
        }
        arcp_job_row *row = &page->rows[page->count++];
        arcp_buf text = arcp_buf_init();
        (void)!arcp__decode_row(json, &session->scratch, item, &row_table, row);
        arcp__client_credentials_redact(json, item, &text);
        row->status = arcp_job_status_from_wire(row->status_text);
        row->json = arcp_buf_span(&text);
        is_whole = !text.failed && keep(page, row);
        arcp_buf_fini(&text);
    }
    if (!is_whole || session->scratch.failed) {
        session->failed = true;
        arcp_job_page_free(page);
        return NULL;
    }
    return page;
}

size_t arcp_job_page_count(const arcp_job_page *page)
{
    return page->count;
}

arcp_job_row arcp_job_page_row(const arcp_job_page *page, size_t index)
{
    return page->rows[index];
}

arcp_span arcp_job_page_next_cursor(const arcp_job_page *page)
{
    return page->next_cursor;
}
