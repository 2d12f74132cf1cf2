/* The jobs that `arcp jobs` is asked for, from a runtime that selects them itself
 * (x-vendor.arcpd.jobs), and those that change. */
#include "arcp/jobs_listing.h"

#include "base/alloc.h"
#include "json/json_put.h"

#define PAGE_ROWS 500 /* the most that a request may ask for */

/* ---- the request ---- */

static void put_filter(const arcp__jobs_listing *l, arcp_json_writer *writer)
{
    arcp__put_object(writer, "filter");
    if (l->options.statuses != 0) {
        arcp__put_array(writer, "status");
        for (int status = 0; status < ARCP_JOB_STATUS_COUNT; status++) {
            if ((l->options.statuses & (UINT32_C(1) << status)) != 0) {
                arcp_json_write_cstr(writer, arcp_job_status_name((arcp_job_status)status));
            }
        }
        arcp_json_end_array(writer);
    }
    arcp__put_text(writer, "agent", l->options.agent);
    arcp__put_text(writer, "created_after", l->options.created_after);
    arcp__put_text(writer, "created_before", l->options.created_before);
    arcp__put_text(writer, "principal", arcp_span_cstr(l->principals));
    arcp__put_text(writer, "parent", arcp_buf_span(&l->parent));
    arcp__put_text(writer, "code", arcp_span_cstr(l->code));
    arcp__put_text(writer, "text", arcp_span_cstr(l->text));
    arcp_json_end_object(writer);
}

/* The page behind `cursor` (empty: the first one) with at most `rows` rows. The last page of a
 * limited listing also has the number of jobs behind it. */
static arcp_status ask_page(const arcp__jobs_listing *l, arcp_client *client,
                            const arcp_buf *cursor, size_t rows, arcp__asked *out, arcp_error *err)
{
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    put_filter(l, &writer);
    arcp__put_cstr(&writer, "order", l->is_oldest ? "oldest" : "newest");
    arcp__put_u64(&writer, "limit", rows < PAGE_ROWS ? rows : PAGE_ROWS);
    if (rows <= PAGE_ROWS) {
        arcp__put_bool(&writer, "count", true);
    }
    arcp__put_text(&writer, "cursor", arcp_buf_span(cursor));
    arcp_json_end_object(&writer);
    const arcp_status status = arcp__ask_buf(client, "jobs", &payload, out, err);
    arcp_buf_fini(&payload);
    return status;
}

/* Keeps the rows of a page, and reads the cursor of the next one. */
static arcp_status take_page(arcp__jobs_listing *l, const arcp__asked *page, arcp_buf *cursor,
                             arcp_error *err)
{
    const arcp_json *json = &page->json;
    const arcp_json_ref jobs = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("jobs"));
    for (arcp_json_ref row = arcp_json_first(json, jobs); row != ARCP_JSON_ABSENT;
         row = arcp_json_next(json, jobs, row)) {
        if (!arcp__jobs_keep(l, arcp_json_raw(json, row))) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    l->hidden = 0;
    (void)arcp__asked_number(page, ARCP_JSON_ROOT, "left", &l->hidden);
    arcp_buf_clear(cursor);
    arcp_buf_append(cursor, arcp__asked_text(page, ARCP_JSON_ROOT, "next_cursor"));
    return cursor->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__jobs_read_view(arcp__jobs_listing *l, arcp_client *client, arcp_error *err)
{
    arcp_buf cursor = arcp_buf_init();
    arcp_status status = ARCP_OK;
    do {
        arcp__asked page;
        status = ask_page(l, client, &cursor, l->limit - l->row_count, &page, err);
        if (status == ARCP_OK && page.json.nodes != NULL) { /* it was scanned */
            status = take_page(l, &page, &cursor, err);
        }
        arcp__asked_fini(&page);
    } while (status == ARCP_OK && cursor.size != 0 && l->row_count < l->limit);
    arcp_buf_fini(&cursor);
    return status;
}

/* ---- jobs that change ---- */

static bool on_row(void *user, arcp__asked *report, arcp_json_ref row)
{
    arcp__jobs_listing *l = user;
    l->is_open = arcp__jobs_print(l, arcp_json_raw(&report->json, row), true);
    return l->is_open;
}

/* Prints the jobs as they are now, when changes may be missing. */
static arcp_status load_again(arcp__jobs_listing *l, arcp_client *client, arcp_error *err)
{
    arcp__jobs_clear(l);
    const arcp_status status = arcp__jobs_read_view(l, client, err);
    if (status == ARCP_OK && !l->program->is_quiet) {
        arcp__program_say(l->program, "changes may be missing: the jobs as they are now");
    }
    l->is_open = status != ARCP_OK || arcp__jobs_print_all(l);
    return status;
}

int arcp__jobs_follow(arcp__jobs_listing *l, arcp_client *client)
{
    arcp_error err = {.details = &l->program->error_details};
    arcp__live live = {.program = l->program,
                       .client = client,
                       .principals = l->principals == NULL ? "" : l->principals,
                       .row = on_row,
                       .user = l};
    /* Watched first, so that no change between the listing and the watch is missed. */
    arcp_status status = arcp__live_begin(&live, &err);
    if (status == ARCP_OK) {
        status = arcp__jobs_read_view(l, client, &err);
    }
    l->is_open = status != ARCP_OK || arcp__jobs_print_all(l);
    while (status == ARCP_OK && l->is_open) {
        const arcp_client_event *event = NULL;
        bool loads = false;
        status = arcp__live_next(&live, ARCP_WAIT_FOREVER, &event, &loads, &err);
        if (status == ARCP_OK && loads) {
            status = load_again(l, client, &err);
        }
    }
    return status == ARCP_OK ? ARCP__EXIT_ERROR : arcp__program_fail(l->program, &err);
}
