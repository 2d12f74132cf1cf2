#include "store/sqlite_row.h"

#include "store/sqlite_crc.h"
#include "store/store_check.h"

/* arcp_may_replace(value, crc) of the row that is there: so one statement finds the row, checks it
 * and writes. */
static void may_replace(sqlite3_context *context, int count, sqlite3_value **values)
{
    arcp__sqlite_met_row *met = sqlite3_user_data(context);
    const char *table = arcp_store_table_name(met->op->table);
    (void)count;
    met->is_there = true;
    met->crc = sqlite3_value_int64(values[1]);
    met->is_damaged = arcp__sqlite_crc_row(arcp_span_cstr(table), met->op->key,
                                           arcp__sqlite_value_text(values[0])) != met->crc;
    sqlite3_result_int(context, !met->is_damaged);
}

arcp_status arcp__sqlite_row_open(arcp__sqlite *sqlite, arcp__sqlite_met_row *met, arcp_error *err)
{
    int code =
        sqlite3_create_function(sqlite->db, "arcp_may_replace", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                met, may_replace, NULL, NULL);
    return code == SQLITE_OK ? ARCP_OK : arcp__sqlite_error(sqlite, code, err);
}

static arcp_status put_row(arcp__sqlite *sqlite, arcp__sqlite_met_row *met, arcp__sqlite_sum *sum,
                           const arcp_store_op *op, arcp_error *err)
{
    const arcp_span table = arcp_span_cstr(arcp_store_table_name(op->table));
    const int64_t crc = arcp__sqlite_crc_row(table, op->key, op->value);
    sqlite3_stmt *statement = arcp__sqlite_get_row(sqlite, ARCP__SQLITE_ROW_PUT, op->table, err);
    if (statement == NULL) {
        return err->status;
    }
    *met = (arcp__sqlite_met_row){.op = op};
    arcp__sqlite_bind_text(statement, 1, op->key);
    arcp__sqlite_bind_text(statement, 2, op->value);
    sqlite3_bind_int64(statement, 3, crc);
    arcp_status status = arcp__sqlite_run(sqlite, statement, err);
    if (status == ARCP_OK && met->is_damaged) {
        status = arcp__sqlite_crc_row_error(sqlite, op->table, op->key, err);
    }
    if (status == ARCP_OK && met->is_there) {
        arcp__sqlite_sum_remove(sum, met->crc);
    }
    if (status == ARCP_OK) {
        arcp__sqlite_sum_add(sum, crc);
    }
    return status;
}

/* The row that is there; *rowid is 0 when there is none. */
static arcp_status find_row(arcp__sqlite *sqlite, const arcp_store_op *op, int64_t *rowid,
                            int64_t *crc, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get_row(sqlite, ARCP__SQLITE_ROW_FIND, op->table, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_bind_text(statement, 1, op->key);
    *rowid = 0;
    bool has_row = false;
    arcp_status status = arcp__sqlite_next(sqlite, statement, &has_row, err);
    if (has_row) {
        *rowid = sqlite3_column_int64(statement, 0);
        *crc = sqlite3_column_int64(statement, 2);
        status = arcp__sqlite_crc_check_row(sqlite, op->table, op->key,
                                            arcp__sqlite_column_text(statement, 1), *crc, err);
    }
    arcp__sqlite_reset(statement);
    return status;
}

static arcp_status delete (arcp__sqlite *sqlite, arcp__sqlite_sum *sum, const arcp_store_op *op,
                           arcp_error *err)
{
    int64_t rowid = 0;
    int64_t crc = 0;
    arcp_status status = find_row(sqlite, op, &rowid, &crc, err);
    if (status != ARCP_OK || rowid == 0) {
        return status;
    }
    sqlite3_stmt *statement = arcp__sqlite_get_row(sqlite, ARCP__SQLITE_ROW_DELETE, op->table, err);
    if (statement == NULL) {
        return err->status;
    }
    sqlite3_bind_int64(statement, 1, rowid);
    arcp__sqlite_sum_remove(sum, crc);
    return arcp__sqlite_run(sqlite, statement, err);
}

arcp_status arcp__sqlite_row_write(arcp__sqlite *sqlite, arcp__sqlite_met_row *met,
                                   arcp__sqlite_sums *sums, const arcp_store_op *op,
                                   arcp_error *err)
{
    arcp__sqlite_sum *sum = &sums->now[op->table];
    return op->kind == ARCP_STORE_DELETE ? delete (sqlite, sum, op, err)
                                         : put_row(sqlite, met, sum, op, err);
}
