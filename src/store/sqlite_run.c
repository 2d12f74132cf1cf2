#include "store/sqlite_run.h"

/* ---- streams ---- */

static arcp_status check_stream_id(const arcp__sqlite *sqlite, int64_t id, arcp_error *err)
{
    if (id < 1 || id > ARCP__SQLITE_STREAM_MAX) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "%s: a stream with the id %lld", sqlite->path,
                              (long long)id);
    }
    return ARCP_OK;
}

/* Steps a statement that answers with one id or nothing, and resets it. */
static arcp_status step_id(arcp__sqlite *sqlite, sqlite3_stmt *statement, int64_t *out,
                           arcp_error *err)
{
    arcp_status status = ARCP_OK;
    int code = sqlite3_step(statement);
    *out = 0;
    if (code == SQLITE_ROW) {
        *out = sqlite3_column_int64(statement, 0);
        status = check_stream_id(sqlite, *out, err);
    } else if (code != SQLITE_DONE) {
        status = arcp__sqlite_error(sqlite, code, err);
    }
    arcp__sqlite_reset(statement);
    return status;
}

arcp_status arcp__sqlite_stream_find(arcp__sqlite *sqlite, arcp_span key, int64_t *out,
                                     arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_STREAM_FIND, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_bind_text(statement, 1, key);
    return step_id(sqlite, statement, out, err);
}

arcp_status arcp__sqlite_stream_find_unnamed(arcp__sqlite *sqlite, int64_t *out, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_STREAM_UNNAMED, err);
    return statement == NULL ? err->status : step_id(sqlite, statement, out, err);
}

static arcp_status is_taken(arcp__sqlite *sqlite, int64_t stream, bool *out, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_STREAM_TAKEN, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, stream);
    int code = sqlite3_step(statement);
    arcp__sqlite_reset(statement);
    *out = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? ARCP_OK
                                                     : arcp__sqlite_error(sqlite, code, err);
}

/* One more than the newest; when ids are used up, the next one that is free again. */
static arcp_status give_id(arcp__sqlite *sqlite, arcp__sqlite_ids *ids, arcp_error *err)
{
    if (ids->newest == 0) {
        arcp_status status =
            arcp__sqlite_integer(sqlite, "SELECT max(id) FROM streams", &ids->newest, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    for (int64_t tries = 0; tries < ARCP__SQLITE_STREAM_MAX; tries++) {
        bool taken = false;
        ids->have_wrapped = ids->have_wrapped || ids->newest >= ARCP__SQLITE_STREAM_MAX;
        ids->newest = ids->newest >= ARCP__SQLITE_STREAM_MAX ? 1 : ids->newest + 1;
        arcp_status status =
            ids->have_wrapped ? is_taken(sqlite, ids->newest, &taken, err) : ARCP_OK;
        if (status != ARCP_OK || !taken) {
            return status;
        }
    }
    return arcp_error_set(err, ARCP_E_LIMIT, "%s: %lld streams, there is no room for another",
                          sqlite->path, (long long)ARCP__SQLITE_STREAM_MAX);
}

arcp_status arcp__sqlite_stream_insert(arcp__sqlite *sqlite, arcp_span key, arcp__sqlite_ids *ids,
                                       int64_t *out, arcp_error *err)
{
    arcp_status status = give_id(sqlite, ids, err);
    if (status != ARCP_OK) {
        return status;
    }
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_STREAM_INSERT, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, ids->newest);
    arcp__sqlite_bind_text(statement, 2, key);
    status = arcp__sqlite_run(sqlite, statement, err);
    if (status == ARCP_OK) {
        *out = ids->newest;
    }
    return status;
}

static arcp_status do_with_id(arcp__sqlite *sqlite, arcp__sqlite_statement which, int64_t stream,
                              arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, which, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, stream);
    return arcp__sqlite_run(sqlite, statement, err);
}

arcp_status arcp__sqlite_stream_delete(arcp__sqlite *sqlite, int64_t stream, arcp_error *err)
{
    return do_with_id(sqlite, ARCP__SQLITE_STREAM_DELETE, stream, err);
}

arcp_status arcp__sqlite_stream_unname(arcp__sqlite *sqlite, int64_t stream, arcp_error *err)
{
    return do_with_id(sqlite, ARCP__SQLITE_STREAM_UNNAME, stream, err);
}

/* ---- runs ---- */

arcp_status arcp__sqlite_run_range(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                   arcp__sqlite_range *out, arcp_error *err)
{
    int64_t count = sqlite3_column_int64(statement, 1);
    uint64_t first = arcp__sqlite_run_position(sqlite3_column_int64(statement, 0));
    if (count < 1 || (uint64_t)count > ARCP_STORE_POSITION_MAX + 1 - first) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "%s: a run of %lld records at position %llu",
                              sqlite->path, (long long)count, (unsigned long long)first);
    }
    *out = (arcp__sqlite_range){first, first + (uint64_t)count};
    return ARCP_OK;
}

static arcp_status find(arcp__sqlite *sqlite, arcp__sqlite_statement which, int64_t stream,
                        uint64_t position, arcp__sqlite_range *out, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, which, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, arcp__sqlite_run_id(stream, 0));
    sqlite3_bind_int64(statement, 2, arcp__sqlite_run_id(stream, position));
    *out = (arcp__sqlite_range){0, 0};
    int code = sqlite3_step(statement);
    arcp_status status = ARCP_OK;
    if (code == SQLITE_ROW) {
        status = arcp__sqlite_run_range(sqlite, statement, out, err);
    } else if (code != SQLITE_DONE) {
        status = arcp__sqlite_error(sqlite, code, err);
    }
    arcp__sqlite_reset(statement);
    return status;
}

arcp_status arcp__sqlite_run_find_first(arcp__sqlite *sqlite, int64_t stream,
                                        arcp__sqlite_range *out, arcp_error *err)
{
    return find(sqlite, ARCP__SQLITE_RUN_FIRST, stream, ARCP_STORE_POSITION_MAX, out, err);
}

arcp_status arcp__sqlite_run_find_last(arcp__sqlite *sqlite, int64_t stream, uint64_t position,
                                       arcp__sqlite_range *out, arcp_error *err)
{
    uint64_t limit = position < ARCP_STORE_POSITION_MAX ? position : ARCP_STORE_POSITION_MAX;
    return find(sqlite, ARCP__SQLITE_RUN_LAST, stream, limit, out, err);
}

arcp_status arcp__sqlite_run_insert(arcp__sqlite *sqlite, int64_t stream, uint64_t first,
                                    size_t count, arcp_span data, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_INSERT, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, arcp__sqlite_run_id(stream, first));
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)count);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)data.size);
    arcp__sqlite_bind_text(statement, 4, data);
    return arcp__sqlite_run(sqlite, statement, err);
}

/* The last run that the budget reaches; 0 when there is none. */
static arcp_status find_last_affordable(arcp__sqlite *sqlite, int64_t from, int64_t below,
                                        arcp__sqlite_budget *budget, int64_t *last, bool *is_all,
                                        arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_SIZES, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, below);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)budget->runs);
    *last = 0;
    int code = SQLITE_ROW;
    while (budget->runs != 0 && budget->bytes != 0 &&
           (code = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t bytes = sqlite3_column_int64(statement, 1);
        *last = sqlite3_column_int64(statement, 0);
        budget->runs--;
        budget->bytes -=
            bytes < 0 || (uint64_t)bytes > budget->bytes ? budget->bytes : (uint64_t)bytes;
    }
    arcp_status status =
        code == SQLITE_ROW || code == SQLITE_DONE ? ARCP_OK : arcp__sqlite_error(sqlite, code, err);
    *is_all = budget->runs != 0 && code == SQLITE_DONE;
    arcp__sqlite_reset(statement);
    return status;
}

arcp_status arcp__sqlite_run_delete(arcp__sqlite *sqlite, int64_t stream, uint64_t below,
                                    arcp__sqlite_budget *budget, bool *is_all, arcp_error *err)
{
    int64_t from = arcp__sqlite_run_id(stream, 0);
    int64_t last = 0;
    arcp_status status =
        find_last_affordable(sqlite, from, from + (int64_t)below, budget, &last, is_all, err);
    if (status != ARCP_OK || last == 0) {
        return status;
    }
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_RUN_DELETE, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, last);
    return arcp__sqlite_run(sqlite, statement, err);
}
