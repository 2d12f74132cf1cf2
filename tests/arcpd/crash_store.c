/* Reads the database without the runtime: the index of each session names runs of records in
 * streams, and the frames that clients received must be exactly these records. */
#include "arcpd/crash_fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* The records of a stream from a position on, one row of `runs` after the other. */
typedef struct cursor {
    sqlite3_stmt *rows;
    arcp_span left; /* of the current row */
} cursor;

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        daemon_fail("%s: %s", sql, sqlite3_errmsg(db));
    }
    return statement;
}

static arcp_span column(sqlite3_stmt *statement, int index)
{
    return arcp_span_make((const char *)sqlite3_column_text(statement, index),
                          (size_t)sqlite3_column_bytes(statement, index));
}

static bool next_line(cursor *lines, arcp_span *out)
{
    if (lines->left.data == NULL) {
        if (sqlite3_step(lines->rows) != SQLITE_ROW) {
            return false;
        }
        lines->left = column(lines->rows, 1);
    }
    const char *end = memchr(lines->left.data, '\n', lines->left.size);
    const size_t size = end == NULL ? lines->left.size : (size_t)(end - lines->left.data);
    *out = arcp_span_first(lines->left, size);
    lines->left = end == NULL ? arcp_span_make(NULL, 0) : arcp_span_from(lines->left, size + 1);
    return true;
}

static void seek(cursor *lines, arcp_span stream, uint64_t position)
{
    arcp_span skipped;
    (void)sqlite3_reset(lines->rows);
    (void)sqlite3_bind_text(lines->rows, 1, stream.data, (int)stream.size, SQLITE_TRANSIENT);
    (void)sqlite3_bind_int64(lines->rows, 2, (sqlite3_int64)position);
    if (sqlite3_step(lines->rows) != SQLITE_ROW) {
        daemon_fail("position %llu of %.*s is not stored", (unsigned long long)position,
                    (int)stream.size, stream.data);
    }
    lines->left = column(lines->rows, 1);
    for (uint64_t first = (uint64_t)sqlite3_column_int64(lines->rows, 0); first < position;
         first++) {
        if (!next_line(lines, &skipped)) {
            daemon_fail("%.*s ends too early", (int)stream.size, stream.data);
        }
    }
}

static uint64_t number_of(arcp_span record, const char *name)
{
    char quoted[32];
    uint64_t value = 0;
    const int size = snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *found = memmem(record.data, record.size, quoted, (size_t)size);
    if (found == NULL ||
        !wire_number(arcp_span_from(record, (size_t)(found - record.data) + (size_t)size),
                     &value)) {
        daemon_fail("no %s: %.*s", name, (int)record.size, record.data);
    }
    return value;
}

static void compare(crash_fixture *f, const crash_client *client, uint64_t seq, arcp_span record)
{
    arcp_buf frame = arcp_buf_init();
    arcp_buf_append_format(&frame, "{\"arcp\":\"1.1\",\"session_id\":\"%s\",\"event_seq\":%llu,",
                           client->session.id, (unsigned long long)seq);
    arcp_buf_append(&frame, arcp_span_from(record, 1));
    if (seq <= client->seen_count &&
        wire_digest(arcp_buf_span(&frame)) != client->digests[seq - 1]) {
        daemon_fail("session %s was shown something else as %llu than is stored: %.*s",
                    client->session.id, (unsigned long long)seq, (int)frame.size, frame.data);
    }
    f->checked++;
    arcp_buf_fini(&frame);
}

static void check_session(crash_fixture *f, const crash_client *client, sqlite3_stmt *indexes,
                          cursor *records)
{
    cursor index = {indexes, {NULL, 0}};
    char key[48];
    arcp_span run;
    uint64_t next = 0;
    (void)snprintf(key, sizeof key, "x:%s", client->session.id);
    (void)sqlite3_reset(indexes);
    (void)sqlite3_bind_text(indexes, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(indexes, 2, 0);
    while (next_line(&index, &run)) {
        const uint64_t seq = number_of(run, "seq");
        const uint64_t count = number_of(run, "count");
        if (next == 0 ? seq > client->acked_seq + 1 : seq != next) {
            daemon_fail("session %s: a run begins with %llu, not %llu", client->session.id,
                        (unsigned long long)seq, (unsigned long long)next);
        }
        /* A row leaves out a number that is 0. */
        const bool begins_stream = memmem(run.data, run.size, "\"position\":", 11) == NULL;
        seek(records, wire_text(run, "stream"), begins_stream ? 0 : number_of(run, "position"));
        for (next = seq; next < seq + count; next++) {
            arcp_span record;
            if (!next_line(records, &record)) {
                daemon_fail("session %s: %llu is not stored", client->session.id,
                            (unsigned long long)next);
            }
            compare(f, client, next, record);
        }
    }
    if (client->seen_count != 0 && next <= client->seen_count) {
        daemon_fail("session %s saw %llu, the store ends before %llu", client->session.id,
                    (unsigned long long)client->seen_count, (unsigned long long)next);
    }
}

void crash_store_check(crash_fixture *f)
{
    static const char sql[] =
        "SELECT runs.id & 274877906943, data FROM runs JOIN streams ON runs.id BETWEEN "
        "coalesce((SELECT max(r.id) FROM runs r WHERE r.id BETWEEN streams.id << 38 AND "
        "(streams.id << 38) + ?2), streams.id << 38) AND (streams.id << 38) + 274877906943 "
        "WHERE streams.key = ?1 AND runs.bytes >= 0 ORDER BY runs.id" /* less: it was trimmed */;
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(f->daemon.store, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        daemon_fail("%s: %s", f->daemon.store, sqlite3_errmsg(db));
    }
    sqlite3_stmt *whole = prepare(db, "PRAGMA integrity_check");
    if (sqlite3_step(whole) != SQLITE_ROW || !arcp_span_equal_cstr(column(whole, 0), "ok")) {
        daemon_fail("the database is damaged");
    }
    (void)sqlite3_finalize(whole);
    sqlite3_stmt *indexes = prepare(db, sql);
    cursor records = {prepare(db, sql), {NULL, 0}};
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        if (f->clients[i].session.id[0] != '\0') {
            check_session(f, &f->clients[i], indexes, &records);
        }
    }
    (void)sqlite3_finalize(indexes);
    (void)sqlite3_finalize(records.rows);
    (void)sqlite3_close(db);
}
