/* What every back end refuses, in the same words. */
#ifndef ARCP_STORE_STORE_CHECK_H
#define ARCP_STORE_STORE_CHECK_H

#include <arcp/sys/store.h>

#define ARCP__STORE_READ_BYTES_MAX 16777216u /* of one read; more is cut to it */
#define ARCP__STORE_SCAN_BYTES_MAX 1048576u  /* of one page of rows, about */

/* Whether the operation is on a table; else it is on a stream. */
static inline bool arcp__store_is_of_row(const arcp_store_op *op)
{
    return op->kind == ARCP_STORE_PUT || op->kind == ARCP_STORE_DELETE;
}

/* Bytes of the operation's value; 0 for kinds that have none, whatever the field says. */
static inline size_t arcp__store_value_size(const arcp_store_op *op)
{
    return op->kind == ARCP_STORE_APPEND || op->kind == ARCP_STORE_PUT ? op->value.size : 0;
}

/* Checks all operations of a batch; `bytes` becomes the size of its keys and values. */
ARCP_MUST_CHECK arcp_status arcp__store_check_batch(const arcp_store_batch *batch, size_t *bytes,
                                                    arcp_error *err);

ARCP_MUST_CHECK arcp_status arcp__store_check_read(arcp_span stream, size_t count_max,
                                                   arcp_error *err);

ARCP_MUST_CHECK arcp_status arcp__store_check_scan(arcp_store_table table, arcp_span prefix,
                                                   arcp_error *err);

/* ARCP_E_CORRUPT: an append that is not at the stream's next position. */
arcp_status arcp__store_position_error(arcp_span stream, uint64_t position, uint64_t next,
                                       arcp_error *err);

#endif
