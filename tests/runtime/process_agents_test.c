/* Process agents. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime_rig.h"
#include "support/process_support.h"

#include "support/check.h"

static runtime_rig rig;

static int set_up(void **state)
{
    (void)state;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 50;
    settings.limits_agent_line_bytes = 4096;
    runtime_rig_start(&rig, &settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

static void a_shell_script_of_three_lines_is_a_complete_agent(void **state)
{
    (void)state;
    runtime_rig_register_sh(
        &rig, "hello",
        "echo working; echo '{\"type\":\"job.result\",\"payload\":{\"result\":\"hello\"}}'", NULL);
    runtime_rig_submit(&rig, "hello", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"working\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":\"hello\""));
}

static bool does_not_exist(void *user)
{
    struct stat about;
    return stat(user, &about) != 0 && errno == ENOENT;
}

static void an_agent_gets_a_clean_environment_and_a_directory_of_its_own(void **state)
{
    (void)state;
    char path[256];
    assert_int_equal(setenv("SECRET_OF_THE_TEST", "x", 1), 0);
    runtime_rig_register_sh(&rig, "env", "pwd; env | sort; touch left-behind; ls -ld .", NULL);
    runtime_rig_submit(&rig, "env", "");
    (void)runtime_rig_wait(&rig, "\"job.accepted\"");
    (void)snprintf(path, sizeof path, "\"message\":\"%s/run-", rig.directory);
    const char *cwd = strstr(runtime_rig_wait(&rig, path), rig.directory);
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(cwd, "\""), cwd);
    assert_non_null(strstr(path, rig.job_id));
    (void)runtime_rig_wait(&rig, "\"message\":\"ARCP_AGENT=env\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"message\":\"ARCP_JOB_ID="), rig.job_id));
    (void)runtime_rig_wait(&rig, "\"message\":\"ARCP_TRACE_ID=");
    (void)runtime_rig_wait(&rig, "\"message\":\"TRACEPARENT=00-");
    (void)runtime_rig_wait(&rig, "drwx------");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_false(runtime_rig_has(&rig, "SECRET_OF_THE_TEST"));
    runtime_rig_until(&rig, does_not_exist, path);
}

static void the_end_of_a_job_follows_the_exit_of_its_program(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *want;
    } rows[] = {
        {"exit 7", "\"details\":{\"exit_status\":7}"},
        {"kill -9 $$", "\"details\":{\"signal\":9}"},
        {"echo '{broken'", "\"code\":\"INTERNAL_ERROR\""},
        {"printf 'no line feed'", "\"result\":null"},
        {"head -c 5000 /dev/zero | tr '\\0' x; echo; sleep 30",
         "a line longer than limits.agent_line_bytes"},
        {"echo '{\"type\":\"job.error\",\"payload\":{\"code\":\"TIMEOUT\",\"message\":\"m\"}}'",
         "\"final_status\":\"timed_out\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "row%zu", i);
        runtime_rig_register_sh(&rig, name, rows[i].script, NULL);
        runtime_rig_submit(&rig, name, "");
        (void)runtime_rig_wait(&rig, rows[i].want);
    }
}

static void a_program_that_cannot_be_started_fails_its_job_only(void **state)
{
    (void)state;
    const char *const command[] = {"/no/such/program", NULL};
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_error error = {0};
    agent.name = "missing";
    agent.command = command;
    check_ok(arcp_runtime_register_process(rig.runtime, &agent, &error), &error);
    runtime_rig_submit(&rig, "missing", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "cannot be started"));
    assert_null(strstr(frame, "/no/such")); /* paths stay in the log */
}

static void keep_warnings(void *user, arcp_log_level level, const char *text, const char *fields)
{
    if (level == ARCP_LOG_WARN) {
        arcp_buf_append_format(user, "%s\n", text);
    }
}

/* The agent is offered even so: the program may exist when the first job starts. */
static void a_missing_program_is_reported_when_it_is_registered(void **state)
{
    const struct {
        const char *program, *path, *user, *says;
    } rows[] = {
        {"/bin/sh", NULL, NULL, ""},
        {"sh", NULL, NULL, ""},
        {"/bin/sh", NULL, "root", ""},
        {"/bin/sh", NULL, "no-such-user",
         "agent \"row\": there is no user \"no-such-user\"; its jobs will fail\n"},
        {"/no/such/program", NULL, NULL,
         "agent \"row\": the program /no/such/program: No such file or directory; its jobs will "
         "fail\n"},
        {"/etc/passwd", NULL, NULL,
         "agent \"row\": /etc/passwd is not an executable file; its jobs will fail\n"},
        {"/etc", NULL, NULL, "agent \"row\": /etc is not an executable file; its jobs will fail\n"},
        {"sh", "PATH=/nowhere", NULL,
         "agent \"row\": the program sh is not in PATH; its jobs will fail\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_runtime_options options = arcp_runtime_options_init();
        arcp_process_agent agent = arcp_process_agent_init();
        const char *const command[] = {rows[i].program, NULL};
        const char *const env[] = {rows[i].path, NULL};
        arcp_buf warnings = arcp_buf_init();
        arcp_error error = {0};
        options.log = keep_warnings;
        options.log_user = &warnings;
        runtime_rig_begin(&rig);
        runtime_rig_open(&rig, &options);
        agent.name = "row";
        agent.command = command;
        agent.env = env;
        agent.user = rows[i].user;
        check_ok(arcp_runtime_register_process(rig.runtime, &agent, &error), &error);
        runtime_rig_stop(&rig);
        check_span(arcp_buf_span(&warnings), rows[i].says);
        arcp_buf_fini(&warnings);
    }
}

/* Whether a process runs. The zombie of another parent counts as ended: an orphan belongs to
 * the system's first process, which may reap it late. */
static bool exists(pid_t pid)
{
    char path[64];
    char line[512] = {0};
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const char *read = fgets(line, sizeof line, file);
    (void)fclose(file);
    const char *name_end = read == NULL ? NULL : strrchr(line, ')');
    return name_end != NULL && name_end[2] != 'Z';
}

static bool is_gone(void *user)
{
    return !exists(*(pid_t *)user);
}

static void cancelling_ends_the_whole_process_group(void **state)
{
    (void)state;
    runtime_rig_register_sh(&rig, "tree",
                            "trap '' TERM; sleep 1000 & echo child $!; echo self $$; wait", NULL);
    runtime_rig_submit(&rig, "tree", "");
    pid_t child = number_in(strstr(runtime_rig_wait(&rig, "\"message\":\"child "), "child ") + 6);
    pid_t self = number_in(strstr(runtime_rig_wait(&rig, "\"message\":\"self "), "self ") + 5);
    assert_true(exists(child));
    runtime_rig_cancel(&rig);
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.error\""), "\"code\":\"CANCELLED\""));
    /* It ignores SIGTERM: SIGKILL follows 5 s later. */
    runtime_rig_until(&rig, is_gone, &self);
    runtime_rig_until(&rig, is_gone, &child);
}

static void a_plain_program_gets_its_input_and_its_output_is_the_result(void **state)
{
    (void)state;
    arcp_process_agent plain = arcp_process_agent_init();
    plain.is_plain = true;
    runtime_rig_register_sh(&rig, "cat", "cat; echo to the log >&2", &plain);
    runtime_rig_submit(&rig, "cat", ",\"input\":\"just text\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"to the log\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":\"just text\""));
    runtime_rig_submit(&rig, "cat", ",\"input\":{\"n\": [1.50]}");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result\":{\"n\":[1.50]}"));
    runtime_rig_register_sh(&rig, "big", "head -c 700000 /dev/zero", &plain);
    runtime_rig_submit(&rig, "big", "");
    (void)runtime_rig_wait(&rig, "\"chunk_seq\":0");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"result_size\":700000"));
}

static void a_warm_process_serves_one_job_and_is_replaced(void **state)
{
    (void)state;
    arcp_process_agent warm = arcp_process_agent_init();
    warm.warm = 2;
    runtime_rig_register_sh(&rig, "warm", "read -r line; echo pid $$", &warm);
    pid_t seen[6];
    for (int job = 0; job < 6; job++) {
        runtime_rig_submit(&rig, "warm", "");
        seen[job] = number_in(strstr(runtime_rig_wait(&rig, "\"message\":\"pid "), "pid ") + 4);
        (void)runtime_rig_wait(&rig, "\"job.result\"");
        for (int before = 0; before < job; before++) {
            assert_int_not_equal(seen[before], seen[job]);
        }
    }
}

static void two_hundred_processes_leave_no_resources(void **state)
{
    (void)state;
    runtime_rig_register_sh(&rig, "short", "exit 0", NULL);
    size_t before = 0;
    for (int job = 0; job < 200; job++) {
        runtime_rig_submit(&rig, "short", "");
        (void)runtime_rig_wait(&rig, "\"job.result\"");
        if (job == 20) {
            (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
            before = open_descriptors();
        }
    }
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_true(open_descriptors() <= before + 8);
    /* No zombies of ours, and no directories. */
    assert_false(has_children());
    char run[300];
    only_entry_of(rig.directory, run);
    assert_int_equal(entries_of(run), 0);
}

static void a_program_blocks_at_a_full_pipe_and_no_output_is_lost(void **state)
{
    (void)state;
    runtime_rig_register_sh(&rig, "chatty",
                            "i=0; while [ $i -lt 5000 ]; do echo line $i; "
                            "i=$((i+1)); done",
                            NULL);
    runtime_rig_submit(&rig, "chatty", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"line 0\"");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"message\":\"line 4999\""), "event_seq"));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_shell_script_of_three_lines_is_a_complete_agent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            an_agent_gets_a_clean_environment_and_a_directory_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_job_follows_the_exit_of_its_program, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_program_that_cannot_be_started_fails_its_job_only, set_up,
                                        tear_down),
        cmocka_unit_test(a_missing_program_is_reported_when_it_is_registered),
        cmocka_unit_test_setup_teardown(cancelling_ends_the_whole_process_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plain_program_gets_its_input_and_its_output_is_the_result,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_warm_process_serves_one_job_and_is_replaced, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_hundred_processes_leave_no_resources, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_program_blocks_at_a_full_pipe_and_no_output_is_lost,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
