/* Who owns the store: the node's row, its beat, and the epoch of the shard. */
#ifndef ARCP_STORE_POSTGRES_OWNER_H
#define ARCP_STORE_POSTGRES_OWNER_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/postgres_connection.h"

#define ARCP__PG_SHARD 0 /* the only one */

typedef struct arcp__pg_owner {
    arcp__pg pg; /* the control connection */
    char *node;
    char *home;
    char incarnation[27]; /* drawn for each start */
    uint64_t lease_ms;
    atomic_uint_least64_t bytes; /* of the store, when it was measured last */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_stopping; /* guarded by the mutex */
    bool has_thread;
} arcp__pg_owner;

/* Connects, creates the schema if there is none, and takes the store. ARCP_E_EXISTS: in use. */
arcp_status arcp__pg_owner_open(arcp__pg_owner *owner, arcp_error *err);
/* Starts to beat. */
arcp_status arcp__pg_owner_start(arcp__pg_owner *owner, arcp_error *err);
/* Stops to beat, and gives the store back. */
void arcp__pg_owner_close(arcp__pg_owner *owner);

/* What the shard's row and counter say. */
typedef struct arcp__pg_claim {
    bool is_fenced; /* another node has it */
    int64_t epoch;
    int64_t batch; /* the last one that was committed */
} arcp__pg_claim;

/* A new epoch on a writing connection: what an older one has sent can commit no more, or has been
 * committed and is counted. LOST, or FINE with *out set. */
arcp__pg_trouble arcp__pg_owner_claim(const arcp__pg_owner *owner, arcp__pg *pg,
                                      arcp__pg_claim *out, arcp_error *err);

#endif
