/* A batch that cannot be applied leaves no trace: positions of appends are checked first, which
 * changes nothing. From then on only the database can fail. */
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

arcp__batch_outcome arcp__sqlite_batch_apply(arcp__sqlite_streams *streams, arcp__request *batch)
{
    arcp__batch_outcome outcome = check_positions(streams, batch);
    for (size_t i = 0; outcome == ARCP__BATCH_APPLIED && i < batch->count; i++) {
        const arcp_store_op *op = &batch->ops[i];
        batch->status = arcp__store_is_of_row(op)
                            ? arcp__sqlite_row_write(streams->sqlite, &streams->met, &streams->sums,
                                                     op, &batch->error)
                            : arcp__sqlite_streams_apply(streams, op, &batch->error);
        if (batch->status != ARCP_OK) {
            outcome = ARCP__BATCH_BROKEN;
        }
    }
    return outcome;
}
