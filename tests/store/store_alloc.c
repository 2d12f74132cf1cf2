/* The linker sends the modules' allocations here (--wrap). */
#include <pthread.h>

#include "base/alloc.h"
#include "store/store_alloc.h"

#define WRAPPED(name) __asm__("__wrap_arcp__" name)
#define REAL(name)    __asm__("__real_arcp__" name)

void *real_alloc(size_t size) REAL("alloc");
void *real_alloc_array(size_t count, size_t size) REAL("alloc_array");
void *real_realloc(void *memory, size_t size) REAL("realloc");
void *real_realloc_array(void *memory, size_t count, size_t size) REAL("realloc_array");
char *real_copy_cstr(const char *data, size_t size) REAL("copy_cstr");
void *failing_alloc(size_t size) WRAPPED("alloc");
void *failing_alloc_array(size_t count, size_t size) WRAPPED("alloc_array");
void *failing_realloc(void *memory, size_t size) WRAPPED("realloc");
void *failing_realloc_array(void *memory, size_t count, size_t size) WRAPPED("realloc_array");
char *failing_copy_cstr(const char *data, size_t size) WRAPPED("copy_cstr");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int fail_after = -1; /* allocations that still succeed; -1: all */
static int fail_count;
static int failed;

static bool must_fail(void)
{
    pthread_mutex_lock(&mutex);
    const bool fails = fail_after == 0 && fail_count > 0;
    if (fails) {
        fail_count--;
        failed++;
    } else if (fail_after > 0) {
        fail_after--;
    }
    pthread_mutex_unlock(&mutex);
    return fails;
}

void *failing_alloc(size_t size)
{
    return must_fail() ? NULL : real_alloc(size);
}

void *failing_alloc_array(size_t count, size_t size)
{
    return must_fail() ? NULL : real_alloc_array(count, size);
}

void *failing_realloc(void *memory, size_t size)
{
    return must_fail() ? NULL : real_realloc(memory, size);
}

void *failing_realloc_array(void *memory, size_t count, size_t size)
{
    return must_fail() ? NULL : real_realloc_array(memory, count, size);
}

char *failing_copy_cstr(const char *data, size_t size)
{
    return must_fail() ? NULL : real_copy_cstr(data, size);
}

static void arm(int after, int count)
{
    pthread_mutex_lock(&mutex);
    fail_after = after;
    fail_count = count;
    failed = 0;
    pthread_mutex_unlock(&mutex);
}

static int heal(void)
{
    pthread_mutex_lock(&mutex);
    const int count = failed;
    fail_after = -1;
    pthread_mutex_unlock(&mutex);
    return count;
}

#define STEPS   6
#define STREAMS 20 /* enough for the hash table to grow */
#define APPENDS 300

typedef struct batch {
    arcp_store_op ops[APPENDS + 8 * STREAMS];
    char names[STREAMS][32];
    char last[STREAMS][32], earlier[STREAMS][32]; /* of the two steps before */
    size_t count;
} batch;

/* Streams of the step before are dropped, and half of them begin anew in the same batch; what comes
 * in the next one has the right position only if all of that was done, and only once. */
static void begin_anew(batch *out, size_t step)
{
    for (size_t i = 0; i < STREAMS && step >= 1; i++) {
        snprintf(out->last[i], sizeof out->last[i], "%zu-%zu", step - 1, i);
        out->ops[out->count++] = op_drop(out->last[i]);
        if (i % 2 == 0) {
            out->ops[out->count++] = op_append(out->last[i], 0, "b");
            out->ops[out->count++] = op_append(out->last[i], 1, "c");
        }
    }
    for (size_t i = 0; i < STREAMS && step >= 2; i++) {
        snprintf(out->earlier[i], sizeof out->earlier[i], "%zu-%zu", step - 2, i);
        out->ops[out->count++] = op_append(out->earlier[i], i % 2 == 0 ? 2 : 0, "d");
        out->ops[out->count++] = op_trim(out->earlier[i], 1);
    }
}

static void make_batch(batch *out, size_t step)
{
    out->count = 0;
    for (size_t i = 0; i < APPENDS; i++) {
        out->ops[out->count++] = op_append("s", step * APPENDS + i, "record");
    }
    for (size_t i = 0; i < STREAMS; i++) {
        snprintf(out->names[i], sizeof out->names[i], "%zu-%zu", step, i);
        out->ops[out->count++] = op_append(out->names[i], 0, "a");
        out->ops[out->count++] = op_put(ARCP_STORE_JOBS, out->names[i], "v");
        out->ops[out->count++] = op_put(ARCP_STORE_SESSIONS, "tip", out->names[i]);
    }
    begin_anew(out, step);
}

/* 0 when the call or its completion failed because memory ran out, which must leave no trace. */
static bool try_batch(store_rig *rig, const batch *work)
{
    arcp_error err = {0};
    arcp_store_batch asked = {++rig->next_id, work->ops, work->count};
    arcp_status status = rig->store->ops->submit(rig->store, &asked, &err);
    if (status == ARCP_OK) {
        status = rig_wait(rig, asked.id)->status;
    }
    if (status != ARCP_OK && status != ARCP_E_NO_MEMORY) {
        fail_msg("a batch that is right was refused: %d", (int)status);
    }
    return status == ARCP_OK;
}

static bool try_read(store_rig *rig, size_t want)
{
    arcp_error err = {0};
    const uint64_t id = ++rig->next_id;
    arcp_status status =
        rig->store->ops->read(rig->store, id, arcp_span_cstr("s"), 0, 5000, SIZE_MAX, &err);
    if (status == ARCP_OK) {
        const answer *got = rig_wait(rig, id);
        status = got->status;
        assert_int_equal(got->count, status == ARCP_OK ? want : 0);
    }
    assert_true(status == ARCP_OK || status == ARCP_E_NO_MEMORY);
    return status == ARCP_OK;
}

static bool try_scan(store_rig *rig, size_t want)
{
    arcp_error err = {0};
    const uint64_t id = ++rig->next_id;
    arcp_status status =
        rig->store->ops->scan(rig->store, id, ARCP_STORE_JOBS, arcp_span_cstr(""), &err);
    if (status == ARCP_OK) {
        const answer *got = rig_wait(rig, id);
        status = got->status;
        assert_true(got->is_last);
        assert_true(status != ARCP_OK || want > ARCP_STORE_SCAN_ROWS_MAX || got->count == want);
    }
    assert_true(status == ARCP_OK || status == ARCP_E_NO_MEMORY);
    return status == ARCP_OK;
}

static void run_life(store_rig *rig, int after, int count)
{
    static batch work;
    for (size_t step = 0; step < STEPS; step++) {
        make_batch(&work, step);
        while (!try_batch(rig, &work)) {
            const int met = heal();
            assert_true(met > 0);
            assert_true(try_read(rig, step * APPENDS));
            assert_true(try_scan(rig, step * STREAMS));
        }
        while (!try_read(rig, (step + 1) * APPENDS) || !try_scan(rig, (step + 1) * STREAMS)) {
            assert_true(heal() > 0);
        }
        rig_forget(rig);
    }
}

/* Returns whether the failure was met. */
static bool run_with_failure(const alloc_store *which, int after, int count)
{
    arcp_error err = {0};
    arcp_store *store = NULL;
    arm(after, count);
    const arcp_status status = which->open(which->user, &store, &err);
    if (status != ARCP_OK) {
        assert_int_equal(status, ARCP_E_NO_MEMORY);
        assert_null(store);
        assert_true(heal() > 0);
        check_ok(which->open(which->user, &store, &err), &err);
    }
    store_rig *rig = rig_new(store);
    run_life(rig, after, count);
    rig_close(rig);
    return heal() > 0;
}

void alloc_fail_each(const alloc_store *which)
{
    int after = 0;
    for (bool is_met = true; is_met; after += which->stride) {
        if (which->clear != NULL) {
            which->clear(which->user);
        }
        is_met = run_with_failure(which, after, after % 2 == 0 ? 1 : 1000000);
    }
    print_message("%d allocations\n", after);
    assert_true(after > 200);
}
