/* A page of a listing (§6.6), kept as its scanned text. */
#include "base/alloc.h"
#include "client/client_job.h"
#include "core/decode.h"

struct arcp_job_page {
    arcp_buf text; /* an array of the rows, without credentials */
    arcp_json json;
    arcp_job_row *rows; /* owned array */
    size_t count;
    arcp_span next_cursor;
    arcp_buf strings; /* unescaped; never grows after it was reserved */
};

void arcp_job_page_free(arcp_job_page *page)
{
    if (page == NULL) {
        return;
    }
    arcp_json_fini(&page->json);
    arcp_buf_fini(&page->text);
    arcp_buf_fini(&page->strings);
    arcp__free(page->rows);
    arcp__free(page);
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

/* The page's own text: rows with their credentials taken out. */
static void write_page(const arcp__client_session *session, arcp_buf *out)
{
    const arcp_json *json = &session->json;
    const arcp_json_ref jobs = session->in.jobs.rows;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_array(&writer);
    for (arcp_json_ref at = arcp_json_first(json, jobs); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, jobs, at)) {
        if (arcp_json_is(json, at, ARCP_JSON_OBJECT)) {
            arcp_buf row = ARCP_BUF_INIT;
            arcp__client_credentials_redact(json, at, &row);
            out->failed = out->failed || row.failed;
            arcp_json_write_raw(&writer, arcp_buf_span(&row));
            arcp_buf_fini(&row);
        }
    }
    arcp_json_end_array(&writer);
}

arcp_job_page *arcp__client_job_page_new(const arcp__client_session *session)
{
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    const arcp_span cursor = session->in.jobs.next_cursor;
    arcp_job_page *page = arcp__alloc(sizeof(*page));
    if (page == NULL) {
        return NULL;
    }
    page->json = (arcp_json)ARCP_JSON_INIT;
    write_page(session, &page->text);
    bool is_whole =
        !page->text.failed && arcp_buf_reserve(&page->strings, page->text.size + cursor.size) &&
        arcp_json_scan(&page->json, arcp_buf_span(&page->text), &limits, NULL) == ARCP_OK;
    page->rows = !is_whole ? NULL
                           : arcp__alloc_array(arcp_json_count(&page->json, ARCP_JSON_ROOT) + 1,
                                               sizeof(*page->rows));
    if (page->rows == NULL) {
        arcp_job_page_free(page);
        return NULL;
    }
    for (arcp_json_ref at = arcp_json_first(&page->json, ARCP_JSON_ROOT); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(&page->json, ARCP_JSON_ROOT, at)) {
        arcp_job_row *row = &page->rows[page->count++];
        (void)!arcp__decode_row(&page->json, &page->strings, at, &row_table, row);
        row->status = arcp_job_status_from_wire(row->status_text);
        row->json = arcp_json_raw(&page->json, at);
    }
    page->next_cursor = arcp_span_make(page->strings.data + page->strings.size, cursor.size);
    arcp_buf_append(&page->strings, cursor);
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
