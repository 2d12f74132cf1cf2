/* Between the owner's thread and a store's own threads.
 *
 *   owner    ask -> [batches] -> writer -> [answers] -> poll -> callbacks
 *                -> [reads]   -> reader -> [answers]
 *
 * Promises: batches are taken and answered in the order they were asked. A read is handed
 * to the reader when every batch asked before it was answered. Answers are delivered in
 * the order they were given. A wake-up follows the first answer after each poll. Answers
 * to reads that wait for delivery hold at most about ARCP__HANDOVER_ROOM bytes, then the
 * reader waits. One mutex guards everything but what is marked as the owner's. */
#ifndef ARCP_STORE_HANDOVER_H
#define ARCP_STORE_HANDOVER_H

#include <pthread.h>

#include "store/request.h"

#define ARCP__HANDOVER_ROOM 4194304u

typedef struct arcp__handover {
    /* The owner's. */
    arcp_store_callbacks callbacks; /* set before the first request */
    arcp__request *ready;           /* taken from `answers`, being delivered */
    uint64_t epoch;                 /* failures delivered */
    bool is_polling;
    bool is_closing;
    /* Under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t batches_changed; /* the writer waits for it */
    pthread_cond_t reads_changed;   /* the reader waits for it */
    pthread_cond_t answers_changed; /* close waits for it */
    arcp__request *batches;
    arcp__request *reads;
    arcp__request *answers;
    uint64_t asked;       /* sequence of the newest batch asked */
    uint64_t answered;    /* sequence of the newest batch answered */
    uint64_t outstanding; /* requests whose last answer was not delivered */
    size_t undelivered;   /* bytes of answers to reads */
    bool is_woken;
    bool is_stopping;
    arcp_store_stats stats;
} arcp__handover;

void arcp__handover_init(arcp__handover *handover);
void arcp__handover_fini(arcp__handover *handover);

/* ---- the owner's thread ---- */

/* Takes the request over. ARCP_E_CLOSED (and frees it) while closing. */
ARCP_MUST_CHECK arcp_status arcp__handover_ask(arcp__handover *handover, arcp__request *request,
                                               arcp_error *err);
/* Delivers what there is (at most 1024 answers); true when there is more. */
bool arcp__handover_poll(arcp__handover *handover);
/* Refuses new requests, delivers all answers to the old ones, waiting for them, then lets
 * both threads end. */
void arcp__handover_close(arcp__handover *handover);
void arcp__handover_stats(arcp__handover *handover, arcp_store_stats *out);

/* ---- the writer's thread ---- */

/* Waits for batches and takes all there are, until their bytes pass `bytes_max`. With
 * `may_wait` false it comes back at once. False when the thread shall end. */
bool arcp__handover_take_batches(arcp__handover *handover, bool may_wait, size_t bytes_max,
                                 arcp__request **out);
/* Answers the batches in the list (all taken before these were answered already). */
void arcp__handover_answer_batches(arcp__handover *handover, arcp__request *batches);
/* Counts a transaction. */
void arcp__handover_count_commit(arcp__handover *handover, uint64_t batches, uint64_t ops,
                                 uint64_t took_ns);

/* ---- the reader's thread ---- */

/* Waits for a read or scan that may be done now. NULL when the thread shall end. */
arcp__request *arcp__handover_take_read(arcp__handover *handover);
/* Gives an answer, the last or only one to its request when `is_last`. Waits until there
 * is room for another one. */
void arcp__handover_answer_read(arcp__handover *handover, arcp__request *answer);

#endif
