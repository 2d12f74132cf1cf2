/* max_jobs: when the next job of an agent may start. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include "runtime/runtime_state.h"

typedef struct fixture {
    runtime_rig rig;
    bool submits; /* the next job as soon as a program has ended, in the same turn of the loop */
} fixture;

static void on_log(void *user, arcp_log_level level, const char *text, const char *fields)
{
    fixture *f = user;
    (void)level;
    if (f->submits && strncmp(text, "process ", 8) == 0 && strstr(text, " ended with ") != NULL) {
        f->submits = false;
        runtime_rig_submit(&f->rig, "single", "");
    }
}

static bool one_waits(void *user)
{
    const fixture *f = user;
    return arcp__process_pool_waiting(f->rig.runtime->agents->process.pool) != 0;
}

/* A warm process gets its job at once, not in a later turn as a program that has to be started. */
static void a_program_that_has_ended_no_longer_counts_under_max_jobs(void **state)
{
    static fixture f;
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_process_agent agent = arcp_process_agent_init();
    (void)state;
    f.submits = false;
    options.log = on_log;
    options.log_user = &f;
    runtime_rig_begin(&f.rig);
    runtime_rig_open(&f.rig, &options);
    agent.max_jobs = 1;
    agent.warm = 1;
    runtime_rig_register_sh(&f.rig, "single", "read -r line; echo begun; read -r line", &agent);
    runtime_rig_until(&f.rig, one_waits, &f);
    runtime_rig_submit(&f.rig, "single", "");
    (void)runtime_rig_wait(&f.rig, "\"message\":\"begun\"");
    runtime_rig_until(&f.rig, one_waits, &f);
    f.submits = true;
    runtime_rig_cancel(&f.rig); /* sends a line; the program reads it and ends */
    (void)runtime_rig_wait(&f.rig, "\"message\":\"begun\"");
    assert_false(f.submits);
    runtime_rig_cancel(&f.rig); /* otherwise the stop would wait for the job */
    runtime_rig_stop(&f.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_has_ended_no_longer_counts_under_max_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
