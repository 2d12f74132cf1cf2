#include "store/sqlite_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/sqlite_crc.h"
#include "store/sqlite_log.h"
#include "store/sqlite_run.h"
#include "store/sqlite_sums.h"

#define STRUCTURE_MAX "1000" /* what SQLite tells of its structure */

typedef struct checking {
    arcp__sqlite sqlite;
    arcp__sqlite_damage_fn tell;
    void *user;
    arcp__sqlite_found found;
} checking;

static void tell(checking *all, const char *line)
{
    all->found.damages++;
    all->tell(all->user, line);
}

/* Damage is told and forgotten; what is not damage ends the look. */
static arcp_status weigh(checking *all, arcp_status status, arcp_error *err)
{
    if (status != ARCP_E_CORRUPT) {
        return status;
    }
    tell(all, err->message);
    *err = (arcp_error){0};
    return ARCP_OK;
}

/* Calls `take` on each row that `sql` answers. */
static arcp_status each_row(checking *all, const char *sql, int64_t parameter,
                            arcp_status (*take)(checking *all, sqlite3_stmt *row, void *user,
                                                arcp_error *err),
                            void *user, arcp_error *err)
{
    sqlite3_stmt *statement = NULL;
    arcp_status status = ARCP_OK;
    int code = sqlite3_prepare_v2(all->sqlite.db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, parameter);
        while (status == ARCP_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
            status = weigh(all, take(all, statement, user, err), err);
        }
    }
    if (status == ARCP_OK && code != SQLITE_DONE) {
        status = weigh(all, arcp__sqlite_error(&all->sqlite, code, err), err);
    }
    sqlite3_finalize(statement);
    return status;
}

/* ---- SQLite's own structure ---- */

static arcp_status take_structure(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    arcp_span text = arcp__sqlite_column_text(row, 0);
    /* Several lines in one, of a page: the first says which. */
    const char *end = text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
    size_t size = end == NULL ? text.size : (size_t)(end - text.data);
    if (arcp_span_equal_cstr(text, "ok")) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_CORRUPT, "%s: damaged: %.*s", all->sqlite.path, (int)size,
                          text.data);
}

/* ---- tables ---- */

typedef struct table_look {
    arcp_store_table table;
    arcp__sqlite_sum sum;
} table_look;

static arcp_status take_row(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    table_look *look = user;
    int64_t crc = sqlite3_column_int64(row, 2);
    arcp__sqlite_sum_add(&look->sum, crc);
    all->found.rows++;
    return arcp__sqlite_crc_check_row(&all->sqlite, look->table, arcp__sqlite_column_text(row, 0),
                                      arcp__sqlite_column_text(row, 1), crc, err);
}

static arcp_status check_sum(checking *all, int which, const arcp__sqlite_sum *found,
                             arcp_error *err)
{
    arcp__sqlite_sum want = {0};
    arcp_status status = arcp__sqlite_sum_read(&all->sqlite, which, &want, err);
    if (status == ARCP_OK && !arcp__sqlite_sum_is_same(found, &want)) {
        status = arcp__sqlite_sum_error(&all->sqlite, which, found, &want, err);
    }
    return weigh(all, status, err);
}

static arcp_status check_table(checking *all, arcp_store_table table, arcp_error *err)
{
    table_look look = {.table = table};
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT key, value, crc FROM \"%s\" ORDER BY key",
             arcp_store_table_name(table));
    arcp_status status = each_row(all, sql, 0, take_row, &look, err);
    return status == ARCP_OK ? check_sum(all, (int)table, &look.sum, err) : status;
}

/* ---- streams ---- */

typedef struct stream_look {
    arcp_span key;
    uint64_t next; /* position */
} stream_look;

static size_t count_records(arcp_span data)
{
    size_t count = 1;
    for (size_t i = 0; i < data.size; i++) {
        count += data.data[i] == '\n';
    }
    return count;
}

static arcp_status take_run(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    stream_look *look = user;
    arcp__sqlite_range range = {0, 0};
    arcp_span data = arcp__sqlite_column_text(row, 4);
    uint64_t first = arcp__sqlite_run_position(sqlite3_column_int64(row, 0));
    uint64_t next = look->next;
    all->found.runs++;
    arcp_status status = arcp__sqlite_run_range(&all->sqlite, row, look->key, &range, err);
    if (status != ARCP_OK) {
        look->next = first; /* the run after it is not to blame */
        return status;
    }
    look->next = range.end;
    if (!arcp__sqlite_crc_is_of_data(sqlite3_column_int64(row, 3), data)) {
        return arcp__sqlite_run_error(&all->sqlite, look->key, first, "does not match its checksum",
                                      err);
    }
    if (first > next) {
        return arcp__sqlite_run_error(&all->sqlite, look->key, first,
                                      "does not follow the one before it", err);
    }
    if (!arcp__sqlite_run_is_mark(row) && count_records(data) != range.end - range.first) {
        return arcp__sqlite_run_error(&all->sqlite, look->key, first,
                                      "does not hold as many records as it says", err);
    }
    all->found.bytes += data.size;
    return ARCP_OK;
}

static arcp_status check_runs(checking *all, const arcp__sqlite_stream_row *row, arcp_span key,
                              arcp_error *err)
{
    stream_look look = {.key = key};
    arcp_status status =
        each_row(all,
                 "SELECT id, count, bytes, crc, data FROM runs WHERE id BETWEEN ?1 << 38 AND "
                 "(?1 << 38) + 274877906943 ORDER BY id",
                 row->id, take_run, &look, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_stream_check_end(&all->sqlite, key, row, look.next, err);
    }
    return status;
}

static arcp_status take_stream(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    arcp__sqlite_sum *sum = user;
    arcp__sqlite_stream_row stream = {0};
    arcp_span key = arcp__sqlite_column_text(row, 1);
    all->found.streams++;
    arcp__sqlite_sum_add(sum, arcp__sqlite_crc_stream_name(sqlite3_column_int64(row, 0), key));
    arcp_status status = arcp__sqlite_stream_take(&all->sqlite, row, key, 2, &stream, err);
    if (status != ARCP_OK || key.size == 0) {
        return status; /* a dropped one's runs are no longer read */
    }
    return check_runs(all, &stream, key, err);
}

static arcp_status check_streams(checking *all, arcp_error *err)
{
    arcp__sqlite_sum sum = {0};
    arcp_status status = each_row(all,
                                  "SELECT id, key, next, open, crc FROM streams INDEXED BY "
                                  "sqlite_autoindex_streams_1 ORDER BY key",
                                  0, take_stream, &sum, err);
    return status == ARCP_OK ? check_sum(all, ARCP__SQLITE_SUM_STREAMS, &sum, err) : status;
}

static arcp_status take_lost_runs(checking *all, sqlite3_stmt *row, void *user, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: the stream with the id %lld is missing, %lld runs of it "
                          "are there",
                          all->sqlite.path, (long long)sqlite3_column_int64(row, 0),
                          (long long)sqlite3_column_int64(row, 1));
}

/* ---- the whole ---- */

static arcp_status check_content(checking *all, arcp_error *err)
{
    arcp_status status = weigh(all, arcp__sqlite_schema_check(&all->sqlite, err), err);
    for (int table = 0; status == ARCP_OK && table < ARCP_STORE_TABLE_COUNT; table++) {
        status = check_table(all, (arcp_store_table)table, err);
    }
    if (status == ARCP_OK) {
        status = check_streams(all, err);
    }
    if (status == ARCP_OK) {
        status = each_row(all,
                          "SELECT id >> 38, count(*) FROM runs WHERE NOT EXISTS(SELECT 1 FROM "
                          "streams WHERE streams.id = runs.id >> 38) GROUP BY 1",
                          0, take_lost_runs, NULL, err);
    }
    return status;
}

static arcp_status check_version(checking *all, arcp_error *err)
{
    int64_t id = 0;
    int64_t version = 0;
    arcp_status status = arcp__sqlite_integer(&all->sqlite, "PRAGMA application_id", &id, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_integer(&all->sqlite, "PRAGMA user_version", &version, err);
    }
    if (status == ARCP_OK && (id != ARCP__SQLITE_APPLICATION_ID || version != 2)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "%s: no store with checksums that this program knows "
                                "(application id %lld, schema %lld)",
                                all->sqlite.path, (long long)id, (long long)version);
    }
    return status;
}

static arcp_status check_database(checking *all, arcp_error *err)
{
    arcp_status status = arcp__sqlite_open(&all->sqlite, all->sqlite.path, false, "", err);
    if (status == ARCP_OK) {
        status = check_version(all, err);
    }
    if (status == ARCP_E_CORRUPT) {
        return weigh(all, status, err); /* nothing more can be read */
    }
    if (status == ARCP_OK) {
        status = each_row(all, "PRAGMA integrity_check(" STRUCTURE_MAX ")", 0, take_structure, NULL,
                          err);
    }
    return status == ARCP_OK ? check_content(all, err) : status;
}

arcp_status arcp__sqlite_check(const char *path, arcp__sqlite_damage_fn tell_line, void *user,
                               arcp__sqlite_found *out, arcp_error *err)
{
    checking all = {.sqlite = {.path = path}, .tell = tell_line, .user = user};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    arcp_status status = ARCP_OK;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        status =
            arcp_error_set(err, ARCP_E_EXISTS,
                           "%s: in use by another process; stop that one, or check a backup", path);
    }
    if (status == ARCP_OK) {
        status = weigh(&all, arcp__sqlite_log_check(path, err), err);
    }
    if (status == ARCP_OK) {
        status = check_database(&all, err);
    }
    arcp__sqlite_close(&all.sqlite);
    close(fd);
    *out = all.found;
    return status;
}
