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

static void asked_again_it_ends_what_runs_and_tells_the_first_who_asked(void **state)
{
    static runtime_rig rig;
    arcp_settings settings;
    (void)state;
    firsts = seconds = 0;
    arcp_settings_default(&settings);
    settings.shutdown_grace_sec = 3600;
    runtime_rig_start(&rig, &settings);
    runtime_rig_register_sh(&rig, "waiter", "echo begun; cat > /dev/null", NULL);
    runtime_rig_submit(&rig, "waiter", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    arcp_runtime_stop(rig.runtime, stopped_first, &rig);
    runtime_rig_send(&rig, "session.ping", "{}");
    (void)runtime_rig_wait(&rig, "\"session.pong\"");
    assert_false(rig.stopped);
    arcp_runtime_stop(rig.runtime, stopped_second, &rig);
    (void)runtime_rig_wait(&rig, "\"job.error\"");
    runtime_rig_until(&rig, has_stopped, &rig);
    arcp_runtime_stop(rig.runtime, stopped_second, &rig); /* there is nothing left to do */
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    runtime_rig_stop(&rig);
    assert_int_equal(firsts, 1);
    assert_int_equal(seconds, 0);
}

static void the_result_of_a_job_that_finishes_in_time_is_sent(void **state)
{
    static runtime_rig rig;
    arcp_settings settings;
    (void)state;
    firsts = seconds = 0;
    arcp_settings_default(&settings);
    settings.shutdown_grace_sec = 3600;
    runtime_rig_start(&rig, &settings);
    char script[128];
    (void)snprintf(script, sizeof(script),
                   "mkfifo %s/gate; echo begun; read go < %s/gate; echo "
                   "'{\"type\":\"job.result\",\"payload\":{}}'",
                   rig.directory, rig.directory);
    runtime_rig_register_sh(&rig, "waiter", script, NULL);
    runtime_rig_submit(&rig, "waiter", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    arcp_runtime_stop(rig.runtime, stopped_first, &rig);
    (void)snprintf(script, sizeof(script), "%s/gate", rig.directory);
    int gate = open(script, O_WRONLY | O_CLOEXEC); /* waits until the agent reads */
    assert_true(gate >= 0);
    assert_int_equal(close(gate), 0);
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    runtime_rig_until(&rig, has_stopped, &rig);
    assert_true(rig.closed);
    runtime_rig_stop(&rig);
    assert_int_equal(firsts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_result_of_a_job_that_finishes_in_time_is_sent),
        cmocka_unit_test(asked_again_it_ends_what_runs_and_tells_the_first_who_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
