/* One batch inside a transaction that it may share with others. */
#ifndef ARCP_STORE_SQLITE_BATCH_H
#define ARCP_STORE_SQLITE_BATCH_H

#include "store/request.h"
#include "store/sqlite_stream.h"

typedef enum arcp__batch_outcome {
    ARCP__BATCH_APPLIED,
    ARCP__BATCH_WRONG, /* an append out of place: it left no trace, nothing after it may go */
    ARCP__BATCH_BROKEN /* the database failed: the transaction must be rolled back */
} arcp__batch_outcome;

/* Applies the batch; sets its status and error unless it was applied. */
ARCP_MUST_CHECK arcp__batch_outcome arcp__sqlite_batch_apply(arcp__sqlite_streams *streams,
                                                             arcp__request *batch);

#endif
