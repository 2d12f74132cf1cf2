/* Committed or not? A connection that is lost, that does not answer, or that has said a WARNING, is
 * closed. On a new one the epoch is raised, so that nothing that is still on its way on the old one
 * can commit; then the numbers of the committed transactions are read. Those up to the highest are
 * answered, the others are written again, in their order. Batches fail only after `patience_ns`
 * without success. If they may have been committed then (`doubts`), this is found out at the next
 * connection, and they are not written twice when they are submitted again.
 *
 * The store is over when another node has taken the shard, or when the database has less than it
 * had acknowledged: every batch fails with ARCP_E_FENCED, and nothing is written any more. */
#include "store/postgres_writer.h"

#include "base/clock.h"

#define PAUSE_MS 100 /* between attempts to connect */

typedef struct arcp__pg_doubt {
    struct arcp__pg_doubt *prev, *next; /* oldest first */
    int64_t number;                     /* of the transaction */
    uint64_t batch_id;
    bool is_in; /* it was committed */
} doubt;

void arcp__pg_forget_doubts(arcp__pg_writer *writer)
{
    while (writer->doubts != NULL) {
        doubt *oldest = writer->doubts;
        DL_DELETE(writer->doubts, oldest);
        arcp__free(oldest);
    }
}

/* The store is over. */
static void end(arcp__pg_writer *writer, const arcp_error *why)
{
    writer->over = *why;
    arcp__pg_forget_doubts(writer);
    arcp__pg_close(&writer->pg);
    (void)arcp__pg_take_back(writer);
}

/* Patience is over. */
static void give_up(arcp__pg_writer *writer, const arcp_error *why)
{
    for (unsigned i = 0; i < writer->under_way_count; i++) {
        const arcp__pg_transaction *unknown = &writer->under_way[i];
        for (const arcp__request *batch = unknown->batches; batch != NULL; batch = batch->next) {
            doubt *noted = arcp__alloc(sizeof *noted);
            if (noted == NULL) {
                const arcp_error over = {.status = ARCP_E_FENCED,
                                         .message = "out of memory for what may be committed"};
                end(writer, &over);
                return;
            }
            noted->number = unknown->number;
            noted->batch_id = batch->id;
            DL_APPEND(writer->doubts, noted);
        }
    }
    (void)arcp__pg_take_back(writer);
    writer->is_failing = true;
    arcp__pg_fail_pending(writer, why);
}

/* Keeps the doubts that were committed. */
static void settle_doubts(arcp__pg_writer *writer, int64_t committed)
{
    doubt *each = NULL;
    doubt *next = NULL;
    DL_FOREACH_SAFE (writer->doubts, each, next) {
        each->is_in = each->is_in || each->number <= committed;
        if (!each->is_in) {
            DL_DELETE(writer->doubts, each);
            arcp__free(each);
        }
    }
}

/* The epoch of a connection that works, and what has become of the transactions under way. False:
 * the connection is lost. */
bool arcp__pg_settle(arcp__pg_writer *writer, arcp_error *err)
{
    arcp__pg_claim claim = {.batch = 0};
    if (arcp__pg_owner_claim(writer->owner, &writer->pg, &claim, err) != ARCP__PG_FINE) {
        arcp__pg_close(&writer->pg);
        return false;
    }
    if (claim.is_fenced) {
        (void)arcp_error_set(err, ARCP_E_FENCED, "postgres: another node has taken the store over");
    } else if (claim.batch < writer->committed) {
        (void)arcp_error_set(err, ARCP_E_FENCED,
                             "postgres: the database lost commits: transaction %lld was "
                             "acknowledged, and the last one that it has is %lld (was an "
                             "asynchronous replica promoted?)",
                             (long long)writer->committed, (long long)claim.batch);
    }
    if (err->status != ARCP_OK) {
        const arcp_error why = *err;
        end(writer, &why);
        return true;
    }
    while (writer->under_way_count != 0 && writer->under_way[0].number <= claim.batch) {
        arcp__pg_answer_committed(writer);
    }
    (void)arcp__pg_take_back(writer);
    settle_doubts(writer, claim.batch);
    writer->committed = claim.batch;
    writer->epoch = claim.epoch;
    return true;
}

static bool is_patience_over(const arcp__pg_writer *writer)
{
    return writer->is_failing ||
           (writer->trouble_since_ns != 0 &&
            arcp__clock_ns(CLOCK_MONOTONIC) - writer->trouble_since_ns >= writer->patience_ns);
}

/* Connects again until it succeeds or patience is over. `cause` is why a transaction has failed;
 * NULL: none was sent. A server that answers, but cannot write, is tried as long. */
void arcp__pg_recover(arcp__pg_writer *writer, const arcp_error *cause)
{
    const struct timespec pause = {0, PAUSE_MS * ARCP_NS_PER_MS};
    arcp__pg_close(&writer->pg);
    if (writer->trouble_since_ns == 0) {
        writer->trouble_since_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    } else if (!writer->is_failing) {
        (void)nanosleep(&pause, NULL);
    }
    for (;;) {
        arcp_error err = {0};
        if (arcp__pg_connect(&writer->pg, true, &err) == ARCP_OK && arcp__pg_settle(writer, &err)) {
            if (cause != NULL && writer->over.status == ARCP_OK && is_patience_over(writer)) {
                writer->is_failing = true;
                arcp__pg_fail_pending(writer, cause);
            }
            return;
        }
        if (is_patience_over(writer)) {
            err.status = ARCP_E_IO; /* whatever it is, the owner may try again */
            give_up(writer, &err);
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}

/* Answers the oldest batches if an earlier attempt has written them. */
bool arcp__pg_answer_written(arcp__pg_writer *writer)
{
    arcp__request *batch = writer->pending;
    doubt *oldest = writer->doubts;
    if (batch == NULL || oldest == NULL || writer->under_way_count != 0) {
        return false;
    }
    if (batch->id != oldest->batch_id) { /* its owner goes on with something else */
        arcp__pg_forget_doubts(writer);
        return false;
    }
    DL_DELETE(writer->doubts, oldest);
    arcp__free(oldest);
    DL_DELETE(writer->pending, batch);
    arcp__request *one = NULL;
    DL_APPEND(one, batch);
    arcp__pg_answer(writer, one, &(arcp_error){0});
    return true;
}
