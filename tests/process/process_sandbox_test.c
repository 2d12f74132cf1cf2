/* Confined processes: their records, what ends with them, and a set-up that fails. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/one_process.h"
#include "support/sandbox_host.h"

#include "launch/agent_sandbox.h"
#include "launch/launch.h"
#include "launch/sandbox_etc.h"
#include "launch/sandbox_record.h"

static arcp__sandbox_abilities abilities;
static arcp_buf plan_text, etc, records;
static arcp__process_confinement confinement;
static char scratch[160];

static void find_abilities(void)
{
    sandbox_probe(&abilities);
    if (arcp__sandbox_level_of(&abilities) == ARCP__SANDBOX_LEVEL_NONE) {
        print_message("this host cannot confine programs\n");
        skip();
    }
}

/* The plan of a job that may read DIRECTORY/granted. */
static void confine(const char *directory)
{
    char lease_text[256];
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    arcp__agent_sandbox agent = {.bases = NULL};
    const arcp__sandbox_etc request = {
        .directory = directory, .uid = geteuid(), .gid = getegid(), .home = ARCP__AGENT_HOME};
    find_abilities();
    arcp__sandbox_request_defaults(&agent.request);
    agent.request.abilities = abilities;
    (void)snprintf(lease_text, sizeof lease_text, "{\"fs.read\": [\"%s/granted\"]}", directory);
    check_ok(arcp_lease_parse(arcp_span_cstr(lease_text), arcp_span_make(NULL, 0), NULL, &lease,
                              &rig.error),
             &rig.error);
    const bool is_full = arcp__sandbox_level_of(&abilities) == ARCP__SANDBOX_LEVEL_FULL;
    (void)snprintf(scratch, sizeof scratch, "%s/scratch", directory);
    const arcp__agent_sandbox_job job = {.lease = lease,
                                         .fresh = arcp_span_cstr(rig.spec.cwd),
                                         .scratch = is_full ? arcp_span_make(NULL, 0)
                                                            : arcp_span_cstr(scratch)};
    check_ok(arcp__agent_sandbox_plan(&agent, &job, &plan, &rig.error), &rig.error);
    plan_text = arcp_buf_init();
    etc = arcp_buf_init();
    arcp__sandbox_plan_encode(plan, &plan_text);
    if (arcp__sandbox_needs_etc(plan)) {
        check_ok(arcp__sandbox_etc_prepare(&request, &etc, &rig.error), &rig.error);
    }
    confinement = (arcp__process_confinement){.plan = arcp_buf_span(&plan_text),
                                              .etc = arcp_buf_cstr(&etc),
                                              .has_processes = is_full,
                                              .scratch = is_full ? NULL : scratch};
    rig.spec.confinement = &confinement;
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

static char directory[64], fresh[128];

static int set_up_confined(void **state)
{
    (void)state;
    process_rig_start(&rig, 0, 0);
    owner = (process_owner){.process = NULL};
    records = arcp_buf_init();
    make_temporary(directory);
    (void)snprintf(fresh, sizeof fresh, "%s/fresh", directory);
    rig.spec.cwd = fresh;
    rig.spec.makes_cwd = true;
    confine(directory);
    return 0;
}

static int tear_down_confined(void **state)
{
    (void)state;
    process_owner_fini(&owner);
    process_rig_stop(&rig);
    assert_int_not_equal(access(fresh, F_OK), 0);
    assert_int_not_equal(access(scratch, F_OK), 0);
    arcp_buf_fini(&plan_text);
    arcp_buf_fini(&etc);
    arcp_buf_fini(&records);
    remove_temporary(directory);
    return 0;
}

static void on_record(void *user, arcp_span record)
{
    (void)user;
    arcp_buf_append(&records, record);
    arcp_buf_append_byte(&records, '\n');
}

static bool has_record(const char *text)
{
    return records.size != 0 && strstr(arcp_buf_cstr(&records), text) != NULL;
}

static void start(const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    callbacks.record = on_record;
    rig.spec.argv = argv;
    check_ok(
        arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error),
        &rig.error);
    run_until(&rig, owner.starts != 0);
    assert_int_equal(owner.started, ARCP_OK);
}

static void what_is_denied_comes_as_a_record_before_the_end(void **state)
{
    char path[160];
    char script[256];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/granted", directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("granted\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(script, sizeof script,
                   "cat %s; echo x > file && cat file; cat /var/lib 2>/dev/null", path);
    start(script);
    run_until(&rig, owner.exits != 0);
    check_text(&owner.lines, "granted\nx\n");
    assert_int_not_equal(owner.end.code, 0);
    assert_true(has_record("\"running\":true"));
    if (arcp__sandbox_has_broker(&abilities)) {
        assert_true(has_record("\"denied\""));
        assert_true(has_record("\"/var/lib\""));
    }
    assert_int_equal(arcp__agent_process_failure(owner.process, NULL).size, 0);
}

static void a_step_that_fails_is_named_at_the_end(void **state)
{
    const char *step = NULL;
    (void)state;
    assert_int_equal(setenv("ARCP_SANDBOX_FAIL", "limits", 1), 0);
    start("echo escaped");
    run_until(&rig, owner.exits != 0);
    assert_int_equal(unsetenv("ARCP_SANDBOX_FAIL"), 0);
    check_text(&owner.lines, "");
    assert_int_equal(owner.end.code, 125);
    assert_true(arcp_span_equal_cstr(arcp__agent_process_failure(owner.process, &step),
                                     "resource limits: Input/output error"));
    assert_string_equal(step, "limits");
}

static void a_program_that_is_not_there_is_named_at_the_end(void **state)
{
    const char *const argv[] = {"/srv/absent/agent", NULL};
    const char *step = NULL;
    arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    (void)state;
    rig.spec.argv = argv;
    check_ok(
        arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error),
        &rig.error);
    run_until(&rig, owner.exits != 0 || owner.started != ARCP_OK);
    if (owner.started == ARCP_OK) {
        (void)arcp__agent_process_failure(owner.process, &step);
        assert_string_equal(step, "exec");
        assert_int_equal(owner.end.code, 127);
    }
}

/* One of them has left the group, the session and its parent. */
static void a_kill_ends_all_processes_of_the_sandbox(void **state)
{
    (void)state;
    start("(setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' &) ; "
          "trap '' TERM; echo up; sleep 1000 & wait");
    run_until(&rig, owner.line_count != 0);
    arcp__agent_process_kill(owner.process);
    run_until(&rig, owner.exits != 0);
    assert_true(owner.end.by_signal);
    assert_false(has_children());
}

static void a_process_that_is_freed_during_its_set_up_leaves_nothing(void **state)
{
    (void)state;
    start("sleep 1000");
    arcp__agent_process_free(owner.process);
    owner.process = NULL;
    run_until(&rig, process_rig_running(&rig) == 0);
    assert_false(has_children());
}

int main(void)
{
#define CONFINED_TEST(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, set_up_confined, tear_down_confined)
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(what_is_denied_comes_as_a_record_before_the_end),
        CONFINED_TEST(a_step_that_fails_is_named_at_the_end),
        CONFINED_TEST(a_program_that_is_not_there_is_named_at_the_end),
        CONFINED_TEST(a_kill_ends_all_processes_of_the_sandbox),
        CONFINED_TEST(a_process_that_is_freed_during_its_set_up_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
