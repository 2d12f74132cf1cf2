/* Limits of agents in sandboxes: processes, private files, memory and the processor. */
#include "runtime/confined_fixture.h"

#include "launch/cgroups.h"

static unsigned cgroup_limits; /* of cgroups here, as bits */

/* Enough for the shell and what it starts; as root, a kernel allows 300 more. */
static void processes_and_private_files_are_limited_by_the_settings(void **state)
{
    arcp_settings settings;
    const arcp_enforce_options enforce = confined_options();
    (void)state;
    confined_needs_a_level();
    if (level != ARCP__SANDBOX_LEVEL_FULL) {
        return;
    }
    arcp__settings_default(&settings);
    settings.enforce_scratch_bytes = 1u << 20;
    settings.enforce_pids = 64;
    settings.jobs_cancel_grace_ms = 50;
    runtime_rig_stop(&rig);
    confined_start(&settings, &enforce);
    runtime_rig_register_sh(&rig, "writer",
                            "head -c 900000 /dev/zero >/tmp/a && echo fits; rm /tmp/a; "
                            "head -c 1200000 /dev/zero >/tmp/a || echo full",
                            NULL);
    runtime_rig_submit(&rig, "writer", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"fits\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"full\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    runtime_rig_register_sh(
        &rig, "starter",
        "start() { i=0; while [ $i -lt $1 ]; do sleep 100 & i=$((i+1)); done; }; "
        "(start 20 && echo few); (start 500 2>/dev/null && echo many) || "
        "echo limited",
        NULL);
    runtime_rig_submit(&rig, "starter", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"few\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"limited\"");
    assert_false(runtime_rig_has(&rig, "\"message\":\"many\""));
}

static int set_up_with_cgroups(void **state)
{
    /* Before the runtime has cgroups: their name is that of the process. */
    arcp__cgroups *cgroups = arcp__cgroups_open();
    cgroup_limits = arcp__cgroups_find_limits(cgroups);
    arcp__cgroups_close(cgroups);
    makes_cgroups = true;
    return confined_set_up(state);
}

#define MUCH "head -c 300000000 /dev/zero | tail >/dev/null || exit 9; echo all"

static bool can_limit(unsigned wanted)
{
    if ((cgroup_limits & wanted) != wanted) {
        print_message("SKIPPED: no cgroup here can have these limits (found %u, wanted %u)\n",
                      cgroup_limits, wanted);
    }
    return (cgroup_limits & wanted) == wanted;
}

static void an_agent_that_needs_more_memory_fails(void **state)
{
    arcp_process_agent limited = arcp_process_agent_init();
    (void)state;
    confined_needs_a_level();
    limited.memory_bytes = 64u << 20;
    runtime_rig_register_sh(&rig, "limited", MUCH, &limited);
    confined_submit("limited", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"exit_status\":9"));
    assert_false(runtime_rig_has(&rig, "\"message\":\"all\""));
}

static void the_error_names_the_limit_of_memory(void **state)
{
    arcp_process_agent limited = arcp_process_agent_init();
    (void)state;
    confined_needs_a_level();
    if (!can_limit(ARCP__CGROUP_MEMORY)) {
        skip();
    }
    limited.memory_bytes = 64u << 20;
    runtime_rig_register_sh(&rig, "limited", MUCH, &limited);
    confined_submit("limited", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"limit\":\"memory\""));
    assert_non_null(strstr(frame, "after it had reached its limit of memory"));
    /* The next job has a cgroup without the count, and an agent without a limit none at all. */
    runtime_rig_register_sh(&rig, "small", "echo small", &limited);
    runtime_rig_register_sh(&rig, "free", MUCH, NULL);
    confined_submit("small", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    confined_submit("free", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"all\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void processes_of_an_agent_share_its_part_of_the_processor(void **state)
{
    arcp_process_agent limited = arcp_process_agent_init();
    (void)state;
    confined_needs_a_level();
    if (!can_limit(ARCP__CGROUP_CPU)) {
        skip();
    }
    limited.cpu_percent = 20;
    /* Two that are busy for a second of real time: at most 0.2 s and the rest of a period. */
    runtime_rig_register_sh(
        &rig, "busy",
        "exec bash -c 'TIMEFORMAT=%U; busy() { timeout 1 sh -c \"while :; do :; done\"; }; time { "
        "busy & busy; wait; }' 2>&1 | sed 's/^0[.]\\([0-3]\\).*/little/'",
        &limited);
    confined_submit("busy", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"little\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void without_a_cgroup_each_process_has_the_limit_for_itself(void **state)
{
    arcp_settings settings;
    arcp_process_agent limited = arcp_process_agent_init();
    const arcp_enforce_options enforce = confined_options();
    (void)state;
    confined_needs_a_level();
#ifdef __SANITIZE_THREAD__
    print_message("SKIPPED: ThreadSanitizer needs more address space than the limit leaves\n");
    skip();
#endif
    runtime_rig_stop(&rig);
    arcp__settings_default(&settings);
    settings.enforce_cgroup = 1; /* off */
    confined_start(&settings, &enforce);
    limited.memory_bytes = 64u << 20;
    limited.cpu_percent = 50;
    runtime_rig_register_sh(&rig, "limited", MUCH, &limited);
    confined_submit("limited", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"exit_status\":9"));
    assert_null(strstr(frame, "\"limit\""));
}

int main(void)
{
#define LIMITED(name) cmocka_unit_test_setup_teardown(name, set_up_with_cgroups, confined_tear_down)
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(processes_and_private_files_are_limited_by_the_settings),
        LIMITED(an_agent_that_needs_more_memory_fails),
        LIMITED(the_error_names_the_limit_of_memory),
        LIMITED(processes_of_an_agent_share_its_part_of_the_processor),
        LIMITED(without_a_cgroup_each_process_has_the_limit_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
