/* Served processes: which process a job gets, which lines, and how it leaves. */
#include <signal.h>
#include <stdio.h>

#include "process/process_state.h"
#include "process/served_rig.h"

/* ---- the process that a job gets ---- */

static void processes_start_with_jobs_and_the_least_loaded_gets_the_next(void **state)
{
    (void)state;
    rig.options.processes = 2;
    served_open();
    assert_int_equal(process_rig_running(&rig.rig), 0);
    served_hold(&jobs[0], "a");
    assert_int_equal(process_rig_running(&rig.rig), 1);
    assert_int_equal(jobs[0].starts, 1);
    served_hold(&jobs[1], "b");
    assert_string_not_equal(jobs[0].pid, jobs[1].pid);
    served_hold(&jobs[2], "c");
    served_hold(&jobs[3], "d");
    assert_string_not_equal(jobs[2].pid, jobs[3].pid);
    assert_int_equal(process_rig_running(&rig.rig), 2);
    served_end(&jobs[0]);
    served_hold(&jobs[4], "e");
    assert_string_equal(jobs[4].pid, jobs[0].pid);
}

static void a_process_without_jobs_comes_before_a_new_one(void **state)
{
    (void)state;
    rig.options.processes = 2;
    served_open();
    served_hold(&jobs[0], "a");
    served_end(&jobs[0]);
    served_hold(&jobs[1], "b");
    assert_string_equal(jobs[0].pid, jobs[1].pid);
    assert_int_equal(process_rig_running(&rig.rig), 1);
}

/* The runtime gives more jobs than there is room for only where parents wait for children. */
static void jobs_beyond_the_concurrency_do_not_wait_when_all_processes_run(void **state)
{
    (void)state;
    rig.options.concurrency = 1;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    assert_string_equal(jobs[0].pid, jobs[1].pid);
}

/* ---- lines ---- */

static void each_line_has_the_id_of_its_job_both_ways_and_keeps_its_order(void **state)
{
    (void)state;
    served_open();
    served_begin(&jobs[0], "a", SERVED_SAY("{\"job_id\":\"a\",\"n\":1}"));
    served_begin(&jobs[1], "b", SERVED_SAY("{\"job_id\":\"b\",\"n\":1}"));
    served_write(&jobs[0], SERVED_SAY("{\"n\":2,\"job_id\":\"a\"}"));
    served_write(&jobs[0], SERVED_END);
    served_until(jobs[0].ends != 0);
    served_until(served_job_has(&jobs[1], "\n"));
    assert_string_equal(arcp_buf_cstr(&jobs[0].lines),
                        "{\"job_id\":\"a\",\"n\":1}\n{\"n\":2,\"job_id\":\"a\"}\n"
                        "{\"job_id\":\"a\",\"type\":\"job.result\"}\n");
    assert_string_equal(arcp_buf_cstr(&jobs[1].lines), "{\"job_id\":\"b\",\"n\":1}\n");
}

static void a_line_that_names_no_job_of_the_process_is_logged(void **state)
{
    static const char *const lines[] = {
        "{\"type\":\"job.result\"}",
        "text",
        "{\"job_id\":\"z\",\"type\":\"job.result\"}",
        "{\"job_id\":\"other\",\"type\":\"job.result\"}",
        "{\"job_id\":7}",
        "{\"job_id\":\"\"}",
        "{\"job_id\":\"a\",\"job_id\":\"a\"}",
        "{\"job_id\":\"\\u0061\"}",
        " {\"job_id\":\"a\"}",
        "[\"job_id\",\"a\"]",
        "{\"payload\":{\"job_id\":\"a\"}}",
        "{\"job_id\":\"a\"",
    };
    const size_t count = sizeof lines / sizeof lines[0];
    (void)state;
    rig.options.processes = 2;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "other"); /* in another process */
    for (size_t i = 0; i < count; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, SERVED_SAY("%s"), lines[i]);
        served_write(&jobs[0], line);
    }
    served_end(&jobs[0]);
    size_t logged = 0;
    for (size_t i = 0; i < rig.logged.size; i++) {
        logged += rig.logged.data[i] == '\n' ? 1 : 0;
    }
    if (logged != count) {
        fail_msg("logged: %s", arcp_buf_cstr(&rig.logged));
    }
    assert_true(served_has(&rig.logged, jobs[0].pid));
    assert_int_equal(jobs[1].ends, 0);
    assert_false(served_job_has(&jobs[1], "job.result"));
}

/* Standard error is the process's. */
static void standard_error_is_logged_for_the_process(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo trouble >&2; read -r line", NULL};
    (void)state;
    rig.rig.spec.argv = argv;
    served_open();
    served_begin(&jobs[0], "a", SERVED_HOLD);
    served_until(jobs[0].ends != 0);
    assert_true(served_has(&rig.logged, " trouble\n"));
}

/* ---- pausing ---- */

static void a_paused_job_pauses_its_process_until_it_leaves(void **state)
{
    (void)state;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    const arcp__agent_process *process = rig.rig.table->processes;
    arcp__served_job_pause(jobs[0].job, true);
    arcp__served_job_pause(jobs[1].job, true);
    arcp__served_job_pause(jobs[1].job, true);
    arcp__served_job_pause(jobs[1].job, false);
    assert_true(process->is_paused);
    served_job_fini(&jobs[0]);
    assert_false(process->is_paused);
    served_end(&jobs[1]);
}

/* ---- the end of a process ---- */

static void a_process_that_exits_ends_its_jobs_and_the_next_job_gets_another(void **state)
{
    (void)state;
    served_open();
    served_hold(&jobs[0], "a");
    served_hold(&jobs[1], "b");
    served_write(&jobs[0], SERVED_EXIT);
    served_until(jobs[0].ends + jobs[1].ends == 2);
    assert_int_equal(jobs[1].how, ARCP__SERVED_EXITED);
    assert_int_equal(jobs[1].exit.code, 3);
    assert_true(served_has(&rig.reports, "ended with status 3, and 2 jobs with it"));
    served_write(&jobs[0], SERVED_HOLD); /* has no effect */
    served_hold(&jobs[2], "c");
    assert_string_not_equal(jobs[2].pid, jobs[0].pid);
}

static void a_line_that_is_too_long_ends_the_process(void **state)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", "read -r line; head -c 5000 /dev/zero | tr '\\0' x; sleep 1000", NULL};
    (void)state;
    rig.rig.spec.argv = argv;
    served_open();
    served_begin(&jobs[0], "a", SERVED_HOLD);
    served_until(jobs[0].ends != 0);
    assert_int_equal(jobs[0].how, ARCP__SERVED_EXITED);
    assert_true(served_has(&rig.reports, "limits.agent_line_bytes"));
}

static void a_process_that_does_not_read_its_input_is_killed(void **state)
{
    static char line[70000];
    (void)state;
    rig.rig.spec.input_bytes_max = 65536;
    served_open();
    served_hold(&jobs[0], "a");
    served_write(&jobs[0], SERVED_STOPS);
    memset(line, 'x', sizeof line - 1);
    line[0] = '{';
    for (size_t i = 0; i < 8; i++) {
        served_write(&jobs[0], line);
    }
    served_until(jobs[0].ends != 0);
    assert_int_equal(jobs[0].how, ARCP__SERVED_EXITED);
    assert_true(jobs[0].exit.by_signal);
    assert_true(served_has(&rig.reports, "does not read its input"));
}

/* Of three processes each is started for one job; the fourth job waits for the pause to end. */
static void three_early_exits_pause_the_starts_and_jobs_wait(void **state)
{
    (void)state;
    rig.options.pause_ms = 20;
    served_open();
    for (size_t i = 0; i < 3; i++) {
        served_begin(&jobs[i], "a", SERVED_EXIT);
        assert_false(arcp__served_job_waits(jobs[i].job));
        served_until(jobs[i].ends != 0);
    }
    served_begin(&jobs[3], "b", SERVED_HOLD);
    assert_true(arcp__served_job_waits(jobs[3].job));
    served_begin(&jobs[4], "c", SERVED_HOLD);
    served_job_fini(&jobs[4]); /* one that waits can leave */
    served_until(served_job_has(&jobs[3], "\"pid\""));
    assert_int_equal(jobs[3].starts, 1);
    assert_false(arcp__served_job_waits(jobs[3].job));
}

static void a_process_that_has_lived_long_enough_ends_no_row_of_early_exits(void **state)
{
    (void)state;
    rig.options.pause_ms = 60000;
    rig.options.early_ms = 1;
    served_open();
    for (size_t i = 0; i < 4; i++) { /* its start alone takes longer than 1 ms */
        served_hold(&jobs[i], "a");
        served_write(&jobs[i], SERVED_EXIT);
        served_until(jobs[i].ends != 0);
    }
    assert_false(served_has(&rig.reports, "soon after its start"));
}

static void a_program_that_cannot_be_started_fails_its_jobs_and_is_tried_three_times(void **state)
{
    static const char *const argv[] = {"/no/such/program", NULL};
    (void)state;
    rig.rig.spec.argv = argv;
    rig.options.pause_ms = 60000;
    served_open();
    for (size_t i = 0; i < 3; i++) {
        served_begin(&jobs[i], "a", SERVED_HOLD);
        served_until(jobs[i].starts != 0);
        assert_int_not_equal(jobs[i].started, ARCP_OK);
    }
    served_begin(&jobs[3], "b", SERVED_HOLD);
    assert_true(arcp__served_job_waits(jobs[3].job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_TEST(processes_start_with_jobs_and_the_least_loaded_gets_the_next),
        SERVED_TEST(a_process_without_jobs_comes_before_a_new_one),
        SERVED_TEST(jobs_beyond_the_concurrency_do_not_wait_when_all_processes_run),
        SERVED_TEST(each_line_has_the_id_of_its_job_both_ways_and_keeps_its_order),
        SERVED_TEST(a_line_that_names_no_job_of_the_process_is_logged),
        SERVED_TEST(standard_error_is_logged_for_the_process),
        SERVED_TEST(a_paused_job_pauses_its_process_until_it_leaves),
        SERVED_TEST(a_process_that_exits_ends_its_jobs_and_the_next_job_gets_another),
        SERVED_TEST(a_line_that_is_too_long_ends_the_process),
        SERVED_TEST(a_process_that_does_not_read_its_input_is_killed),
        SERVED_TEST(three_early_exits_pause_the_starts_and_jobs_wait),
        SERVED_TEST(a_process_that_has_lived_long_enough_ends_no_row_of_early_exits),
        SERVED_TEST(a_program_that_cannot_be_started_fails_its_jobs_and_is_tried_three_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
