#include "store/sqlite_stream.h"

#include <assert.h>
#include <limits.h>

#include "store/sqlite_crc.h"
#include "store/store_queue.h"

#define LINE_FEED           '\n'
#define RUN_BYTES_MAX       65536u
#define COLLECT_RUNS        64u /* deleted at a time */
#define COLLECT_BYTES       4194304u
#define CLOSED_TOGETHER_MIN 8u /* streams; for fewer it is not worth reading all between them */

static const arcp_span no_key = {NULL, 0};

static arcp_span key_of(const arcp__sqlite_stream *stream)
{
    return arcp_span_make(stream->key, stream->key_size);
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory in the store's writer");
}

/* ---- the cache of streams ---- */

static void list_open(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    DL_APPEND2(streams->open, stream, open_prev, open_next);
    stream->is_open = true;
}

static void unlist_open(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (stream->is_open) {
        DL_DELETE2(streams->open, stream, open_prev, open_next);
        stream->is_open = false;
    }
}

static void stop_trimming(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (stream->is_trimming) {
        DL_DELETE2(streams->trims, stream, trim_prev, trim_next);
        stream->is_trimming = false;
    }
}

static void touch(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (!stream->is_touched) {
        stream->is_touched = true;
        stream->next_touched = streams->touched;
        streams->touched = stream;
    }
}

static void forget(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    stop_trimming(streams, stream);
    unlist_open(streams, stream);
    if (streams->recent == stream) {
        streams->recent = NULL;
    }
    DL_DELETE2(streams->by_use, stream, prev, next_used);
    assert(streams->by_key != NULL);
    HASH_DEL(streams->by_key, stream);
    arcp__free(stream);
}

/* Reads a stream into the cache. With `is_new` it is first inserted, which fails if it exists: most
 * streams that are not in the cache are new, and then one statement suffices. NULL on failure. */
static arcp__sqlite_stream *load(arcp__sqlite_streams *streams, arcp_span key, bool is_new,
                                 arcp_error *err)
{
    arcp__sqlite_stream_row row = {0};
    arcp__sqlite_range last = {0, 0};
    if (is_new) {
        arcp__sqlite_stream_insert(streams->tables, key, &streams->ids, &row, err);
    }
    if (row.id == 0) {
        arcp__sqlite_stream_find(streams->sqlite, key, &row, err);
        if (row.id != 0) {
            arcp__sqlite_run_find_last(streams->sqlite, row.id, key, ARCP_STORE_POSITION_MAX, &last,
                                       err);
        }
    }
    if (arcp__sqlite_stream_check_end(streams->sqlite, key, &row, last.end, err) != ARCP_OK) {
        return NULL;
    }
    arcp__sqlite_stream *stream = arcp__alloc(sizeof *stream + key.size);
    if (stream == NULL) {
        (void)no_memory(err);
        return NULL;
    }
    stream->id = row.id;
    stream->written = row.next;
    stream->next = last.end;
    stream->key_size = key.size;
    memcpy(stream->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, streams->by_key, stream->key, stream->key_size, stream);
    if (!ARCP__HASH_ADDED(stream)) {
        arcp__free(stream);
        (void)no_memory(err);
        return NULL;
    }
    DL_APPEND2(streams->by_use, stream, prev, next_used);
    if (row.is_open) {
        list_open(streams, stream);
    }
    return stream;
}

/* NULL if it is not in the cache. */
static arcp__sqlite_stream *find(arcp__sqlite_streams *streams, arcp_span key)
{
    /* Most operations are on the same stream as the previous one. */
    arcp__sqlite_stream *stream = streams->recent;
    if (stream == NULL || !arcp_span_equal(key, key_of(stream))) {
        HASH_FIND(hh, streams->by_key, key.data, key.size, stream);
        if (stream != NULL) {
            DL_DELETE2(streams->by_use, stream, prev, next_used);
            DL_APPEND2(streams->by_use, stream, prev, next_used);
        }
        streams->recent = stream;
    }
    return stream;
}

/* NULL on failure. */
static arcp__sqlite_stream *get(arcp__sqlite_streams *streams, arcp_span key, bool is_new,
                                arcp_error *err)
{
    if (find(streams, key) == NULL) {
        streams->recent = load(streams, key, is_new, err);
    }
    return streams->recent;
}

/* The SQL function arcp_closed(key, which): what the row of a listed open stream gets when it is
 * closed, its end (0) or its checksum (1). NULL for other streams. */
static void closed_in_sql(sqlite3_context *context, int count, sqlite3_value **values)
{
    arcp__sqlite_streams *streams = sqlite3_user_data(context);
    const arcp_span key = arcp__sqlite_value_text(values[0]);
    const arcp__sqlite_stream *stream = find(streams, key);
    if (stream != NULL && stream->is_open) {
        sqlite3_result_int64(
            context, sqlite3_value_int(values[1]) == 0
                         ? (int64_t)stream->next
                         : arcp__sqlite_crc_stream(stream->id, key, (int64_t)stream->next, false));
    }
}

arcp_status arcp__sqlite_streams_init(arcp__sqlite_streams *streams, arcp__sqlite *sqlite,
                                      arcp__sqlite_tables *tables, arcp_error *err)
{
    *streams = (arcp__sqlite_streams){.sqlite = sqlite,
                                      .tables = tables,
                                      .ids = {.used = ARCP__SQLITE_STREAM_MAX + 1},
                                      .runs_deleted = ARCP__SQLITE_SHRINK_RUNS};
    arcp__sqlite_tally tally = {0};
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_STREAM_ALL, err);
    while (arcp__sqlite_next(sqlite, statement, err)) {
        arcp__sqlite_stream_row row = {0};
        const arcp_span key = arcp__sqlite_column_text(statement, 4);
        (void)arcp__sqlite_stream_take(sqlite, statement, key, &row, err);
        arcp__sqlite_tally_add(&tally, arcp__sqlite_crc_stream_name(row.id, key), statement, 5);
        streams->ids.newest = row.id > streams->ids.newest ? row.id : streams->ids.newest;
        streams->has_dropped = streams->has_dropped || key.size == 0;
        streams->has_unlisted = streams->has_unlisted || row.is_open;
    }
    sqlite3_reset(statement);
    arcp__sqlite_tally_check(sqlite, ARCP__SQLITE_SUM_STREAMS, &tally,
                             &tables->now[ARCP__SQLITE_SUM_STREAMS], err);
    arcp__sqlite_tables_found(tables, ARCP__SQLITE_SUM_STREAMS, &tally.newest);
    if (err->status != ARCP_OK) {
        return err->status;
    }
    const int code =
        sqlite3_create_function(sqlite->db, "arcp_closed", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                streams, closed_in_sql, NULL, NULL);
    return code == SQLITE_OK ? ARCP_OK : arcp__sqlite_error(sqlite, code, err);
}

void arcp__sqlite_streams_fini(arcp__sqlite_streams *streams)
{
    while (streams->by_use != NULL) {
        forget(streams, streams->by_use);
    }
    arcp__arena_fini(&streams->appends);
    arcp_buf_fini(&streams->joined);
}

/* ---- writing runs ---- */

/* Called before a stream's first run since the log was restarted: marks its row as open, because
 * the row does not count the new runs. */
static arcp_status open_stream(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                               arcp_error *err)
{
    if (stream->is_open) {
        return ARCP_OK;
    }
    const arcp__sqlite_stream_row row = {stream->id, stream->written, true};
    arcp__sqlite_stream_update(streams->sqlite, &row, key_of(stream), err);
    if (err->status == ARCP_OK) {
        list_open(streams, stream);
    }
    return err->status;
}

static arcp_status flush_run(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                             arcp_error *err)
{
    const arcp__sqlite_open_run run = stream->run;
    if (run.count == 0 || open_stream(streams, stream, err) != ARCP_OK) {
        return err->status;
    }
    arcp_span data = run.first->record;
    if (run.count > 1) {
        /* Join the records with line feeds. */
        arcp_buf_clear(&streams->joined);
        (void)arcp_buf_reserve(&streams->joined, run.bytes);
        arcp_buf_append(&streams->joined, data);
        for (const arcp__sqlite_append *append = run.first->next; append != NULL;
             append = append->next) {
            arcp_buf_append_byte(&streams->joined, LINE_FEED);
            arcp_buf_append(&streams->joined, append->record);
        }
        if (arcp_buf_status(&streams->joined) != ARCP_OK) {
            arcp_buf_clear(&streams->joined);
            return no_memory(err);
        }
        data = arcp_buf_span(&streams->joined);
    }
    stream->run = (arcp__sqlite_open_run){0};
    streams->runs_inserted++;
    streams->bytes_inserted += data.size;
    return arcp__sqlite_run_insert(streams->sqlite, stream->id, stream->next - run.count, run.count,
                                   data, err);
}

static arcp_status append(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                          arcp_span record, arcp_error *err)
{
    arcp__sqlite_open_run *run = &stream->run;
    if (run->count != 0 && run->bytes + record.size > RUN_BYTES_MAX &&
        flush_run(streams, stream, err) != ARCP_OK) {
        return err->status;
    }
    arcp__sqlite_append *entry = arcp__arena_take(&streams->appends, sizeof *entry);
    if (entry == NULL) {
        return no_memory(err);
    }
    *entry = (arcp__sqlite_append){record, NULL};
    if (run->count == 0) {
        run->first = entry;
    } else {
        run->last->next = entry;
    }
    run->last = entry;
    run->count++;
    run->bytes += record.size + 1;
    stream->next++;
    return ARCP_OK;
}

/* ---- dropping and trimming ---- */

/* A short stream is deleted at once. A long one loses its key, and its runs are deleted piece by
 * piece. */
static arcp_status drop(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream, arcp_error *err)
{
    const int64_t id = stream->id;
    stop_trimming(streams, stream);
    unlist_open(streams, stream);
    stream->run = (arcp__sqlite_open_run){0};
    stream->id = 0;
    stream->next = 0;
    stream->written = 0;
    stream->oldest_end = 0;
    stream->trim = 0;
    if (id == 0) {
        return ARCP_OK;
    }
    arcp__sqlite_budget budget = {COLLECT_RUNS, COLLECT_BYTES};
    bool is_all = false;
    if (arcp__sqlite_run_delete(streams->sqlite, id, ARCP_STORE_POSITION_MAX + 1, no_key, &budget,
                                &is_all, err) != ARCP_OK) {
        return err->status;
    }
    streams->runs_deleted += COLLECT_RUNS - budget.runs;
    if (is_all) {
        return arcp__sqlite_stream_delete(streams->tables, id, key_of(stream), err);
    }
    streams->has_dropped = true;
    return arcp__sqlite_stream_unname(streams->tables, id, key_of(stream), err);
}

arcp_status arcp__sqlite_streams_apply(arcp__sqlite_streams *streams, const arcp_store_op *op,
                                       arcp_error *err)
{
    const bool is_new = op->kind == ARCP_STORE_APPEND && op->position == 0;
    arcp__sqlite_stream *stream = get(streams, op->key, is_new, err);
    if (stream == NULL) {
        return err->status;
    }
    touch(streams, stream);
    if (op->kind == ARCP_STORE_DROP) {
        return drop(streams, stream, err);
    }
    if (op->kind == ARCP_STORE_APPEND && op->position != stream->next) {
        return arcp__store_position_error(op, stream->next, err);
    }
    if (op->kind == ARCP_STORE_APPEND) {
        if (stream->id == 0) { /* it was dropped, or did not exist */
            arcp__sqlite_stream_row row = {0};
            arcp__sqlite_stream_insert(streams->tables, op->key, &streams->ids, &row, err);
            if (row.id == 0) {
                return err->status != ARCP_OK
                           ? err->status
                           : arcp_error_set(err, ARCP_E_CORRUPT,
                                            "%s: another program added the stream \"%.*s\"",
                                            streams->sqlite->path,
                                            (int)arcp_span_first(op->key, 128).size, op->key.data);
            }
            stream->id = row.id;
            list_open(streams, stream);
        }
        return append(streams, stream, op->value, err);
    }
    /* A TRIM applies to the records that exist now, and is carried out later. Nothing can be
     * deleted while the oldest run reaches beyond its position. */
    const uint64_t below = op->position < stream->next ? op->position : stream->next;
    if (below <= stream->trim || below < stream->oldest_end || stream->id == 0) {
        return ARCP_OK;
    }
    stream->trim = below;
    if (!stream->is_trimming) {
        DL_APPEND2(streams->trims, stream, trim_prev, trim_next);
        stream->is_trimming = true;
    }
    return ARCP_OK;
}

/* Deletes runs before the one that contains the trim position. The last run is always kept, because
 * it determines the next position. */
static void collect_trimmed(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                            arcp__sqlite_budget *budget, arcp_error *err)
{
    arcp__sqlite *sqlite = streams->sqlite;
    const arcp_span key = key_of(stream);
    arcp__sqlite_range kept = {0, 0};
    arcp__sqlite_range oldest = {0, 0};
    bool is_all = false;
    touch(streams, stream);
    arcp__sqlite_run_find_last(sqlite, stream->id, key, stream->trim, &kept, err);
    arcp__sqlite_run_delete(sqlite, stream->id, kept.first, key, budget, &is_all, err);
    if (err->status == ARCP_OK && is_all) {
        stop_trimming(streams, stream);
        arcp__sqlite_run_find_first(sqlite, stream->id, key, &oldest, err);
        stream->oldest_end = oldest.end;
    }
}

static void collect_dropped(arcp__sqlite_streams *streams, arcp__sqlite_budget *budget,
                            arcp_error *err)
{
    arcp__sqlite_stream_row row = {0};
    bool is_all = false;
    arcp__sqlite_stream_find(streams->sqlite, no_key, &row, err);
    if (err->status == ARCP_OK && row.id == 0) {
        streams->has_dropped = false;
        return;
    }
    arcp__sqlite_run_delete(streams->sqlite, row.id, ARCP_STORE_POSITION_MAX + 1, no_key, budget,
                            &is_all, err);
    if (err->status == ARCP_OK && is_all) {
        arcp__sqlite_stream_delete(streams->tables, row.id, no_key, err);
    }
}

bool arcp__sqlite_streams_has_garbage(const arcp__sqlite_streams *streams)
{
    return streams->collect_pause == 0 && (streams->trims != NULL || streams->has_dropped);
}

/* ---- the end of the transaction ---- */

arcp_status arcp__sqlite_streams_finish(arcp__sqlite_streams *streams, arcp_error *err)
{
    for (arcp__sqlite_stream *stream = streams->touched; err->status == ARCP_OK && stream != NULL;
         stream = stream->next_touched) {
        (void)flush_run(streams, stream, err);
    }
    if (err->status != ARCP_OK) {
        return err->status;
    }
    /* Delete up to twice as much as was inserted, so that garbage cannot accumulate, and always a
     * minimum. */
    arcp__sqlite_budget budget = {streams->runs_inserted * 2, streams->bytes_inserted * 2};
    budget.runs = budget.runs > COLLECT_RUNS ? budget.runs : COLLECT_RUNS;
    budget.bytes = budget.bytes > COLLECT_BYTES ? budget.bytes : COLLECT_BYTES;
    const size_t before = budget.runs;
    while (budget.runs != 0 && budget.bytes != 0 && arcp__sqlite_streams_has_garbage(streams)) {
        if (streams->trims != NULL) {
            collect_trimmed(streams, streams->trims, &budget, err);
        } else {
            collect_dropped(streams, &budget, err);
        }
        if (err->status != ARCP_OK) {
            streams->collect_pause = ARCP__SQLITE_COLLECT_PAUSE;
            return err->status;
        }
        /* A search costs about as much as deleting one run. */
        budget.runs -= budget.runs != 0;
    }
    streams->runs_deleted += before - budget.runs;
    return ARCP_OK;
}

static void begin_next(arcp__sqlite_streams *streams)
{
    streams->touched = NULL;
    streams->runs_inserted = 0;
    streams->bytes_inserted = 0;
    arcp__arena_reset(&streams->appends);
}

void arcp__sqlite_streams_committed(arcp__sqlite_streams *streams)
{
    arcp__sqlite_stream *next = NULL;
    for (arcp__sqlite_stream *stream = streams->touched; stream != NULL; stream = next) {
        next = stream->next_touched;
        stream->is_touched = false;
        stream->next_touched = NULL;
    }
    begin_next(streams);
    streams->collect_pause -= streams->collect_pause != 0;
    while (HASH_COUNT(streams->by_key) > ARCP__SQLITE_STREAMS_KEPT_MAX &&
           !streams->by_use->is_open) {
        forget(streams, streams->by_use);
    }
}

void arcp__sqlite_streams_abandoned(arcp__sqlite_streams *streams)
{
    arcp__sqlite_stream *next = NULL;
    for (arcp__sqlite_stream *stream = streams->touched; stream != NULL; stream = next) {
        next = stream->next_touched;
        streams->has_unlisted = streams->has_unlisted || stream->is_open;
        forget(streams, stream);
    }
    begin_next(streams);
}

/* ---- closing ---- */

/* Adds open streams that are not in the list: those of a killed writer, and those removed from the
 * cache. A damaged one stays open; the damage is reported when the stream is read. */
static void list_unlisted(arcp__sqlite_streams *streams, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(streams->sqlite, ARCP__SQLITE_STREAM_OPEN, err);
    while (arcp__sqlite_next(streams->sqlite, statement, err)) {
        (void)get(streams, arcp__sqlite_column_text(statement, 0), false, err);
        if (err->status == ARCP_E_CORRUPT) {
            *err = (arcp_error){0};
        }
    }
    sqlite3_reset(statement);
}

/* Keys of open streams that begin with the same byte. */
typedef struct key_range {
    arcp_span first, last;
    size_t count;
} key_range;

static bool is_before(arcp_span a, arcp_span b)
{
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order < 0 || (order == 0 && a.size < b.size);
}

static void add_key(key_range *range, arcp_span key)
{
    range->first = range->count == 0 || is_before(key, range->first) ? key : range->first;
    range->last = range->count == 0 || is_before(range->last, key) ? key : range->last;
    range->count++;
}

/* Streams that were created since the log was restarted mostly have adjacent keys, because ids
 * begin with a time. So one statement closes all those of a kind; the others are closed one by
 * one. */
static void close_rows(arcp__sqlite_streams *streams, arcp_error *err)
{
    key_range ranges[UCHAR_MAX + 1] = {0};
    for (arcp__sqlite_stream *stream = streams->open; stream != NULL; stream = stream->open_next) {
        if (stream->written == 0) {
            add_key(&ranges[(unsigned char)stream->key[0]], key_of(stream));
        }
    }
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].count >= CLOSED_TOGETHER_MIN) {
            sqlite3_stmt *statement =
                arcp__sqlite_get(streams->sqlite, ARCP__SQLITE_STREAM_CLOSE, err);
            arcp__sqlite_bind_text(statement, 1, ranges[i].first);
            arcp__sqlite_bind_text(statement, 2, ranges[i].last);
            arcp__sqlite_run(streams->sqlite, statement, err);
        }
    }
    for (arcp__sqlite_stream *stream = streams->open; err->status == ARCP_OK && stream != NULL;
         stream = stream->open_next) {
        if (stream->written != 0 ||
            ranges[(unsigned char)stream->key[0]].count < CLOSED_TOGETHER_MIN) {
            const arcp__sqlite_stream_row row = {stream->id, stream->next, false};
            arcp__sqlite_stream_update(streams->sqlite, &row, key_of(stream), err);
        }
    }
}

arcp_status arcp__sqlite_streams_close_all(arcp__sqlite_streams *streams, arcp_error *err)
{
    if (err->status != ARCP_OK || (streams->open == NULL && !streams->has_unlisted &&
                                   !arcp__sqlite_tables_are_open(streams->tables))) {
        return err->status;
    }
    arcp__sqlite_do(streams->sqlite, ARCP__SQLITE_BEGIN_WRITE, err);
    if (streams->has_unlisted) {
        list_unlisted(streams, err);
    }
    close_rows(streams, err);
    arcp__sqlite_tables_flush(streams->tables, true, err);
    if (arcp__sqlite_commit(streams->sqlite, err) != ARCP_OK) {
        arcp__sqlite_tables_abandoned(streams->tables);
        return err->status;
    }
    arcp__sqlite_tables_committed(streams->tables);
    for (arcp__sqlite_stream *stream = streams->open; stream != NULL; stream = stream->open_next) {
        stream->written = stream->next;
        stream->is_open = false;
    }
    streams->open = NULL;
    streams->has_unlisted = false;
    return ARCP_OK;
}
