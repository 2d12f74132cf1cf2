/* The writing connection and its thread: takes the batches that wait, writes them as transactions
 * of which two are under way at most, and answers them. */
#ifndef ARCP_STORE_POSTGRES_WRITER_H
#define ARCP_STORE_POSTGRES_WRITER_H

#include <stdatomic.h>

#include "store/postgres_owner.h"
#include "store/postgres_plan.h"

#define ARCP__PG_UNDER_WAY_MAX 2u

/* A transaction that was sent. */
typedef struct arcp__pg_transaction {
    arcp__request *batches; /* owned; none: only garbage is deleted */
    int64_t number;
    int64_t began_ns;
    int64_t waits_since_ns; /* for the answer of the server */
    uint64_t batch_count, ops;
    size_t bytes;             /* of the batches */
    arcp__pg_trouble trouble; /* the first one */
    arcp_error error;
    bool is_garbage;    /* deletes some */
    bool found_garbage; /* there may be more */
} arcp__pg_transaction;

typedef struct arcp__pg_writer {
    arcp__pg pg;
    arcp__pg_plan plan;
    arcp__pg_array fence[3]; /* parameters */
    arcp__pg_array garbage;
    arcp__pg_owner *owner;    /* borrowed */
    arcp__store_queue *queue; /* borrowed */
    int wake_fd;              /* eventfd */
    atomic_bool is_asleep;
    int64_t patience_ns;
    int64_t epoch;
    int64_t committed; /* number of the last transaction that is known to be */
    arcp__pg_transaction under_way[ARCP__PG_UNDER_WAY_MAX]; /* oldest first */
    unsigned under_way_count;
    arcp__request *pending; /* taken from the queue; owned */
    size_t one_by_one;      /* batches that go alone, because a transaction has failed */
    uint64_t failed_epoch;  /* batches of earlier epochs fail with `failed` */
    arcp_error failed;
    int64_t trouble_since_ns; /* without a commit; 0: there is no trouble */
    bool is_failing;          /* patience was over: one attempt for each batch */
    arcp_error over;          /* FENCED: every batch fails with it */
    /* Batches that were answered as failed although they may have been committed: if they were,
     * the same ids are answered OK when they are submitted again. */
    struct arcp__pg_doubt *doubts;
} arcp__pg_writer;

/* ---- answers ---- */

/* Answers the batches in the list, all in the same way. */
void arcp__pg_answer(arcp__pg_writer *writer, arcp__request *batches, const arcp_error *error);
/* The oldest transaction is in the database. */
void arcp__pg_answer_committed(arcp__pg_writer *writer);
/* Puts the batches of all transactions back, before those that wait. Returns their number. */
size_t arcp__pg_take_back(arcp__pg_writer *writer);
/* Fails the oldest batch, and those that were submitted before its owner knows of that. */
void arcp__pg_fail_pending(arcp__pg_writer *writer, const arcp_error *why);

/* ---- postgres_recover.c: committed or not ---- */

/* Raises the epoch of a connection that works, and finds out what has become of the transactions
 * under way. False: the connection is lost. */
bool arcp__pg_settle(arcp__pg_writer *writer, arcp_error *err);
/* Connects again until it succeeds or patience is over. `cause` is why a transaction has failed;
 * NULL: none was sent. A server that answers, but cannot write, is tried as long. */
void arcp__pg_recover(arcp__pg_writer *writer, const arcp_error *cause);
/* Answers the oldest batch if an earlier attempt has written it. */
bool arcp__pg_answer_written(arcp__pg_writer *writer);
void arcp__pg_forget_doubts(arcp__pg_writer *writer);

/* ---- the thread ---- */

/* Connects, and raises the epoch. `pg.name`, `owner`, `queue` and `patience_ns` are set. */
arcp_status arcp__pg_writer_open(arcp__pg_writer *writer, arcp_error *err);
void arcp__pg_writer_close(arcp__pg_writer *writer);
/* To be called after a batch was queued, and after the queue was closed. Any thread. */
void arcp__pg_writer_wake(arcp__pg_writer *writer);

/* The function of the thread; `user` is the writer. */
void *arcp__pg_writer_run(void *user);

#endif
