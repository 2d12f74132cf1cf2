#include "store/handover.h"

#include <assert.h>

#define DELIVERED_PER_POLL 1024

void arcp__handover_init(arcp__handover *handover)
{
    pthread_mutex_init(&handover->mutex, NULL);
    pthread_cond_init(&handover->batches_changed, NULL);
    pthread_cond_init(&handover->reads_changed, NULL);
    pthread_cond_init(&handover->answers_changed, NULL);
}

void arcp__handover_fini(arcp__handover *handover)
{
    assert(handover->batches == NULL && handover->reads == NULL);
    assert(handover->answers == NULL && handover->ready == NULL);
    pthread_cond_destroy(&handover->answers_changed);
    pthread_cond_destroy(&handover->reads_changed);
    pthread_cond_destroy(&handover->batches_changed);
    pthread_mutex_destroy(&handover->mutex);
}

static size_t answer_bytes(const arcp__request *request)
{
    size_t entry =
        sizeof(arcp_store_row) > sizeof(arcp_span) ? sizeof(arcp_store_row) : sizeof(arcp_span);
    return request->kind == ARCP__REQUEST_BATCH
               ? 0
               : request->arena.used + request->answer_count * entry;
}

/* ---- the owner's thread ---- */

arcp_status arcp__handover_ask(arcp__handover *handover, arcp__request *request, arcp_error *err)
{
    if (handover->is_closing) {
        arcp__request_free(request);
        return arcp_error_set(err, ARCP_E_CLOSED, "the store is closing");
    }
    request->epoch = handover->epoch;
    pthread_mutex_lock(&handover->mutex);
    handover->outstanding++;
    if (request->kind == ARCP__REQUEST_BATCH) {
        request->sequence = ++handover->asked;
        DL_APPEND(handover->batches, request);
        pthread_cond_signal(&handover->batches_changed);
    } else {
        request->sequence = handover->asked;
        DL_APPEND(handover->reads, request);
        pthread_cond_signal(&handover->reads_changed);
    }
    pthread_mutex_unlock(&handover->mutex);
    return ARCP_OK;
}

static void deliver(arcp__handover *handover, const arcp__request *answer)
{
    const arcp_store_callbacks *callbacks = &handover->callbacks;
    const arcp_error *err = answer->status == ARCP_OK ? NULL : &answer->error;
    switch (answer->kind) {
    case ARCP__REQUEST_BATCH:
        if (answer->status != ARCP_OK && answer->epoch == handover->epoch) {
            /* From now on the owner knows: what it submits next is tried afresh. */
            handover->epoch++;
        }
        callbacks->done(callbacks->user, answer->id, answer->status, err);
        return;
    case ARCP__REQUEST_READ:
        callbacks->read(callbacks->user, answer->id, answer->status, answer->first, answer->records,
                        answer->answer_count, err);
        return;
    case ARCP__REQUEST_SCAN:
        callbacks->scan(callbacks->user, answer->id, answer->status, answer->rows,
                        answer->answer_count, answer->is_last, err);
        return;
    }
}

static bool ends_request(const arcp__request *answer)
{
    return answer->kind != ARCP__REQUEST_SCAN || answer->is_last;
}

bool arcp__handover_poll(arcp__handover *handover)
{
    assert(!handover->is_polling);
    if (handover->ready == NULL) {
        pthread_mutex_lock(&handover->mutex);
        handover->is_woken = false;
        handover->ready = handover->answers;
        handover->answers = NULL;
        pthread_mutex_unlock(&handover->mutex);
    }
    handover->is_polling = true;
    uint64_t ended = 0;
    size_t bytes = 0;
    for (int count = 0; count < DELIVERED_PER_POLL && handover->ready != NULL; count++) {
        arcp__request *answer = handover->ready;
        DL_DELETE(handover->ready, answer);
        deliver(handover, answer);
        ended += ends_request(answer);
        bytes += answer_bytes(answer);
        arcp__request_free(answer);
    }
    handover->is_polling = false;
    pthread_mutex_lock(&handover->mutex);
    handover->outstanding -= ended;
    handover->undelivered -= bytes;
    bool has_more = handover->answers != NULL;
    if (bytes != 0) {
        pthread_cond_signal(&handover->reads_changed);
    }
    pthread_mutex_unlock(&handover->mutex);
    return has_more || handover->ready != NULL;
}

void arcp__handover_close(arcp__handover *handover)
{
    handover->is_closing = true;
    for (;;) {
        while (arcp__handover_poll(handover)) {
        }
        pthread_mutex_lock(&handover->mutex);
        while (handover->outstanding != 0 && handover->answers == NULL) {
            pthread_cond_wait(&handover->answers_changed, &handover->mutex);
        }
        bool is_done = handover->outstanding == 0;
        handover->is_stopping = is_done;
        if (is_done) {
            pthread_cond_broadcast(&handover->batches_changed);
            pthread_cond_broadcast(&handover->reads_changed);
        }
        pthread_mutex_unlock(&handover->mutex);
        if (is_done) {
            return;
        }
    }
}

void arcp__handover_stats(arcp__handover *handover, arcp_store_stats *out)
{
    pthread_mutex_lock(&handover->mutex);
    *out = handover->stats;
    pthread_mutex_unlock(&handover->mutex);
}

/* Marks the owner as woken and unlocks; the call itself is made without the mutex. */
static void unlock_and_wake(arcp__handover *handover)
{
    bool must_wake = !handover->is_woken && handover->callbacks.wake != NULL;
    handover->is_woken = true;
    pthread_cond_signal(&handover->answers_changed);
    pthread_mutex_unlock(&handover->mutex);
    if (must_wake) {
        handover->callbacks.wake(handover->callbacks.user);
    }
}

/* ---- the writer's thread ---- */

bool arcp__handover_take_batches(arcp__handover *handover, bool may_wait, size_t bytes_max,
                                 arcp__request **out)
{
    pthread_mutex_lock(&handover->mutex);
    while (may_wait && handover->batches == NULL && !handover->is_stopping) {
        pthread_cond_wait(&handover->batches_changed, &handover->mutex);
    }
    size_t bytes = 0;
    while (handover->batches != NULL && bytes <= bytes_max) {
        arcp__request *batch = handover->batches;
        bytes += batch->bytes;
        DL_DELETE(handover->batches, batch);
        DL_APPEND(*out, batch);
    }
    bool goes_on = !handover->is_stopping;
    pthread_mutex_unlock(&handover->mutex);
    return goes_on;
}

void arcp__handover_answer_batches(arcp__handover *handover, arcp__request *batches)
{
    if (batches == NULL) {
        return;
    }
    uint64_t sequence = batches->prev->sequence; /* of the last one */
    pthread_mutex_lock(&handover->mutex);
    assert(batches->sequence == handover->answered + 1);
    handover->answered = sequence;
    DL_CONCAT(handover->answers, batches);
    if (handover->reads != NULL) {
        pthread_cond_signal(&handover->reads_changed);
    }
    unlock_and_wake(handover);
}

void arcp__handover_count_commit(arcp__handover *handover, uint64_t batches, uint64_t ops,
                                 uint64_t took_ns)
{
    pthread_mutex_lock(&handover->mutex);
    arcp_store_stats *stats = &handover->stats;
    stats->batches += batches;
    stats->ops += ops;
    stats->commits++;
    stats->commit_ns_total += took_ns;
    stats->commit_ns_max = took_ns > stats->commit_ns_max ? took_ns : stats->commit_ns_max;
    pthread_mutex_unlock(&handover->mutex);
}

/* ---- the reader's thread ---- */

arcp__request *arcp__handover_take_read(arcp__handover *handover)
{
    pthread_mutex_lock(&handover->mutex);
    while (!handover->is_stopping &&
           (handover->reads == NULL || handover->reads->sequence > handover->answered)) {
        pthread_cond_wait(&handover->reads_changed, &handover->mutex);
    }
    arcp__request *request = handover->reads;
    if (request != NULL) {
        DL_DELETE(handover->reads, request);
    }
    pthread_mutex_unlock(&handover->mutex);
    return request;
}

void arcp__handover_answer_read(arcp__handover *handover, arcp__request *answer)
{
    pthread_mutex_lock(&handover->mutex);
    handover->undelivered += answer_bytes(answer);
    DL_APPEND(handover->answers, answer);
    unlock_and_wake(handover);
    pthread_mutex_lock(&handover->mutex);
    while (handover->undelivered > ARCP__HANDOVER_ROOM && !handover->is_stopping) {
        pthread_cond_wait(&handover->reads_changed, &handover->mutex);
    }
    pthread_mutex_unlock(&handover->mutex);
}
