#include "store/sqlite_connection.h"

#include <stdio.h>

static const char *const statement_texts[] = {
#define ARCP__SQLITE_STATEMENT(name, sql) [ARCP__SQLITE_##name] = (sql),
#include "store/sqlite_statement.def"
#undef ARCP__SQLITE_STATEMENT
};

/* A switch over literals, so that the compiler checks the formats. */
static int format_row(arcp__sqlite_row which, const char *table, char *out, size_t size)
{
    switch (which) {
#define ARCP__SQLITE_ROW(name, sql)                                                                \
    case ARCP__SQLITE_ROW_##name:                                                                  \
        return snprintf(out, size, sql, table);
#include "store/sqlite_row.def"
#undef ARCP__SQLITE_ROW
    case ARCP__SQLITE_ROW_COUNT:
        break;
    }
    return -1;
}

static arcp_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return ARCP_E_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ARCP_E_CORRUPT;
    case SQLITE_TOOBIG:
        return ARCP_E_LIMIT;
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PERM:
    case SQLITE_PROTOCOL:
        return ARCP_E_IO;
    default:
        return ARCP_E_INTERNAL_ERROR;
    }
}

arcp_status arcp__sqlite_error(const arcp__sqlite *sqlite, int code, arcp_error *err)
{
    int extended = sqlite->db == NULL ? code : sqlite3_extended_errcode(sqlite->db);
    /* Later calls such as sqlite3_reset may have changed the stored code; the returned one counts.
     */
    if ((extended & 0xff) != (code & 0xff)) {
        extended = code;
    }
    const arcp_status status = status_of(code);
    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) {
        return arcp_error_set(err, status, "%s: another program has locked the database",
                              sqlite->path);
    }
    const int system_code = sqlite->db == NULL ? 0 : sqlite3_system_errno(sqlite->db);
    if (status == ARCP_E_IO && system_code != 0) {
        return arcp_error_set(err, status, "%s: %s: %s (SQLite code %d)", sqlite->path,
                              sqlite3_errstr(code), strerror(system_code), extended);
    }
    int disk_code = 0;
    if (status == ARCP_E_CORRUPT && sqlite->db != NULL &&
        sqlite3_file_control(sqlite->db, NULL, SQLITE_FCNTL_LAST_ERRNO, &disk_code) == SQLITE_OK &&
        disk_code != 0) {
        /* SQLite also reports a page that could not be read as malformed. */
        return arcp_error_set(err, status, "%s: %s; last I/O error: %s (SQLite code %d)",
                              sqlite->path, sqlite3_errstr(code), strerror(disk_code), extended);
    }
    if (status == ARCP_E_INTERNAL_ERROR && sqlite->db != NULL) {
        return arcp_error_set(err, status, "%s: %s (SQLite code %d)", sqlite->path,
                              sqlite3_errmsg(sqlite->db), extended);
    }
    return arcp_error_set(err, status, "%s: %s (SQLite code %d)", sqlite->path,
                          sqlite3_errstr(code), extended);
}

arcp_status arcp__sqlite_open(arcp__sqlite *sqlite, const char *path, bool may_write,
                              const char *setup, arcp_error *err)
{
    *sqlite = (arcp__sqlite){.path = path};
    if (err->status != ARCP_OK) {
        return err->status;
    }
    const int flags =
        (may_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(path, &sqlite->db, flags, NULL);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(sqlite->db, 1);
        sqlite3_busy_timeout(sqlite->db, ARCP__SQLITE_BUSY_TIMEOUT_MS);
    } else {
        (void)arcp__sqlite_error(sqlite, code, err);
    }
    arcp__sqlite_exec(sqlite, setup, err);
    if (arcp__sqlite_get(sqlite, ARCP__SQLITE_ROLLBACK, err) == NULL) {
        arcp__sqlite_close(sqlite);
    }
    return err->status;
}

void arcp__sqlite_close(arcp__sqlite *sqlite)
{
    for (size_t i = 0; i < ARCP__SQLITE_STATEMENT_COUNT; i++) {
        sqlite3_finalize(sqlite->statements[i]);
    }
    for (size_t table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        for (size_t i = 0; i < ARCP__SQLITE_ROW_COUNT; i++) {
            sqlite3_finalize(sqlite->rows[table][i]);
        }
    }
    sqlite3_close(sqlite->db);
    *sqlite = (arcp__sqlite){.path = NULL};
}

arcp_status arcp__sqlite_exec(arcp__sqlite *sqlite, const char *sql, arcp_error *err)
{
    const int code =
        err->status != ARCP_OK ? SQLITE_OK : sqlite3_exec(sqlite->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? err->status : arcp__sqlite_error(sqlite, code, err);
}

int64_t arcp__sqlite_integer(arcp__sqlite *sqlite, const char *sql, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_prepare(sqlite, sql, err);
    const int64_t value =
        arcp__sqlite_next(sqlite, statement, err) ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return value;
}

static sqlite3_stmt *prepare(arcp__sqlite *sqlite, const char *sql, unsigned flags, arcp_error *err)
{
    sqlite3_stmt *statement = NULL;
    if (err->status == ARCP_OK) {
        const int code = sqlite3_prepare_v3(sqlite->db, sql, -1, flags, &statement, NULL);
        if (code != SQLITE_OK) {
            (void)arcp__sqlite_error(sqlite, code, err);
        }
    }
    return statement;
}

sqlite3_stmt *arcp__sqlite_prepare(arcp__sqlite *sqlite, const char *sql, arcp_error *err)
{
    return prepare(sqlite, sql, 0, err);
}

sqlite3_stmt *arcp__sqlite_get(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_error *err)
{
    sqlite3_stmt **slot = &sqlite->statements[which];
    if (*slot == NULL) {
        *slot = prepare(sqlite, statement_texts[which], SQLITE_PREPARE_PERSISTENT, err);
    }
    return err->status == ARCP_OK ? *slot : NULL;
}

sqlite3_stmt *arcp__sqlite_get_row(arcp__sqlite *sqlite, arcp__sqlite_row which,
                                   arcp_store_table table, arcp_error *err)
{
    sqlite3_stmt **slot = &sqlite->rows[table][which];
    if (*slot == NULL) {
        char sql[512];
        (void)format_row(which, arcp_store_table_name(table), sql, sizeof sql);
        *slot = prepare(sqlite, sql, SQLITE_PREPARE_PERSISTENT, err);
    }
    return err->status == ARCP_OK ? *slot : NULL;
}

bool arcp__sqlite_next(const arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err)
{
    if (err->status != ARCP_OK) {
        return false;
    }
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        (void)arcp__sqlite_error(sqlite, code, err);
    }
    return code == SQLITE_ROW;
}

arcp_status arcp__sqlite_run(const arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err)
{
    (void)arcp__sqlite_next(sqlite, statement, err);
    sqlite3_reset(statement);
    return err->status;
}

arcp_status arcp__sqlite_do(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_error *err)
{
    return arcp__sqlite_run(sqlite, arcp__sqlite_get(sqlite, which, err), err);
}

arcp_status arcp__sqlite_commit(arcp__sqlite *sqlite, arcp_error *err)
{
    if (arcp__sqlite_do(sqlite, ARCP__SQLITE_COMMIT, err) != ARCP_OK) {
        arcp__sqlite_rollback(sqlite);
    }
    return err->status;
}

void arcp__sqlite_rollback(arcp__sqlite *sqlite)
{
    if (sqlite->db != NULL && sqlite3_get_autocommit(sqlite->db) == 0) {
        /* Prepared when the connection was opened, because now there may be no memory for it. */
        sqlite3_stmt *statement = sqlite->statements[ARCP__SQLITE_ROLLBACK];
        (void)sqlite3_step(statement);
        sqlite3_reset(statement);
    }
}

void arcp__sqlite_bind_text(sqlite3_stmt *statement, int index, arcp_span text)
{
    /* Cannot fail: sizes were checked before, and a static text is not copied. */
    (void)sqlite3_bind_text64(statement, index, text.size == 0 ? "" : text.data, text.size,
                              SQLITE_STATIC, SQLITE_UTF8);
}

arcp_span arcp__sqlite_column_text(sqlite3_stmt *statement, int column)
{
    /* Read as a blob, so that SQLite does not append a NUL. */
    const char *data = sqlite3_column_blob(statement, column);
    const int size = sqlite3_column_bytes(statement, column);
    return arcp_span_make(data, data == NULL || size < 0 ? 0 : (size_t)size);
}

arcp_span arcp__sqlite_value_text(sqlite3_value *value)
{
    const char *data = sqlite3_value_blob(value);
    const int size = sqlite3_value_bytes(value);
    return arcp_span_make(data, data == NULL || size < 0 ? 0 : (size_t)size);
}
