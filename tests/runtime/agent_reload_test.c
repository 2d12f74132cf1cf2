/* Agents that are registered again while their jobs run, as in a reload. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include "runtime/runtime_state.h"

#define RELOADS 50

static runtime_rig rig;

static int set_up(void **state)
{
    arcp_settings settings;
    (void)state;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 0;
    settings.shutdown_grace_sec = 0;
    runtime_rig_start(&rig, &settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

/* Reports that it runs, and waits for the end of its standard input. */
static void reload(void)
{
    arcp_runtime_clear_agents(rig.runtime);
    runtime_rig_register_sh(&rig, "waiter", "echo begun; cat > /dev/null", NULL);
}

static unsigned count_registrations(void)
{
    unsigned count = 0;
    for (const arcp__agent_entry *entry = rig.runtime->agents; entry != NULL; entry = entry->next) {
        count++;
    }
    return count;
}

static void registrations_that_no_job_needs_are_freed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RELOADS; i++) {
        reload();
        assert_int_equal(count_registrations(), 1);
    }
}

static bool only_the_newest_is_left(void *user)
{
    (void)user;
    reload();
    return count_registrations() == 1;
}

static void a_job_keeps_the_registration_that_it_was_started_with(void **state)
{
    (void)state;
    reload();
    runtime_rig_submit(&rig, "waiter", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    for (unsigned i = 0; i < RELOADS; i++) {
        reload();
        assert_int_equal(count_registrations(), 2);
    }
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"job.error\"");
    runtime_rig_until(&rig, only_the_newest_is_left, NULL);
}

static void a_job_that_waits_for_its_program_keeps_its_registration(void **state)
{
    (void)state;
    reload();
    runtime_rig_submit(&rig, "waiter", "");
    (void)runtime_rig_wait(&rig, "\"job.accepted\""); /* programs are started in later turns */
    for (unsigned i = 0; i < RELOADS; i++) {
        reload();
        assert_int_equal(count_registrations(), 2);
    }
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
}

static void register_one_at_a_time(const char *name, const char *script, bool without_queue)
{
    arcp_process_agent agent = arcp_process_agent_init();
    agent.max_jobs = 1;
    agent.without_queue = without_queue;
    runtime_rig_register_sh(&rig, name, script, &agent);
}

#define WAITER "echo begun; cat > /dev/null"

static void max_jobs_counts_the_jobs_from_before_a_reload(void **state)
{
    (void)state;
    register_one_at_a_time("single", WAITER, true);
    runtime_rig_submit(&rig, "single", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    arcp_runtime_clear_agents(rig.runtime);
    register_one_at_a_time("single", WAITER, true);
    register_one_at_a_time("other", WAITER, true);
    runtime_rig_submit(&rig, "single", "");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.error\""), "max_jobs"));
    runtime_rig_submit(&rig, "other", ""); /* another agent has its own limit */
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    runtime_rig_submit(&rig, "other", "");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.error\""), "max_jobs"));
}

/* So that a broken command can be repaired while jobs wait for it. */
static void a_queued_job_starts_with_the_command_of_the_last_reload(void **state)
{
    (void)state;
    register_one_at_a_time("single", WAITER, false);
    runtime_rig_submit(&rig, "single", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    char first[sizeof rig.job_id];
    memcpy(first, rig.job_id, sizeof first);
    runtime_rig_submit(&rig, "single", "");
    (void)runtime_rig_wait(&rig, "\"phase\":\"queued\"");
    arcp_runtime_clear_agents(rig.runtime);
    register_one_at_a_time("single", "echo repaired", false);
    memcpy(rig.job_id, first, sizeof first);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"message\":\"repaired\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void quick(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static void callback_agents_are_kept(void **state)
{
    (void)state;
    runtime_rig_add(&rig, "quick", ARCP_AGENT_NON_BLOCKING, quick, NULL);
    runtime_rig_submit(&rig, "quick", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    reload();
    assert_int_equal(count_registrations(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registrations_that_no_job_needs_are_freed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_keeps_the_registration_that_it_was_started_with,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_waits_for_its_program_keeps_its_registration,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(max_jobs_counts_the_jobs_from_before_a_reload, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_queued_job_starts_with_the_command_of_the_last_reload,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(callback_agents_are_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
