/* How a batch that cannot be applied leaves no trace, without a savepoint for each:
 *
 *  1. positions of appends are checked, which changes nothing;
 *  2. rows are written; a CREATE that finds its row undoes the rows of this batch, with a
 *     savepoint, which is taken only when a CREATE follows another row operation;
 *  3. appends, trims and drops are applied. From here on only the database can fail.
 *
 * Rows and streams do not meet, so doing rows first changes nothing. */
#include "store/sqlite_batch.h"

#include "store/store_check.h"

static arcp__batch_outcome check_positions(arcp__sqlite_streams *streams, arcp__request *batch)
{
    arcp__sqlite_streams_begin_batch(streams);
    for (size_t at = 0; at < batch->count; at++) {
        const arcp_store_op *op = &batch->ops[at];
        if (arcp__store_is_of_row(op)) {
            continue;
        }
        uint64_t next = 0;
        batch->status = arcp__sqlite_streams_plan(streams, op, &next, &batch->error);
        if (batch->status != ARCP_OK) {
            return ARCP__BATCH_BROKEN;
        }
        if (op->kind == ARCP_STORE_APPEND && op->position != next) {
            batch->status = arcp__store_position_error(op->key, op->position, next, &batch->error);
            return ARCP__BATCH_WRONG;
        }
    }
    return ARCP__BATCH_APPLIED;
}

static arcp__sqlite_row row_statement(arcp_store_op_kind kind)
{
    switch (kind) {
    case ARCP_STORE_PUT:
        return ARCP__SQLITE_ROW_PUT;
    case ARCP_STORE_CREATE:
        return ARCP__SQLITE_ROW_CREATE;
    case ARCP_STORE_DELETE:
        return ARCP__SQLITE_ROW_DELETE;
    case ARCP_STORE_APPEND:
    case ARCP_STORE_TRIM:
    case ARCP_STORE_DROP:
        break;
    }
    return ARCP__SQLITE_ROW_COUNT;
}

static arcp_status write_row(arcp__sqlite *sqlite, const arcp_store_op *op, arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get_row(sqlite, row_statement(op->kind), op->table, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_bind_text(statement, 1, op->key);
    if (op->kind != ARCP_STORE_DELETE) {
        arcp__sqlite_bind_text(statement, 2, op->value);
    }
    arcp_status status = arcp__sqlite_run(sqlite, statement, err);
    if (status == ARCP_OK && op->kind == ARCP_STORE_CREATE && sqlite3_changes(sqlite->db) == 0) {
        return arcp__store_exists_error(op->table, op->key, err);
    }
    return status;
}

/* Whether a CREATE comes after another operation that would have to be undone. */
static bool needs_savepoint(const arcp__request *batch)
{
    bool has_row = false;
    for (size_t at = 0; at < batch->count; at++) {
        if (has_row && batch->ops[at].kind == ARCP_STORE_CREATE) {
            return true;
        }
        has_row = has_row || arcp__store_is_of_row(&batch->ops[at]);
    }
    return false;
}

static arcp_status write_rows(arcp__sqlite *sqlite, arcp__request *batch)
{
    for (size_t at = 0; at < batch->count; at++) {
        if (arcp__store_is_of_row(&batch->ops[at])) {
            arcp_status status = write_row(sqlite, &batch->ops[at], &batch->error);
            if (status != ARCP_OK) {
                return status;
            }
        }
    }
    return ARCP_OK;
}

static arcp__batch_outcome apply_rows(arcp__sqlite *sqlite, arcp__request *batch)
{
    bool has_savepoint = needs_savepoint(batch);
    if (has_savepoint) {
        batch->status = arcp__sqlite_do(sqlite, ARCP__SQLITE_SAVEPOINT, &batch->error);
        if (batch->status != ARCP_OK) {
            return ARCP__BATCH_BROKEN;
        }
    }
    batch->status = write_rows(sqlite, batch);
    bool refused = batch->status == ARCP_E_EXISTS;
    if (batch->status != ARCP_OK && !refused) {
        return ARCP__BATCH_BROKEN;
    }
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    if (has_savepoint && refused) {
        status = arcp__sqlite_do(sqlite, ARCP__SQLITE_ROLLBACK_TO, &error);
    }
    if (has_savepoint && status == ARCP_OK) {
        status = arcp__sqlite_do(sqlite, ARCP__SQLITE_RELEASE, &error);
    }
    if (status != ARCP_OK) {
        batch->status = status;
        batch->error = error;
        return ARCP__BATCH_BROKEN;
    }
    return refused ? ARCP__BATCH_REFUSED : ARCP__BATCH_APPLIED;
}

static arcp__batch_outcome apply_streams(arcp__sqlite_streams *streams, arcp__request *batch)
{
    for (size_t at = 0; at < batch->count; at++) {
        if (!arcp__store_is_of_row(&batch->ops[at])) {
            batch->status = arcp__sqlite_streams_apply(streams, &batch->ops[at], &batch->error);
            if (batch->status != ARCP_OK) {
                return ARCP__BATCH_BROKEN;
            }
        }
    }
    return ARCP__BATCH_APPLIED;
}

arcp__batch_outcome arcp__sqlite_batch_apply(arcp__sqlite_streams *streams, arcp__request *batch)
{
    arcp__batch_outcome outcome = check_positions(streams, batch);
    if (outcome == ARCP__BATCH_APPLIED) {
        outcome = apply_rows(streams->sqlite, batch);
    }
    return outcome == ARCP__BATCH_APPLIED ? apply_streams(streams, batch) : outcome;
}
