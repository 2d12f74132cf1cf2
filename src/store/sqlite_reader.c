#include "store/sqlite_reader.h"

#include "base/alloc.h"
#include "store/sqlite_crc.h"
#include "store/sqlite_run.h"
#include "store/sqlite_sums.h"
#include "store/store_check.h"

#define LINE_FEED '\n'
#define SETUP                                                                                      \
    "PRAGMA cache_size = -4096;"                                                                   \
    "PRAGMA query_only = ON;"                                                                      \
    "PRAGMA trusted_schema = OFF"

arcp_status arcp__sqlite_reader_open(arcp__sqlite_reader *reader, const char *path, arcp_error *err)
{
    return arcp__sqlite_open(&reader->sqlite, path, true, SETUP, err);
}

void arcp__sqlite_reader_close(arcp__sqlite_reader *reader)
{
    arcp__sqlite_close(&reader->sqlite);
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a read");
}

static void end_read(arcp__sqlite_reader *reader)
{
    arcp_error ignored = {0};
    if (arcp__sqlite_do(&reader->sqlite, ARCP__SQLITE_COMMIT, &ignored) != ARCP_OK) {
        arcp__sqlite_rollback(&reader->sqlite); /* nothing was written: it is the same */
    }
}

/* ---- streams ---- */

/* Records that were gathered so far, and what may still come. */
typedef struct gathering {
    arcp__request *read;
    size_t capacity;
    size_t bytes;
    bool has_run;
    uint64_t next; /* the position that has to come next; only when there was a run */
    bool is_full;
} gathering;

static bool reserve_record(gathering *all)
{
    arcp__request *read = all->read;
    if (read->answer_count < all->capacity) {
        return true;
    }
    size_t capacity = all->capacity == 0 ? 64 : all->capacity * 2;
    arcp_span *records = arcp__realloc_array(read->records, capacity, sizeof(*records));
    if (records == NULL) {
        return false;
    }
    read->records = records;
    all->capacity = capacity;
    return true;
}

/* The record that begins at `at`; the run's last one ends where its data ends. */
static bool cut_record(arcp_span data, size_t at, bool is_last, arcp_span *out)
{
    const char *begin = data.data + at;
    size_t left = data.size - at;
    const char *end = left == 0 ? NULL : memchr(begin, LINE_FEED, left);
    if (is_last != (end == NULL)) {
        return false;
    }
    *out = arcp_span_make(begin, is_last ? left : (size_t)(end - begin));
    return true;
}

/* Takes the records at position `from` and after it out of one run, as many as still fit,
 * and copies their bytes in one piece. */
static arcp_status gather_run(const arcp__sqlite_reader *reader, gathering *all,
                              arcp__sqlite_range range, arcp_span data, uint64_t from,
                              arcp_error *err)
{
    arcp__request *read = all->read;
    size_t first_taken = read->answer_count;
    size_t at = 0;
    data.data = data.data == NULL ? "" : data.data;
    for (uint64_t position = range.first; position < range.end && !all->is_full; position++) {
        arcp_span record = {NULL, 0};
        if (at > data.size || !cut_record(data, at, position + 1 == range.end, &record)) {
            return arcp__sqlite_run_error(&reader->sqlite, arcp__request_key(read), range.first,
                                          "does not hold as many records as it says", err);
        }
        at += record.size + 1;
        if (position < from) {
            continue;
        }
        if (read->answer_count == read->count_max ||
            (read->answer_count != 0 && record.size > read->bytes_max - all->bytes)) {
            all->is_full = true;
            break;
        }
        if (!reserve_record(all)) {
            return no_memory(err);
        }
        if (read->answer_count == 0) {
            read->first = position;
        }
        read->records[read->answer_count++] = record;
        all->bytes =
            record.size > read->bytes_max - all->bytes ? read->bytes_max : all->bytes + record.size;
    }
    if (read->answer_count == first_taken) {
        return ARCP_OK;
    }
    const char *begin = read->records[first_taken].data;
    arcp_span last = read->records[read->answer_count - 1];
    arcp_span copy = arcp__arena_copy(
        &read->arena, arcp_span_make(begin, (size_t)(last.data - begin) + last.size));
    if (copy.data == NULL) {
        return no_memory(err);
    }
    for (size_t index = first_taken; index < read->answer_count; index++) {
        read->records[index].data = copy.data + (read->records[index].data - begin);
    }
    return ARCP_OK;
}

/* What the statement stands on: the run that holds the first position that is wanted, or the one
 * after it; a stream has no gap. */
static arcp_status take_run(arcp__sqlite_reader *reader, gathering *all, sqlite3_stmt *statement,
                            arcp_error *err)
{
    arcp_span key = arcp__request_key(all->read);
    arcp__sqlite_range range = {0, 0};
    arcp_status status = arcp__sqlite_run_range(&reader->sqlite, statement, key, &range, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (all->has_run ? range.first != all->next : range.first > all->read->from) {
        return arcp__sqlite_run_error(&reader->sqlite, key, range.first,
                                      "does not follow the one before it", err);
    }
    all->has_run = true;
    all->next = range.end;
    if (arcp__sqlite_run_is_mark(statement)) {
        return ARCP_OK;
    }
    arcp_span data = arcp__sqlite_column_text(statement, 4);
    if (!arcp__sqlite_crc_is_of_data(sqlite3_column_int64(statement, 3), data)) {
        return arcp__sqlite_run_error(&reader->sqlite, key, range.first,
                                      "does not match its checksum", err);
    }
    return gather_run(reader, all, range, data, all->read->from, err);
}

static arcp_status gather(arcp__sqlite_reader *reader, gathering *all, sqlite3_stmt *statement,
                          arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (bool has_row = true; status == ARCP_OK && has_row && !all->is_full;) {
        status = arcp__sqlite_next(&reader->sqlite, statement, &has_row, err);
        if (has_row) {
            status = take_run(reader, all, statement, err);
        }
    }
    return status;
}

static arcp_status read_runs(arcp__sqlite_reader *reader, arcp__request *read,
                             const arcp__sqlite_stream_row *row, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(&reader->sqlite, ARCP__SQLITE_RUN_READ, err);
    if (statement == NULL) {
        return err->status;
    }
    uint64_t from = read->from < ARCP_STORE_POSITION_MAX ? read->from : ARCP_STORE_POSITION_MAX;
    sqlite3_bind_int64(statement, 1, arcp__sqlite_run_id(row->id, 0));
    sqlite3_bind_int64(statement, 2, arcp__sqlite_run_id(row->id, from));
    sqlite3_bind_int64(statement, 3, arcp__sqlite_run_id(row->id, ARCP_STORE_POSITION_MAX));
    gathering all = {.read = read};
    arcp_status status = gather(reader, &all, statement, err);
    arcp__sqlite_reset(statement);
    if (status != ARCP_OK || all.is_full) {
        return status;
    }
    if (!all.has_run) {
        arcp__sqlite_range last = {0, 0};
        status = arcp__sqlite_run_find_last(&reader->sqlite, row->id, arcp__request_key(read),
                                            ARCP_STORE_POSITION_MAX, &last, err);
        all.next = last.end;
        if (status == ARCP_OK && read->from < last.end) {
            /* Two ways through a damaged tree that lead to different runs. */
            status = arcp__sqlite_run_error(&reader->sqlite, arcp__request_key(read), read->from,
                                            "is missing", err);
        }
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_stream_check_end(&reader->sqlite, arcp__request_key(read), row,
                                               all.next, err);
    }
    read->first = read->answer_count == 0 ? all.next : read->first;
    return status;
}

static arcp_status read_stream(arcp__sqlite_reader *reader, arcp__request *read)
{
    arcp__sqlite_stream_row stream = {0};
    arcp_status status = arcp__sqlite_do(&reader->sqlite, ARCP__SQLITE_BEGIN_READ, &read->error);
    if (status != ARCP_OK) {
        return status;
    }
    status =
        arcp__sqlite_stream_find(&reader->sqlite, arcp__request_key(read), &stream, &read->error);
    if (status == ARCP_OK && stream.id != 0) {
        status = read_runs(reader, read, &stream, &read->error);
    }
    end_read(reader);
    return status;
}

static void serve_read(arcp__sqlite_reader *reader, arcp__request *read)
{
    arcp__sqlite_checkpoint_enter(reader->checkpoint);
    read->status = read_stream(reader, read);
    arcp__sqlite_checkpoint_leave(reader->checkpoint);
    if (read->status != ARCP_OK) {
        read->answer_count = 0;
        read->first = 0;
    }
    arcp__handover_answer_read(reader->handover, read);
}

/* ---- tables ---- */

/* A scan of several pages. */
typedef struct scanning {
    const arcp__request *scan;
    char after[ARCP_STORE_KEY_BYTES_MAX]; /* the last key so far */
    size_t after_size;
    bool is_whole; /* the whole table is wanted: what is there can be compared with its sum */
    arcp__sqlite_sum begin;
    arcp__sqlite_sum found;
} scanning;

static bool is_after(arcp_span key, arcp_span other)
{
    size_t common = key.size < other.size ? key.size : other.size;
    int order = common == 0 ? 0 : memcmp(key.data, other.data, common);
    return order > 0 || (order == 0 && key.size > other.size);
}

static arcp_status out_of_order(const arcp__sqlite_reader *reader, const scanning *all,
                                arcp_span key, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: table \"%s\", the row of \"%.*s\" is out of order",
                          reader->sqlite.path, arcp_store_table_name(all->scan->table),
                          (int)arcp_span_first(key, 128).size, key.size == 0 ? "" : key.data);
}

/* Takes the row that the statement stands on into the page. */
static arcp_status take_row(const arcp__sqlite_reader *reader, scanning *all, arcp__request *page,
                            sqlite3_stmt *statement, arcp_error *err)
{
    arcp_span key = arcp__sqlite_column_text(statement, 0);
    arcp_span value = arcp__sqlite_column_text(statement, 1);
    int64_t crc = sqlite3_column_int64(statement, 2);
    arcp_status status =
        arcp__sqlite_crc_check_row(&reader->sqlite, all->scan->table, key, value, crc, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (key.size > sizeof(all->after) ||
        !is_after(key, arcp_span_make(all->after, all->after_size))) {
        return out_of_order(reader, all, key, err);
    }
    memcpy(all->after, key.data, key.size);
    all->after_size = key.size;
    arcp__sqlite_sum_add(&all->found, crc);
    arcp_store_row row = {arcp__arena_copy(&page->arena, key),
                          arcp__arena_copy(&page->arena, value)};
    if (row.key.data == NULL || row.value.data == NULL) {
        return no_memory(err);
    }
    page->rows[page->answer_count++] = row;
    return ARCP_OK;
}

/* Fills a page with rows after the last one (from the prefix on when there is none yet). */
static arcp_status read_rows(arcp__sqlite_reader *reader, scanning *all, arcp__request *page,
                             arcp_error *err)
{
    arcp_span prefix = arcp__request_key(all->scan);
    sqlite3_stmt *statement = arcp__sqlite_get_row(
        &reader->sqlite, all->after_size == 0 ? ARCP__SQLITE_ROW_SCAN : ARCP__SQLITE_ROW_SCAN_AFTER,
        all->scan->table, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_bind_text(
        statement, 1, all->after_size == 0 ? prefix : arcp_span_make(all->after, all->after_size));
    arcp_status status = ARCP_OK;
    while (status == ARCP_OK && page->answer_count < ARCP_STORE_SCAN_ROWS_MAX &&
           page->arena.used < ARCP__STORE_SCAN_BYTES_MAX) {
        int code = sqlite3_step(statement);
        if (code == SQLITE_DONE ||
            (code == SQLITE_ROW &&
             !arcp_span_starts_with(arcp__sqlite_column_text(statement, 0), prefix))) {
            page->is_last = true;
            break;
        }
        status = code == SQLITE_ROW ? take_row(reader, all, page, statement, err)
                                    : arcp__sqlite_error(&reader->sqlite, code, err);
    }
    arcp__sqlite_reset(statement);
    return status;
}

/* Whether all rows of the table came; not known when it was changed between two pages. */
static arcp_status check_sum(arcp__sqlite_reader *reader, const scanning *all, arcp_error *err)
{
    int table = (int)all->scan->table;
    arcp__sqlite_sum end = {0};
    arcp_status status = arcp__sqlite_sum_read(&reader->sqlite, table, &end, err);
    if (status != ARCP_OK || end.changes != all->begin.changes ||
        arcp__sqlite_sum_is_same(&all->found, &end)) {
        return status;
    }
    return arcp__sqlite_sum_error(&reader->sqlite, table, &all->found, &end, err);
}

static arcp_status read_page(arcp__sqlite_reader *reader, scanning *all, arcp__request *page,
                             arcp_error *err)
{
    arcp_status status = arcp__sqlite_do(&reader->sqlite, ARCP__SQLITE_BEGIN_READ, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (all->is_whole && all->after_size == 0) {
        status = arcp__sqlite_sum_read(&reader->sqlite, (int)all->scan->table, &all->begin, err);
    }
    if (status == ARCP_OK) {
        status = read_rows(reader, all, page, err);
    }
    if (status == ARCP_OK && all->is_whole && page->is_last) {
        status = check_sum(reader, all, err);
    }
    end_read(reader);
    return status;
}

/* NULL when out of memory. */
static arcp__request *new_page(const arcp__request *scan, arcp_error *err)
{
    arcp__request *page = NULL;
    if (arcp__request_new_scan(scan->id, scan->table, arcp__request_key(scan), &page, err) !=
        ARCP_OK) {
        return NULL;
    }
    page->rows = arcp__alloc_array(ARCP_STORE_SCAN_ROWS_MAX, sizeof(*page->rows));
    if (page->rows == NULL) {
        (void)no_memory(err);
        arcp__request_free(page);
        return NULL;
    }
    return page;
}

/* Page by page, each a look of its own, so that the log is not held while the owner takes
 * its time. The answer that ends the scan is the request itself when something failed. */
static void serve_scan(arcp__sqlite_reader *reader, arcp__request *scan)
{
    scanning all = {.scan = scan, .is_whole = scan->key_size == 0};
    for (;;) {
        arcp__request *page = new_page(scan, &scan->error);
        arcp_status status = page == NULL ? scan->error.status : ARCP_OK;
        if (page != NULL) {
            arcp__sqlite_checkpoint_enter(reader->checkpoint);
            status = read_page(reader, &all, page, &scan->error);
            arcp__sqlite_checkpoint_leave(reader->checkpoint);
        }
        if (page == NULL || status != ARCP_OK) {
            arcp__request_free(page);
            scan->status = status;
            scan->is_last = true;
            arcp__handover_answer_read(reader->handover, scan);
            return;
        }
        bool is_last = page->is_last;
        arcp__handover_answer_read(reader->handover, page);
        if (is_last) {
            arcp__request_free(scan);
            return;
        }
    }
}

void *arcp__sqlite_reader_run(void *user)
{
    arcp__sqlite_reader *reader = user;
    for (;;) {
        arcp__request *request = arcp__handover_take_read(reader->handover);
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
