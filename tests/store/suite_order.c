/* When completions are delivered, in which order, and which batches fail with another one. */
#include <sched.h>

#include "store/store_suite.h"

static void batches_complete_in_the_order_they_were_submitted(store_rig *rig)
{
    enum { COUNT = 500 };
    static char keys[COUNT][32];
    arcp_store_op ops[COUNT];
    const uint64_t first_id = rig->next_id + 1;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "k%zu", i % 7);
        ops[i] = op_put(ARCP_STORE_JOBS, keys[i], "v");
        (void)rig_submit(rig, &ops[i], i % 5 == 0 ? 0 : 1);
    }
    (void)rig_wait(rig, first_id + COUNT - 1);
    assert_int_equal(rig->count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(rig->answers[i].id, first_id + i);
        assert_int_equal(rig->answers[i].status, ARCP_OK);
    }
}

static void a_batch_without_operations_completes_in_its_turn(store_rig *rig)
{
    arcp_store_op op = op_append("s", 0, "a");
    const uint64_t first = rig_submit(rig, &op, 1);
    const uint64_t second = rig_submit(rig, NULL, 0);
    (void)rig_wait(rig, second);
    assert_int_equal(rig->count, 2);
    assert_int_equal(rig->answers[0].id, first);
    assert_int_equal(rig->answers[1].status, ARCP_OK);
}

static void reads_and_scans_see_every_batch_submitted_before_them(store_rig *rig)
{
    enum { COUNT = 200 };
    arcp_store_op ops[COUNT][2];
    uint64_t reads[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        ops[i][0] = op_append("s", i, "r");
        ops[i][1] = op_put(ARCP_STORE_JOBS, "k", "v");
        (void)rig_submit(rig, ops[i], 2);
        reads[i] = rig_ask_read(rig, "s", i, 1, 100);
    }
    const uint64_t scan = rig_ask_scan(rig, ARCP_STORE_JOBS, "");
    (void)rig_wait(rig, scan);
    for (size_t i = 0; i < COUNT; i++) {
        const answer *got = rig_wait(rig, reads[i]);
        assert_int_equal(got->count, 1);
        assert_int_equal(got->first, i);
    }
}

static void reads_complete_after_the_batches_before_them_and_in_their_order(store_rig *rig)
{
    enum { COUNT = 50 };
    arcp_store_op ops[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        ops[i] = op_append("s", i, "r");
        (void)rig_submit(rig, &ops[i], 1);
        (void)rig_ask_read(rig, "s", 0, 1, 100);
        (void)rig_ask_scan(rig, ARCP_STORE_JOBS, "");
    }
    (void)rig_wait(rig, rig->next_id);
    assert_int_equal(rig->count, 3 * COUNT);
    uint64_t newest_batch = 0;
    uint64_t newest_read = 0;
    for (size_t i = 0; i < rig->count; i++) {
        const answer *got = &rig->answers[i];
        uint64_t *newest = got->kind == ANSWER_DONE ? &newest_batch : &newest_read;
        assert_true(got->id > *newest);
        *newest = got->id;
        /* Ids go up by one: the batch before a read has an id just below it. */
        assert_true(got->kind == ANSWER_DONE || newest_batch + 2 >= got->id);
    }
}

static void callbacks_come_only_from_poll(store_rig *rig)
{
    /* The rig fails the test when one comes from inside submit, read or scan. */
    arcp_store_op op = op_append("s", 0, "a");
    const uint64_t batch = rig_submit(rig, &op, 1);
    const uint64_t read = rig_ask_read(rig, "s", 0, 1, 1);
    const uint64_t scan = rig_ask_scan(rig, ARCP_STORE_META, "");
    assert_int_equal(rig->count, 0);
    (void)rig_wait(rig, scan);
    assert_int_equal(rig->count, 3);
    assert_int_equal(rig->answers[0].id, batch);
    assert_int_equal(rig->answers[1].id, read);
}

static const arcp_store_op chained_op = {
    .kind = ARCP_STORE_PUT, .table = ARCP_STORE_JOBS, .key = {"chained", 7}, .value = {"v", 1}};

static void submit_another(store_rig *rig, uint64_t id, arcp_status status)
{
    assert_int_equal(status, ARCP_OK);
    unsigned *left = rig->on_done_user;
    if (*left != 0) {
        (*left)--;
        (void)rig_submit(rig, &chained_op, 1);
        (void)rig_ask_read(rig, "s", 0, 1, 1);
    }
}

static void a_callback_may_submit_and_read(store_rig *rig)
{
    unsigned left = 10;
    rig->on_done = submit_another;
    rig->on_done_user = &left;
    const uint64_t id = rig_submit(rig, &chained_op, 1);
    (void)rig_wait(rig, id + 20);
    assert_int_equal(left, 0);
    assert_int_equal(rig->count, 21);
}

static void the_owner_is_woken_when_there_is_something_to_deliver(store_rig *rig)
{
    for (unsigned round = 0; round < 20; round++) {
        const unsigned before = rig->wakes;
        arcp_store_op op = op_put(ARCP_STORE_JOBS, "k", "v");
        (void)rig_wait(rig, rig_submit(rig, &op, 1));
        pthread_mutex_lock(&rig->mutex);
        const unsigned wakes = rig->wakes - before;
        pthread_mutex_unlock(&rig->mutex);
        assert_true(wakes >= 1 && wakes <= 2);
    }
}

static void the_owner_is_woken_once_for_all_that_gathers(store_rig *rig)
{
    enum { COUNT = 20 };
    static arcp_store_op ops[COUNT];
    arcp_store_stats before = arcp_store_stats_init();
    arcp_store_stats after = arcp_store_stats_init();
    rig->store->ops->stats(rig->store, &before);
    for (size_t i = 0; i < COUNT; i++) {
        ops[i] = op_append("s", i, "r");
        (void)rig_submit(rig, &ops[i], 1);
        /* Without polling: a store with a thread of its own does the work all the same. */
        do {
            rig->store->ops->stats(rig->store, &after);
            sched_yield();
        } while (rig->store->ops->durable && after.batches - before.batches != i + 1);
    }
    pthread_mutex_lock(&rig->mutex);
    const unsigned wakes = rig->wakes;
    pthread_mutex_unlock(&rig->mutex);
    assert_int_equal(wakes, 1);
    rig_drain(rig);
}

/* All batches that were in flight at a failure have failed too, so that their owner can begin again
 * with the first one. */
static void a_failure_fails_all_batches_submitted_before_it_was_reported(store_rig *rig)
{
    arcp_store_op first = op_append("s", 0, "a");
    arcp_store_op wrong = op_append("s", 7, "x");
    arcp_store_op row = op_put(ARCP_STORE_JOBS, "k", "v");
    arcp_store_op other = op_append("t", 0, "t");
    uint64_t ids[4] = {
        rig_submit(rig, &first, 1),
        rig_submit(rig, &wrong, 1),
        rig_submit(rig, &row, 1),
        rig_submit(rig, &other, 1),
    };
    assert_int_equal(rig_wait(rig, ids[0])->status, ARCP_OK);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(rig_wait(rig, ids[i])->status, ARCP_E_CORRUPT);
    }
    check_scan(rig, ARCP_STORE_JOBS, "", "");
    check_read(rig, "t", 0, 0, "");
    check_read(rig, "s", 0, 0, "a");
    /* The failure was reported: the same batches succeed now. */
    wrong.position = 1;
    ids[1] = rig_submit(rig, &wrong, 1);
    ids[2] = rig_submit(rig, &row, 1);
    ids[3] = rig_submit(rig, &other, 1);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(rig_wait(rig, ids[i])->status, ARCP_OK);
    }
    check_read(rig, "s", 0, 0, "a|x");
    check_scan(rig, ARCP_STORE_JOBS, "", "k=v");
}

static void begin_again(store_rig *rig, uint64_t id, arcp_status status)
{
    uint64_t *again = rig->on_done_user;
    if (status != ARCP_OK && *again == 0) {
        *again = rig_submit(rig, &chained_op, 1);
    }
}

static void what_a_callback_submits_after_a_failure_is_tried_afresh(store_rig *rig)
{
    uint64_t again = 0;
    arcp_store_op wrong = op_append("s", 7, "x");
    rig->on_done = begin_again;
    rig->on_done_user = &again;
    uint64_t ids[3];
    for (size_t i = 0; i < 3; i++) {
        ids[i] = rig_submit(rig, &wrong, 1);
    }
    (void)rig_wait(rig, ids[2]);
    assert_int_equal(again, ids[2] + 1);
    assert_int_equal(rig_wait(rig, again)->status, ARCP_OK);
    check_scan(rig, ARCP_STORE_JOBS, "", "chained=v");
}

static void a_read_does_not_fail_because_a_batch_did(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    arcp_store_op wrong = op_append("s", 7, "x");
    (void)rig_submit(rig, &wrong, 1);
    const uint64_t read = rig_ask_read(rig, "s", 0, 10, 100);
    assert_string_equal(rig_wait(rig, read)->text, "a");
    rig_drain(rig);
}

static void counts_what_was_committed(store_rig *rig)
{
    arcp_store_stats before = arcp_store_stats_init();
    arcp_store_stats after = arcp_store_stats_init();
    rig->store->ops->stats(rig->store, &before);
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_put(ARCP_STORE_JOBS, "k", "v"));
    check_commit(rig, ARCP_E_CORRUPT, op_append("s", 7, "x"));
    check_commit(rig, ARCP_OK, op_append("s", 1, "b"));
    rig->store->ops->stats(rig->store, &after);
    assert_int_equal(after.batches - before.batches, 2);
    assert_int_equal(after.ops - before.ops, 3);
    assert_int_equal(after.commits - before.commits, 2);
    assert_true(after.commit_ns_total >= after.commit_ns_max && after.commit_ns_max > 0);
    assert_true(after.bytes > 0);
}

static void submit_while_closing(store_rig *rig, uint64_t id, arcp_status status)
{
    arcp_error err = {0};
    arcp_store_batch batch = {99, &chained_op, 1};
    unsigned *refused = rig->on_done_user;
    if (rig->store->ops->submit(rig->store, &batch, &err) == ARCP_E_CLOSED &&
        rig->store->ops->read(rig->store, 98, arcp_span_cstr("s"), 0, 1, 1, &err) ==
            ARCP_E_CLOSED &&
        rig->store->ops->scan(rig->store, 97, ARCP_STORE_META, arcp_span_cstr(""), &err) ==
            ARCP_E_CLOSED) {
        (*refused)++;
    }
}

static void close_delivers_what_was_submitted_and_takes_nothing_more(store_rig *rig)
{
    enum { COUNT = 100 };
    static arcp_store_op ops[COUNT];
    unsigned refused = 0;
    rig->on_done = submit_while_closing;
    rig->on_done_user = &refused;
    for (size_t i = 0; i < COUNT; i++) {
        ops[i] = op_append("s", i, "r");
        (void)rig_submit(rig, &ops[i], 1);
        (void)rig_ask_read(rig, "s", 0, 1, 1);
    }
    (void)rig_ask_scan(rig, ARCP_STORE_META, "");
    arcp_store_close(rig->store);
    rig->store = NULL;
    assert_int_equal(rig->count, 2 * COUNT + 1);
    assert_int_equal(refused, COUNT);
}

static void closing_at_once_is_fine(store_rig *rig)
{
    arcp_store_close(rig->store);
    rig->store = NULL;
    assert_int_equal(rig->count, 0);
}

const suite_test suite_order[] = {
    {"batches complete in the order they were submitted",
     batches_complete_in_the_order_they_were_submitted},
    {"a batch without operations completes in its turn",
     a_batch_without_operations_completes_in_its_turn},
    {"reads and scans see every batch submitted before them",
     reads_and_scans_see_every_batch_submitted_before_them},
    {"reads complete after the batches before them and in their order",
     reads_complete_after_the_batches_before_them_and_in_their_order},
    {"callbacks come only from poll", callbacks_come_only_from_poll},
    {"a callback may submit and read", a_callback_may_submit_and_read},
    {"the owner is woken when there is something to deliver",
     the_owner_is_woken_when_there_is_something_to_deliver},
    {"the owner is woken once for all that gathers", the_owner_is_woken_once_for_all_that_gathers},
    {"a failure takes along what was submitted before it was told",
     a_failure_fails_all_batches_submitted_before_it_was_reported},
    {"what a callback submits after a failure is tried afresh",
     what_a_callback_submits_after_a_failure_is_tried_afresh},
    {"a read does not fail because a batch did", a_read_does_not_fail_because_a_batch_did},
    {"counts what was committed", counts_what_was_committed},
    {"close delivers what was submitted and takes nothing more",
     close_delivers_what_was_submitted_and_takes_nothing_more},
    {"closing at once is fine", closing_at_once_is_fine},
};
const size_t suite_order_count = COUNT_OF(suite_order);
