/* Served processes that are retired, and what that means for their jobs. */
#include "process/served_rig.h"

/* ---- a job that was stopped ---- */

static void a_stopped_job_that_ends_in_time_costs_its_process_nothing(void **state)
{
    (void)state;
    served_open();
    served_hold(&jobs[0], "a");
    arcp__served_job_stop(jobs[0].job, 60000);
    served_end(&jobs[0]);
    served_hold(&jobs[1], "b");
    assert_string_equal(jobs[0].pid, jobs[1].pid);
    assert_int_equal(rig.reports.size, 0);
}

static void a_stopped_job_that_does_not_end_leaves_a_process_that_gets_no_more_jobs(void **state)
{
    (void)state;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    arcp__served_job_stop(jobs[0].job, 60000);
    arcp__served_job_stop(jobs[0].job, 1); /* the shorter time counts */
    served_until(jobs[0].ends != 0);
    assert_int_equal(jobs[0].how, ARCP__SERVED_LEFT);
    assert_int_equal(jobs[1].ends, 0);
    served_hold(&jobs[2], "c");
    assert_string_not_equal(jobs[2].pid, jobs[0].pid);
    served_end(&jobs[1]); /* the others go on, and the process ends after them */
    served_until(process_rig_running(&rig.rig) == 1);
    assert_int_equal(jobs[2].ends, 0);
}

static void what_a_process_still_says_of_a_job_that_has_left_is_logged(void **state)
{
    (void)state;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    arcp__served_job_stop(jobs[0].job, 0);
    served_until(jobs[0].ends != 0);
    arcp__served_job_write(
        jobs[1].job, ARCP_SPAN_LITERAL(SERVED_SAY("{\"job_id\":\"a\",\"type\":\"job.result\"}")));
    served_until(served_has(&rig.logged, "job.result"));
    assert_int_equal(jobs[0].ends, 1);
}

static void a_process_with_a_stuck_job_is_killed_with_its_others_after_a_time(void **state)
{
    (void)state;
    rig.options.retire_ms = 1;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    arcp__served_job_stop(jobs[0].job, 0);
    served_until(jobs[1].ends != 0);
    assert_int_equal(jobs[0].how, ARCP__SERVED_LEFT);
    assert_int_equal(jobs[1].how, ARCP__SERVED_EXITED);
    assert_false(served_has(&rig.reports, "soon after its start"));
}

static void at_most_twice_as_many_processes_run_and_jobs_wait_for_one_to_end(void **state)
{
    (void)state;
    served_open();
    for (size_t i = 0; i < 4; i += 2) { /* two processes with a stuck job and another one */
        served_hold(&jobs[i], "stuck");
        served_hold(&jobs[i + 1], "other");
        arcp__served_job_stop(jobs[i].job, 0);
        served_until(jobs[i].ends != 0);
    }
    assert_int_equal(process_rig_running(&rig.rig), 2);
    served_begin(&jobs[4], "waits", SERVED_HOLD);
    assert_true(arcp__served_job_waits(jobs[4].job));
    served_end(&jobs[1]);
    served_until(served_job_has(&jobs[4], "\"pid\""));
}

/* ---- for no fault ---- */

static void a_process_is_replaced_after_its_number_of_jobs_and_finishes_those_it_has(void **state)
{
    (void)state;
    rig.options.jobs_max = 2;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    assert_string_equal(jobs[0].pid, jobs[1].pid);
    served_hold(&jobs[2], "c");
    assert_string_not_equal(jobs[0].pid, jobs[2].pid);
    served_end(&jobs[0]);
    served_end(&jobs[1]);
    served_until(process_rig_running(&rig.rig) == 1);
    assert_int_equal(jobs[2].ends, 0);
}

/* A job would wait for it without end. */
static void a_process_is_not_replaced_while_the_one_before_it_still_has_jobs(void **state)
{
    (void)state;
    rig.options.jobs_max = 1;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    served_hold(&jobs[2], "c");
    assert_string_not_equal(jobs[0].pid, jobs[1].pid);
    assert_string_equal(jobs[1].pid, jobs[2].pid);
}

static void a_process_that_uses_too_much_memory_is_replaced(void **state)
{
    (void)state;
    rig.options.memory_bytes = 1;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    served_end(&jobs[0]);
    assert_true(served_has(&rig.reports, "process_memory_bytes"));
    served_hold(&jobs[2], "c");
    assert_string_not_equal(jobs[0].pid, jobs[2].pid);
    served_end(&jobs[1]);
}

static void a_process_that_uses_less_memory_stays(void **state)
{
    (void)state;
    rig.options.memory_bytes = (uint64_t)1 << 40;
    served_open();
    served_hold(&jobs[0], "a");
    served_end(&jobs[0]);
    served_hold(&jobs[1], "b");
    assert_string_equal(jobs[0].pid, jobs[1].pid);
}

static void all_of_them_end_with_their_jobs_and_those_without_at_once(void **state)
{
    (void)state;
    rig.options.processes = 2;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    served_end(&jobs[0]);
    arcp__served_retire(rig.served);
    served_until(process_rig_running(&rig.rig) == 1);
    assert_false(arcp__served_is_idle(rig.served));
    served_end(&jobs[1]);
    served_until(arcp__served_is_idle(rig.served));
    assert_int_equal(process_rig_running(&rig.rig), 0);
}

/* The engine may start a job whose agent was replaced just before. */
static void a_late_job_of_retired_processes_still_runs(void **state)
{
    (void)state;
    served_open();
    arcp__served_retire(rig.served);
    served_hold(&jobs[0], "a");
    served_end(&jobs[0]);
    served_until(arcp__served_is_idle(rig.served));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_TEST(a_stopped_job_that_ends_in_time_costs_its_process_nothing),
        SERVED_TEST(a_stopped_job_that_does_not_end_leaves_a_process_that_gets_no_more_jobs),
        SERVED_TEST(what_a_process_still_says_of_a_job_that_has_left_is_logged),
        SERVED_TEST(a_process_with_a_stuck_job_is_killed_with_its_others_after_a_time),
        SERVED_TEST(at_most_twice_as_many_processes_run_and_jobs_wait_for_one_to_end),
        SERVED_TEST(a_process_is_replaced_after_its_number_of_jobs_and_finishes_those_it_has),
        SERVED_TEST(a_process_is_not_replaced_while_the_one_before_it_still_has_jobs),
        SERVED_TEST(a_process_that_uses_too_much_memory_is_replaced),
        SERVED_TEST(a_process_that_uses_less_memory_stays),
        SERVED_TEST(all_of_them_end_with_their_jobs_and_those_without_at_once),
        SERVED_TEST(a_late_job_of_retired_processes_still_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
