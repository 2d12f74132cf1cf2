/* Reads are sent in pipelines of up to 200: an answer takes 30 us then, instead of a round trip. If
 * one of a pipeline fails, or the connection, they are read again one by one. */
#include "store/postgres_reader.h"

#include "base/clock.h"
#include "store/postgres_crc.h"
#include "store/postgres_owner.h"
#include "store/postgres_plan.h"

#define PIPELINE_MAX   200u
#define LINE_FEED      '\n'
#define PAUSE_MS       100
#define SCAN_BYTES_MAX 1048576u /* as in ROW_SCAN */

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a read");
}

/* ---- streams ---- */

static arcp_status run_error(const arcp__request *read, int64_t first, const char *problem,
                             arcp_error *err)
{
    const arcp_span key = arcp_span_first(arcp__request_key(read), 128);
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "postgres: damaged: stream \"%.*s\", the run at position %lld %s",
                          (int)key.size, key.data, (long long)first, problem);
}

/* Adds the records of a run from the requested position on, as many as still fit. */
static arcp_status add_run(arcp__request *read, int64_t first, int64_t count, arcp_span data,
                           arcp_error *err)
{
    const arcp_span copy = arcp__arena_copy(&read->arena, data);
    if (copy.data == NULL) {
        return no_memory(err);
    }
    data = copy;
    for (int64_t i = 0; i < count && !read->is_full; i++) {
        /* A record ends at a line feed, the last one at the end of the data. */
        const char *end = data.size == 0 ? NULL : memchr(data.data, LINE_FEED, data.size);
        if ((i + 1 == count) != (end == NULL)) {
            return run_error(read, first, "does not contain as many records as its count says",
                             err);
        }
        const arcp_span record =
            arcp_span_first(data, end == NULL ? data.size : (size_t)(end - data.data));
        const uint64_t position = (uint64_t)(first + i);
        if (position >= read->from && !arcp__request_add(read, position, record)) {
            return no_memory(err);
        }
        data = arcp_span_from(data, record.size + 1);
    }
    return ARCP_OK;
}

/* Fills the answer from the rows of RUN_READ. Runs must follow each other without a gap. */
static arcp_status take_runs(arcp__request *read, const PGresult *rows, arcp_error *err)
{
    int64_t next = -1;
    const int count = PQntuples(rows);
    for (int i = 0; i < count && !read->is_full && err->status == ARCP_OK; i++) {
        if (PQgetisnull(rows, i, 2) == 1) {
            break; /* no run: the next position only */
        }
        const int64_t stream = arcp__pg_integer(rows, i, 0);
        const int64_t first = arcp__pg_integer(rows, i, 2);
        const int64_t records = arcp__pg_integer(rows, i, 3);
        const arcp_span data = arcp__pg_text(rows, i, 5);
        const uint32_t crc =
            arcp__pg_crc_add(arcp__pg_crc_run(ARCP__PG_SHARD, stream, first, records), data);
        if (crc != (uint32_t)arcp__pg_integer(rows, i, 4)) {
            return run_error(read, first, "does not match its checksum", err);
        }
        if (next >= 0 && first != next) {
            return run_error(read, first, "does not follow the run before it", err);
        }
        next = first + records;
        (void)add_run(read, first, records, data, err);
    }
    if (count != 0 && read->answer_count == 0) {
        read->first = (uint64_t)arcp__pg_integer(rows, 0, 1);
    }
    return err->status;
}

/* False: the connection is lost, or memory has run out, which `err` says then. */
static bool send_read(arcp__pg_reader *reader, const arcp__request *read, arcp_error *err)
{
    const uint64_t most = ARCP_STORE_POSITION_MAX;
    arcp__pg_array params[5] = {{.count = 0}};
    arcp__pg_set_integer(&params[0], ARCP__PG_INT4, ARCP__PG_SHARD);
    arcp__pg_set_key(&params[1], arcp__request_key(read));
    arcp__pg_set_integer(&params[2], ARCP__PG_INT8,
                         (int64_t)(read->from < most ? read->from : most));
    arcp__pg_set_integer(&params[3], ARCP__PG_INT8,
                         (int64_t)(read->count_max < most ? read->count_max : most));
    /* The first run may begin before the position. */
    arcp__pg_set_integer(&params[4], ARCP__PG_INT8,
                         (int64_t)read->bytes_max + ARCP__PG_RUN_BYTES_MAX + 1);
    for (size_t i = 0; i < 5; i++) {
        if (params[i].bytes.failed) {
            (void)no_memory(err);
        }
    }
    const bool is_sent =
        err->status == ARCP_OK && arcp__pg_send(&reader->pg, ARCP__PG_RUN_READ, params, 5);
    for (size_t i = 0; i < 5; i++) {
        arcp__pg_array_fini(&params[i]);
    }
    return is_sent;
}

static void answer_read(arcp__pg_reader *reader, arcp__request *read, const arcp_error *error)
{
    read->error = *error;
    if (error->status != ARCP_OK) {
        read->answer_count = 0;
        read->first = 0;
    }
    arcp__queue_answer_read(reader->queue, read);
}

/* Takes answers for the reads in the list, in their order, and removes those that it has answered.
 * The others are left when the connection is lost or a statement has failed. */
static arcp__pg_trouble take_answers(arcp__pg_reader *reader, arcp__request **reads,
                                     arcp_error *err)
{
    arcp__pg_trouble trouble = ARCP__PG_FINE;
    for (;;) {
        PGresult *result = NULL;
        if (arcp__pg_next(&reader->pg, arcp__clock_ns(CLOCK_MONOTONIC) + reader->pg.answer_ns, -1,
                          &result, err) != ARCP__PG_RESULT) {
            return ARCP__PG_LOST;
        }
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            return trouble;
        }
        if (trouble == ARCP__PG_FINE) {
            trouble = arcp__pg_judge(&reader->pg, result, err);
        }
        if (trouble == ARCP__PG_FINE) {
            arcp_error found = {0};
            arcp__request *read = *reads;
            DL_DELETE(*reads, read);
            (void)take_runs(read, result, &found);
            answer_read(reader, read, &found);
        }
        PQclear(result);
        if (trouble == ARCP__PG_LOST) {
            return trouble;
        }
    }
}

static bool is_patience_over(const arcp__pg_reader *reader, int64_t since_ns)
{
    return reader->is_failing || arcp__clock_ns(CLOCK_MONOTONIC) - since_ns >= reader->patience_ns;
}

/* False: patience is over, and `err` says why. */
static bool reconnect(arcp__pg_reader *reader, int64_t since_ns, arcp_error *err)
{
    for (;;) {
        const struct timespec pause = {0, PAUSE_MS * ARCP_NS_PER_MS};
        *err = (arcp_error){0};
        if (arcp__pg_connect(&reader->pg, true, err) == ARCP_OK) {
            reader->is_failing = false;
            return true;
        }
        if (is_patience_over(reader, since_ns)) {
            reader->is_failing = true;
            err->status = ARCP_E_IO;
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
}

/* Answers all reads in the list. */
static void serve_reads(arcp__pg_reader *reader, arcp__request *reads)
{
    const int64_t since_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    size_t most = PIPELINE_MAX;
    while (reads != NULL) {
        arcp_error err = {0};
        size_t count = 0;
        bool is_sent = reader->pg.conn != NULL || reconnect(reader, since_ns, &err);
        arcp__pg_trouble trouble = ARCP__PG_LOST;
        if (is_sent) {
            for (const arcp__request *read = reads; read != NULL && count < most && is_sent;
                 read = read->next, count++) {
                is_sent = send_read(reader, read, &err);
            }
            trouble = is_sent && arcp__pg_sync(&reader->pg) ? take_answers(reader, &reads, &err)
                                                            : ARCP__PG_LOST;
        }
        if (trouble == ARCP__PG_LOST) {
            arcp__pg_close(&reader->pg);
        }
        const bool is_refused = trouble != ARCP__PG_FINE && trouble != ARCP__PG_LOST && most == 1;
        most = trouble == ARCP__PG_FINE ? most : 1;
        if (reads != NULL && (is_refused || err.status == ARCP_E_NO_MEMORY ||
                              (trouble == ARCP__PG_LOST && is_patience_over(reader, since_ns)))) {
            arcp__request *read = reads;
            DL_DELETE(reads, read);
            answer_read(reader, read, &err);
        }
    }
}

/* ---- tables ---- */

arcp__request *arcp__pg_new_page(uint64_t id)
{
    arcp__request *page = arcp__request_new(ARCP__REQUEST_SCAN, id, arcp_span_make(NULL, 0));
    if (page != NULL) {
        page->rows = arcp__alloc_array(ARCP_STORE_SCAN_ROWS_MAX, sizeof *page->rows);
    }
    if (page != NULL && page->rows == NULL) {
        arcp__request_free(page);
        page = NULL;
    }
    return page;
}

static arcp_status take_row(const PGresult *rows, int i, arcp_store_table table,
                            arcp__request *page, arcp_error *err)
{
    char decoded[ARCP_STORE_KEY_BYTES_MAX];
    const arcp_span key = arcp__pg_key_of(arcp__pg_text(rows, i, 0), decoded);
    const arcp_span value = arcp__pg_text(rows, i, 1);
    if (key.size > ARCP_STORE_KEY_BYTES_MAX ||
        arcp__pg_crc_row(ARCP__PG_SHARD, (int64_t)table, key, value) !=
            (uint32_t)arcp__pg_integer(rows, i, 2)) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "postgres: damaged: table \"%s\", the row of \"%.*s\" does not match "
                              "its checksum",
                              arcp_store_table_name(table), (int)arcp_span_first(key, 128).size,
                              key.data);
    }
    const arcp_store_row row = {arcp__arena_copy(&page->arena, key),
                                arcp__arena_copy(&page->arena, value)};
    if (row.key.data == NULL || row.value.data == NULL) {
        return no_memory(err);
    }
    page->rows[page->answer_count++] = row;
    return ARCP_OK;
}

arcp__pg_trouble arcp__pg_read_rows(arcp__pg *pg, arcp_store_table table, arcp_span prefix,
                                    arcp_span after, arcp__request *page, arcp_error *err)
{
    PGresult *rows = NULL;
    arcp__pg_array params[4] = {{.count = 0}};
    arcp__pg_set_integer(&params[0], ARCP__PG_INT4, ARCP__PG_SHARD);
    arcp__pg_set_integer(&params[1], ARCP__PG_INT2, (int64_t)table);
    arcp__pg_set_key(&params[2], prefix);
    arcp__pg_set_key(&params[3], after);
    const bool has_memory = !params[0].bytes.failed && !params[1].bytes.failed &&
                            !params[2].bytes.failed && !params[3].bytes.failed;
    const arcp__pg_trouble trouble =
        !has_memory ? ARCP__PG_FAILED
                    : arcp__pg_run_prepared(pg, ARCP__PG_ROW_SCAN, params, 4, &rows, err);
    for (size_t i = 0; i < 4; i++) {
        arcp__pg_array_fini(&params[i]);
    }
    if (!has_memory) {
        (void)no_memory(err);
    }
    const int count = trouble == ARCP__PG_FINE ? PQntuples(rows) : 0;
    size_t bytes = 0;
    for (int i = 0; i < count && !page->is_last && err->status == ARCP_OK; i++) {
        char decoded[ARCP_STORE_KEY_BYTES_MAX];
        bytes += arcp__pg_text(rows, i, 1).size;
        if (arcp_span_starts_with(arcp__pg_key_of(arcp__pg_text(rows, i, 0), decoded), prefix)) {
            (void)take_row(rows, i, table, page, err);
        } else {
            page->is_last = true;
        }
    }
    /* There are more rows only where the statement has cut the answer. */
    page->is_last =
        page->is_last || (count < (int)ARCP_STORE_SCAN_ROWS_MAX && bytes < SCAN_BYTES_MAX);
    PQclear(rows);
    return trouble;
}

/* Each page is an answer; on failure the request itself becomes the last answer. */
static void serve_scan(arcp__pg_reader *reader, arcp__request *scan)
{
    int64_t since_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    char after[ARCP_STORE_KEY_BYTES_MAX];
    size_t after_size = 0;
    for (bool is_last = false; !is_last;) {
        arcp_error err = {0};
        arcp__request *page = arcp__pg_new_page(scan->id);
        arcp__pg_trouble trouble = ARCP__PG_LOST;
        if (page == NULL) {
            (void)no_memory(&err);
        } else if (reader->pg.conn != NULL || reconnect(reader, since_ns, &err)) {
            trouble = arcp__pg_read_rows(&reader->pg, scan->table, arcp__request_key(scan),
                                         arcp_span_make(after, after_size), page, &err);
        }
        if (trouble == ARCP__PG_LOST && page != NULL) {
            arcp__pg_close(&reader->pg); /* its answer may still come, and is not the next one's */
            if (!is_patience_over(reader, since_ns)) {
                arcp__request_free(page);
                continue; /* the same page again */
            }
        }
        if (err.status != ARCP_OK) {
            arcp__request_free(page);
            scan->error = err;
            scan->is_last = true;
            arcp__queue_answer_read(reader->queue, scan);
            return;
        }
        if (page->answer_count != 0) {
            const arcp_span key = page->rows[page->answer_count - 1].key;
            after_size = key.size;
            memcpy(after, key.data, after_size);
        }
        is_last = page->is_last;
        arcp__queue_answer_read(reader->queue, page);
        since_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    }
    arcp__request_free(scan);
}

/* ---- the thread ---- */

void *arcp__pg_reader_run(void *user)
{
    arcp__pg_reader *reader = user;
    arcp__request *request = NULL;
    for (;;) {
        arcp__request *reads = NULL;
        request = request == NULL ? arcp__queue_take_read(reader->queue, true) : request;
        if (request == NULL) {
            return NULL;
        }
        /* A scan answers behind the reads that were requested before it. */
        for (size_t i = 0; request != NULL && request->kind == ARCP__REQUEST_READ; i++) {
            DL_APPEND(reads, request);
            request = i + 1 < PIPELINE_MAX ? arcp__queue_take_read(reader->queue, false) : NULL;
        }
        serve_reads(reader, reads);
        if (request != NULL) {
            serve_scan(reader, request);
            request = NULL;
        }
    }
}
