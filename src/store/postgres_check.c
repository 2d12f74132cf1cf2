/* Looks through a store that a node may have open: its rows, and all checksums. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/postgres_crc.h"
#include "store/postgres_open.h"
#include "store/postgres_owner.h"
#include "store/postgres_reader.h"
#include "store/postgres_schema.h"

#define ANSWER_NS (60 * ARCP_NS_PER_SEC)

static arcp_status connect_to(arcp__pg *pg, const char *url, arcp_error *err)
{
    *pg = (arcp__pg){.url = url, .name = "arcp", .answer_ns = ANSWER_NS};
    if (arcp__pg_connect(pg, false, err) == ARCP_OK && arcp__pg_schema_check(pg, err) == ARCP_OK) {
        return arcp__pg_connect(pg, true, err); /* with the statements, which need the schema */
    }
    return err->status;
}

arcp_status arcp__pg_store_each_row(const char *url, arcp_store_table table,
                                    void (*row)(void *user, arcp_span key, arcp_span value),
                                    void *user, arcp_error *err)
{
    arcp__pg pg;
    arcp_error failure = {0};
    char after[ARCP_STORE_KEY_BYTES_MAX];
    size_t after_size = 0;
    bool is_last = connect_to(&pg, url, &failure) != ARCP_OK;
    while (!is_last && failure.status == ARCP_OK) {
        arcp__request *page = arcp__pg_new_page(0);
        if (page == NULL) {
            (void)arcp_error_set(&failure, ARCP_E_NO_MEMORY, "out of memory");
            break;
        }
        (void)arcp__pg_read_rows(&pg, table, arcp_span_make(NULL, 0),
                                 arcp_span_make(after, after_size), page, &failure);
        for (size_t i = 0; i < page->answer_count && failure.status == ARCP_OK; i++) {
            row(user, page->rows[i].key, page->rows[i].value);
            after_size = page->rows[i].key.size;
            memcpy(after, page->rows[i].key.data, after_size);
        }
        is_last = page->is_last;
        arcp__request_free(page);
    }
    arcp__pg_close(&pg);
    return failure.status == ARCP_OK ? ARCP_OK : arcp_error_copy(err, &failure);
}

typedef struct checking {
    arcp__pg pg;
    arcp__sqlite_damage_fn print;
    void *user;
    arcp__sqlite_found *found;
} checking;

static void report(checking *all, const char *format, ...) ARCP_PRINTF(2, 3);

static void report(checking *all, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    all->found->damages++;
    all->print(all->user, line);
}

static void check_row(checking *all, const PGresult *rows)
{
    const int64_t table = arcp__pg_integer(rows, 0, 1);
    char decoded[ARCP_STORE_KEY_BYTES_MAX];
    const arcp_span key = arcp__pg_key_of(arcp__pg_text(rows, 0, 2), decoded);
    const char *name = arcp_store_table_name((arcp_store_table)table);
    all->found->rows++;
    if (arcp__pg_crc_row(arcp__pg_integer(rows, 0, 0), table, key, arcp__pg_text(rows, 0, 3)) !=
        (uint32_t)arcp__pg_integer(rows, 0, 4)) {
        report(all, "table \"%s\", the row of \"%.*s\" does not match its checksum",
               name == NULL ? "?" : name, (int)arcp_span_first(key, 128).size, key.data);
    }
}

/* Columns: shard, stream, first, count, data, crc, the end of the run before it, key. */
static void check_run(checking *all, const PGresult *rows)
{
    const int64_t first = arcp__pg_integer(rows, 0, 2);
    const int64_t count = arcp__pg_integer(rows, 0, 3);
    const arcp_span data = arcp__pg_text(rows, 0, 4);
    const arcp_span key = arcp_span_first(arcp__pg_text(rows, 0, 7), 128);
    const bool has_before = PQgetisnull(rows, 0, 6) == 0;
    all->found->runs++;
    all->found->streams += !has_before;
    all->found->bytes += data.size;
    if (arcp__pg_crc_add(arcp__pg_crc_run(arcp__pg_integer(rows, 0, 0),
                                          arcp__pg_integer(rows, 0, 1), first, count),
                         data) != (uint32_t)arcp__pg_integer(rows, 0, 5)) {
        report(all, "stream \"%.*s\", the run at position %lld does not match its checksum",
               (int)key.size, key.data, (long long)first);
    } else if (has_before && arcp__pg_integer(rows, 0, 6) != first) {
        report(all, "stream \"%.*s\", the run at position %lld does not follow the run before it",
               (int)key.size, key.data, (long long)first);
    }
}

static void check_stream(checking *all, const PGresult *rows)
{
    const arcp_span key = arcp_span_first(arcp__pg_text(rows, 0, 0), 128);
    report(all, "stream \"%.*s\" has no run", (int)key.size, key.data);
}

/* Calls `take` with each row of the answer, as it arrives. */
static arcp_status each(checking *all, const char *sql,
                        void (*take)(checking *all, const PGresult *row), arcp_error *err)
{
    arcp__pg *pg = &all->pg;
    if (PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 1) != 1 ||
        PQsetSingleRowMode(pg->conn) != 1 || !arcp__pg_sync(pg)) {
        return arcp_error_set(err, ARCP_E_IO, "postgres: the connection is lost");
    }
    for (bool is_end = false; !is_end;) {
        PGresult *result = NULL;
        if (arcp__pg_next(pg, arcp__clock_ns(CLOCK_MONOTONIC) + pg->answer_ns, -1, &result, err) !=
            ARCP__PG_RESULT) {
            break;
        }
        is_end = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
            take(all, result);
        } else if (err->status == ARCP_OK) {
            (void)arcp__pg_judge(pg, result, err);
        }
        PQclear(result);
    }
    return err->status;
}

arcp_status arcp__pg_store_check(const char *url, arcp__sqlite_damage_fn print, void *user,
                                 arcp__sqlite_found *found, arcp_error *err)
{
    checking all = {.print = print, .user = user, .found = found};
    arcp_error failure = {0};
    *found = (arcp__sqlite_found){0};
    if (connect_to(&all.pg, url, &failure) == ARCP_OK &&
        each(&all, "SELECT shard, tab, key, value, crc FROM arcp.rows ORDER BY shard, tab, key",
             check_row, &failure) == ARCP_OK &&
        each(&all,
             "SELECT r.shard, r.stream, r.first, r.count, r.data, r.crc,"
             " lag(r.first + r.count) OVER (PARTITION BY r.shard, r.stream ORDER BY r.first), s.key"
             " FROM arcp.runs r JOIN arcp.streams s ON s.shard = r.shard AND s.id = r.stream"
             " WHERE s.key IS NOT NULL ORDER BY r.shard, r.stream, r.first",
             check_run, &failure) == ARCP_OK) {
        (void)each(&all,
                   "SELECT s.key FROM arcp.streams s WHERE s.key IS NOT NULL AND NOT EXISTS"
                   " (SELECT FROM arcp.runs r WHERE r.shard = s.shard AND r.stream = s.id)",
                   check_stream, &failure);
    }
    arcp__pg_close(&all.pg);
    return failure.status == ARCP_OK ? ARCP_OK : arcp_error_copy(err, &failure);
}
