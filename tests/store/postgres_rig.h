/* A store in the PostgreSQL of a test. */
#ifndef ARCP_TESTS_STORE_POSTGRES_RIG_H
#define ARCP_TESTS_STORE_POSTGRES_RIG_H

#include "store/postgres.h"
#include "store/store_rig.h"
#include "support/pg_rig.h"

/* Options for a node of that name, with short times: a lease of 1 s, 2 s of patience. */
arcp__postgres_options pg_options(const pg_rig *server, const char *node, const char *home);

/* Opens a store; fails the test when that fails. */
store_rig *pg_open(const pg_rig *server, const char *node, const char *home);
/* Fails the test unless opening fails with a status, and a message that has `part`. */
void pg_check_refused(const arcp__postgres_options *options, arcp_status status, const char *part);

/* Appends records "0", "1", ... to a stream, one a batch, some at a time, and submits again what
 * has failed: what an engine does. */
typedef struct pg_counter {
    store_rig *rig;
    uint64_t submitted, acknowledged;
    unsigned failures;
} pg_counter;

#define PG_AHEAD    8u
#define PG_FIRST_ID UINT64_C(1000000) /* of the batch with record "0" */

void pg_submit_number(pg_counter *c);
/* Counts up to `until`, waiting for each acknowledgement in turn. With `fails` batches may fail,
 * and are submitted again under the same ids. */
void pg_count_to(pg_counter *c, uint64_t until, bool fails);
/* Everything that was acknowledged is there, once. */
void pg_check_counted(const pg_counter *c, const pg_rig *server);

#endif
