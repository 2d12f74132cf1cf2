/* A connection to the database with its statements. One thread at a time.
 *
 * Everywhere below src/store/sqlite_*.h `err` must be given (not NULL), and a failure in it stays:
 * what would reach the database does nothing then but return its status, and a statement stands on
 * no row. So steps that follow each other are written without a look in between, and looked at
 * where they end. */
#ifndef ARCP_STORE_SQLITE_CONNECTION_H
#define ARCP_STORE_SQLITE_CONNECTION_H

#include <sqlite3.h>

#include <arcp/sys/store.h>

/* Only another program that locks the database can make us wait. */
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

/* Opens `path` and makes it ours to use: `setup` is run, statements separated by
 * semicolons. The file must be there. On failure nothing is open. */
arcp_status arcp__sqlite_open(arcp__sqlite *sqlite, const char *path, bool may_write,
                              const char *setup, arcp_error *err);
/* A connection that was never opened is accepted. */
void arcp__sqlite_close(arcp__sqlite *sqlite);

/* The error of the last call on the connection, described: ARCP_E_IO, ARCP_E_CORRUPT,
 * ARCP_E_NO_MEMORY, ARCP_E_LIMIT or ARCP_E_INTERNAL_ERROR. `code` is what the call
 * returned. */
arcp_status arcp__sqlite_error(const arcp__sqlite *sqlite, int code, arcp_error *err);

/* Runs statements without parameters or results. */
arcp_status arcp__sqlite_exec(arcp__sqlite *sqlite, const char *sql, arcp_error *err);
/* The one integer that `sql` answers with; 0 when it has no row, or fails. */
int64_t arcp__sqlite_integer(arcp__sqlite *sqlite, const char *sql, arcp_error *err);

/* A statement to be used once, and finalized (NULL, too). NULL when it cannot be prepared: binding
 * does nothing then. */
sqlite3_stmt *arcp__sqlite_prepare(arcp__sqlite *sqlite, const char *sql, arcp_error *err);
/* A statement of the connection, ready to be bound and stepped; NULL as above. Finish every use
 * with sqlite3_reset, so that no lock stays behind. */
sqlite3_stmt *arcp__sqlite_get(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_error *err);
sqlite3_stmt *arcp__sqlite_get_row(arcp__sqlite *sqlite, arcp__sqlite_row which,
                                   arcp_store_table table, arcp_error *err);
/* Steps it: true when it stands on a row; false at its end, or when it failed. */
bool arcp__sqlite_next(const arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err);
/* Steps a statement that answers no rows to its end and resets it. */
arcp_status arcp__sqlite_run(const arcp__sqlite *sqlite, sqlite3_stmt *statement, arcp_error *err);
/* arcp__sqlite_get and arcp__sqlite_run in one. */
arcp_status arcp__sqlite_do(arcp__sqlite *sqlite, arcp__sqlite_statement which, arcp_error *err);

/* Ends the transaction: as a whole, or, when `err` has a failure, without a trace. */
arcp_status arcp__sqlite_commit(arcp__sqlite *sqlite, arcp_error *err);
/* Leaves the transaction, if there is (still) one: some errors end it by themselves. */
void arcp__sqlite_rollback(arcp__sqlite *sqlite);

/* Binds text that stays valid until the reset. */
void arcp__sqlite_bind_text(sqlite3_stmt *statement, int index, arcp_span text);
/* A column's bytes; valid until the next step or reset. */
arcp_span arcp__sqlite_column_text(sqlite3_stmt *statement, int column);
/* The bytes of an SQL function's argument; valid during the call. */
arcp_span arcp__sqlite_value_text(sqlite3_value *value);

#endif
