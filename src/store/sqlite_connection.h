/* A connection to the database with its statements. Used by one thread at a time.
 *
 * In all src/store/sqlite_*.h `err` must not be NULL, and errors are sticky: if *err already has a
 * failure, functions do not access the database but return its status, and a statement has no row.
 * A sequence of calls can therefore be checked once at its end. */
#ifndef ARCP_STORE_SQLITE_CONNECTION_H
#define ARCP_STORE_SQLITE_CONNECTION_H

#include <sqlite3.h>

#include <arcp/sys/store.h>

/* How long to wait for a lock, which only another program can hold. */
#define ARCP__SQLITE_BUSY_TIMEOUT_MS 5000

typedef enum arcp__sqlite_statement {
#define ARCP__SQLITE_STATEMENT(name, sql) ARCP__SQLITE_##name,
#include "store/sqlite_statement.def"
#undef ARCP__SQLITE_STATEMENT
    ARCP__SQLITE_STATEMENT_COUNT
} arcp__sqlite_statement;

typedef enum arcp__sqlite_row {
#define ARCP__SQLITE_ROW(name, sql) ARCP__SQLITE_ROW_##name,
#include "store/sqlite_row.def"
#undef ARCP__SQLITE_ROW
    ARCP__SQLITE_ROW_COUNT
} arcp__sqlite_row;

typedef struct arcp__sqlite {
    sqlite3 *db;
    const char *path; /* for messages; borrowed */
    sqlite3_stmt *statements[ARCP__SQLITE_STATEMENT_COUNT];
    sqlite3_stmt *rows[ARCP_STORE_TABLE_COUNT][ARCP__SQLITE_ROW_COUNT];
} arcp__sqlite;

/* Opens `path`, which must exist, and runs `setup`, statements separated by semicolons. On failure
 * nothing is open. */
arcp_status arcp__sqlite_open(arcp__sqlite *sqlite, const char *path, bool may_write,
                              const char *setup, arcp_error *err);
/* A connection that was never opened is accepted. */
void arcp__sqlite_close(arcp__sqlite *sqlite);

/* Describes the error of the last call on the connection, which returned `code`: ARCP_E_IO,
 * ARCP_E_CORRUPT, ARCP_E_NO_MEMORY, ARCP_E_LIMIT or ARCP_E_INTERNAL_ERROR. */
arcp_status arcp__sqlite_error(const arcp__sqlite *sqlite, int code, arcp_error *err);

/* Runs statements without parameters or results. */
arcp_status arcp__sqlite_exec(arcp__sqlite *sqlite, const char *sql, arcp_error *err);
/* The integer that a query returns; 0 if it returns no row, or fails. */
int64_t arcp__sqlite_integer(arcp__sqlite *sqlite, const char *sql, arcp_error *err);

/* Prepares a statement for one use; the caller finalizes it. NULL on failure, which binding and
 * finalizing accept. */
sqlite3_stmt *arcp__sqlite_prepare(arcp__sqlite *sqlite, const char *sql, arcp_error *err);
/* A statement that the connection keeps, ready to be bound and stepped; NULL as above. Finish every
 * use with sqlite3_reset, which releases its locks. */
sqlite3_stmt *arcp__sqlite_get(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_error *err);
sqlite3_stmt *arcp__sqlite_get_row(arcp__sqlite *sqlite, arcp__sqlite_row which,
                                   arcp_store_table table, arcp_error *err);
/* Steps to the next row; false at the end, or on failure. */
bool arcp__sqlite_next(const arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err);
/* Runs a statement that returns no rows, and resets it. */
arcp_status arcp__sqlite_run(const arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err);
/* arcp__sqlite_get and arcp__sqlite_run in one. */
arcp_status arcp__sqlite_do(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_error *err);

/* Commits the transaction, or rolls it back if `err` has a failure. */
arcp_status arcp__sqlite_commit(arcp__sqlite *sqlite, arcp_error *err);
/* Rolls the transaction back, if there is one: some errors end it by themselves. */
void arcp__sqlite_rollback(arcp__sqlite *sqlite);

/* Binds text that stays valid until the reset. */
void arcp__sqlite_bind_text(sqlite3_stmt *statement, int index, arcp_span text);
/* A column's bytes; valid until the next step or reset. */
arcp_span arcp__sqlite_column_text(sqlite3_stmt *statement, int column);
/* The bytes of an SQL function's argument; valid during the call. */
arcp_span arcp__sqlite_value_text(sqlite3_value *value);

#endif
