/* Stopping a runtime whose jobs have an hour to finish. */
#include "runtime/runtime_rig.h"

#include <fcntl.h>
#include <unistd.h>

#include "support/check.h"

static unsigned firsts, seconds;

static void stopped_first(void *user)
{
    firsts++;
    ((runtime_rig *)user)->stopped = true;
}

static void stopped_second(void *user)
{
    (void)user;
    seconds++;
}

static bool has_stopped(void *user)
{
    return ((const runtime_rig *)user)->stopped;
}

static bool is_closed(void *user)
{
    return ((const runtime_rig *)user)->closed;
}

/* A job that has an hour to finish runs, and the runtime is asked to stop. */
static void stop_under_job(runtime_rig *rig, const char *script)
{
    runtime_rig_register_sh(rig, "waiter", script, NULL);
    runtime_rig_submit(rig, "waiter", "");
    (void)runtime_rig_wait(rig, "\"message\":\"begun\"");
    arcp_runtime_stop(rig->runtime, stopped_first, rig);
}

static int set_up(void **state)
{
    static runtime_rig rig;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.shutdown_grace_sec = 3600;
    firsts = seconds = 0;
    runtime_rig_start(&rig, &settings);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    runtime_rig_stop(*state);
    assert_int_equal(firsts, 1);
    assert_int_equal(seconds, 0);
    return 0;
}

static void a_second_stop_ends_running_jobs_and_calls_the_first_callback(void **state)
{
    runtime_rig *rig = *state;
    stop_under_job(rig, "echo begun; cat > /dev/null");
    runtime_rig_send(rig, "session.ping", "{}");
    (void)runtime_rig_wait(rig, "\"session.pong\"");
    assert_false(rig->stopped);
    arcp_runtime_stop(rig->runtime, stopped_second, rig);
    (void)runtime_rig_wait(rig, "\"job.error\"");
    runtime_rig_until(rig, has_stopped, rig);
    arcp_runtime_stop(rig->runtime, stopped_second, rig); /* there is nothing left to do */
    (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
}

static void the_result_of_a_job_that_finishes_in_time_is_sent(void **state)
{
    runtime_rig *rig = *state;
    char script[256];
    (void)snprintf(script, sizeof script,
                   "mkfifo %s/gate; echo begun; read go < %s/gate; echo "
                   "'{\"type\":\"job.result\",\"payload\":{}}'",
                   rig->directory, rig->directory);
    stop_under_job(rig, script);
    (void)snprintf(script, sizeof script, "%s/gate", rig->directory);
    const int gate = open(script, O_WRONLY | O_CLOEXEC); /* waits until the agent reads */
    assert_true(gate >= 0);
    assert_int_equal(close(gate), 0);
    (void)runtime_rig_wait(rig, "\"job.result\"");
    runtime_rig_until(rig, has_stopped, rig);
    runtime_rig_until(rig, is_closed, rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_result_of_a_job_that_finishes_in_time_is_sent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_second_stop_ends_running_jobs_and_calls_the_first_callback, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
