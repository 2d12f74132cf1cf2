/* Where streams end, as their rows say: what opens and closes them. */
#include "store/sqlite_crc.h"
#include "store/sqlite_stream.h"

void arcp__sqlite_stream_list_open(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    DL_APPEND2(streams->open, stream, open_prev, open_next);
    stream->is_open = true;
}

void arcp__sqlite_stream_unlist_open(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (stream->is_open) {
        DL_DELETE2(streams->open, stream, open_prev, open_next);
        stream->is_open = false;
    }
}

/* ---- at the start ---- */

/* The row that the statement stands on, added to the sum. */
static arcp_status count_row(arcp__sqlite_streams *streams, sqlite3_stmt *statement,
                             arcp__sqlite_sum *found, arcp_error *err)
{
    arcp__sqlite_stream_row row = {0};
    arcp_span key = arcp__sqlite_column_text(statement, 1);
    arcp_status status = arcp__sqlite_stream_take(streams->sqlite, statement, key, 2, &row, err);
    if (status == ARCP_OK) {
        arcp__sqlite_sum_add(found, arcp__sqlite_crc_stream_name(row.id, key));
        streams->has_dropped = streams->has_dropped || key.size == 0;
        streams->has_unlisted = streams->has_unlisted || row.is_open;
    }
    return status;
}

arcp_status arcp__sqlite_streams_init(arcp__sqlite_streams *streams, arcp__sqlite *sqlite,
                                      arcp_error *err)
{
    *streams = (arcp__sqlite_streams){.sqlite = sqlite, .runs_deleted = ARCP__SQLITE_SHRINK_RUNS};
    arcp_status status = arcp__sqlite_sums_load(sqlite, &streams->sums, err);
    if (status != ARCP_OK) {
        return status;
    }
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_STREAM_ALL, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_sum found = {0};
    for (bool has_row = true; status == ARCP_OK && has_row;) {
        status = arcp__sqlite_next(sqlite, statement, &has_row, err);
        if (has_row) {
            status = count_row(streams, statement, &found, err);
        }
    }
    arcp__sqlite_reset(statement);
    const arcp__sqlite_sum *want = &streams->sums.now[ARCP__SQLITE_SUM_STREAMS];
    if (status == ARCP_OK && !arcp__sqlite_sum_is_same(&found, want)) {
        status = arcp__sqlite_sum_error(sqlite, ARCP__SQLITE_SUM_STREAMS, &found, want, err);
    }
    return status;
}

/* ---- while it is written ---- */

arcp_status arcp__sqlite_stream_open(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                                     arcp_error *err)
{
    if (stream->is_open) {
        return ARCP_OK;
    }
    arcp_status status = ARCP_OK;
    arcp_span key = arcp_span_make(stream->key, stream->key_size);
    if (stream->id == 0) {
        status = arcp__sqlite_stream_insert(streams->sqlite, key, &streams->ids, &stream->id, err);
        arcp__sqlite_sum_add(&streams->sums.now[ARCP__SQLITE_SUM_STREAMS],
                             arcp__sqlite_crc_stream_name(stream->id, key));
    } else {
        arcp__sqlite_stream_row row = {stream->id, stream->written, true};
        status = arcp__sqlite_stream_update(streams->sqlite, &row, key, err);
    }
    if (status == ARCP_OK) {
        arcp__sqlite_stream_list_open(streams, stream);
    }
    return status;
}

static arcp_status close_listed(arcp__sqlite_streams *streams, arcp_error *err)
{
    for (arcp__sqlite_stream *stream = streams->open; stream != NULL; stream = stream->open_next) {
        arcp__sqlite_stream_row row = {stream->id, stream->next, false};
        arcp_status status = arcp__sqlite_stream_update(
            streams->sqlite, &row, arcp_span_make(stream->key, stream->key_size), err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

/* The open stream that the statement stands on: a killed writer's, or one that was forgotten. */
static arcp_status close_row(arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err)
{
    arcp__sqlite_stream_row row = {0};
    arcp__sqlite_range last = {0, 0};
    char bytes[ARCP_STORE_KEY_BYTES_MAX];
    arcp_span key = arcp_span_first(arcp__sqlite_column_text(statement, 1), sizeof(bytes));
    arcp_status status = arcp__sqlite_stream_take(sqlite, statement, key, 2, &row, err);
    if (status == ARCP_OK) {
        status =
            arcp__sqlite_run_find_last(sqlite, row.id, key, ARCP_STORE_POSITION_MAX, &last, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_stream_check_end(sqlite, key, &row, last.end, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    memcpy(bytes, key.data, key.size);
    row.next = last.end;
    row.is_open = false;
    return arcp__sqlite_stream_update(sqlite, &row, arcp_span_make(bytes, key.size), err);
}

/* One that is damaged stays open: it is told when it is read. */
static arcp_status close_unlisted(arcp__sqlite_streams *streams, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(streams->sqlite, ARCP__SQLITE_STREAM_OPEN, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp_status status = ARCP_OK;
    for (bool has_row = true; status == ARCP_OK && has_row;) {
        status = arcp__sqlite_next(streams->sqlite, statement, &has_row, err);
        if (has_row) {
            status = close_row(streams->sqlite, statement, err);
            status = status == ARCP_E_CORRUPT ? ARCP_OK : status;
        }
    }
    arcp__sqlite_reset(statement);
    return status;
}

static arcp_status close_in_transaction(arcp__sqlite_streams *streams, arcp_error *err)
{
    arcp_status status = arcp__sqlite_do(streams->sqlite, ARCP__SQLITE_BEGIN_WRITE, err);
    if (status == ARCP_OK) {
        status = close_listed(streams, err);
    }
    if (status == ARCP_OK && streams->has_unlisted) {
        status = close_unlisted(streams, err);
    }
    return status == ARCP_OK ? arcp__sqlite_do(streams->sqlite, ARCP__SQLITE_COMMIT, err) : status;
}

arcp_status arcp__sqlite_streams_close_all(arcp__sqlite_streams *streams, arcp_error *err)
{
    if (streams->open == NULL && !streams->has_unlisted) {
        return ARCP_OK;
    }
    arcp_status status = close_in_transaction(streams, err);
    if (status != ARCP_OK) {
        arcp__sqlite_rollback(streams->sqlite);
        return status;
    }
    while (streams->open != NULL) {
        streams->open->written = streams->open->next;
        arcp__sqlite_stream_unlist_open(streams, streams->open);
    }
    streams->has_unlisted = false;
    return ARCP_OK;
}
