/* Agents whose processes run many jobs each (mode: serve). */
#include <stdio.h>
#include <string.h>

#include "runtime/runtime_rig.h"

#include "support/check.h"

#include "hosting/served_agent.h"
#include "runtime/runtime_state.h"

static runtime_rig rig;

/* Reads lines; what it does with a job.start is in the job's input. */
static const char script[] =
    "say() { printf "
    "'{\"job_id\":\"%s\",\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":"
    "{\"level\":\"info\",\"message\":\"%s\"}}}\\n' \"$id\" \"$1\"; }\n"
    "end() { printf "
    "'{\"job_id\":\"%s\",\"type\":\"job.result\",\"payload\":{\"result\":\"%s\"}}\\n' "
    "\"$id\" \"$1\"; }\n"
    "while read -r line; do id=${line#*'\"job_id\":\"'}; id=${id%%'\"'*}; case $line in\n"
    "*'\"job.cancel\"'*) [ -n \"$deaf\" ] || printf "
    "'{\"job_id\":\"%s\",\"type\":\"job.error\",\"payload\":"
    "{\"code\":\"CANCELLED\",\"message\":\"m\"}}\\n' \"$id\";;\n"
    "*'\"hold\"'*) say \"held by $$\";;\n"
    "*'\"deaf\"'*) deaf=1; say \"held by $$\";;\n"
    "*'\"exit\"'*) exit 0;;\n"
    "*'\"cwd\":null'*) end \"$$ ${ARCP_JOB_ID-unset} ${GIVEN-unset} $(pwd)\";;\n"
    "esac; done";

static arcp_process_agent served(void)
{
    arcp_process_agent agent = arcp_process_agent_init();
    agent.processes = 1;
    agent.concurrency = 4;
    return agent;
}

static void start(uint64_t cancel_grace_ms)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = cancel_grace_ms;
    settings.shutdown_grace_sec = 0;
    runtime_rig_start(&rig, &settings);
}

static int set_up(void **state)
{
    (void)state;
    start(50);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

static void offer(const arcp_process_agent *agent)
{
    runtime_rig_register_sh(&rig, "many", script, agent);
}

/* The pid that a frame names after this word. */
static int pid_after(const char *frame, const char *word)
{
    const char *at = strstr(frame, word);
    assert_non_null(at);
    return (int)strtol(at + strlen(word), NULL, 10);
}

static int hold(const char *how)
{
    char more[64];
    (void)snprintf(more, sizeof more, ",\"input\":\"%s\"", how);
    runtime_rig_submit(&rig, "many", more);
    return pid_after(runtime_rig_wait(&rig, "held by "), "held by ");
}

static int run(void)
{
    runtime_rig_submit(&rig, "many", "");
    return pid_after(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":\"");
}

static void jobs_of_one_process_run_at_the_same_time(void **state)
{
    const arcp_process_agent agent = served();
    (void)state;
    offer(&agent);
    const int pid = hold("hold");
    assert_int_equal(hold("hold"), pid);
    assert_int_equal(run(), pid);
}

static void a_job_has_no_directory_and_its_process_no_job_in_its_environment(void **state)
{
    arcp_process_agent agent = served();
    static const char *const env[] = {"GIVEN=yes", NULL};
    char path[128];
    (void)state;
    agent.env = env;
    offer(&agent);
    runtime_rig_submit(&rig, "many", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.result\"");
    (void)snprintf(path, sizeof path, " unset yes %s/run-", rig.directory);
    assert_non_null(strstr(frame, path));
    const char *number = strstr(frame, "/served-");
    assert_non_null(number);
    number += strlen("/served-");
    assert_int_equal(number[strspn(number, "0123456789")], '"'); /* no address of ours */
    agent.cwd = "/usr"; /* of the process; a job still has none */
    arcp_runtime_clear_agents(rig.runtime);
    offer(&agent);
    runtime_rig_submit(&rig, "many", "");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), " unset yes /usr\""));
}

static void jobs_beyond_processes_times_concurrency_wait(void **state)
{
    arcp_process_agent agent = served();
    (void)state;
    agent.concurrency = 1;
    offer(&agent);
    const int pid = hold("hold");
    runtime_rig_submit(&rig, "many", "");
    (void)runtime_rig_wait(&rig, "\"phase\":\"queued\"");
    agent.max_jobs = 7; /* no more than there is room for */
    agent.concurrency = 2;
    arcp_runtime_clear_agents(rig.runtime);
    offer(&agent);
    assert_int_not_equal(pid_after(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":\""), pid);
    assert_int_equal(rig.runtime->agents->max_jobs, 2);
}

/* Whatever the exit status is: it says nothing about one of the jobs. */
static void a_process_that_exits_fails_its_jobs_as_retryable(void **state)
{
    const arcp_process_agent agent = served();
    (void)state;
    offer(&agent);
    (void)hold("hold");
    runtime_rig_submit(&rig, "many", ",\"input\":\"exit\"");
    for (int i = 0; i < 2; i++) {
        const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
        assert_non_null(strstr(frame, "\"code\":\"INTERNAL_ERROR\""));
        assert_non_null(strstr(frame, "\"retryable\":true"));
        assert_non_null(strstr(frame, "\"exit_status\":0"));
    }
    (void)run();
}

static void a_cancelled_job_that_the_process_ends_costs_nothing(void **state)
{
    const arcp_process_agent agent = served();
    (void)state;
    offer(&agent);
    const int pid = hold("hold");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"final_status\":\"cancelled\"");
    assert_int_equal(run(), pid);
}

static bool is_retired(void *user)
{
    (void)user;
    return rig.runtime->programs.programs == NULL; /* the job has left its process */
}

static void a_cancelled_job_that_the_process_does_not_end_replaces_it(void **state)
{
    const arcp_process_agent agent = served();
    (void)state;
    offer(&agent);
    const int pid = hold("deaf");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"final_status\":\"cancelled\"");
    runtime_rig_until(&rig, is_retired, NULL);
    assert_int_not_equal(run(), pid);
}

static void a_deadline_of_one_job_leaves_the_others_alone(void **state)
{
    const arcp_process_agent agent = served();
    (void)state;
    offer(&agent);
    const int pid = hold("hold");
    runtime_rig_submit(&rig, "many", ",\"input\":\"hold\",\"max_runtime_sec\":1");
    (void)runtime_rig_wait(&rig, "\"final_status\":\"timed_out\"");
    assert_false(runtime_rig_has(&rig, "\"job.error\""));
    assert_int_equal(run(), pid);
}

static void an_unchanged_registration_keeps_its_processes(void **state)
{
    arcp_process_agent agent = served();
    (void)state;
    offer(&agent);
    const int pid = run();
    for (int i = 0; i < 3; i++) {
        arcp_runtime_clear_agents(rig.runtime);
        agent.is_default = i == 1; /* says nothing about processes */
        offer(&agent);
        assert_int_equal(run(), pid);
        assert_null(rig.runtime->agents->next);
    }
}

static bool is_alone(void *user)
{
    (void)user;
    arcp_runtime_clear_agents(rig.runtime);
    const arcp_process_agent agent = served();
    offer(&agent);
    return rig.runtime->agents->next == NULL;
}

static void a_changed_registration_gets_other_processes_and_running_jobs_go_on(void **state)
{
    arcp_process_agent agent = served();
    (void)state;
    agent.jobs_per_process = 1000;
    offer(&agent);
    const int pid = hold("hold");
    const arcp_process_agent other = served();
    arcp_runtime_clear_agents(rig.runtime);
    offer(&other);
    assert_int_not_equal(run(), pid);
    runtime_rig_cancel(&rig); /* has no effect on a job that has ended */
    assert_non_null(rig.runtime->agents->next);
    assert_false(runtime_rig_has(&rig, "\"job.error\""));
    runtime_rig_submit(&rig, "many", ",\"input\":\"exit\"");
    (void)runtime_rig_wait(&rig, "\"job.error\"");
}

/* Each member of a registration, changed alone. */
static void every_member_of_a_registration_counts(void **state)
{
    static const char *const env[] = {"A=b", NULL};
    static const arcp_launch_limit limit = {.resource = 7, .soft = 100, .hard = 100};
    arcp_lease *lease = NULL;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    arcp_error error = {0};
    arcp_process_agent rows[8];
    (void)state;
    arcp_lease_allow(builder, "fs.read", "/srv/**");
    check_ok(arcp_lease_build(builder, &lease, &error), &error);
    for (size_t i = 0; i < 8; i++) {
        rows[i] = served();
    }
    rows[0].env = env;
    rows[1].cwd = "/usr";
    rows[2].limits = &limit;
    rows[2].limit_count = 1;
    rows[3].lease = lease;
    rows[4].processes = 2;
    rows[5].concurrency = 5;
    rows[6].process_memory_bytes = 1;
    rows[7].jobs_per_process = 1000;
    for (size_t i = 0; i < 8; i++) {
        const arcp_process_agent first = served();
        arcp_runtime_clear_agents(rig.runtime);
        offer(&first);
        const int pid = run();
        arcp_runtime_clear_agents(rig.runtime);
        offer(&rows[i]);
        if (run() == pid) {
            fail_msg("row %zu", i);
        }
    }
    arcp_lease_unref(lease);
    runtime_rig_until(&rig, is_alone, NULL);
}

static void what_only_bounds_the_jobs_keeps_the_processes(void **state)
{
    const arcp_process_agent first = served();
    arcp_process_agent other = served();
    (void)state;
    other.max_jobs = 1;
    other.without_queue = true;
    offer(&first);
    const int pid = run();
    arcp_runtime_clear_agents(rig.runtime);
    offer(&other);
    assert_int_equal(run(), pid);
    assert_int_equal(rig.runtime->agents->max_jobs, 1);
}

static void registrations_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        size_t processes, concurrency;
        bool is_plain;
        const char *says; /* NULL: accepted */
    } rows[] = {
        {1, 1, false, NULL},
        {ARCP_SERVED_PROCESSES_MAX, ARCP_SERVED_CONCURRENCY_MAX, false, NULL},
        {1, 0, false, "concurrency from 1 to 10000"},
        {1, ARCP_SERVED_CONCURRENCY_MAX + 1, false, "concurrency from 1 to 10000"},
        {ARCP_SERVED_PROCESSES_MAX + 1, 1, false, "processes must be from 1 to 256"},
        {1, 1, true, "a plain program runs one job"},
        {0, 0, true, NULL},
    };
    static const char *const command[] = {"/bin/true", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_process_agent agent = arcp_process_agent_init();
        arcp_error error = {0};
        agent.name = "row";
        agent.command = command;
        agent.processes = rows[i].processes;
        agent.concurrency = rows[i].concurrency;
        agent.is_plain = rows[i].is_plain;
        const arcp_status status = arcp_runtime_register_process(rig.runtime, &agent, &error);
        assert_int_equal(status, rows[i].says == NULL ? ARCP_OK : ARCP_E_USAGE);
        if (rows[i].says != NULL) {
            assert_non_null(strstr(error.message, rows[i].says));
        }
    }
}

/* A plain program has none, whatever its registration says. */
static void warm_processes_have_a_limit(void **state)
{
    static const char *const command[] = {"/bin/true", NULL};
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_error error = {0};
    (void)state;
    agent.name = "row";
    agent.command = command;
    agent.is_plain = true;
    agent.warm = 4096;
    check_ok(arcp_runtime_register_process(rig.runtime, &agent, &error), &error);
    agent.warm = 4097;
    assert_int_equal(arcp_runtime_register_process(rig.runtime, &agent, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "warm must be at most 4096"));
}

/* The rig fails when the stop takes longer than its patience. */
static void a_stop_does_not_wait_for_a_process_that_ends_no_job(void **state)
{
    const arcp_process_agent agent = served();
    (void)state;
    start(600000);
    offer(&agent);
    (void)hold("deaf");
    runtime_rig_stop(&rig);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(jobs_of_one_process_run_at_the_same_time),
        TEST(a_job_has_no_directory_and_its_process_no_job_in_its_environment),
        TEST(jobs_beyond_processes_times_concurrency_wait),
        TEST(a_process_that_exits_fails_its_jobs_as_retryable),
        TEST(a_cancelled_job_that_the_process_ends_costs_nothing),
        TEST(a_cancelled_job_that_the_process_does_not_end_replaces_it),
        TEST(a_deadline_of_one_job_leaves_the_others_alone),
        TEST(an_unchanged_registration_keeps_its_processes),
        TEST(a_changed_registration_gets_other_processes_and_running_jobs_go_on),
        TEST(every_member_of_a_registration_counts),
        TEST(what_only_bounds_the_jobs_keeps_the_processes),
        TEST(registrations_that_make_no_sense_are_refused),
        TEST(warm_processes_have_a_limit),
        cmocka_unit_test(a_stop_does_not_wait_for_a_process_that_ends_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
