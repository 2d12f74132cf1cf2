/* Another program at a store's file, which knows the store's checksums. */
#ifndef ARCP_TESTS_STORE_SQL_SEALED_H
#define ARCP_TESTS_STORE_SQL_SEALED_H

#include "store/sql.h"
#include "store/sqlite_crc.h"
#include "store/sqlite_schema.h"

/* With nobody else at the file: changes it, and then all checksums are made right: what the store's
 * own code might have written if it were wrong, or what an older version wrote. */
static inline void sql_change_sealed(const char *path, const char *sql)
{
    arcp__sqlite sqlite = {.db = sql_open(path), .path = path};
    arcp_error err = {0};
    sql_run(sqlite.db, sql);
    check_ok(arcp__sqlite_crc_add_functions(&sqlite, &err), &err);
    check_ok(arcp__sqlite_schema_seal(&sqlite, &err), &err);
    sql_close(sqlite.db);
}

#endif
