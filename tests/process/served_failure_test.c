/* Served processes without descriptors, and without memory. */
#include "process/served_rig.h"

#include <sys/resource.h>
#include <unistd.h>

#include "support/failing_alloc.h"

/* Makes a job while no descriptor can be opened. */
static arcp_status try_without_descriptors(served_job *job, const char *id)
{
    const int next = dup(STDERR_FILENO);
    struct rlimit normal;
    assert_true(next >= 0);
    (void)close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &normal), 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = normal.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const arcp_status status = served_try(job, id);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &normal), 0);
    return status;
}

static void without_descriptors_a_job_that_needs_a_process_is_refused(void **state)
{
    (void)state;
    served_open();
    const size_t descriptors = open_descriptors();
    assert_int_equal(try_without_descriptors(&jobs[0], "a"), ARCP_E_IO);
    assert_null(jobs[0].job);
    assert_non_null(strstr(rig.rig.error.message, "pipe"));
    assert_int_equal(open_descriptors(), descriptors);
    assert_true(arcp__served_is_idle(rig.served));
    served_hold(&jobs[1], "b");
}

static void without_descriptors_a_job_gets_a_process_that_runs_and_has_room(void **state)
{
    (void)state;
    rig.options.processes = 2;
    rig.options.concurrency = 2;
    served_open();
    served_hold(&jobs[0], "a");
    check_ok(try_without_descriptors(&jobs[1], "b"), &rig.rig.error);
    served_end(&jobs[1]);
    check_ok(try_without_descriptors(&jobs[2], "c"), &rig.rig.error);
    assert_int_equal(process_rig_running(&rig.rig), 1);
    assert_int_equal(try_without_descriptors(&jobs[3], "d"), ARCP_E_IO);
}

static void without_descriptors_starts_are_paused_and_a_job_that_waits_runs_later(void **state)
{
    (void)state;
    rig.options.pause_ms = 1;
    served_open();
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(try_without_descriptors(&jobs[i], "a"), ARCP_E_IO);
    }
    assert_true(served_has(&rig.reports, "has ended 3 times soon after its start"));
    served_hold(&jobs[3], "b");
}

/* One job from its start to its end, with the nth allocation failing; whether one has failed. A
 * process that cannot be sent a line, or whose line cannot be read, is killed: its job must not
 * wait for ever. */
static bool run_without_memory(size_t nth, bool is_running)
{
    served_job *job = &jobs[0];
    served_open();
    if (is_running) {
        served_hold(&jobs[1], "other");
    }
    failing_alloc_arm(nth, FAILING_ALLOC_ONE);
    const arcp_status status = served_try(job, "a");
    if (status == ARCP_OK) {
        served_write(job, SERVED_END);
        served_until(job->ends != 0 || job->started != ARCP_OK);
    }
    const bool has_failed = failing_alloc_disarm();
    const bool is_refused = status == ARCP_E_NO_MEMORY || job->started == ARCP_E_NO_MEMORY;
    const bool is_killed = job->ends != 0 && job->how == ARCP__SERVED_EXITED;
    const bool is_done = job->ends != 0 && job->how == ARCP__SERVED_DONE;
    /* The thread that starts a process can do without some memory. */
    const bool may_be_done = !is_running || job->lines.failed;
    if (has_failed ? !is_refused && !is_killed && !(is_done && may_be_done) : !is_done) {
        fail_msg("allocation %zu: %s, started %s, ended %zu", nth, arcp_status_name(status),
                 arcp_status_name(job->started), job->ends);
    }
    served_job_fini(&jobs[0]);
    served_job_fini(&jobs[1]);
    arcp__served_free(rig.served);
    rig.served = NULL;
    served_until(process_rig_running(&rig.rig) == 0);
    return has_failed;
}

static void without_memory_a_job_is_refused_or_ends_with_its_process(void **state)
{
    (void)state;
    for (int is_running = 0; is_running < 2; is_running++) {
        size_t nth = 1;
        while (run_without_memory(nth, is_running == 1)) {
            nth++;
        }
        assert_true(nth > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_TEST(without_descriptors_a_job_that_needs_a_process_is_refused),
        SERVED_TEST(without_descriptors_a_job_gets_a_process_that_runs_and_has_room),
        SERVED_TEST(without_descriptors_starts_are_paused_and_a_job_that_waits_runs_later),
        SERVED_TEST(without_memory_a_job_is_refused_or_ends_with_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
