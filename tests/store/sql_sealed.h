/* Another program that uses a store's file and knows the store's checksums. */
#ifndef ARCP_TESTS_STORE_SQL_SEALED_H
#define ARCP_TESTS_STORE_SQL_SEALED_H

#include "store/sql.h"
#include "store/sqlite_crc.h"
#include "store/sqlite_schema.h"

/* While no store has the file open: changes it and corrects all checksums, as the store's own code
 * would have written it if it had a fault, or an older version. */
static inline void sql_change_sealed(const char *path, const char *sql)
{
    arcp__sqlite sqlite = {.db = sql_open(path), .path = path};
    arcp_error err = {0};
    sql_run(sqlite.db, sql);
    check_ok(arcp__sqlite_crc_add_functions(&sqlite, &err), &err);
    sql_run(sqlite.db,
            "UPDATE runs SET crc = arcp_crc_run(id, count, bytes, data);"
            "UPDATE streams SET open = 0, next = coalesce((SELECT (id & 274877906943) + count"
            " FROM runs WHERE runs.id BETWEEN streams.id << 38"
            " AND (streams.id << 38) + 274877906943 ORDER BY runs.id DESC LIMIT 1), 0);"
            "UPDATE streams SET next = 0 WHERE typeof(key) = 'blob';"
            "UPDATE streams SET crc = arcp_crc_stream(id, iif(typeof(key) = 'text', key, NULL),"
            " next, open)");
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        const char *name = arcp_store_table_name((arcp_store_table)table);
        char update[160];
        (void)snprintf(update, sizeof update,
                       "UPDATE \"%s\" SET crc = arcp_crc_row('%s', key, value)", name, name);
        sql_run(sqlite.db, update);
    }
    check_ok(arcp__sqlite_schema_seal_sums(&sqlite, &err), &err);
    sql_close(sqlite.db);
}

#endif
