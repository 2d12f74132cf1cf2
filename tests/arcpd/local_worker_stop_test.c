/* What becomes of jobs on a worker of this machine when arcpd is stopped (shutdown.jobs). */
#include "support/check.h"

#include <signal.h>

#include "arcpd/counting_jobs.h"
#include "support/process_support.h"

/* Jobs of arcpd itself would have to be waited for. */
static const daemon_options keeping = {
    .config = "workers: {local: spawn, keep_sec: 60}\nshutdown: {grace_sec: 600}\n"};
static const daemon_options ending = {
    .config = "workers: {local: spawn}\nshutdown: {grace_sec: 0, jobs: end}\n"};

/* A job that never ends by itself has begun. */
static void begin(counting_rig *r, const daemon_options *options)
{
    counting_open_with(r, options, 1000000);
    counting_submit(r, 10000);
    counting_take_until(r, 3);
    (void)counting_worker(r);
}

static bool lives(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void a_job_goes_on_when_arcpd_is_stopped(void **state)
{
    counting_rig r;
    (void)state;
    counting_open_with(&r, &keeping, 100);
    counting_submit(&r, 10000);
    counting_take_until(&r, 25);
    const pid_t worker = counting_worker(&r);
    for (uint64_t lines = 50; lines <= 75; lines += 25) {
        assert_int_equal(daemon_stop(&r.daemon), 0);
        assert_int_equal(wire_await_close(&r.wire), 1001);
        assert_true(lives(worker));
        counting_begin_again(&r);
        counting_take_until(&r, lines);
    }
    counting_take_until(&r, UINT64_MAX);
    assert_true(r.jobs[0].has_ended);
    assert_int_equal(counting_worker(&r), worker);
    counting_close(&r);
}

static void the_worker_hears_that_arcpd_stops(void **state)
{
    counting_rig r;
    (void)state;
    begin(&r, &keeping);
    assert_int_equal(daemon_stop(&r.daemon), 0);
    char *errors = daemon_errors(&r.daemon); /* the worker's, too */
    assert_non_null(strstr(errors, "stopping on SIGTERM; 1 jobs on workers go on"));
    assert_non_null(strstr(errors, "arcp-worker: arcpd is away: it stops, and jobs go on"));
    free(errors);
    const pid_t worker = r.worker;
    assert_int_equal(kill(worker, SIGKILL), 0);
    wait_for_end(worker);
    wire_close(&r.wire);
    daemon_end(&r.daemon);
}

static void a_worker_without_jobs_ends_with_arcpd(void **state)
{
    counting_rig r;
    (void)state;
    counting_open_with(&r, &keeping, 1);
    const pid_t worker = counting_await_worker(&r);
    assert_int_equal(daemon_stop(&r.daemon), 0);
    assert_false(lives(worker)); /* arcpd has waited for it */
    wire_close(&r.wire);
    daemon_end(&r.daemon);
}

typedef struct ending_row {
    const char *name;
    const daemon_options *options;
    int signal_number;
} ending_row;

static const ending_row ending_rows[] = {
    {"shutdown.jobs: end, and SIGTERM", &ending, SIGTERM},
    {"SIGINT", &ending, SIGINT},
};

/* arcpd has ended its worker, and starts another. */
static void a_job_ends_when_arcpd_is_stopped(void **state)
{
    const ending_row *row = *state;
    counting_rig r;
    begin(&r, row->options);
    const pid_t worker = r.worker;
    assert_int_equal(daemon_stop_by(&r.daemon, row->signal_number), 0);
    assert_false(lives(worker));
    counting_begin_again(&r);
    check_span(wire_text(counting_take_error(&r), "message"), "the runtime is stopping");
    r.events = 5;
    (void)counting_await_worker(&r);
    counting_close(&r);
}

/* With `keep` SIGINT gives running jobs the grace, and a second one ends them. */
static void a_second_sigint_ends_the_jobs(void **state)
{
    counting_rig r;
    (void)state;
    begin(&r, &keeping);
    assert_int_equal(kill(r.daemon.pid, SIGINT), 0);
    counting_take_until(&r, r.lines + 10); /* it runs in the grace */
    assert_int_equal(daemon_stop_by(&r.daemon, SIGINT), 0);
    check_span(wire_text(counting_take_error(&r), "message"), "the runtime is stopping");
    wire_close(&r.wire);
    daemon_end(&r.daemon);
}

/* It ends when it has not heard of an arcpd for workers.keep_sec, so another signal ends it here.
 */
static void arcpd_stops_although_its_worker_does_not_answer(void **state)
{
    counting_rig r;
    (void)state;
    begin(&r, *state == NULL ? &keeping : *state);
    const pid_t worker = r.worker;
    assert_int_equal(kill(worker, SIGSTOP), 0);
    assert_int_equal(daemon_stop(&r.daemon), 0);
    (void)kill(worker, SIGKILL);
    wire_close(&r.wire);
    daemon_end(&r.daemon);
}

/* Until the link has been silent for 15 s. */
static void arcpd_ends_jobs_although_their_worker_does_not_answer(void **state)
{
    static const daemon_options *options = &ending;
    (void)state;
    arcpd_stops_although_its_worker_does_not_answer((void **)&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_on_when_arcpd_is_stopped),
        cmocka_unit_test(the_worker_hears_that_arcpd_stops),
        cmocka_unit_test(a_worker_without_jobs_ends_with_arcpd),
        cmocka_unit_test(a_second_sigint_ends_the_jobs),
        cmocka_unit_test(arcpd_stops_although_its_worker_does_not_answer),
        cmocka_unit_test(arcpd_ends_jobs_although_their_worker_does_not_answer),
    };
    const int failed = run_rows(ending_rows, sizeof ending_rows / sizeof ending_rows[0],
                                sizeof ending_rows[0], a_job_ends_when_arcpd_is_stopped);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
