#include "store/sqlite_schema.h"

#include <stdio.h>

/* Never change a step that was released: append one.
 *
 * A stream's id leaves room for 2^25 streams at a time; ids of dropped streams are used
 * again. A stream without a key was dropped, and its runs are being deleted. */
static const char *const steps[] = {
    "PRAGMA application_id = 1095910224;" /* ARCP__SQLITE_APPLICATION_ID */
    "CREATE TABLE streams(id INTEGER PRIMARY KEY, key TEXT UNIQUE);"
    /* id: the stream's id * 2^38 + the position of the first record; data: the records, a
     * line feed between two of them; bytes: of data, known without reading it. */
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " data TEXT NOT NULL);"
    "CREATE VIEW stream_runs(stream, first, count, bytes, data) AS"
    " SELECT streams.key, runs.id & 274877906943, runs.count, runs.bytes, runs.data"
    " FROM streams JOIN runs"
    " ON runs.id BETWEEN streams.id << 38 AND (streams.id << 38) + 274877906943;",
};

static arcp_status refuse_newer(const arcp__sqlite *sqlite, int64_t version, size_t known,
                                arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_USAGE,
                          "%s: written by a newer version (schema %lld, this program knows %zu): "
                          "upgrade it, or choose another store",
                          sqlite->path, (long long)version, known);
}

static arcp_status run_step(arcp__sqlite *sqlite, const char *step, size_t version, arcp_error *err)
{
    char mark[64];
    snprintf(mark, sizeof(mark), "PRAGMA user_version = %zu", version);
    arcp_status status = arcp__sqlite_exec(sqlite, "BEGIN IMMEDIATE", err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__sqlite_exec(sqlite, step, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_exec(sqlite, mark, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_exec(sqlite, "COMMIT", err);
    }
    if (status != ARCP_OK) {
        arcp__sqlite_rollback(sqlite);
    }
    return status;
}

/* The version that the database has, if it is one of 0 to `count`. */
static arcp_status get_version(arcp__sqlite *sqlite, size_t count, int64_t *out, arcp_error *err)
{
    arcp_status status = arcp__sqlite_integer(sqlite, "PRAGMA user_version", out, err);
    if (status == ARCP_OK && (*out < 0 || (uint64_t)*out > count)) {
        status = refuse_newer(sqlite, *out, count, err);
    }
    return status;
}

arcp_status arcp__sqlite_schema_migrate(arcp__sqlite *sqlite, const char *const *list, size_t count,
                                        arcp_error *err)
{
    int64_t version = 0;
    arcp_status status = get_version(sqlite, count, &version, err);
    if (status != ARCP_OK) {
        return status;
    }
    for (size_t at = (size_t)version; at < count; at++) {
        status = run_step(sqlite, list[at], at + 1, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

/* A database that holds something and is not marked as ours belongs to somebody else. */
static arcp_status check_owner(arcp__sqlite *sqlite, arcp_error *err)
{
    int64_t id = 0;
    arcp_status status = arcp__sqlite_integer(sqlite, "PRAGMA application_id", &id, err);
    if (status != ARCP_OK || id == ARCP__SQLITE_APPLICATION_ID) {
        return status;
    }
    int64_t things = 0;
    status = arcp__sqlite_integer(sqlite, "SELECT count(*) FROM sqlite_schema", &things, err);
    if (status == ARCP_OK && (id != 0 || things != 0)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "%s: the database of another program (application id %lld)",
                                sqlite->path, (long long)id);
    }
    return status;
}

/* Tables hold rows of one shape only, so a new one needs no step of its own. Nothing is
 * written when all are there. */
static arcp_status create_tables(arcp__sqlite *sqlite, arcp_error *err)
{
    arcp_status status = arcp__sqlite_exec(sqlite, "BEGIN", err);
    for (int table = 0; status == ARCP_OK && table < ARCP_STORE_TABLE_COUNT; table++) {
        char sql[160];
        snprintf(sql, sizeof(sql),
                 "CREATE TABLE IF NOT EXISTS \"%s\"(key TEXT NOT NULL UNIQUE, value TEXT NOT NULL)",
                 arcp_store_table_name((arcp_store_table)table));
        status = arcp__sqlite_exec(sqlite, sql, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_exec(sqlite, "COMMIT", err);
    }
    if (status != ARCP_OK) {
        arcp__sqlite_rollback(sqlite);
    }
    return status;
}

/* SQLite answers with the mode that it could set. */
static arcp_status use_log(arcp__sqlite *sqlite, arcp_error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(sqlite->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    arcp_status status = ARCP_OK;
    if (code != SQLITE_ROW) {
        status = arcp__sqlite_error(sqlite, code, err);
    } else if (!arcp_span_equal_cstr(arcp__sqlite_column_text(statement, 0), "wal")) {
        status = arcp_error_set(err, ARCP_E_IO,
                                "%s: the file system cannot hold a shared write-ahead log",
                                sqlite->path);
    }
    sqlite3_finalize(statement);
    return status;
}

arcp_status arcp__sqlite_schema_open(arcp__sqlite *sqlite, arcp_error *err)
{
    size_t count = sizeof(steps) / sizeof(steps[0]);
    int64_t version = 0;
    arcp_status status = check_owner(sqlite, err);
    if (status == ARCP_OK) {
        status = get_version(sqlite, count, &version, err);
    }
    if (status == ARCP_OK) {
        status = use_log(sqlite, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_schema_migrate(sqlite, steps, count, err);
    }
    return status == ARCP_OK ? create_tables(sqlite, err) : status;
}
