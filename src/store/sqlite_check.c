#include "store/sqlite_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/sqlite_crc.h"
#include "store/sqlite_log.h"
#include "store/sqlite_run.h"
#include "store/sqlite_table.h"

#define STRUCTURE_MAX "1000" /* errors that SQLite reports about its structure */

typedef struct checking {
    arcp__sqlite sqlite;
    arcp__sqlite_damage_fn report;
    void *user;
    arcp__sqlite_found found;
} checking;

/* Reports damage and clears the error, so that the check continues. Other errors end it. */
static void report_damage(checking *all, arcp_error *err)
{
    if (err->status == ARCP_E_CORRUPT) {
        all->found.damages++;
        all->report(all->user, err->message);
        *err = (arcp_error){0};
    }
}

/* Calls `take` for each row of the result. */
static void each_row(checking *all, const char *sql, int64_t parameter,
                     void (*take)(checking *all, sqlite3_stmt *row, void *user, arcp_error *err),
                     void *user, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_prepare(&all->sqlite, sql, err);
    sqlite3_bind_int64(statement, 1, parameter);
    while (arcp__sqlite_next(&all->sqlite, statement, err)) {
        take(all, statement, user, err);
        report_damage(all, err);
    }
    report_damage(all, err);
    sqlite3_finalize(statement);
}

/* ---- SQLite's own structure ---- */

static void take_structure(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    const arcp_span text = arcp__sqlite_column_text(row, 0);
    /* The text can have several lines about one page; the first names the page. */
    const char *end = text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
    const size_t size = end == NULL ? text.size : (size_t)(end - text.data);
    if (!arcp_span_equal_cstr(text, "ok")) {
        (void)arcp_error_set(err, ARCP_E_CORRUPT, "%s: damaged: %.*s", all->sqlite.path, (int)size,
                             text.data);
    }
}

/* ---- tables ---- */

typedef struct table_check {
    arcp_store_table table;
    arcp__sqlite_tally tally;
} table_check;

static void take_row(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    table_check *check = user;
    arcp_store_row content;
    all->found.rows++;
    arcp__sqlite_row_take(&all->sqlite, check->table, row, &check->tally, &content, err);
}

static void check_sum(checking *all, int which, const arcp__sqlite_tally *tally, arcp_error *err)
{
    arcp__sqlite_sum_state state = {0};
    arcp__sqlite_sum_read(&all->sqlite, which, &state, err);
    arcp__sqlite_tally_check(&all->sqlite, which, tally, &state, err);
    report_damage(all, err);
}

/* ---- streams ---- */

typedef struct stream_check {
    arcp_span key;
    uint64_t next; /* position */
} stream_check;

static void take_run(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    stream_check *check = user;
    arcp_span data = {NULL, 0};
    arcp__sqlite_range range = {0, 0};
    const uint64_t first = arcp__sqlite_run_position(sqlite3_column_int64(row, 0));
    const uint64_t next = check->next;
    all->found.runs++;
    arcp__sqlite_run_take(&all->sqlite, row, check->key, &range, &data, err);
    check->next = range.end == 0 ? first : range.end; /* do not report the next run as well */
    if (err->status != ARCP_OK) {
        return;
    }
    if (first > next) {
        (void)arcp__sqlite_run_error(&all->sqlite, check->key, first,
                                     "does not follow the run before it", err);
        return;
    }
    size_t records = 1;
    for (size_t i = 0; i < data.size; i++) {
        records += data.data[i] == '\n';
    }
    if (!arcp__sqlite_run_is_mark(row) && records != range.end - range.first) {
        (void)arcp__sqlite_run_error(&all->sqlite, check->key, first,
                                     "does not contain as many records as its count says", err);
        return;
    }
    all->found.bytes += data.size;
}

static void take_stream(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    arcp__sqlite_tally *tally = user;
    arcp__sqlite_stream_row stream = {0};
    const arcp_span key = arcp__sqlite_column_text(row, 4);
    all->found.streams++;
    arcp__sqlite_tally_add(tally, arcp__sqlite_crc_stream_name(sqlite3_column_int64(row, 0), key),
                           row, 5);
    if (arcp__sqlite_stream_take(&all->sqlite, row, key, &stream, err) != ARCP_OK ||
        key.size == 0) {
        return; /* the runs of a dropped stream are no longer read */
    }
    stream_check check = {.key = key};
    each_row(all,
             "SELECT id, count, bytes, crc, data FROM runs WHERE id BETWEEN ?1 << 38 AND "
             "(?1 << 38) + 274877906943 ORDER BY id",
             stream.id, take_run, &check, err);
    arcp__sqlite_stream_check_end(&all->sqlite, key, &stream, check.next, err);
}

static void take_lost_runs(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    (void)arcp_error_set(
        err, ARCP_E_CORRUPT,
        "%s: damaged: the stream with the id %lld is missing, but %lld of its runs "
        "exist",
        all->sqlite.path, (long long)sqlite3_column_int64(row, 0),
        (long long)sqlite3_column_int64(row, 1));
}

/* ---- the whole database ---- */

static void check_version(checking *all, arcp_error *err)
{
    const int64_t id = arcp__sqlite_integer(&all->sqlite, "PRAGMA application_id", err);
    const int64_t version = arcp__sqlite_integer(&all->sqlite, "PRAGMA user_version", err);
    if (err->status == ARCP_OK &&
        (id != ARCP__SQLITE_APPLICATION_ID || version != ARCP__SQLITE_SCHEMA_VERSION)) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "%s: not a store with checksums that this version knows "
                             "(application id %lld, schema %lld)",
                             all->sqlite.path, (long long)id, (long long)version);
    }
}

static void check_database(checking *all, arcp_error *err)
{
    arcp__sqlite_open(&all->sqlite, all->sqlite.path, false, "", err);
    check_version(all, err);
    if (err->status == ARCP_E_CORRUPT) {
        report_damage(all, err); /* nothing more can be read */
        return;
    }
    each_row(all, "PRAGMA integrity_check(" STRUCTURE_MAX ")", 0, take_structure, NULL, err);
    arcp__sqlite_schema_check(&all->sqlite, err);
    report_damage(all, err);
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        table_check check = {.table = (arcp_store_table)table};
        char sql[128];
        snprintf(sql, sizeof sql,
                 "SELECT key, value, crc, count, sum, changes FROM \"%s\" ORDER BY key",
                 arcp_store_table_name(check.table));
        each_row(all, sql, 0, take_row, &check, err);
        check_sum(all, table, &check.tally, err);
    }
    arcp__sqlite_tally streams = {0};
    each_row(all,
             "SELECT id, next, open, crc, iif(typeof(key) = 'text', key, NULL), count, sum, "
             "changes FROM streams ORDER BY streams.key",
             0, take_stream, &streams, err);
    check_sum(all, ARCP__SQLITE_SUM_STREAMS, &streams, err);
    each_row(all,
             "SELECT id >> 38, count(*) FROM runs WHERE id >> 38 NOT IN (SELECT id FROM streams) "
             "GROUP BY 1",
             0, take_lost_runs, NULL, err);
}

arcp_status arcp__sqlite_check(const char *path, arcp__sqlite_damage_fn report, void *user,
                               arcp__sqlite_found *out, arcp_error *err)
{
    checking all = {.sqlite = {.path = path}, .report = report, .user = user};
    *err = (arcp_error){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)arcp_error_set(err, ARCP_E_EXISTS,
                             "%s: in use by another process; stop it, or check a backup", path);
    }
    arcp__sqlite_log_check(path, err);
    report_damage(&all, err);
    check_database(&all, err);
    arcp__sqlite_close(&all.sqlite);
    close(fd);
    *out = all.found;
    return err->status;
}
