#include "store/sqlite_table.h"

#include "store/sqlite_crc.h"
#include "store/store_queue.h"

/* ---- sums ---- */

/* A static string such as "jobs" or "streams". */
static const char *name_of(int which)
{
    return which == ARCP__SQLITE_SUM_STREAMS ? "streams"
                                             : arcp_store_table_name((arcp_store_table)which);
}

void arcp__sqlite_sum_add(arcp__sqlite_sum *sum, int64_t crc)
{
    sum->count++;
    sum->sum = (int64_t)(((uint64_t)sum->sum + (uint64_t)crc) & INT64_MAX);
    sum->changes++;
}

void arcp__sqlite_sum_remove(arcp__sqlite_sum *sum, int64_t crc)
{
    sum->count--;
    sum->sum = (int64_t)(((uint64_t)sum->sum - (uint64_t)crc) & INT64_MAX);
    sum->changes++;
}

static arcp_status sum_missing(const arcp__sqlite *sqlite, int which, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: table \"sums\", the row of \"%s\" is missing", sqlite->path,
                          name_of(which));
}

arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which, arcp__sqlite_sum *out,
                                  arcp_error *err)
{
    const arcp_span name = arcp_span_cstr(name_of(which));
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_SUM_READ, err);
    arcp__sqlite_bind_text(statement, 1, name);
    if (arcp__sqlite_next(sqlite, statement, err)) {
        *out = (arcp__sqlite_sum){
            sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
            sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 4)};
        if (arcp__sqlite_crc_sum(name, out->count, out->sum, out->changes) !=
            sqlite3_column_int64(statement, 3)) {
            (void)arcp_error_set(err, ARCP_E_CORRUPT,
                                 "%s: damaged: table \"sums\", the row of \"%s\" does not match "
                                 "its checksum",
                                 sqlite->path, name.data);
        }
    } else if (err->status == ARCP_OK) {
        (void)sum_missing(sqlite, which, err);
    }
    sqlite3_reset(statement);
    return err->status;
}

arcp_status arcp__sqlite_sum_check(const arcp__sqlite *sqlite, int which,
                                   const arcp__sqlite_sum *found, const arcp__sqlite_sum *want,
                                   arcp_error *err)
{
    if (err->status != ARCP_OK || (found->count == want->count && found->sum == want->sum)) {
        return err->status;
    }
    return arcp_error_set(
        err, ARCP_E_CORRUPT, "%s: damaged: table \"%s\" has %lld rows%s, but %lld were written",
        sqlite->path, name_of(which), (long long)found->count,
        found->count == want->count ? " (different ones)" : "", (long long)want->count);
}

/* ---- rows ---- */

static arcp_status row_error(const arcp__sqlite *sqlite, arcp_store_table table, arcp_span key,
                             arcp_error *err)
{
    return arcp_error_set(
        err, ARCP_E_CORRUPT,
        "%s: damaged: table \"%s\", the row of \"%.*s\" does not match its checksum", sqlite->path,
        arcp_store_table_name(table), (int)arcp_span_first(key, 128).size,
        key.size == 0 ? "" : key.data);
}

arcp_status arcp__sqlite_row_take(const arcp__sqlite *sqlite, arcp_store_table table,
                                  sqlite3_stmt *statement, arcp__sqlite_sum *sum,
                                  arcp_store_row *out, arcp_error *err)
{
    const arcp_span name = arcp_span_cstr(arcp_store_table_name(table));
    const int64_t crc = sqlite3_column_int64(statement, 2);
    *out = (arcp_store_row){arcp__sqlite_column_text(statement, 0),
                            arcp__sqlite_column_text(statement, 1)};
    arcp__sqlite_sum_add(sum, crc);
    return arcp__sqlite_crc_row(name, out->key, out->value) == crc
               ? ARCP_OK
               : row_error(sqlite, table, out->key, err);
}

/* The SQL function arcp_may_change(value, crc) checks the existing row, so that one statement can
 * find, check and change it. */
static void may_change(sqlite3_context *context, int count, sqlite3_value **values)
{
    arcp__sqlite_tables *tables = sqlite3_user_data(context);
    const arcp_span table = arcp_span_cstr(arcp_store_table_name(tables->op->table));
    (void)count;
    tables->exists = true;
    tables->crc = sqlite3_value_int64(values[1]);
    tables->is_damaged = arcp__sqlite_crc_row(table, tables->op->key,
                                              arcp__sqlite_value_text(values[0])) != tables->crc;
    sqlite3_result_int(context, !tables->is_damaged);
}

arcp_status arcp__sqlite_tables_init(arcp__sqlite_tables *tables, arcp__sqlite *sqlite,
                                     arcp_error *err)
{
    *tables = (arcp__sqlite_tables){.sqlite = sqlite};
    for (int which = 0; which < ARCP__SQLITE_SUM_COUNT; which++) {
        arcp__sqlite_sum_read(sqlite, which, &tables->now[which], err);
    }
    arcp__sqlite_tables_committed(tables);
    if (err->status != ARCP_OK) {
        return err->status;
    }
    const int code =
        sqlite3_create_function(sqlite->db, "arcp_may_change", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                tables, may_change, NULL, NULL);
    return code == SQLITE_OK ? ARCP_OK : arcp__sqlite_error(sqlite, code, err);
}

arcp_status arcp__sqlite_tables_apply(arcp__sqlite_tables *tables, const arcp_store_op *op,
                                      arcp_error *err)
{
    const bool is_put = op->kind == ARCP_STORE_PUT;
    const arcp_span table = arcp_span_cstr(arcp_store_table_name(op->table));
    const int64_t crc = is_put ? arcp__sqlite_crc_row(table, op->key, op->value) : 0;
    arcp__sqlite_sum *sum = &tables->now[op->table];
    sqlite3_stmt *statement = arcp__sqlite_get_row(
        tables->sqlite, is_put ? ARCP__SQLITE_ROW_PUT : ARCP__SQLITE_ROW_DELETE, op->table, err);
    arcp__sqlite_bind_text(statement, 1, op->key);
    if (is_put) {
        arcp__sqlite_bind_text(statement, 2, op->value);
        sqlite3_bind_int64(statement, 3, crc);
    }
    tables->op = op;
    tables->exists = false;
    tables->is_damaged = false;
    if (arcp__sqlite_run(tables->sqlite, statement, err) != ARCP_OK) {
        return err->status;
    }
    if (tables->is_damaged) {
        return row_error(tables->sqlite, op->table, op->key, err);
    }
    if (tables->exists) {
        arcp__sqlite_sum_remove(sum, tables->crc);
    }
    if (is_put) {
        arcp__sqlite_sum_add(sum, crc);
    }
    return ARCP_OK;
}

/* ---- the end of the transaction ---- */

arcp_status arcp__sqlite_tables_flush(arcp__sqlite_tables *tables, arcp_error *err)
{
    for (int which = 0; err->status == ARCP_OK && which < ARCP__SQLITE_SUM_COUNT; which++) {
        const arcp__sqlite_sum *sum = &tables->now[which];
        if (sum->changes == tables->stored[which].changes) {
            continue;
        }
        const arcp_span name = arcp_span_cstr(name_of(which));
        sqlite3_stmt *statement = arcp__sqlite_get(tables->sqlite, ARCP__SQLITE_SUM_WRITE, err);
        arcp__sqlite_bind_text(statement, 1, name);
        sqlite3_bind_int64(statement, 2, sum->count);
        sqlite3_bind_int64(statement, 3, sum->sum);
        sqlite3_bind_int64(statement, 4, sum->changes);
        sqlite3_bind_int64(statement, 5,
                           arcp__sqlite_crc_sum(name, sum->count, sum->sum, sum->changes));
        sqlite3_bind_int64(statement, 6, sum->place);
        if (arcp__sqlite_run(tables->sqlite, statement, err) == ARCP_OK &&
            sqlite3_changes(tables->sqlite->db) != 1) {
            (void)sum_missing(tables->sqlite, which, err);
        }
    }
    return err->status;
}

void arcp__sqlite_tables_committed(arcp__sqlite_tables *tables)
{
    memcpy(tables->stored, tables->now, sizeof tables->stored);
}

void arcp__sqlite_tables_abandoned(arcp__sqlite_tables *tables)
{
    memcpy(tables->now, tables->stored, sizeof tables->now);
}
