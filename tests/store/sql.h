/* Another program that uses a store's file. */
#ifndef ARCP_TESTS_STORE_SQL_H
#define ARCP_TESTS_STORE_SQL_H

#include <sqlite3.h>

#include "support/check.h"

/* Waits for locks. */
static inline sqlite3 *sql_open(const char *path)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static inline void sql_run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

/* The first column of the first row. */
static inline int64_t sql_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    return value;
}

static inline void sql_close(sqlite3 *db)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* While no store has the file open. */
static inline void sql_change(const char *path, const char *sql)
{
    sqlite3 *db = sql_open(path);
    sql_run(db, sql);
    sql_close(db);
}

#endif
