#include "store/handover.h"

#include <assert.h>

#define DELIVERED_PER_POLL 1024

bool arcp__handover_init(arcp__handover *handover)
{
    if (pthread_mutex_init(&handover->mutex, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&handover->batches_changed, NULL) != 0) {
        goto no_batches;
    }
    if (pthread_cond_init(&handover->reads_changed, NULL) != 0) {
        goto no_reads;
    }
    if (pthread_cond_init(&handover->answers_changed, NULL) != 0) {
        goto no_answers;
    }
    return true;
no_answers:
    pthread_cond_destroy(&handover->reads_changed);
no_reads:
    pthread_cond_destroy(&handover->batches_changed);
no_batches:
    pthread_mutex_destroy(&handover->mutex);
    return false;
}

void arcp__handover_fini(arcp__handover *handover)
{
    assert(handover->batches.first == NULL && handover->reads.first == NULL);
    assert(handover->answers.first == NULL && handover->ready.first == NULL);
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
        arcp__request_push(&handover->batches, request);
        pthread_cond_signal(&handover->batches_changed);
    } else {
        request->sequence = handover->asked;
        arcp__request_push(&handover->reads, request);
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
        if (answer->status != ARCP_OK && answer->status != ARCP_E_EXISTS &&
            answer->epoch == handover->epoch) {
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
    if (handover->ready.first == NULL) {
        pthread_mutex_lock(&handover->mutex);
        handover->is_woken = false;
        arcp__request_push_all(&handover->ready, &handover->answers);
        pthread_mutex_unlock(&handover->mutex);
    }
    handover->is_polling = true;
    uint64_t ended = 0;
    size_t bytes = 0;
    for (int count = 0; count < DELIVERED_PER_POLL; count++) {
        arcp__request *answer = arcp__request_pop(&handover->ready);
        if (answer == NULL) {
            break;
        }
        deliver(handover, answer);
        ended += ends_request(answer);
        bytes += answer_bytes(answer);
        arcp__request_free(answer);
    }
    handover->is_polling = false;
    pthread_mutex_lock(&handover->mutex);
    handover->outstanding -= ended;
    handover->undelivered -= bytes;
    bool has_more = handover->answers.first != NULL;
    if (bytes != 0) {
        pthread_cond_signal(&handover->reads_changed);
    }
    pthread_mutex_unlock(&handover->mutex);
    return has_more || handover->ready.first != NULL;
}

void arcp__handover_close(arcp__handover *handover)
{
    handover->is_closing = true;
    for (;;) {
        while (arcp__handover_poll(handover)) {
        }
        pthread_mutex_lock(&handover->mutex);
        while (handover->outstanding != 0 && handover->answers.first == NULL) {
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
                                 arcp__request_queue *out)
{
    pthread_mutex_lock(&handover->mutex);
    while (may_wait && handover->batches.first == NULL && !handover->is_stopping) {
        pthread_cond_wait(&handover->batches_changed, &handover->mutex);
    }
    size_t bytes = 0;
    while (handover->batches.first != NULL && bytes <= bytes_max) {
        bytes += handover->batches.first->bytes;
        arcp__request_push(out, arcp__request_pop(&handover->batches));
    }
    bool goes_on = !handover->is_stopping;
    pthread_mutex_unlock(&handover->mutex);
    return goes_on;
}

void arcp__handover_answer_batches(arcp__handover *handover, arcp__request_queue *batches)
{
    if (batches->first == NULL) {
        return;
    }
    uint64_t sequence = batches->last->sequence;
    pthread_mutex_lock(&handover->mutex);
    assert(batches->first->sequence == handover->answered + 1);
    handover->answered = sequence;
    arcp__request_push_all(&handover->answers, batches);
    if (handover->reads.first != NULL) {
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
    while (!handover->is_stopping && (handover->reads.first == NULL ||
                                      handover->reads.first->sequence > handover->answered)) {
        pthread_cond_wait(&handover->reads_changed, &handover->mutex);
    }
    arcp__request *request = arcp__request_pop(&handover->reads);
    pthread_mutex_unlock(&handover->mutex);
    return request;
}

void arcp__handover_answer_read(arcp__handover *handover, arcp__request *answer)
{
    pthread_mutex_lock(&handover->mutex);
    handover->undelivered += answer_bytes(answer);
    arcp__request_push(&handover->answers, answer);
    unlock_and_wake(handover);
    pthread_mutex_lock(&handover->mutex);
    while (handover->undelivered > ARCP__HANDOVER_ROOM && !handover->is_stopping) {
        pthread_cond_wait(&handover->reads_changed, &handover->mutex);
    }
    pthread_mutex_unlock(&handover->mutex);
}
