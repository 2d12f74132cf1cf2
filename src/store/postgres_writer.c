/* Batches become transactions:
 *
 *   pending -> under way (two at most) -> answered
 *      ^            |
 *      +------------+  a transaction was refused: batch by batch, as nothing of it was applied
 *                   |  the connection is lost: postgres_recover.c
 */
#include "store/postgres_writer.h"

#include <assert.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define OPS_MAX       1024u
#define BYTES_MAX     4194304u
#define GARBAGE_EVERY 64 /* transactions, while batches always wait */

static int64_t now(void)
{
    return arcp__clock_ns(CLOCK_MONOTONIC);
}

/* ---- answers ---- */

void arcp__pg_answer(arcp__pg_writer *writer, arcp__request *batches, const arcp_error *error)
{
    for (arcp__request *batch = batches; batch != NULL; batch = batch->next) {
        batch->error = *error;
    }
    if (batches != NULL) {
        arcp__queue_answer_batches(writer->queue, batches);
    }
}

/* Removes the oldest transaction. Its batches are the caller's. */
static arcp__request *shift(arcp__pg_writer *writer)
{
    arcp__request *batches = writer->under_way[0].batches;
    writer->under_way[0] = writer->under_way[1];
    writer->under_way[1] = (arcp__pg_transaction){.batches = NULL};
    writer->under_way[0].waits_since_ns = now();
    writer->under_way_count--;
    return batches;
}

void arcp__pg_answer_committed(arcp__pg_writer *writer)
{
    const arcp__pg_transaction done = writer->under_way[0];
    writer->committed = done.number;
    writer->trouble_since_ns = 0;
    writer->is_failing = false;
    writer->plan.has_garbage = writer->plan.has_garbage || done.found_garbage;
    if (done.batches != NULL) {
        arcp__queue_count_commit(writer->queue, done.batch_count, done.ops, done.began_ns);
    }
    arcp__pg_answer(writer, shift(writer), &(arcp_error){0});
}

/* Puts the batches of all transactions back, before those that wait. Returns their number. */
size_t arcp__pg_take_back(arcp__pg_writer *writer)
{
    arcp__request *all = NULL;
    size_t count = 0;
    while (writer->under_way_count != 0) {
        count += writer->under_way[0].batch_count;
        arcp__request *batches = shift(writer);
        DL_CONCAT(all, batches);
    }
    DL_CONCAT(all, writer->pending);
    writer->pending = all;
    arcp__pg_plan_forget_all(&writer->plan);
    return count;
}

/* Fails the oldest batch, and those that were submitted before its owner knows of that. */
void arcp__pg_fail_pending(arcp__pg_writer *writer, const arcp_error *why)
{
    if (writer->pending != NULL) {
        writer->failed = *why;
        writer->failed_epoch = writer->pending->epoch + 1;
    }
}

/* Answers what fails without being written. */
static void answer_failed(arcp__pg_writer *writer)
{
    arcp__request *failed = NULL;
    const bool is_over = writer->over.status != ARCP_OK;
    while (writer->pending != NULL && writer->under_way_count == 0 &&
           (is_over || writer->pending->epoch < writer->failed_epoch)) {
        arcp__request *batch = writer->pending;
        DL_DELETE(writer->pending, batch);
        DL_APPEND(failed, batch);
    }
    arcp__pg_answer(writer, failed, is_over ? &writer->over : &writer->failed);
}

/* ---- transactions ---- */

/* The batches for the next transaction. */
static size_t choose(const arcp__pg_writer *writer, size_t *ops)
{
    size_t count = 0;
    size_t bytes = 0;
    *ops = 0;
    for (const arcp__request *batch = writer->pending; batch != NULL; batch = batch->next) {
        if (count != 0 && (writer->one_by_one != 0 || *ops + batch->count > OPS_MAX ||
                           bytes + batch->bytes > BYTES_MAX)) {
            break;
        }
        *ops += batch->count;
        bytes += batch->bytes;
        count++;
    }
    return count;
}

/* Looks up what is missing. False: not now, or the oldest batch has failed. */
static bool find_missing(arcp__pg_writer *writer, size_t count)
{
    arcp__pg_plan *plan = &writer->plan;
    arcp_error err = {0};
    const arcp__request *batch = writer->pending;
    arcp__pg_plan_begin(plan);
    plan->is_careful = writer->one_by_one != 0;
    for (size_t i = 0; i < count; i++, batch = batch->next) {
        arcp__pg_plan_miss(plan, batch);
    }
    if (!plan->has_missing) {
        return true;
    }
    if (writer->under_way_count != 0) { /* they may be about the same streams */
        arcp__pg_plan_abandon(plan);
        return false;
    }
    const arcp__pg_trouble trouble = arcp__pg_plan_find(plan, &writer->pg, &err);
    if (trouble != ARCP__PG_FINE) {
        arcp__pg_plan_abandon(plan);
    }
    if (trouble == ARCP__PG_LOST) {
        arcp__pg_recover(writer, &err);
    } else if (trouble != ARCP__PG_FINE && count == 1) {
        arcp__pg_fail_pending(writer, &err);
    } else if (trouble != ARCP__PG_FINE) {
        writer->one_by_one = count;
    }
    return trouble == ARCP__PG_FINE;
}

static bool send_fence(arcp__pg_writer *writer, int64_t number)
{
    const int64_t values[] = {writer->plan.shard, writer->epoch, number};
    for (size_t i = 0; i < 3; i++) {
        arcp__pg_array_begin(&writer->fence[i], i == 0 ? ARCP__PG_INT4 : ARCP__PG_INT8);
        arcp__pg_add_integer(&writer->fence[i], values[i]);
    }
    return arcp__pg_send(&writer->pg, ARCP__PG_FENCE, writer->fence, 3);
}

static bool send_garbage(arcp__pg_writer *writer)
{
    arcp__pg_set_integer(&writer->garbage, ARCP__PG_INT4, writer->plan.shard);
    return arcp__pg_send(&writer->pg, ARCP__PG_GARBAGE_RUNS, &writer->garbage, 1) &&
           arcp__pg_send(&writer->pg, ARCP__PG_GARBAGE_STREAMS, &writer->garbage, 1);
}

/* Their memory is used again, so that a transaction needs none at this point. */
static arcp_status make_params(arcp__pg_writer *writer, arcp_error *err)
{
    bool has_memory = arcp_buf_reserve(&writer->garbage.bytes, 8);
    for (size_t i = 0; i < 3; i++) {
        has_memory = arcp_buf_reserve(&writer->fence[i].bytes, 32) && has_memory;
    }
    return has_memory ? ARCP_OK
                      : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store");
}

/* Sends what was planned for `count` batches. */
static void send(arcp__pg_writer *writer, size_t count, size_t ops, bool with_garbage)
{
    arcp__pg_transaction *tx = &writer->under_way[writer->under_way_count];
    const arcp__pg_transaction *before = tx == writer->under_way ? NULL : tx - 1;
    *tx = (arcp__pg_transaction){
        .number = (before == NULL ? writer->committed : before->number) + 1,
        .began_ns = now(),
        .waits_since_ns = now(),
        .batch_count = count,
        .ops = ops,
        .is_garbage = with_garbage,
    };
    for (size_t i = 0; i < count; i++) {
        arcp__request *batch = writer->pending;
        tx->bytes += batch->bytes;
        DL_DELETE(writer->pending, batch);
        DL_APPEND(tx->batches, batch);
    }
    writer->under_way_count++;
    if (!send_fence(writer, tx->number) || !arcp__pg_plan_send(&writer->plan, &writer->pg) ||
        (with_garbage && !send_garbage(writer)) || !arcp__pg_sync(&writer->pg)) {
        arcp_error err = {0};
        (void)arcp_error_set(&err, ARCP_E_IO, "postgres: the connection is lost");
        arcp__pg_recover(writer, &err);
    }
}

/* Writes the oldest batches, or with none only deletes what is not needed any more. False: it has
 * to wait for a transaction that is under way. */
static bool begin(arcp__pg_writer *writer)
{
    size_t ops = 0;
    arcp_error err = {0};
    if (writer->pg.conn == NULL) {
        arcp__pg_recover(writer, NULL);
        return true;
    }
    if (arcp__pg_answer_written(writer)) {
        return true;
    }
    const size_t count = choose(writer, &ops);
    if (!find_missing(writer, count)) {
        return writer->under_way_count == 0;
    }
    const bool with_garbage =
        writer->plan.has_garbage &&
        (count == 0 || (writer->committed + writer->under_way_count) % GARBAGE_EVERY == 0);
    writer->plan.has_garbage = writer->plan.has_garbage && !with_garbage;
    const arcp__request *batch = writer->pending;
    for (size_t i = 0; i < count && err.status == ARCP_OK; i++, batch = batch->next) {
        (void)arcp__pg_plan_batch(&writer->plan, batch, &err);
    }
    if (err.status == ARCP_OK && arcp__pg_plan_finish(&writer->plan, now(), &err) == ARCP_OK) {
        send(writer, count, ops, with_garbage);
        return true;
    }
    arcp__pg_plan_abandon(&writer->plan);
    if (writer->under_way_count != 0) {
        return false; /* what was forgotten is looked up behind it */
    }
    if (count == 1) {
        arcp__pg_fail_pending(writer, &err);
    } else {
        writer->one_by_one = count;
    }
    return true;
}

/* All answers are there, and the oldest transaction was refused. */
static void handle_refusal(arcp__pg_writer *writer)
{
    const arcp__pg_transaction first = writer->under_way[0];
    arcp_error err = {0};
    if (first.trouble == ARCP__PG_LOST) {
        arcp__pg_recover(writer, &first.error);
        return;
    }
    if (first.trouble == ARCP__PG_FENCED) {
        if (!arcp__pg_settle(writer, &err)) {
            arcp__pg_recover(writer, &err);
        }
        return;
    }
    const bool was_alone = writer->one_by_one != 0;
    const size_t count = arcp__pg_take_back(writer);
    if (first.batch_count != 0 && was_alone) {
        arcp__pg_fail_pending(writer, &first.error);
        writer->one_by_one = 0;
    } else {
        writer->one_by_one = count;
    }
}

/* A transaction is complete. */
static void complete(arcp__pg_writer *writer)
{
    arcp__pg_transaction *first = &writer->under_way[0];
    if (first->trouble == ARCP__PG_FINE && writer->pg.is_doubtful) {
        first->trouble = ARCP__PG_LOST;
        (void)arcp_error_set(&first->error, ARCP_E_IO,
                             "postgres: the server answered with a warning");
    }
    if (first->trouble == ARCP__PG_FINE) {
        writer->one_by_one -= writer->one_by_one != 0 && first->batch_count != 0;
        arcp__pg_answer_committed(writer);
        return;
    }
    /* The one behind it cannot pass it; its answer has to be taken, too. */
    while (first->trouble != ARCP__PG_LOST && writer->under_way_count == 2) {
        PGresult *result = NULL;
        arcp_error lost = {0};
        if (arcp__pg_next(&writer->pg, now() + writer->pg.answer_ns, -1, &result, &lost) !=
            ARCP__PG_RESULT) {
            first->trouble = ARCP__PG_LOST;
            first->error = lost;
        } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            break;
        }
        PQclear(result);
    }
    handle_refusal(writer);
}

static void take_result(arcp__pg_writer *writer, PGresult *result)
{
    arcp__pg_transaction *first = &writer->under_way[0];
    arcp_error err = {0};
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        complete(writer);
    } else if (first->trouble == ARCP__PG_FINE) {
        first->trouble = arcp__pg_judge(&writer->pg, result, &err);
        first->error = err;
        const bool deletes =
            strncmp(PQcmdStatus(result), "DELETE", 6) == 0 && strcmp(PQcmdTuples(result), "0") != 0;
        first->found_garbage = first->found_garbage || (first->is_garbage && deletes);
    }
}

/* ---- the thread ---- */

void arcp__pg_writer_wake(arcp__pg_writer *writer)
{
    if (atomic_exchange(&writer->is_asleep, false)) {
        (void)eventfd_write(writer->wake_fd, 1);
    }
}

/* Takes what was submitted; false: the queue is closed. */
static bool take(arcp__pg_writer *writer)
{
    arcp__request *more = NULL;
    const bool goes_on = arcp__queue_take_batches(writer->queue, false, SIZE_MAX, &more);
    DL_CONCAT(writer->pending, more);
    return goes_on;
}

/* Waits for an answer of the server, or with `may_begin` for a batch. */
static void wait_for_answer(arcp__pg_writer *writer, bool may_begin)
{
    arcp_error err = {0};
    PGresult *result = NULL;
    const arcp__pg_transaction *first = &writer->under_way[0];
    /* Only a batch that is large by itself makes a transaction of more than BYTES_MAX. */
    const int64_t deadline = first->waits_since_ns + writer->pg.answer_ns +
                             (int64_t)(first->bytes / BYTES_MAX) * ARCP_NS_PER_SEC;
    switch (arcp__pg_next(&writer->pg, deadline, may_begin ? writer->wake_fd : -1, &result, &err)) {
    case ARCP__PG_RESULT:
        take_result(writer, result);
        PQclear(result);
        break;
    case ARCP__PG_WOKEN:
        break;
    case ARCP__PG_BROKEN:
        arcp__pg_recover(writer, &err);
        break;
    }
}

static void wait_for_batch(const arcp__pg_writer *writer)
{
    struct pollfd fd = {.fd = writer->wake_fd, .events = POLLIN};
    const bool will_trim = writer->plan.trims != NULL && writer->pg.conn != NULL;
    (void)poll(&fd, 1, will_trim ? (int)(ARCP__PG_TRIM_NS / ARCP_NS_PER_MS) : -1);
}

static void sleep_until_woken(arcp__pg_writer *writer, bool is_held)
{
    eventfd_t ignored = 0;
    const bool may_begin =
        writer->pending == NULL && !is_held && writer->under_way_count < ARCP__PG_UNDER_WAY_MAX;
    atomic_store(&writer->is_asleep, may_begin);
    if (may_begin) {
        const bool goes_on = take(writer); /* it may have come before the flag was set */
        if (writer->pending != NULL || (!goes_on && writer->under_way_count == 0)) {
            atomic_store(&writer->is_asleep, false);
            return;
        }
    }
    if (writer->under_way_count != 0) {
        wait_for_answer(writer, may_begin);
    } else {
        wait_for_batch(writer);
    }
    atomic_store(&writer->is_asleep, false);
    if (may_begin) {
        (void)eventfd_read(writer->wake_fd, &ignored);
    }
}

static bool has_idle_work(const arcp__pg_writer *writer)
{
    return writer->pg.conn != NULL && writer->under_way_count == 0 &&
           (writer->plan.has_garbage || arcp__pg_plan_must_trim(&writer->plan, now()));
}

void *arcp__pg_writer_run(void *user)
{
    arcp__pg_writer *writer = user;
    bool is_held = false; /* the next transaction waits for the one under way */
    for (;;) {
        const bool goes_on = take(writer);
        answer_failed(writer);
        if (!goes_on && writer->pending == NULL && writer->under_way_count == 0) {
            return NULL;
        }
        const unsigned most = writer->one_by_one != 0 ? 1 : ARCP__PG_UNDER_WAY_MAX;
        is_held = is_held && writer->under_way_count != 0;
        if (writer->over.status == ARCP_OK && !is_held && writer->under_way_count < most &&
            (writer->pending != NULL || has_idle_work(writer))) {
            is_held = !begin(writer);
        } else {
            sleep_until_woken(writer, is_held);
        }
    }
}

arcp_status arcp__pg_writer_open(arcp__pg_writer *writer, arcp_error *err)
{
    writer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (writer->wake_fd < 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create an eventfd for the store");
    }
    writer->plan.shard = ARCP__PG_SHARD;
    if (make_params(writer, err) == ARCP_OK &&
        arcp__pg_connect(&writer->pg, true, err) == ARCP_OK && arcp__pg_settle(writer, err) &&
        err->status == ARCP_OK) {
        (void)arcp__pg_plan_open(&writer->plan, &writer->pg, err);
    }
    return err->status;
}

void arcp__pg_writer_close(arcp__pg_writer *writer)
{
    assert(writer->pending == NULL && writer->under_way_count == 0);
    arcp__pg_close(&writer->pg);
    arcp__pg_forget_doubts(writer);
    arcp__pg_plan_fini(&writer->plan);
    arcp__pg_array_fini(&writer->garbage);
    for (size_t i = 0; i < 3; i++) {
        arcp__pg_array_fini(&writer->fence[i]);
    }
    if (writer->wake_fd > 0) {
        (void)close(writer->wake_fd);
    }
}
