/* A page of a listing (§6.6), kept as its scanned text. */
#include "base/alloc.h"
#include "client/client_job.h"
#include "client/client_session.h"
#include "json/json_put.h"

struct arcp_job_page {
    arcp_buf text; /* {"jobs": [...], "next_cursor": ...} without credentials */
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

/* The page's own text: rows with their credentials taken out. */
static void write_page(const arcp_json *json, arcp_json_ref payload, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_array(&writer, "jobs");
    arcp_json_ref jobs = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("jobs"));
    if (arcp_json_is(json, jobs, ARCP_JSON_ARRAY)) {
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
    }
    arcp_json_end_array(&writer);
    arcp_json_ref cursor = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("next_cursor"));
    if (arcp_json_is(json, cursor, ARCP_JSON_STRING)) {
        arcp__put_raw(&writer, "next_cursor", arcp_json_raw(json, cursor));
    }
    arcp_json_end_object(&writer);
}

static arcp_span text_of(arcp_job_page *page, arcp_json_ref row, const char *name)
{
    arcp_json_ref ref = arcp_json_member(&page->json, row, arcp_span_cstr(name));
    return arcp_json_string(&page->json, ref, &page->strings);
}

static void read_row(arcp_job_page *page, arcp_json_ref ref, arcp_job_row *out)
{
    out->job_id = text_of(page, ref, "job_id");
    out->agent = text_of(page, ref, "agent");
    out->status_text = text_of(page, ref, "status");
    out->status = arcp_job_status_from_wire(out->status_text);
    out->created_at = text_of(page, ref, "created_at");
    if (out->created_at.size == 0) {
        out->created_at = text_of(page, ref, "submitted_at");
    }
    out->parent_job_id = text_of(page, ref, "parent_job_id");
    out->trace_id = text_of(page, ref, "trace_id");
    out->json = arcp_json_raw(&page->json, ref);
    arcp_json_ref seq = arcp_json_member(&page->json, ref, ARCP_SPAN_LITERAL("last_event_seq"));
    if (!arcp_json_u64(&page->json, seq, &out->last_event_seq)) {
        out->last_event_seq = 0;
    }
}

static arcp_status index_rows(arcp_job_page *page)
{
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_status status = arcp_json_scan(&page->json, arcp_buf_span(&page->text), &limits, NULL);
    if (status != ARCP_OK || !arcp_buf_reserve(&page->strings, page->text.size)) {
        return ARCP_E_NO_MEMORY; /* the text is our own writing: nothing else can be wrong */
    }
    arcp_json_ref jobs = arcp_json_member(&page->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("jobs"));
    page->count = arcp_json_count(&page->json, jobs);
    page->rows = arcp__alloc_array(page->count + 1, sizeof(*page->rows));
    if (page->rows == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    size_t row = 0;
    for (arcp_json_ref at = arcp_json_first(&page->json, jobs); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(&page->json, jobs, at)) {
        read_row(page, at, &page->rows[row++]);
    }
    page->next_cursor = text_of(page, ARCP_JSON_ROOT, "next_cursor");
    return ARCP_OK;
}

arcp_status arcp__client_job_page_new(const arcp_json *json, arcp_json_ref payload,
                                      arcp_job_page **out)
{
    arcp_job_page *page = arcp__alloc(sizeof(*page));
    if (page == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    page->json = (arcp_json)ARCP_JSON_INIT;
    write_page(json, payload, &page->text);
    arcp_status status = arcp_buf_status(&page->text);
    if (status == ARCP_OK) {
        status = index_rows(page);
    }
    if (status != ARCP_OK) {
        arcp_job_page_free(page);
        return status;
    }
    *out = page;
    return ARCP_OK;
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
