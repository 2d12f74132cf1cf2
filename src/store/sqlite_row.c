#include "store/sqlite_row.h"

#include "store/sqlite_crc.h"
#include "store/store_check.h"

/* arcp_may_change(value, crc) of the row that is there: so one statement finds the row, checks it
 * and writes. */
static void may_change(sqlite3_context *context, int count, sqlite3_value **values)
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
        sqlite3_create_function(sqlite->db, "arcp_may_change", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                met, may_change, NULL, NULL);
    return code == SQLITE_OK ? ARCP_OK : arcp__sqlite_error(sqlite, code, err);
}

arcp_status arcp__sqlite_row_write(arcp__sqlite *sqlite, arcp__sqlite_met_row *met,
                                   arcp__sqlite_sums *sums, const arcp_store_op *op,
                                   arcp_error *err)
{
    const bool is_put = op->kind == ARCP_STORE_PUT;
    const arcp_span table = arcp_span_cstr(arcp_store_table_name(op->table));
    const int64_t crc = is_put ? arcp__sqlite_crc_row(table, op->key, op->value) : 0;
    arcp__sqlite_sum *sum = &sums->now[op->table];
    sqlite3_stmt *statement = arcp__sqlite_get_row(
        sqlite, is_put ? ARCP__SQLITE_ROW_PUT : ARCP__SQLITE_ROW_DELETE, op->table, err);
    if (statement == NULL) {
        return err->status;
    }
    *met = (arcp__sqlite_met_row){.op = op};
    arcp__sqlite_bind_text(statement, 1, op->key);
    if (is_put) {
        arcp__sqlite_bind_text(statement, 2, op->value);
        sqlite3_bind_int64(statement, 3, crc);
    }
    arcp_status status = arcp__sqlite_run(sqlite, statement, err);
    if (status == ARCP_OK && met->is_damaged) {
        status = arcp__sqlite_crc_row_error(sqlite, op->table, op->key, err);
    }
    if (status == ARCP_OK && met->is_there) {
        arcp__sqlite_sum_remove(sum, met->crc);
    }
    if (status == ARCP_OK && is_put) {
        arcp__sqlite_sum_add(sum, crc);
    }
    return status;
}
