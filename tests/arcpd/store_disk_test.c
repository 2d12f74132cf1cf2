/* A disk that fails under arcpd's store: a clear error and exit status 1 at start; while arcpd
 * runs, errors that peers may act on, and no client receives what is not stored. */
#include "support/check.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcpd/store_daemon.h"

/* ---- at start ---- */

typedef struct disk {
    char orders[96];
    char environment[160];
} disk;

/* The daemon's next start is on a disk that fails on request. */
static void disk_begin(disk *out, daemon_state *d)
{
    (void)snprintf(out->orders, sizeof out->orders, "%s/disk", d->directory);
    (void)snprintf(out->environment, sizeof out->environment, "ARCP_TEST_DISK=%s", out->orders);
    d->options.environment = out->environment;
    d->options.preload = ARCP_BINARY_DIR "/tests/failing_disk.so";
}

static void check_whole(daemon_state *d, wire_session *session)
{
    wire w;
    daemon_start(d);
    wire_open(&w, d->port);
    wire_resume(&w, "t-alice", session, 0);
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    assert_int_equal(daemon_stop(d), 0);
}

static void begin_with_store(disk *out, daemon_state *d, wire_session *session)
{
    daemon_begin(d, NULL);
    store_make(d, session);
    disk_begin(out, d);
}

static void a_disk_that_cannot_be_read_refuses_the_start_and_loses_nothing(void **state)
{
    daemon_state d;
    disk broken;
    wire_session session;
    (void)state;
    begin_with_store(&broken, &d, &session);
    store_file_write(broken.orders, "r");
    store_check_refused(&d, "disk I/O error");
    assert_int_equal(unlink(broken.orders), 0);
    check_whole(&d, &session);
    daemon_end(&d);
}

/* Everything is read until the session's records are: then the disk fails. A start that is
 * refused has written a page to the write-ahead log, which is one more read of the next start
 * before those of the records: so two more reads each time fail at the next read of a record. */
static void a_disk_that_fails_in_the_middle_of_the_start_loses_nothing(void **state)
{
    daemon_state d;
    disk broken;
    wire_session session;
    (void)state;
    begin_with_store(&broken, &d, &session);
    bool started = false;
    for (int after = 1; !started; after += 2) {
        char orders[16];
        (void)snprintf(orders, sizeof orders, "r%d", after);
        store_file_write(broken.orders, orders);
        daemon_launch(&d);
        started = daemon_await(&d);
        if (!started) {
            char *errors = daemon_errors(&d);
            if (d.exit_status != 1 || strstr(errors, "arcp.db: ") == NULL) {
                fail_msg("read %d fails: exit status %d: %s", after, d.exit_status, errors);
            }
            free(errors);
        }
        assert_true(after < 10000);
    }
    daemon_kill(&d);
    assert_int_equal(unlink(broken.orders), 0);
    check_whole(&d, &session);
    daemon_end(&d);
}

/* ---- while it runs ---- */

/* A store that stops taking writes when `stop` is called, and takes them again after `go`. */
typedef struct outage {
    void (*stop)(daemon_state *d, disk *broken);
    void (*go)(daemon_state *d, disk *broken);
} outage;

#define EVENTS 20000u
#define LAST   (EVENTS + 2 + 3) /* with `running` and the result, and those of a second job */

/* Reads until the connection ends; every event_seq is one more than the last. */
static uint64_t take_until_the_end(wire *w, uint64_t seq, bool *has_error)
{
    arcp_span frame;
    *has_error = false;
    do {
        while (wire_next(w, &frame)) {
            if (wire_seq(frame) != 0) {
                assert_int_equal(wire_seq(frame), ++seq);
            } else if (wire_is(frame, "session.error")) {
                check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
                assert_non_null(memmem(frame.data, frame.size, "\"retryable\":true", 16));
                *has_error = true;
            }
        }
    } while (wire_fill(w, WIRE_PATIENCE_MS));
    return seq;
}

/* Resumes until it succeeds. */
static void resume_patiently(daemon_state *d, wire *w, wire_session *session, uint64_t seen)
{
    const int64_t until_ns = daemon_now_ns() + WIRE_PATIENCE_MS * INT64_C(1000000);
    for (;;) {
        wire_open(w, d->port);
        wire_send_resume(w, "t-alice", session, seen);
        const arcp_span frame = wire_await(w);
        if (wire_is(frame, "session.welcome")) {
            wire_take_welcome(frame, session);
            return;
        }
        assert_true(wire_is(frame, "session.error"));
        assert_true(daemon_now_ns() < until_ns);
        wire_close(w);
    }
}

/* Everything after `seen`, each once, up to the end of both jobs. */
static void check_rest(wire *w, uint64_t seen)
{
    unsigned ends = 0;
    while (seen < LAST) {
        const arcp_span frame = wire_await(w);
        if (wire_seq(frame) != 0) {
            assert_int_equal(wire_seq(frame), ++seen);
            ends += wire_is(frame, "job.result");
        }
    }
    assert_true(ends <= 2);
}

static void check_outage(const outage *what)
{
    daemon_state d;
    disk broken;
    wire_session session;
    wire w;
    bool has_error = false;
    daemon_begin(&d, NULL);
    disk_begin(&broken, &d);
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    store_submit(&w, "one", EVENTS, 200, "result");
    uint64_t seen = 0;
    while (seen < 100) {
        seen += wire_seq(wire_await(&w)) != 0;
    }
    what->stop(&d, &broken);
    store_submit(&w, "two", 1, 200,
                 "result"); /* so that there is something to write, if everything else is written */
    seen = take_until_the_end(&w, seen, &has_error);
    assert_true(has_error);
    wire_close(&w);
    /* A new client gets an error, and no session that would be lost. */
    wire_open(&w, d.port);
    wire_send_hello(&w, "t-bob");
    const arcp_span frame = wire_await(&w);
    assert_true(wire_is(frame, "session.error"));
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    wire_close(&w);
    what->go(&d, &broken);
    resume_patiently(&d, &w, &session, seen);
    store_submit(&w, "two", 1, 200, "result"); /* the same job, or the first that arrives */
    check_rest(&w, seen);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_start(&d);
    resume_patiently(&d, &w, &session, 0);
    check_rest(&w, 0);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

static void break_writes(daemon_state *d, disk *broken)
{
    (void)d;
    store_file_write(broken->orders, "w");
}

static void break_syncs(daemon_state *d, disk *broken)
{
    (void)d;
    store_file_write(broken->orders, "s");
}

static void mend(daemon_state *d, disk *broken)
{
    (void)d;
    assert_int_equal(unlink(broken->orders), 0);
}

static void nothing_is_lost_while_the_disk_cannot_be_written(void **state)
{
    (void)state;
    check_outage(&(outage){break_writes, mend});
}

static void nothing_is_lost_while_the_disk_cannot_be_synced(void **state)
{
    (void)state;
    check_outage(&(outage){break_syncs, mend});
}

/* No file may grow: the disk is full. */
static void fill_up(daemon_state *d, disk *broken)
{
    struct rlimit limit;
    (void)broken;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = 1;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void make_room(daemon_state *d, disk *broken)
{
    struct rlimit limit;
    (void)broken;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void nothing_is_lost_while_the_disk_is_full(void **state)
{
    (void)state;
    check_outage(&(outage){fill_up, make_room});
}

/* The same limit before it starts: there is not even room for an empty store. */
static void a_full_disk_refuses_the_start_of_a_new_store(void **state)
{
    daemon_state d;
    (void)state;
    daemon_begin(&d, &(daemon_options){.file_bytes_max = 4096});
    store_check_refused(&d, "arcp.db: ");
    d.options.file_bytes_max = 0;
    daemon_start(&d);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_that_cannot_be_read_refuses_the_start_and_loses_nothing),
        cmocka_unit_test(a_disk_that_fails_in_the_middle_of_the_start_loses_nothing),
        cmocka_unit_test(nothing_is_lost_while_the_disk_cannot_be_written),
        cmocka_unit_test(nothing_is_lost_while_the_disk_cannot_be_synced),
        cmocka_unit_test(nothing_is_lost_while_the_disk_is_full),
        cmocka_unit_test(a_full_disk_refuses_the_start_of_a_new_store),
    };
    (void)umask(077); /* as arcpd makes its store */
    return cmocka_run_group_tests_name("arcpd_store_disk", tests, NULL, NULL);
}
