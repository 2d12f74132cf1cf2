/* The audit log's thread: order, bounds, and what happens while it cannot write. */
#include "support/check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arcp/temp_tree.h"
#include "audit/audit_log.h"
#include "audit/log_reading.h"

/* Replaces the C library's function in this program: while `syncs_wait` is set, a sync does not
 * end.
 */
static atomic_bool syncs_wait;
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): not the C library's name */
int fdatasync(int fd)
{
    while (atomic_load(&syncs_wait)) {
        (void)poll(NULL, 0, 1);
    }
    return fsync(fd);
}

typedef struct fixture {
    char directory[64];
    char path[96];
    arcp__audit_log *log;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned failures, recoveries;
} fixture;

static void on_changed(void *user, const char *message)
{
    fixture *f = user;
    pthread_mutex_lock(&f->lock);
    if (message != NULL) {
        f->failures++;
    } else {
        f->recoveries++;
    }
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void await(fixture *f, const unsigned *count, unsigned at_least)
{
    pthread_mutex_lock(&f->lock);
    while (*count < at_least) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
}

static int begin(void **state)
{
    static fixture f;
    f = (fixture){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    temp_tree_make(f.directory, sizeof f.directory);
    snprintf(f.path, sizeof f.path, "%s/audit.jsonl", f.directory);
    signal(SIGXFSZ, SIG_IGN);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    const fixture *f = *state;
    return temp_tree_remove(f->directory);
}

static void open_log(fixture *f, arcp__audit_settings settings)
{
    arcp_error err = {0};
    check_ok(arcp__audit_log_open(f->path, &settings, on_changed, f, &f->log, &err), &err);
}

static bool append_number(arcp__audit_log *log, unsigned number)
{
    char record[64];
    snprintf(record, sizeof record, "{\"event\":\"gate\",\"n\":%u}", number);
    return arcp__audit_log_append(log, arcp_span_cstr(record));
}

static void records_are_written_in_order_across_rotations(void **state)
{
    fixture *f = *state;
    arcp_buf text = arcp_buf_init();
    open_log(f, (arcp__audit_settings){20000, 1000, 1 << 20});
    for (unsigned i = 0; i < 3000; i++) {
        assert_true(append_number(f->log, i));
        if (i % 300 == 0) {
            assert_true(arcp__audit_log_flush(f->log));
        }
    }
    arcp__audit_log_close(f->log, NULL);
    const uint64_t lines = log_read(f->path, &text);
    assert_true(lines > 3002); /* rotations have notes of their own */
    const char *rest = text.data;
    for (unsigned number = 0; number < 3000; number++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "\"n\":%u,", number);
        rest = strstr(rest, wanted);
        assert_non_null(rest);
    }
    assert_int_equal(f->failures, 0);
    arcp_buf_fini(&text);
}

static void flushed_records_are_in_the_file(void **state)
{
    fixture *f = *state;
    arcp__audit_stats stats;
    open_log(f, (arcp__audit_settings){0, 1000, 1 << 20});
    assert_true(append_number(f->log, 1));
    assert_true(arcp__audit_log_flush(f->log));
    arcp_buf text = arcp_buf_init();
    assert_int_equal(log_read(f->path, &text), 2);
    arcp__audit_log_get_stats(f->log, &stats);
    assert_int_equal(stats.head.seq, 2);
    assert_int_equal(stats.queued_bytes, 0);
    assert_false(stats.is_failing);
    arcp_buf_fini(&text);
    arcp__audit_log_close(f->log, NULL);
}

static void a_record_of_exactly_the_room_is_taken_and_one_more_byte_is_lost(void **state)
{
    fixture *f = *state;
    arcp__audit_stats stats;
    char record[201];
    snprintf(record, sizeof record, "{\"a\":\"%0*d\"}", 191, 0);
    assert_int_equal(strlen(record), 199); /* and a line feed */
    open_log(f, (arcp__audit_settings){0, 1000, 199});
    assert_false(arcp__audit_log_append(f->log, arcp_span_cstr(record)));
    arcp__audit_log_set(f->log, &(arcp__audit_settings){0, 1000, 200});
    assert_true(arcp__audit_log_append(f->log, arcp_span_cstr(record)));
    assert_true(arcp__audit_log_flush(f->log));
    arcp__audit_log_get_stats(f->log, &stats);
    assert_int_equal(stats.lost, 1);
    arcp__audit_log_close(f->log, NULL);
    arcp_buf text = arcp_buf_init();
    (void)log_read(f->path, &text);
    assert_non_null(strstr(text.data, "\"lost_records\":1"));
    arcp_buf_fini(&text);
}

#define PATIENCE_MS 60000

/* What is awaited is written: that it is not synced yet, on a slow disk, delays no response. */
static void a_record_is_awaited_until_it_is_written_not_synced(void **state)
{
    fixture *f = *state;
    open_log(f, (arcp__audit_settings){0, 0, 1 << 20});
    assert_true(arcp__audit_log_flush(f->log));
    atomic_store(&syncs_wait, true);
    assert_true(append_number(f->log, 1));
    arcp__audit_log_hurry(f->log);
    assert_true(arcp__audit_log_await(f->log, PATIENCE_MS));
    arcp_buf text = arcp_buf_init();
    assert_int_equal(log_read(f->path, &text), 2);
    /* The next one waits for the sync. */
    assert_true(append_number(f->log, 2));
    arcp__audit_log_hurry(f->log);
    assert_false(arcp__audit_log_await(f->log, 1));
    atomic_store(&syncs_wait, false);
    assert_true(arcp__audit_log_await(f->log, PATIENCE_MS));
    assert_int_equal(log_read(f->path, &text), 3);
    arcp_buf_fini(&text);
    arcp__audit_log_close(f->log, NULL);
}

static void set_room(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_is_reported_waited_for_and_loses_only_counted_lines(void **state)
{
    fixture *f = *state;
    unsigned taken = 0;
    open_log(f, (arcp__audit_settings){0, 1000, 8192});
    assert_true(arcp__audit_log_flush(f->log));
    set_room(100);
    for (unsigned i = 0; i < 1000; i++) {
        taken += append_number(f->log, i) ? 1 : 0;
    }
    assert_true(taken < 1000); /* the queue is full at last */
    await(f, &f->failures, 1);
    assert_false(arcp__audit_log_flush(f->log));
    set_room(RLIM_INFINITY);
    await(f, &f->recoveries, 1);
    assert_true(arcp__audit_log_flush(f->log));
    arcp__audit_log_close(f->log, NULL);
    arcp_buf text = arcp_buf_init();
    char wanted[64];
    const uint64_t lines = log_read(f->path, &text);
    assert_int_equal(lines, taken + 3); /* opened, lost, closed */
    snprintf(wanted, sizeof wanted, "\"lost_records\":%u", 1000 - taken);
    assert_non_null(strstr(text.data, wanted));
    arcp_buf_fini(&text);
}

static void closing_while_the_disk_is_full_ends(void **state)
{
    fixture *f = *state;
    open_log(f, (arcp__audit_settings){0, 0, 8192});
    assert_true(arcp__audit_log_flush(f->log));
    set_room(100);
    assert_true(append_number(f->log, 1));
    await(f, &f->failures, 1);
    arcp__audit_log_hurry(f->log);
    assert_false(arcp__audit_log_await(f->log, UINT32_MAX)); /* at once, because it cannot be */
    arcp__audit_log_close(f->log, NULL);
    set_room(RLIM_INFINITY);
    arcp_buf text = arcp_buf_init();
    assert_int_equal(log_read(f->path, &text), 1);
    arcp_buf_fini(&text);
}

static void a_moved_file_is_followed_by_a_new_one_when_asked(void **state)
{
    fixture *f = *state;
    char moved[128];
    snprintf(moved, sizeof moved, "%s.1", f->path);
    open_log(f, (arcp__audit_settings){0, 0, 8192});
    assert_true(append_number(f->log, 1));
    assert_true(arcp__audit_log_flush(f->log));
    assert_int_equal(rename(f->path, moved), 0);
    arcp__audit_log_reopen(f->log);
    assert_true(append_number(f->log, 2));
    assert_true(arcp__audit_log_flush(f->log));
    arcp__audit_log_close(f->log, NULL);
    arcp_buf text = arcp_buf_init();
    assert_int_equal(log_read(f->path, &text), 6); /* opened, 1, 2, closed | opened, closed */
    arcp_buf_fini(&text);
}

static void *append_many(void *user)
{
    for (unsigned i = 0; i < 2000; i++) {
        if (!append_number(user, i)) {
            return user;
        }
    }
    return NULL;
}

static void any_thread_may_append(void **state)
{
    fixture *f = *state;
    pthread_t threads[4];
    open_log(f, (arcp__audit_settings){0, 1000, 1 << 20});
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, f->log), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    arcp__audit_log_close(f->log, NULL);
    arcp_buf text = arcp_buf_init();
    assert_int_equal(log_read(f->path, &text), 8002);
    arcp_buf_fini(&text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(records_are_written_in_order_across_rotations),
        TEST(flushed_records_are_in_the_file),
        TEST(a_record_is_awaited_until_it_is_written_not_synced),
        TEST(a_record_of_exactly_the_room_is_taken_and_one_more_byte_is_lost),
        TEST(a_full_disk_is_reported_waited_for_and_loses_only_counted_lines),
        TEST(closing_while_the_disk_is_full_ends),
        TEST(a_moved_file_is_followed_by_a_new_one_when_asked),
        TEST(any_thread_may_append),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
