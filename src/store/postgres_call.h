/* The executions of the statements of one transaction, with their parameters: a row of the
 * parameters for each row that is written. */
#ifndef ARCP_STORE_POSTGRES_CALL_H
#define ARCP_STORE_POSTGRES_CALL_H

#include "store/postgres_connection.h"

/* Executions of a statement, each with its parameters. */
#define ARCP__PG_CALL_PARAMS 6u
#define ARCP__PG_CALL_BYTES  8388608u /* then another execution begins */
typedef struct arcp__pg_call {
    arcp__pg_array params[ARCP__PG_CALL_PARAMS];
    struct arcp__pg_call *next;
} arcp__pg_call;

typedef struct arcp__pg_calls {
    arcp__pg_call *first[ARCP__PG_STATEMENT_COUNT]; /* one of each is kept for its memory */
} arcp__pg_calls;

/* The execution that gets the next row, with `bytes` of text; the shard is in it. NULL when out of
 * memory. */
arcp__pg_call *arcp__pg_calls_row(arcp__pg_calls *calls, int64_t shard,
                                  arcp__pg_statement statement, size_t bytes);
/* Empties them. */
void arcp__pg_calls_clear(arcp__pg_calls *calls);
void arcp__pg_calls_fini(arcp__pg_calls *calls);
bool arcp__pg_calls_have_memory(const arcp__pg_calls *calls);
/* Sends all that have a row. False: the connection is lost. */
bool arcp__pg_calls_send(arcp__pg_calls *calls, arcp__pg *pg);

#endif
