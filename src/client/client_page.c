/* A page of a listing (§6.6). */
#include "base/alloc.h"
#include "client/client_job.h"
#include "core/decode.h"

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

/* A runtime may call the instant in an older way: what stands later in the table counts. */
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

/* Copies what the row has of the frame. False when out of memory. */
static bool keep(arcp_job_page *page, arcp_job_row *row)
{
    arcp_span *const spans[] = {&row->job_id,     &row->agent,    &row->status_text,
                                &row->created_at, &row->trace_id, &row->parent_job_id,
                                &row->json};
    for (size_t at = 0; at < sizeof(spans) / sizeof(spans[0]); at++) {
        *spans[at] = arcp__arena_copy(&page->strings, *spans[at]);
        if (spans[at]->data == NULL) {
            return false;
        }
    }
    return true;
}

arcp_job_page *arcp__client_job_page_new(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp_json_ref jobs = session->in.jobs.rows;
    arcp_job_page *page = arcp__alloc(sizeof(*page));
    if (page == NULL) {
        return NULL;
    }
    page->rows = arcp__alloc_array(arcp_json_count(json, jobs) + 1, sizeof(*page->rows));
    page->next_cursor = arcp__arena_copy(&page->strings, session->in.jobs.next_cursor);
    bool is_whole = page->rows != NULL && page->next_cursor.data != NULL;
    for (arcp_json_ref at = arcp_json_first(json, jobs); is_whole && at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, jobs, at)) {
        if (!arcp_json_is(json, at, ARCP_JSON_OBJECT)) {
            continue;
        }
        arcp_job_row *row = &page->rows[page->count++];
        arcp_buf text = ARCP_BUF_INIT;
        (void)!arcp__decode_row(json, &session->scratch, at, &row_table, row);
        arcp__client_credentials_redact(json, at, &text);
        row->status = arcp_job_status_from_wire(row->status_text);
        row->json = arcp_buf_span(&text);
        is_whole = !text.failed && keep(page, row);
        arcp_buf_fini(&text);
    }
    if (!is_whole || session->scratch.failed) {
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
