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

static bool has_rows(const arcp__request *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (arcp__store_is_of_row(&batch->ops[i])) {
            return true;
        }
    }
    return false;
}

static arcp_status write_rows(arcp__sqlite_streams *streams, arcp__request *batch)
{
    for (size_t at = 0; at < batch->count; at++) {
        if (arcp__store_is_of_row(&batch->ops[at])) {
            arcp_status status = arcp__sqlite_row_write(
                streams->sqlite, &streams->met, &streams->sums, &batch->ops[at], &batch->error);
            if (status != ARCP_OK) {
                return status;
            }
        }
    }
    return ARCP_OK;
}

static arcp__batch_outcome apply_rows(arcp__sqlite_streams *streams, arcp__request *batch)
{
    if (!has_rows(batch)) {
        return ARCP__BATCH_APPLIED;
    }
    arcp__sqlite *sqlite = streams->sqlite;
    const arcp__sqlite_sums before = streams->sums;
    bool has_savepoint = needs_savepoint(batch);
    if (has_savepoint) {
        batch->status = arcp__sqlite_do(sqlite, ARCP__SQLITE_SAVEPOINT, &batch->error);
        if (batch->status != ARCP_OK) {
            return ARCP__BATCH_BROKEN;
        }
    }
    batch->status = write_rows(streams, batch);
    bool refused = batch->status == ARCP_E_EXISTS;
    if (batch->status != ARCP_OK && !refused) {
        return ARCP__BATCH_BROKEN;
    }
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    if (refused) {
        streams->sums = before;
    }
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
        outcome = apply_rows(streams, batch);
    }
    return outcome == ARCP__BATCH_APPLIED ? apply_streams(streams, batch) : outcome;
}
