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

static void add(arcp__sqlite_sum *sum, int64_t crc)
{
    sum->count++;
    sum->sum = (int64_t)(((uint64_t)sum->sum + (uint64_t)crc) & INT64_MAX);
}

static void subtract(arcp__sqlite_sum *sum, int64_t crc)
{
    sum->count--;
    sum->sum = (int64_t)(((uint64_t)sum->sum - (uint64_t)crc) & INT64_MAX);
}

static arcp__sqlite_sum column_sum(sqlite3_stmt *statement, int column)
{
    return (arcp__sqlite_sum){sqlite3_column_int64(statement, column),
                              sqlite3_column_int64(statement, column + 1),
                              sqlite3_column_int64(statement, column + 2)};
}

static arcp_status sum_missing(const arcp__sqlite *sqlite, int which, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: table \"sums\", the row of \"%s\" is missing", sqlite->path,
                          name_of(which));
}

arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which, arcp__sqlite_sum_state *out,
                                  arcp_error *err)
{
    const arcp_span name = arcp_span_cstr(name_of(which));
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_SUM_READ, err);
    arcp__sqlite_bind_text(statement, 1, name);
    if (arcp__sqlite_next(sqlite, statement, err)) {
        const arcp__sqlite_sum sum = column_sum(statement, 0);
        const int64_t is_open = sqlite3_column_int64(statement, 3);
        *out = (arcp__sqlite_sum_state){.sum = sum, .is_open = is_open != 0};
        if (arcp__sqlite_crc_sum(name, sum.count, sum.sum, sum.changes, is_open) !=
            sqlite3_column_int64(statement, 4)) {
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

void arcp__sqlite_tally_add(arcp__sqlite_tally *tally, int64_t crc, sqlite3_stmt *statement,
                            int column)
{
    const arcp__sqlite_sum carried = column_sum(statement, column);
    add(&tally->found, crc);
    if (carried.changes > tally->newest.changes) {
        tally->newest = carried;
    }
}

arcp_status arcp__sqlite_tally_check(const arcp__sqlite *sqlite, int which,
                                     const arcp__sqlite_tally *tally,
                                     const arcp__sqlite_sum_state *state, arcp_error *err)
{
    const arcp__sqlite_sum *found = &tally->found;
    const arcp__sqlite_sum *want = &state->sum;
    if (state->is_open && tally->newest.changes > want->changes) {
        want = &tally->newest;
    }
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
                                  sqlite3_stmt *statement, arcp__sqlite_tally *tally,
                                  arcp_store_row *out, arcp_error *err)
{
    const arcp_span name = arcp_span_cstr(arcp_store_table_name(table));
    const int64_t crc = sqlite3_column_int64(statement, 2);
    *out = (arcp_store_row){arcp__sqlite_column_text(statement, 0),
                            arcp__sqlite_column_text(statement, 1)};
    arcp__sqlite_tally_add(tally, crc, statement, 3);
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
        if (tables->now[which].is_open && which != ARCP__SQLITE_SUM_STREAMS) {
            sqlite3_stmt *statement =
                arcp__sqlite_get_row(sqlite, ARCP__SQLITE_ROW_NEWEST, (arcp_store_table)which, err);
            if (arcp__sqlite_next(sqlite, statement, err)) {
                const arcp__sqlite_sum newest = column_sum(statement, 0);
                arcp__sqlite_tables_found(tables, which, &newest);
            }
            sqlite3_reset(statement);
        }
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

void arcp__sqlite_tables_found(arcp__sqlite_tables *tables, int which,
                               const arcp__sqlite_sum *newest)
{
    arcp__sqlite_sum_state *state = &tables->now[which];
    if (state->is_open && newest->changes > state->sum.changes) {
        state->sum = *newest;
        state->carried = newest->changes;
        tables->committed[which] = *state;
    }
}

arcp__sqlite_sum arcp__sqlite_tables_bind_next(const arcp__sqlite_tables *tables, int which,
                                               int64_t crc, sqlite3_stmt *statement, int index)
{
    arcp__sqlite_sum after = tables->now[which].sum;
    add(&after, crc);
    after.changes++;
    sqlite3_bind_int64(statement, index, after.count);
    sqlite3_bind_int64(statement, index + 1, after.sum);
    sqlite3_bind_int64(statement, index + 2, after.changes);
    return after;
}

void arcp__sqlite_tables_added(arcp__sqlite_tables *tables, int which,
                               const arcp__sqlite_sum *after)
{
    tables->now[which].sum = *after;
    tables->now[which].carried = after->changes;
}

void arcp__sqlite_tables_removed(arcp__sqlite_tables *tables, int which, int64_t crc)
{
    subtract(&tables->now[which].sum, crc);
    tables->now[which].sum.changes++;
}

void arcp__sqlite_tables_replaced(arcp__sqlite_tables *tables, int which, int64_t old, int64_t crc)
{
    arcp__sqlite_tables_removed(tables, which, old);
    add(&tables->now[which].sum, crc);
}

static arcp_status put_row(arcp__sqlite_tables *tables, const arcp_store_op *op, arcp_error *err)
{
    const arcp_span table = arcp_span_cstr(arcp_store_table_name(op->table));
    const int64_t crc = arcp__sqlite_crc_row(table, op->key, op->value);
    sqlite3_stmt *statement =
        arcp__sqlite_get_row(tables->sqlite, ARCP__SQLITE_ROW_PUT, op->table, err);
    arcp__sqlite_bind_text(statement, 1, op->key);
    arcp__sqlite_bind_text(statement, 2, op->value);
    sqlite3_bind_int64(statement, 3, crc);
    arcp__sqlite_sum after =
        arcp__sqlite_tables_bind_next(tables, (int)op->table, crc, statement, 4);
    if (arcp__sqlite_run(tables->sqlite, statement, err) == ARCP_OK && !tables->is_damaged) {
        if (tables->exists) {
            subtract(&after, tables->crc); /* as the statement does */
        }
        arcp__sqlite_tables_added(tables, (int)op->table, &after);
    }
    return err->status;
}

static arcp_status delete_row(arcp__sqlite_tables *tables, const arcp_store_op *op, arcp_error *err)
{
    sqlite3_stmt *statement =
        arcp__sqlite_get_row(tables->sqlite, ARCP__SQLITE_ROW_DELETE, op->table, err);
    arcp__sqlite_bind_text(statement, 1, op->key);
    if (arcp__sqlite_run(tables->sqlite, statement, err) == ARCP_OK && tables->exists &&
        !tables->is_damaged) {
        arcp__sqlite_tables_removed(tables, (int)op->table, tables->crc);
    }
    return err->status;
}

arcp_status arcp__sqlite_tables_apply(arcp__sqlite_tables *tables, const arcp_store_op *op,
                                      arcp_error *err)
{
    tables->op = op;
    tables->exists = false;
    tables->is_damaged = false;
    const arcp_status status =
        op->kind == ARCP_STORE_PUT ? put_row(tables, op, err) : delete_row(tables, op, err);
    return status == ARCP_OK && tables->is_damaged
               ? row_error(tables->sqlite, op->table, op->key, err)
               : status;
}

/* ---- the end of the transaction ---- */

static void write_sum(arcp__sqlite_tables *tables, int which, arcp_error *err)
{
    const arcp__sqlite_sum_state *state = &tables->now[which];
    const arcp__sqlite_sum *sum = &state->sum;
    const arcp_span name = arcp_span_cstr(name_of(which));
    sqlite3_stmt *statement = arcp__sqlite_get(tables->sqlite, ARCP__SQLITE_SUM_WRITE, err);
    arcp__sqlite_bind_text(statement, 1, name);
    sqlite3_bind_int64(statement, 2, sum->count);
    sqlite3_bind_int64(statement, 3, sum->sum);
    sqlite3_bind_int64(statement, 4, sum->changes);
    sqlite3_bind_int64(statement, 5, state->is_open);
    sqlite3_bind_int64(
        statement, 6,
        arcp__sqlite_crc_sum(name, sum->count, sum->sum, sum->changes, state->is_open));
    if (arcp__sqlite_run(tables->sqlite, statement, err) == ARCP_OK &&
        sqlite3_changes(tables->sqlite->db) != 1) {
        (void)sum_missing(tables->sqlite, which, err);
    }
}

arcp_status arcp__sqlite_tables_flush(arcp__sqlite_tables *tables, bool closes, arcp_error *err)
{
    for (int which = 0; err->status == ARCP_OK && which < ARCP__SQLITE_SUM_COUNT; which++) {
        arcp__sqlite_sum_state *state = &tables->now[which];
        const bool is_changed = state->sum.changes != tables->committed[which].sum.changes;
        const bool is_written =
            !is_changed || (state->is_open && state->carried == state->sum.changes);
        if (closes ? state->is_open || is_changed : !is_written) {
            state->is_open = !closes;
            write_sum(tables, which, err);
        }
    }
    return err->status;
}

bool arcp__sqlite_tables_are_open(const arcp__sqlite_tables *tables)
{
    for (int which = 0; which < ARCP__SQLITE_SUM_COUNT; which++) {
        if (tables->committed[which].is_open) {
            return true;
        }
    }
    return false;
}

void arcp__sqlite_tables_committed(arcp__sqlite_tables *tables)
{
    memcpy(tables->committed, tables->now, sizeof tables->committed);
}

void arcp__sqlite_tables_abandoned(arcp__sqlite_tables *tables)
{
    memcpy(tables->now, tables->committed, sizeof tables->now);
}
