#include "store/sqlite_schema.h"

#include <stdio.h>

#include "store/sqlite_crc.h"

#define VERSION ARCP__SQLITE_SCHEMA_VERSION

/* ---- the current schema ----
 *
 * streams: at most 2^25 at a time; ids of dropped streams are reused. The key of a dropped stream,
 * whose runs are being deleted, is its id as a blob.
 * runs: id is the stream's id * 2^38 + the position of the first record; data holds the records,
 * separated by line feeds; bytes is the size of data.
 * count, sum and changes of a row of a table or of streams: see sqlite_table.h. */

#define STREAMS                                                                                    \
    "CREATE TABLE streams(key TEXT PRIMARY KEY, id INTEGER NOT NULL, next INTEGER NOT NULL,"       \
    " open INTEGER NOT NULL, crc INTEGER NOT NULL, count INTEGER NOT NULL, sum INTEGER NOT NULL,"  \
    " changes INTEGER NOT NULL) WITHOUT ROWID"
#define RUNS                                                                                       \
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL,"    \
    " crc INTEGER NOT NULL, data TEXT NOT NULL)"
#define SUMS                                                                                       \
    "CREATE TABLE sums(name TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, sum INTEGER NOT NULL,"   \
    " changes INTEGER NOT NULL, crc INTEGER NOT NULL, open INTEGER NOT NULL DEFAULT 0)"
#define STREAM_RUNS                                                                                \
    "CREATE VIEW stream_runs(stream, first, count, bytes, data) AS"                                \
    " SELECT streams.key, runs.id & 274877906943, runs.count, runs.bytes, runs.data"               \
    " FROM streams JOIN runs"                                                                      \
    " ON runs.id BETWEEN streams.id << 38 AND (streams.id << 38) + 274877906943"                   \
    " WHERE runs.bytes >= 0 AND typeof(streams.key) = 'text'"
#define TABLE(name)                                                                                \
    "CREATE TABLE \"" name "\"(key TEXT NOT NULL UNIQUE, value TEXT NOT NULL, crc INTEGER NOT "    \
    "NULL, count INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 0,"                      \
    " changes INTEGER NOT NULL DEFAULT 0)"

/* The definition of each object as SQLite stores it. They are compared, because SQLite follows
 * parts of them, such as a collation or an affinity, that no other check would cover. */
static const struct {
    const char *name;
    const char *sql;
} objects[] = {
    {"streams", STREAMS},
    {"runs", RUNS},
    {"sums", SUMS},
    {"stream_runs", STREAM_RUNS},
#define ARCP_STORE_TABLE(name, number, text) {text, TABLE(text)},
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
};

/* Sets a sum to that of the existing rows, and its changes past those of the rows. */
#define SEAL_SUM(name, crc)                                                                        \
    "INSERT OR REPLACE INTO sums SELECT '" name "', rows, total, newest,"                          \
    " arcp_crc_sum('" name "', rows, total, newest, 0), 0"                                         \
    " FROM (SELECT count(*) AS rows, coalesce(sum(" crc "), 0) AS total,"                          \
    " coalesce(max(changes), 0) + 1 AS newest FROM \"" name "\");"

static const char *const sums[] = {
    SEAL_SUM("streams", "arcp_crc_stream_name(id, iif(typeof(key) = 'text', key, NULL))"),
#define ARCP_STORE_TABLE(name, number, text) SEAL_SUM(text, "crc"),
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
};

arcp_status arcp__sqlite_schema_seal_sums(arcp__sqlite *sqlite, arcp_error *err)
{
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        arcp__sqlite_exec(sqlite, sums[i], err);
    }
    return err->status;
}

/* ---- migration ---- */

/* Schema 2, as it was released. */
#define STREAMS_2                                                                                  \
    "CREATE TABLE streams(id INTEGER PRIMARY KEY, key TEXT UNIQUE, next INTEGER NOT NULL,"         \
    " open INTEGER NOT NULL, crc INTEGER NOT NULL)"
#define SUMS_2                                                                                     \
    "CREATE TABLE sums(name TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, sum INTEGER NOT NULL,"   \
    " changes INTEGER NOT NULL, crc INTEGER NOT NULL)"
#define TABLE_2(name)                                                                              \
    "\"" name "\"(key TEXT NOT NULL UNIQUE, value TEXT NOT NULL, crc INTEGER NOT NULL)"
#define SEAL_SUM_2(name, crc)                                                                      \
    "INSERT OR REPLACE INTO sums SELECT '" name "', rows, total, 1,"                               \
    " arcp_crc_sum('" name "', rows, total, 1)"                                                    \
    " FROM (SELECT count(*) AS rows, coalesce(sum(" crc "), 0) AS total FROM \"" name "\");"
#define SEAL_STREAMS_2                                                                             \
    "UPDATE streams SET open = 0, next = coalesce((SELECT (id & 274877906943) + count FROM runs"   \
    " WHERE runs.id BETWEEN streams.id << 38 AND (streams.id << 38) + 274877906943"                \
    " ORDER BY runs.id DESC LIMIT 1), 0);"                                                         \
    "UPDATE streams SET next = 0 WHERE key IS NULL;"                                               \
    "UPDATE streams SET crc = arcp_crc_stream(id, key, next, open);" SEAL_SUM_2(                   \
        "streams", "arcp_crc_stream_name(id, key)")

/* The steps from version 1 on. Never change a released step: append another one. */
static const arcp__sqlite_step steps[] = {
    /* Adds checksums (sqlite_crc.h), the ends of streams (sqlite_stream.h) and sums
     * (sqlite_table.h). Trimmed records become a run without data (sqlite_run.h). */
    {2,
     "DROP VIEW stream_runs;"
     "ALTER TABLE streams RENAME TO old_streams;"
     "ALTER TABLE runs RENAME TO old_runs;" STREAMS_2 ";" RUNS ";" SUMS_2 ";"
     "INSERT INTO streams SELECT id, key, 0, 0, 0 FROM old_streams;"
     "INSERT INTO runs SELECT id, count, bytes, arcp_crc_run(id, count, bytes, data), data"
     " FROM old_runs;"
     "INSERT INTO runs SELECT id << 38, first, -1, arcp_crc_run(id << 38, first, -1, ''), ''"
     " FROM (SELECT id, (SELECT old_runs.id & 274877906943 FROM old_runs WHERE old_runs.id"
     " BETWEEN streams.id << 38 AND (streams.id << 38) + 274877906943"
     " ORDER BY old_runs.id LIMIT 1) AS first FROM streams WHERE key IS NOT NULL) WHERE first > 0;"
     "DROP TABLE old_streams;"
     "DROP TABLE old_runs;" STREAM_RUNS ";" SEAL_STREAMS_2},
#define ARCP_STORE_TABLE(name, number, text)                                                       \
    {2, "CREATE TABLE IF NOT EXISTS \"" text "\"(key TEXT NOT NULL UNIQUE, value TEXT NOT NULL);"  \
        "ALTER TABLE \"" text "\" RENAME TO old_rows;"                                             \
        "CREATE TABLE " TABLE_2(text) ";"                                                          \
                                      "INSERT INTO \"" text                                        \
                                      "\" SELECT key, value, arcp_crc_row('" text "', key, value)" \
                                      " FROM old_rows;"                                            \
                                      "DROP TABLE old_rows;" SEAL_SUM_2(text, "crc")},
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
    /* Rows carry sums (sqlite_table.h), and streams are found by their keys alone. Checksums that
     * do not match are kept or replaced by an impossible one, so damage stays damage. */
    {3, "DROP VIEW stream_runs;"
        "ALTER TABLE streams RENAME TO old_streams;" STREAMS ";"
        "INSERT INTO streams SELECT coalesce(key, CAST(id AS BLOB)), id, next, open, crc, 0, 0, 0"
        " FROM old_streams;"
        "DROP TABLE old_streams;" STREAM_RUNS ";"
        "ALTER TABLE sums ADD COLUMN open INTEGER NOT NULL DEFAULT 0;"
        "UPDATE sums SET crc = iif(crc = arcp_crc_sum(name, count, sum, changes),"
        " arcp_crc_sum(name, count, sum, changes, 0), -1);"},
#define ARCP_STORE_TABLE(name, number, text)                                                       \
    {3, "CREATE TABLE IF NOT EXISTS " TABLE_2(                                                     \
            text) ";"                                                                              \
                  "INSERT OR IGNORE INTO sums VALUES('" text "', 0, 0, 1,"                         \
                  " arcp_crc_sum('" text "', 0, 0, 1, 0), 0);"                                     \
                  "ALTER TABLE \"" text "\" ADD COLUMN count INTEGER NOT NULL DEFAULT 0;"          \
                  "ALTER TABLE \"" text "\" ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"            \
                  "ALTER TABLE \"" text "\" ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;"},
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
};

/* The schema version of the database; an error if it is greater than `known`. */
static int64_t get_version(arcp__sqlite *sqlite, size_t known, arcp_error *err)
{
    const int64_t version = arcp__sqlite_integer(sqlite, "PRAGMA user_version", err);
    if (version < 0) {
        (void)arcp_error_set(err, ARCP_E_CORRUPT, "%s: damaged: the header says schema %lld",
                             sqlite->path, (long long)version);
    } else if ((uint64_t)version > known) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "%s: written by a newer version (schema %lld, this program knows "
                             "%zu): upgrade it, or choose another store",
                             sqlite->path, (long long)version, known);
    }
    return version;
}

arcp_status arcp__sqlite_schema_migrate(arcp__sqlite *sqlite, const arcp__sqlite_step *list,
                                        size_t count, arcp_error *err)
{
    const int64_t version = get_version(sqlite, list[count - 1].version, err);
    size_t i = 0;
    while (i < count && list[i].version <= (size_t)version) {
        i++;
    }
    /* Steps to the same version are one transaction. */
    while (err->status == ARCP_OK && i < count) {
        const size_t next = list[i].version;
        char mark[64];
        snprintf(mark, sizeof mark, "PRAGMA user_version = %zu", next);
        arcp__sqlite_exec(sqlite, "BEGIN IMMEDIATE", err);
        for (; i < count && list[i].version == next; i++) {
            arcp__sqlite_exec(sqlite, list[i].sql, err);
        }
        arcp__sqlite_exec(sqlite, mark, err);
        arcp__sqlite_commit(sqlite, err);
    }
    return err->status;
}

/* A database that is not empty and does not have our application id belongs to another program. */
static void check_owner(arcp__sqlite *sqlite, arcp_error *err)
{
    const int64_t id = arcp__sqlite_integer(sqlite, "PRAGMA application_id", err);
    if (err->status != ARCP_OK || id == ARCP__SQLITE_APPLICATION_ID) {
        return;
    }
    const int64_t things = arcp__sqlite_integer(sqlite, "SELECT count(*) FROM sqlite_schema", err);
    if (err->status == ARCP_OK && (id != 0 || things != 0)) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "%s: belongs to another program (application id %lld)", sqlite->path,
                             (long long)id);
    }
}

/* Creates a missing table. All tables have the same columns, so a table that is new in a version
 * needs no migration step. If the table is missing but has a sum, it was lost: damage. */
static void create_table(arcp__sqlite *sqlite, arcp_store_table table, arcp_error *err)
{
    const char *name = arcp_store_table_name(table);
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_schema WHERE name = '%s'", name);
    if (arcp__sqlite_integer(sqlite, sql, err) != 0 || err->status != ARCP_OK) {
        return;
    }
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sums WHERE name = '%s'", name);
    if (arcp__sqlite_integer(sqlite, sql, err) != 0) {
        (void)arcp_error_set(err, ARCP_E_CORRUPT, "%s: damaged: table \"%s\" is missing",
                             sqlite->path, name);
    }
    snprintf(sql, sizeof sql,
             TABLE("%s") "; INSERT INTO sums VALUES('%s', 0, 0, 1, arcp_crc_sum('%s', 0, 0, 1, 0),"
                         " 0)",
             name, name, name);
    arcp__sqlite_exec(sqlite, sql, err);
}

static void check_object(arcp__sqlite *sqlite, const char *name, const char *sql, arcp_error *err)
{
    sqlite3_stmt *statement =
        arcp__sqlite_prepare(sqlite, "SELECT sql FROM sqlite_schema WHERE name = ?1", err);
    arcp__sqlite_bind_text(statement, 1, arcp_span_cstr(name));
    const bool exists = arcp__sqlite_next(sqlite, statement, err);
    if (err->status == ARCP_OK &&
        (!exists || !arcp_span_equal_cstr(arcp__sqlite_column_text(statement, 0), sql))) {
        (void)arcp_error_set(err, ARCP_E_CORRUPT, "%s: damaged: the definition of \"%s\" is %s",
                             sqlite->path, name, exists ? "different" : "missing");
    }
    sqlite3_finalize(statement);
}

arcp_status arcp__sqlite_schema_check(arcp__sqlite *sqlite, arcp_error *err)
{
    /* With another encoding, text would not be found. */
    const int64_t is_utf8 = arcp__sqlite_integer(
        sqlite, "SELECT count(*) FROM pragma_encoding WHERE encoding = 'UTF-8'", err);
    if (err->status == ARCP_OK && is_utf8 == 0) {
        (void)arcp_error_set(err, ARCP_E_CORRUPT,
                             "%s: damaged: the header says that text is not UTF-8", sqlite->path);
    }
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        check_object(sqlite, objects[i].name, objects[i].sql, err);
    }
    return err->status;
}

/* The pragma returns the mode that is in effect. */
static void use_log(arcp__sqlite *sqlite, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_prepare(sqlite, "PRAGMA journal_mode = WAL", err);
    if (arcp__sqlite_next(sqlite, statement, err) &&
        !arcp_span_equal_cstr(arcp__sqlite_column_text(statement, 0), "wal")) {
        (void)arcp_error_set(err, ARCP_E_IO,
                             "%s: the file system does not support a shared write-ahead log",
                             sqlite->path);
    }
    sqlite3_finalize(statement);
}

arcp_status arcp__sqlite_schema_open(arcp__sqlite *sqlite, arcp_error *err)
{
    static const arcp__sqlite_step newest = {
        VERSION, "PRAGMA application_id = 1095910224;" /* ARCP__SQLITE_APPLICATION_ID */
        STREAMS ";" RUNS ";" SUMS ";" STREAM_RUNS ";" SEAL_SUM("streams", "crc")};
    arcp__sqlite_crc_add_functions(sqlite, err);
    check_owner(sqlite, err);
    const bool is_new = get_version(sqlite, VERSION, err) == 0;
    use_log(sqlite, err);
    arcp__sqlite_schema_migrate(sqlite, is_new ? &newest : steps,
                                is_new ? 1 : sizeof steps / sizeof steps[0], err);
    arcp__sqlite_exec(sqlite, "BEGIN", err);
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        create_table(sqlite, (arcp_store_table)table, err);
    }
    arcp__sqlite_commit(sqlite, err);
    return arcp__sqlite_schema_check(sqlite, err);
}
