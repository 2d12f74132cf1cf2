/* Jobs of a worker that its supervisor starts again (workers.local: external), and jobs under which
 * a backup of the store is restored: they end, and later jobs run. */
#include "support/check.h"

#include <signal.h>
#include <sys/wait.h>

#include "arcpd/counting_jobs.h"
#include "base/clock.h"
#include "support/process_support.h"

static void jobs_of_a_worker_that_its_supervisor_starts_again_end(void **state)
{
    static const daemon_options external = {
        .config = "workers: {local: external, keep_sec: 60}\nshutdown: {grace_sec: 0}\n"};
    counting_rig r;
    (void)state;
    counting_open_with(&r, &external, 1000000);
    pid_t worker = counting_start_worker(&r);
    counting_submit(&r, 10000);
    counting_take_until(&r, 3);
    assert_int_equal(kill(worker, SIGKILL), 0);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
    worker = counting_start_worker(&r);
    const arcp_span frame = counting_take_error(&r);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "reason"), "worker_lost");
    r.events = 5;
    counting_submit(&r, 0);
    counting_take_until(&r, UINT64_MAX);
    assert_true(r.jobs[1].has_ended);
    counting_end_worker(worker);
    wire_close(&r.wire);
    (void)daemon_stop(&r.daemon);
    daemon_end(&r.daemon);
}

/* Of the files of the store, while arcpd does not run. */
static void copy_store(const counting_rig *r, const char *from, const char *to)
{
    char command[512];
    (void)snprintf(command, sizeof command,
                   "cd %s && rm -f %s %s-wal %s-shm && for f in %s*; do "
                   "case $f in %s|%s-wal) cp $f %s${f#%s};; esac; done",
                   r->daemon.directory, to, to, to, from, from, from, to, from);
    run_shell(command);
}

/* Until the worker has heard what is durable, which it hears every 50 ms. If it has not, the
 * restored store is not an older one for it: it still has all that the store lacks. */
static void take_until_kept(counting_rig *r)
{
    counting_take_until(r, r->lines + 1);
    const int64_t end_ns = arcp__clock_ns(CLOCK_MONOTONIC) + 500 * ARCP_NS_PER_MS;
    do {
        counting_take_until(r, r->lines + 1);
    } while (arcp__clock_ns(CLOCK_MONOTONIC) < end_ns);
}

static void a_job_ends_when_a_backup_is_restored_under_it(void **state)
{
    counting_rig r;
    (void)state;
    counting_open(&r, 1000000);
    counting_submit(&r, 10000);
    counting_take_until(&r, 10);
    const pid_t worker = counting_worker(&r);
    daemon_kill(&r.daemon);
    copy_store(&r, "arcp.db", "backup");
    const counting_rig then = r; /* its client has no more than the backup */
    counting_begin_again(&r);
    take_until_kept(&r);
    daemon_kill(&r.daemon);
    copy_store(&r, "backup", "arcp.db");
    r.session = then.session;
    r.last_seq = then.last_seq;
    counting_begin_again(&r);
    const arcp_span frame = counting_take_error(&r);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "reason"), "store_restored");
    r.events = 5;
    counting_submit(&r, 0);
    counting_take_until(&r, UINT64_MAX);
    assert_true(r.jobs[1].has_ended);
    assert_int_equal(counting_worker(&r), worker);
    counting_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_a_worker_that_its_supervisor_starts_again_end),
        cmocka_unit_test(a_job_ends_when_a_backup_is_restored_under_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
