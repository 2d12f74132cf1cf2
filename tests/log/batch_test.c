/* Batches: how they are filled, taken, committed and retried. */
#include "support/check.h"

#include "log/log.h"

#define RETRY 7 /* the kind of its timer */

typedef struct rig {
    arcp__context context;
    arcp__log *log;
} rig;

static void start(rig *r, bool keeps_rows)
{
    *r = (rig){.context = {.now = {.mono_ns = ARCP_NS_PER_SEC}}};
    r->log = arcp__log_new(&r->context,
                           &(arcp__log_options){.keeps_rows = keeps_rows, .retry_timer = RETRY});
    assert_non_null(r->log);
}

static void stop(rig *r)
{
    arcp__log_free(r->log);
    arcp__context_fini(&r->context);
}

static void put(rig *r, const char *key)
{
    arcp__batch_put(r->log, ARCP_STORE_JOBS, arcp_span_cstr(key), ARCP_SPAN_LITERAL("{}"));
}

static const arcp_store_batch *take(rig *r)
{
    const arcp_store_batch *batch = arcp__log_take(r->log);
    assert_non_null(batch);
    return batch;
}

static void rows_are_copied_into_the_open_batch(void **state)
{
    (void)state;
    rig r;
    start(&r, true);
    char key[] = "job_1";
    put(&r, key);
    key[0] = 'x';
    arcp__batch_delete(r.log, ARCP_STORE_SESSIONS, ARCP_SPAN_LITERAL("sess_1"));
    assert_int_equal(arcp__batch_pending(r.log), 2);
    const arcp_store_batch *batch = take(&r);
    assert_int_equal(batch->count, 2);
    assert_int_equal(batch->ops[0].kind, ARCP_STORE_PUT);
    assert_true(arcp_span_equal_cstr(batch->ops[0].key, "job_1"));
    assert_int_equal(batch->ops[1].kind, ARCP_STORE_DELETE);
    assert_int_equal(arcp__batch_pending(r.log), 0);
    assert_false(arcp__log_is_durable(r.log));
    assert_int_equal(arcp__log_committed(r.log, batch->id, ARCP_OK), ARCP__COMMIT_DONE);
    assert_true(arcp__log_is_durable(r.log));
    assert_int_equal(r.log->queue_bytes, 0);
    stop(&r);
}

static void a_store_that_keeps_no_rows_gets_none(void **state)
{
    (void)state;
    rig r;
    start(&r, false);
    put(&r, "job_1");
    arcp__batch_delete(r.log, ARCP_STORE_JOBS, ARCP_SPAN_LITERAL("job_1"));
    assert_int_equal(arcp__batch_pending(r.log), 0);
    assert_null(arcp__log_take(r.log));
    stop(&r);
}

static void a_batch_without_operations_is_taken_and_committed(void **state)
{
    (void)state;
    rig r;
    start(&r, false);
    arcp__batch_touch(r.log);
    const uint64_t id = arcp__batch_open_id(r.log);
    const arcp_store_batch *batch = take(&r);
    assert_int_equal(batch->id, id);
    assert_int_equal(batch->count, 0);
    assert_int_equal(arcp__log_committed(r.log, id, ARCP_OK), ARCP__COMMIT_DONE);
    assert_int_equal(r.log->committed_id, id);
    stop(&r);
}

static void while_the_store_fails_the_first_batch_is_retried_after_a_pause(void **state)
{
    (void)state;
    rig r;
    start(&r, true);
    put(&r, "job_1");
    const uint64_t first = take(&r)->id;
    put(&r, "job_2");
    const uint64_t second = take(&r)->id;
    put(&r, "job_3");
    assert_int_equal(arcp__log_committed(r.log, first, ARCP_E_INTERNAL_ERROR),
                     ARCP__COMMIT_BEGAN_TO_FAIL);
    assert_int_equal(arcp__log_committed(r.log, second, ARCP_E_INTERNAL_ERROR),
                     ARCP__COMMIT_PENDING);
    assert_int_equal(r.log->failures, 1);
    assert_null(arcp__log_take(r.log)); /* the pause */
    const arcp__timer *timer = arcp__timer_heap_pop_due(&r.context.timers, 100 * ARCP_NS_PER_SEC);
    assert_non_null(timer);
    assert_int_equal(timer->kind, RETRY);
    assert_int_equal(take(&r)->id, first);
    assert_null(arcp__log_take(r.log)); /* one at a time */
    assert_int_equal(arcp__log_committed(r.log, first, ARCP_OK), ARCP__COMMIT_DONE);
    assert_true(arcp__log_is_failing(r.log));
    assert_int_equal(take(&r)->id, second);
    assert_int_equal(arcp__log_committed(r.log, second, ARCP_OK), ARCP__COMMIT_DONE);
    assert_false(arcp__log_is_failing(r.log));
    assert_int_equal(take(&r)->count, 1); /* the operations that were added meanwhile */
    stop(&r);
}

static void bytes_of_a_source_count_until_their_batch_is_durable(void **state)
{
    (void)state;
    rig r;
    arcp__queued queued = {0};
    uint64_t ids[3];
    start(&r, true);
    for (size_t i = 0; i < 3; i++) {
        put(&r, "job_1");
        arcp__queued_add(r.log, &queued, 5);
        arcp__queued_add(r.log, &queued, 5);
        assert_int_equal(arcp__queued_bytes(r.log, &queued), 10 * (i + 1));
        ids[i] = take(&r)->id;
    }
    /* The two older batches count as one until the second is durable. */
    assert_int_equal(arcp__log_committed(r.log, ids[0], ARCP_OK), ARCP__COMMIT_DONE);
    assert_int_equal(arcp__queued_bytes(r.log, &queued), 30);
    assert_int_equal(arcp__log_committed(r.log, ids[1], ARCP_OK), ARCP__COMMIT_DONE);
    assert_int_equal(arcp__queued_bytes(r.log, &queued), 10);
    assert_int_equal(arcp__log_committed(r.log, ids[2], ARCP_OK), ARCP__COMMIT_DONE);
    assert_int_equal(arcp__queued_bytes(r.log, &queued), 0);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_copied_into_the_open_batch),
        cmocka_unit_test(a_store_that_keeps_no_rows_gets_none),
        cmocka_unit_test(a_batch_without_operations_is_taken_and_committed),
        cmocka_unit_test(bytes_of_a_source_count_until_their_batch_is_durable),
        cmocka_unit_test(while_the_store_fails_the_first_batch_is_retried_after_a_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
