#include "store/sqlite_run.h"

#include "store/sqlite_crc.h"

/* ---- streams ---- */

arcp_status arcp__sqlite_stream_take(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                     arcp_span key, arcp__sqlite_stream_row *out, arcp_error *err)
{
    const int64_t id = sqlite3_column_int64(statement, 0);
    const int64_t next = sqlite3_column_int64(statement, 1);
    const int64_t is_open = sqlite3_column_int64(statement, 2);
    *out = (arcp__sqlite_stream_row){id, (uint64_t)next, is_open != 0};
    if (arcp__sqlite_crc_stream(id, key, next, is_open) != sqlite3_column_int64(statement, 3)) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "%s: damaged: table \"streams\", the row of \"%.*s\" (id %lld) does "
                              "not match its checksum",
                              sqlite->path, (int)arcp_span_first(key, 128).size,
                              key.size == 0 ? "" : key.data, (long long)id);
    }
    if (id < 1 || id > ARCP__SQLITE_STREAM_MAX) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "%s: damaged: a stream has the invalid id %lld",
                              sqlite->path, (long long)id);
    }
    return ARCP_OK;
}

arcp_status arcp__sqlite_stream_find(arcp__sqlite *sqlite, arcp_span key,
                                     arcp__sqlite_stream_row *out, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(
        sqlite, key.size == 0 ? ARCP__SQLITE_STREAM_UNNAMED : ARCP__SQLITE_STREAM_FIND, err);
    if (key.size != 0) {
        arcp__sqlite_bind_text(statement, 1, key);
    }
    *out = (arcp__sqlite_stream_row){0};
    if (arcp__sqlite_next(sqlite, statement, err)) {
        (void)arcp__sqlite_stream_take(sqlite, statement, key, out, err);
    }
    sqlite3_reset(statement);
    return err->status;
}

arcp_status arcp__sqlite_stream_check_end(const arcp__sqlite *sqlite, arcp_span key,
                                          const arcp__sqlite_stream_row *row, uint64_t end,
                                          arcp_error *err)
{
    if (err->status != ARCP_OK || row->id == 0 || end == row->next ||
        (row->is_open && end > row->next)) {
        return err->status;
    }
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: stream \"%.*s\" ends at position %llu, but was written up "
                          "to %llu",
                          sqlite->path, (int)arcp_span_first(key, 128).size, key.data,
                          (unsigned long long)end, (unsigned long long)row->next);
}

/* The integer that the statement returns for `after`; `otherwise` if it returns none. */
static int64_t find_id(arcp__sqlite *sqlite, arcp__sqlite_statement which, int64_t after,
                       int64_t otherwise, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, which, err);
    sqlite3_bind_int64(statement, 1, after);
    const bool is_found = arcp__sqlite_next(sqlite, statement, err) &&
                          sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
    const int64_t id = is_found ? sqlite3_column_int64(statement, 0) : otherwise;
    sqlite3_reset(statement);
    return id;
}

/* Sets ids->newest to the next id that no stream has. */
static arcp_status next_id(arcp__sqlite *sqlite, arcp__sqlite_ids *ids, arcp_error *err)
{
    if (ids->newest + 1 < ids->used) {
        ids->newest++;
        return err->status;
    }
    const int64_t end = ARCP__SQLITE_STREAM_MAX + 1;
    int64_t id = find_id(sqlite, ARCP__SQLITE_ID_FREE, ids->newest, end, err);
    if (id >= end) { /* wrap around */
        id = find_id(sqlite, ARCP__SQLITE_ID_FREE, 0, end, err);
    }
    const int64_t used = find_id(sqlite, ARCP__SQLITE_ID_USED, id, end, err);
    if (err->status == ARCP_OK && id >= end) {
        return arcp_error_set(err, ARCP_E_LIMIT, "%s: the maximum of %lld streams is reached",
                              sqlite->path, (long long)ARCP__SQLITE_STREAM_MAX);
    }
    if (err->status == ARCP_OK) {
        *ids = (arcp__sqlite_ids){id, used < end ? used : end};
    }
    return err->status;
}

/* Binds what STREAM_INSERT, STREAM_UPDATE and STREAM_UNNAME have in common. `named` is the key that
 * the row will have. */
static sqlite3_stmt *bind_stream(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_span key,
                                 const arcp__sqlite_stream_row *row, arcp_span named,
                                 arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, which, err);
    sqlite3_bind_int64(statement, 1, row->id);
    arcp__sqlite_bind_text(statement, 2, key);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)row->next);
    sqlite3_bind_int64(statement, 4, row->is_open);
    sqlite3_bind_int64(statement, 5,
                       arcp__sqlite_crc_stream(row->id, named, (int64_t)row->next, row->is_open));
    return statement;
}

arcp_status arcp__sqlite_stream_insert(arcp__sqlite_tables *tables, arcp_span key,
                                       arcp__sqlite_ids *ids, arcp__sqlite_stream_row *out,
                                       arcp_error *err)
{
    arcp__sqlite *sqlite = tables->sqlite;
    next_id(sqlite, ids, err);
    *out = (arcp__sqlite_stream_row){ids->newest, 0, true};
    sqlite3_stmt *statement = bind_stream(sqlite, ARCP__SQLITE_STREAM_INSERT, key, out, key, err);
    const arcp__sqlite_sum after = arcp__sqlite_tables_bind_next(
        tables, ARCP__SQLITE_SUM_STREAMS, arcp__sqlite_crc_stream_name(out->id, key), statement, 6);
    if (arcp__sqlite_run(sqlite, statement, err) == ARCP_OK && sqlite3_changes(sqlite->db) != 0) {
        arcp__sqlite_tables_added(tables, ARCP__SQLITE_SUM_STREAMS, &after);
    } else {
        *out = (arcp__sqlite_stream_row){0};
    }
    return err->status;
}

arcp_status arcp__sqlite_stream_update(arcp__sqlite *sqlite, const arcp__sqlite_stream_row *row,
                                       arcp_span key, arcp_error *err)
{
    return arcp__sqlite_run(
        sqlite, bind_stream(sqlite, ARCP__SQLITE_STREAM_UPDATE, key, row, key, err), err);
}

arcp_status arcp__sqlite_stream_unname(arcp__sqlite_tables *tables, int64_t id, arcp_span key,
                                       arcp_error *err)
{
    const arcp_span no_key = {NULL, 0};
    const arcp__sqlite_stream_row row = {id, 0, false};
    arcp__sqlite_run(
        tables->sqlite,
        bind_stream(tables->sqlite, ARCP__SQLITE_STREAM_UNNAME, key, &row, no_key, err), err);
    arcp__sqlite_tables_replaced(tables, ARCP__SQLITE_SUM_STREAMS,
                                 arcp__sqlite_crc_stream_name(id, key),
                                 arcp__sqlite_crc_stream_name(id, no_key));
    return err->status;
}

arcp_status arcp__sqlite_stream_delete(arcp__sqlite_tables *tables, int64_t id, arcp_span key,
                                       arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(
        tables->sqlite,
        key.size == 0 ? ARCP__SQLITE_STREAM_DELETE_UNNAMED : ARCP__SQLITE_STREAM_DELETE, err);
    sqlite3_bind_int64(statement, 1, id);
    if (key.size != 0) {
        arcp__sqlite_bind_text(statement, 2, key);
    }
    arcp__sqlite_tables_removed(tables, ARCP__SQLITE_SUM_STREAMS,
                                arcp__sqlite_crc_stream_name(id, key));
    return arcp__sqlite_run(tables->sqlite, statement, err);
}

/* ---- runs ---- */

/* The column `bytes` of a mark: a run without data, which stands for trimmed records. */
#define MARK (-1)

arcp_status arcp__sqlite_run_error(const arcp__sqlite *sqlite, arcp_span key, uint64_t position,
                                   const char *what, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: stream \"%.*s\", the run at position %llu %s", sqlite->path,
                          (int)arcp_span_first(key, 128).size, key.size == 0 ? "" : key.data,
                          (unsigned long long)position, what);
}

arcp_status arcp__sqlite_run_range(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                   arcp_span key, arcp__sqlite_range *out, arcp_error *err)
{
    const int64_t id = sqlite3_column_int64(statement, 0);
    const int64_t count = sqlite3_column_int64(statement, 1);
    const uint64_t first = arcp__sqlite_run_position(id);
    if (!arcp__sqlite_crc_is_of_run(sqlite3_column_int64(statement, 3), id, count,
                                    sqlite3_column_int64(statement, 2))) {
        return arcp__sqlite_run_error(sqlite, key, first, "does not match its checksum", err);
    }
    if (count < 1 || (uint64_t)count > ARCP_STORE_POSITION_MAX + 1 - first) {
        return arcp__sqlite_run_error(sqlite, key, first, "has an impossible count", err);
    }
    *out = (arcp__sqlite_range){first, first + (uint64_t)count};
    return ARCP_OK;
}

arcp_status arcp__sqlite_run_take(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                  arcp_span key, arcp__sqlite_range *out, arcp_span *data,
                                  arcp_error *err)
{
    *data = arcp__sqlite_column_text(statement, 4);
    if (arcp__sqlite_run_range(sqlite, statement, key, out, err) == ARCP_OK &&
        !arcp__sqlite_crc_is_of_data(sqlite3_column_int64(statement, 3), *data)) {
        return arcp__sqlite_run_error(sqlite, key, out->first, "does not match its checksum", err);
    }
    return err->status;
}

bool arcp__sqlite_run_is_mark(sqlite3_stmt *statement)
{
    return sqlite3_column_int64(statement, 2) == MARK;
}

static arcp_status find(arcp__sqlite *sqlite, arcp__sqlite_statement which, int64_t stream,
                        arcp_span key, uint64_t position, arcp__sqlite_range *out, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, which, err);
    sqlite3_bind_int64(statement, 1, arcp__sqlite_run_id(stream, 0));
    sqlite3_bind_int64(statement, 2, arcp__sqlite_run_id(stream, position));
    *out = (arcp__sqlite_range){0, 0};
    if (arcp__sqlite_next(sqlite, statement, err)) {
        (void)arcp__sqlite_run_range(sqlite, statement, key, out, err);
    }
    sqlite3_reset(statement);
    return err->status;
}

arcp_status arcp__sqlite_run_find_first(arcp__sqlite *sqlite, int64_t stream, arcp_span key,
                                        arcp__sqlite_range *out, arcp_error *err)
{
    return find(sqlite, ARCP__SQLITE_RUN_FIRST, stream, key, ARCP_STORE_POSITION_MAX, out, err);
}

arcp_status arcp__sqlite_run_find_last(arcp__sqlite *sqlite, int64_t stream, arcp_span key,
                                       uint64_t position, arcp__sqlite_range *out, arcp_error *err)
{
    const uint64_t limit = position < ARCP_STORE_POSITION_MAX ? position : ARCP_STORE_POSITION_MAX;
    return find(sqlite, ARCP__SQLITE_RUN_LAST, stream, key, limit, out, err);
}

static arcp_status insert_run(arcp__sqlite *sqlite, int64_t id, int64_t count, int64_t bytes,
                              arcp_span data, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_INSERT, err);
    sqlite3_bind_int64(statement, 1, id);
    sqlite3_bind_int64(statement, 2, count);
    sqlite3_bind_int64(statement, 3, bytes);
    sqlite3_bind_int64(statement, 4, arcp__sqlite_crc_run(id, count, bytes, data));
    arcp__sqlite_bind_text(statement, 5, data);
    return arcp__sqlite_run(sqlite, statement, err);
}

arcp_status arcp__sqlite_run_insert(arcp__sqlite *sqlite, int64_t stream, uint64_t first,
                                    size_t count, arcp_span data, arcp_error *err)
{
    return insert_run(sqlite, arcp__sqlite_run_id(stream, first), (int64_t)count,
                      (int64_t)data.size, data, err);
}

arcp_status arcp__sqlite_run_delete(arcp__sqlite *sqlite, int64_t stream, uint64_t below,
                                    arcp_span key, arcp__sqlite_budget *budget, bool *is_all,
                                    arcp_error *err)
{
    const int64_t from = arcp__sqlite_run_id(stream, 0);
    int64_t last = 0;                  /* id of the newest run to delete; 0: none */
    arcp__sqlite_range range = {0, 0}; /* its positions, if the stream has a key */
    bool is_end = false;
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_SIZES, err);
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, from + (int64_t)below);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)budget->runs + 1); /* one may be a mark */
    while (!is_end && budget->runs != 0 && budget->bytes != 0) {
        if (!arcp__sqlite_next(sqlite, statement, err)) {
            is_end = true;
        } else if (arcp__sqlite_run_is_mark(statement)) {
            last = key.size == 0 ? sqlite3_column_int64(statement, 0) : 0;
        } else {
            const int64_t bytes = sqlite3_column_int64(statement, 2);
            if (key.size != 0) {
                (void)arcp__sqlite_run_range(sqlite, statement, key, &range, err);
            }
            last = sqlite3_column_int64(statement, 0);
            budget->runs--;
            budget->bytes -=
                bytes < 0 || (uint64_t)bytes > budget->bytes ? budget->bytes : (uint64_t)bytes;
        }
    }
    sqlite3_reset(statement);
    *is_all = budget->runs != 0 && is_end;
    if (err->status != ARCP_OK || last == 0) {
        return err->status;
    }
    statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_DELETE, err);
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, last);
    arcp__sqlite_run(sqlite, statement, err);
    return key.size == 0
               ? err->status
               : insert_run(sqlite, from, (int64_t)range.end, MARK, arcp_span_make("", 0), err);
}
