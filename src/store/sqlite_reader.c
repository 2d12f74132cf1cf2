#include "store/sqlite_reader.h"

#include "base/alloc.h"
#include "store/sqlite_run.h"
#include "store/sqlite_table.h"

#define LINE_FEED      '\n'
#define SCAN_BYTES_MAX 1048576u /* approximate size of a page of rows */
#define SETUP                                                                                      \
    "PRAGMA cache_size = -4096;"                                                                   \
    "PRAGMA query_only = ON;"                                                                      \
    "PRAGMA trusted_schema = OFF"

arcp_status arcp__sqlite_reader_open(arcp__sqlite_reader *reader, const char *path, arcp_error *err)
{
    return arcp__sqlite_open(&reader->sqlite, path, true, SETUP, err);
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a read");
}

/* The gate is released between read transactions, so that the log can be restarted. */
static void begin_read(arcp__sqlite_reader *reader, arcp_error *err)
{
    pthread_mutex_lock(&reader->checkpoint->gate);
    arcp__sqlite_do(&reader->sqlite, ARCP__SQLITE_BEGIN_READ, err);
}

static void end_read(arcp__sqlite_reader *reader)
{
    arcp_error ignored = {0}; /* a read transaction: commit and rollback are the same */
    arcp__sqlite_commit(&reader->sqlite, &ignored);
    pthread_mutex_unlock(&reader->checkpoint->gate);
}

/* ---- streams ---- */

/* Adds the records of a run from the requested position on, as many as still fit, and copies their
 * bytes in one piece. */
static arcp_status add_run(const arcp__sqlite_reader *reader, arcp__request *read,
                           arcp__sqlite_range range, arcp_span data, arcp_error *err)
{
    const size_t first_added = read->answer_count;
    data.data = data.data == NULL ? "" : data.data;
    for (uint64_t position = range.first; position < range.end && !read->is_full; position++) {
        /* A record ends at a line feed, the last one at the end of the data. */
        const char *end = data.size == 0 ? NULL : memchr(data.data, LINE_FEED, data.size);
        if ((position + 1 == range.end) != (end == NULL)) {
            return arcp__sqlite_run_error(&reader->sqlite, arcp__request_key(read), range.first,
                                          "does not contain as many records as its count says",
                                          err);
        }
        const arcp_span record =
            arcp_span_first(data, end == NULL ? data.size : (size_t)(end - data.data));
        if (position >= read->from && !arcp__request_add(read, position, record)) {
            return no_memory(err);
        }
        data = arcp_span_from(data, record.size + 1);
    }
    if (read->answer_count == first_added) {
        return ARCP_OK;
    }
    const char *begin = read->records[first_added].data;
    const arcp_span last = read->records[read->answer_count - 1];
    const arcp_span copy = arcp__arena_copy(
        &read->arena, arcp_span_make(begin, (size_t)(last.data - begin) + last.size));
    if (copy.data == NULL) {
        return no_memory(err);
    }
    for (size_t i = first_added; i < read->answer_count; i++) {
        read->records[i].data = copy.data + (read->records[i].data - begin);
    }
    return ARCP_OK;
}

/* Reads from the run that contains the first requested position, or else the one after it. Runs
 * must follow each other without a gap. */
static arcp_status read_runs(arcp__sqlite_reader *reader, arcp__request *read,
                             const arcp__sqlite_stream_row *row, arcp_error *err)
{
    arcp__sqlite *sqlite = &reader->sqlite;
    const arcp_span key = arcp__request_key(read);
    const uint64_t from =
        read->from < ARCP_STORE_POSITION_MAX ? read->from : ARCP_STORE_POSITION_MAX;
    arcp__sqlite_range range = {0, 0};
    bool has_run = false;
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_READ, err);
    sqlite3_bind_int64(statement, 1, arcp__sqlite_run_id(row->id, 0));
    sqlite3_bind_int64(statement, 2, arcp__sqlite_run_id(row->id, from));
    sqlite3_bind_int64(statement, 3, arcp__sqlite_run_id(row->id, ARCP_STORE_POSITION_MAX));
    while (!read->is_full && arcp__sqlite_next(sqlite, statement, err)) {
        const uint64_t next = range.end; /* of the run before it */
        arcp_span data = {NULL, 0};
        if (arcp__sqlite_run_take(sqlite, statement, key, &range, &data, err) != ARCP_OK) {
            break;
        }
        if (has_run ? range.first != next : range.first > read->from) {
            (void)arcp__sqlite_run_error(sqlite, key, range.first,
                                         "does not follow the run before it", err);
        } else if (!arcp__sqlite_run_is_mark(statement)) {
            (void)add_run(reader, read, range, data, err);
        }
        has_run = true;
    }
    sqlite3_reset(statement);
    if (err->status != ARCP_OK || read->is_full) {
        return err->status;
    }
    if (!has_run) {
        arcp__sqlite_run_find_last(sqlite, row->id, key, ARCP_STORE_POSITION_MAX, &range, err);
        if (err->status == ARCP_OK && read->from < range.end) {
            /* Two searches in a damaged tree have found different runs. */
            return arcp__sqlite_run_error(sqlite, key, read->from, "is missing", err);
        }
    }
    read->first = read->answer_count == 0 ? range.end : read->first;
    return arcp__sqlite_stream_check_end(sqlite, key, row, range.end, err);
}

static void serve_read(arcp__sqlite_reader *reader, arcp__request *read)
{
    arcp__sqlite_stream_row stream = {0};
    begin_read(reader, &read->error);
    arcp__sqlite_stream_find(&reader->sqlite, arcp__request_key(read), &stream, &read->error);
    if (read->error.status == ARCP_OK && stream.id != 0) {
        (void)read_runs(reader, read, &stream, &read->error);
    }
    end_read(reader);
    if (read->error.status != ARCP_OK) {
        read->answer_count = 0;
        read->first = 0;
    }
    arcp__queue_answer_read(reader->queue, read);
}

/* ---- tables ---- */

/* A scan of several pages. */
typedef struct scanning {
    const arcp__request *scan;
    char after[ARCP_STORE_KEY_BYTES_MAX]; /* the last key so far */
    size_t after_size;
    bool is_whole; /* all rows of the table are read, so they can be compared with its sum */
    arcp__sqlite_sum_state begin;
    arcp__sqlite_tally tally;
} scanning;

/* Adds the statement's current row to the page. */
static arcp_status take_row(const arcp__sqlite_reader *reader, scanning *all, arcp__request *page,
                            sqlite3_stmt *statement, arcp_error *err)
{
    const arcp_store_table table = all->scan->table;
    arcp_store_row row;
    if (arcp__sqlite_row_take(&reader->sqlite, table, statement, &all->tally, &row, err) !=
        ARCP_OK) {
        return err->status;
    }
    const arcp_span key = row.key;
    const size_t common = key.size < all->after_size ? key.size : all->after_size;
    const int order = common == 0 ? 0 : memcmp(key.data, all->after, common);
    if (key.size > sizeof all->after || order < 0 || (order == 0 && key.size <= all->after_size)) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "%s: damaged: table \"%s\", the row of \"%.*s\" is out of order",
                              reader->sqlite.path, arcp_store_table_name(table),
                              (int)arcp_span_first(key, 128).size, key.size == 0 ? "" : key.data);
    }
    memcpy(all->after, key.data, key.size);
    all->after_size = key.size;
    row = (arcp_store_row){arcp__arena_copy(&page->arena, key),
                           arcp__arena_copy(&page->arena, row.value)};
    if (row.key.data == NULL || row.value.data == NULL) {
        return no_memory(err);
    }
    page->rows[page->answer_count++] = row;
    return ARCP_OK;
}

/* Fills a page with rows after the last one, or from the prefix on for the first page. */
static void read_rows(arcp__sqlite_reader *reader, scanning *all, arcp__request *page,
                      arcp_error *err)
{
    const arcp_span prefix = arcp__request_key(all->scan);
    const bool is_first = all->after_size == 0;
    sqlite3_stmt *statement = arcp__sqlite_get_row(
        &reader->sqlite, is_first ? ARCP__SQLITE_ROW_SCAN : ARCP__SQLITE_ROW_SCAN_AFTER,
        all->scan->table, err);
    arcp__sqlite_bind_text(statement, 1,
                           is_first ? prefix : arcp_span_make(all->after, all->after_size));
    while (err->status == ARCP_OK && !page->is_last &&
           page->answer_count < ARCP_STORE_SCAN_ROWS_MAX && page->arena.used < SCAN_BYTES_MAX) {
        if (arcp__sqlite_next(&reader->sqlite, statement, err) &&
            arcp_span_starts_with(arcp__sqlite_column_text(statement, 0), prefix)) {
            (void)take_row(reader, all, page, statement, err);
        } else {
            page->is_last = true;
        }
    }
    sqlite3_reset(statement);
}

/* Reads a page in a transaction of its own, so that the log can be restarted between pages. NULL on
 * failure. */
static arcp__request *read_page(arcp__sqlite_reader *reader, scanning *all, arcp_error *err)
{
    const int table = (int)all->scan->table;
    const bool is_first = all->after_size == 0;
    arcp__request *page =
        arcp__request_new(ARCP__REQUEST_SCAN, all->scan->id, arcp_span_make(NULL, 0));
    if (page != NULL) {
        page->rows = arcp__alloc_array(ARCP_STORE_SCAN_ROWS_MAX, sizeof *page->rows);
    }
    if (page == NULL || page->rows == NULL) {
        (void)no_memory(err);
        arcp__request_free(page);
        return NULL;
    }
    begin_read(reader, err);
    if (all->is_whole && is_first) {
        arcp__sqlite_sum_read(&reader->sqlite, table, &all->begin, err);
    }
    read_rows(reader, all, page, err);
    if (all->is_whole && page->is_last) {
        /* Check that no row is missing, which is impossible if the table was changed meanwhile. A
         * closed sum becomes open with the first change. */
        arcp__sqlite_sum_state end = {0};
        arcp__sqlite_sum_read(&reader->sqlite, table, &end, err);
        if (is_first || (!end.is_open && end.sum.changes == all->begin.sum.changes)) {
            arcp__sqlite_tally_check(&reader->sqlite, table, &all->tally, &end, err);
        }
    }
    end_read(reader);
    if (err->status != ARCP_OK) {
        arcp__request_free(page);
        return NULL;
    }
    return page;
}

/* Each page is an answer; on failure the request itself becomes the last answer. */
static void serve_scan(arcp__sqlite_reader *reader, arcp__request *scan)
{
    scanning all = {.scan = scan, .is_whole = scan->key_size == 0};
    for (bool is_last = false; !is_last;) {
        arcp__request *page = read_page(reader, &all, &scan->error);
        if (page == NULL) {
            scan->is_last = true;
            arcp__queue_answer_read(reader->queue, scan);
            return;
        }
        is_last = page->is_last;
        arcp__queue_answer_read(reader->queue, page);
    }
    arcp__request_free(scan);
}

void *arcp__sqlite_reader_run(void *user)
{
    arcp__sqlite_reader *reader = user;
    for (;;) {
        arcp__request *request = arcp__queue_take_read(reader->queue, true);
        if (request == NULL) {
            return NULL;
        }
        if (request->kind == ARCP__REQUEST_READ) {
            serve_read(reader, request);
        } else {
            serve_scan(reader, request);
        }
    }
}
