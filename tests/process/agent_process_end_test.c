/* One running program: its end, its work directory, and its orphans. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/one_process.h"
#include "process/process_state.h"

/* ---- its end ---- */

static void exited_is_called_once_and_last(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool by_signal;
        int code;
    } rows[] = {{"exit 0", false, 0},
                {"exit 3", false, 3},
                {"echo out; echo err >&2; exit 3", false, 3},
                {"kill -9 $$", true, 9},
                {"exec >&- 2>&-; exit 4", false, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_to_end(rows[i].script);
        assert_true(owner.end.is_known);
        assert_int_equal(owner.end.by_signal, rows[i].by_signal);
        assert_int_equal(owner.end.code, rows[i].code);
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
        assert_int_equal(owner.exits, 1);
        process_owner_fini(&owner);
    }
}

static pid_t pid_in(const arcp_buf *lines, const char *prefix)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append(&text, arcp_buf_span(lines));
    arcp_buf_append_byte(&text, '\0');
    const char *found = line_after(&text, prefix);
    arcp_buf_fini(&text);
    assert_non_null(found);
    return number_in(found);
}

static void output_of_another_process_is_awaited_for_a_limited_time(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "escape", NULL};
    process_rig_run(&rig, &owner, argv);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.end.code, 0);
    const pid_t escaped = pid_in(&owner.lines, "escaped ");
    const int watched = watch_process(escaped);
    assert_int_equal(kill(escaped, SIGKILL), 0);
    wait_for_watched(watched);
}

static void output_of_another_process_is_read_up_to_a_limit(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "escape-and-flood", NULL};
    rig.spec.is_plain = true;
    process_rig_run(&rig, &owner, argv);
    run_until(&rig, owner.exits != 0);
    /* The content of the pipe when the program ended, and at most 1 MiB more. */
    assert_true(owner.output.size <= (size_t)3 * 1048576);
    arcp_buf_append_byte(&owner.output, '\0');
    const char *found = line_after(&owner.output, "escaped ");
    assert_non_null(found);
    const pid_t escaped = number_in(found);
    const int watched = watch_process(escaped);
    (void)kill(escaped, SIGKILL); /* it may have found its pipe broken already */
    wait_for_watched(watched);
}

static void terminating_reaches_the_whole_group(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "sleep 1000 & echo $!; wait");
    run_until(&rig, owner.line_count == 1);
    const int watched = watch_process(pid_in(&owner.lines, ""));
    arcp__agent_process_terminate(owner.process);
    arcp__agent_process_terminate(owner.process);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.end.code, SIGTERM);
    wait_for_watched(watched);
}

static void a_program_that_ignores_sigterm_is_killed_later(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "stubborn", NULL};
    process_rig_run(&rig, &owner, argv);
    run_until(&rig, owner.line_count == 1);
    const uint64_t before = uv_hrtime();
    arcp__agent_process_terminate(owner.process);
    run_until(&rig, owner.exits != 0);
    assert_true(owner.end.by_signal);
    assert_int_equal(owner.end.code, SIGKILL);
    assert_true(uv_hrtime() - before >= UINT64_C(95) * 1000000);
}

static void a_child_that_ignores_sigterm_is_killed_with_its_group(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner,
                          "(trap '' TERM; exec " PROBE " stubborn) & echo pid $!; wait");
    run_until(&rig, owner.line_count == 2);
    const int watched = watch_process(pid_in(&owner.lines, "pid "));
    arcp__agent_process_terminate(owner.process);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.end.code, SIGTERM);
    wait_for_watched(watched);
}

static void a_stopped_program_is_killed_too(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "echo $$; kill -STOP $$");
    run_until(&rig, owner.line_count == 1);
    arcp__agent_process_terminate(owner.process);
    run_until(&rig, owner.exits != 0);
    assert_true(owner.end.by_signal);
}

static void freeing_a_running_process_kills_it_without_a_callback(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "stubborn", NULL};
    process_rig_run(&rig, &owner, argv);
    run_until(&rig, owner.line_count == 1);
    const int watched = watch_process(arcp__agent_process_pid(owner.process));
    arcp__agent_process_free(owner.process);
    owner.process = NULL;
    run_until(&rig, process_rig_running(&rig) == 0);
    wait_for_watched(watched);
    assert_int_equal(owner.exits, 0);
}

static void on_line_free(void *user, arcp_span line)
{
    process_owner *told = user;
    (void)line;
    told->line_count++;
    arcp__agent_process_free(told->process);
    told->process = NULL;
}

static void no_callback_follows_a_free_in_a_callback(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "echo a; echo b; echo c >&2");
    arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    callbacks.line = on_line_free;
    arcp__agent_process_set_callbacks(owner.process, &callbacks);
    run_until(&rig, process_rig_running(&rig) == 0);
    assert_int_equal(owner.line_count, 1);
    assert_int_equal(owner.exits, 0);
}

static void whether_it_has_ended_is_known_before_the_owner_is_notified(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "read line; exit 0");
    assert_false(arcp__agent_process_has_ended(owner.process));
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("go")), ARCP_OK);
    wait_for_exit(owner.process->process);
    assert_true(arcp__agent_process_has_ended(owner.process));
    assert_int_equal(owner.exits, 0);
    run_until(&rig, owner.exits != 0);
}

static void a_status_that_another_waiter_took_does_not_block(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "echo said");
    const pid_t pid = arcp__agent_process_pid(owner.process);
    wait_for_end(pid);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    run_until(&rig, owner.exits != 0);
    assert_false(owner.end.is_known);
    check_text(&owner.lines, "said\n");
}

static void a_failed_start_leaves_nothing(void **state)
{
    (void)state;
    char cwd[128];
    const char *const argv[] = {"/no/such/program", NULL};
    (void)snprintf(cwd, sizeof cwd, "%s/job", rig.run);
    rig.spec.argv = argv;
    rig.spec.cwd = cwd;
    rig.spec.makes_cwd = true;
    const arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    owner = (process_owner){0};
    check_ok(
        arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error),
        &rig.error);
    /* Calls in the meantime are allowed. */
    assert_int_equal(arcp__agent_process_pid(owner.process), 0);
    assert_false(arcp__agent_process_has_ended(owner.process));
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("line")), ARCP_OK);
    arcp__agent_process_terminate(owner.process);
    run_until(&rig, owner.starts != 0);
    assert_int_equal(owner.started, ARCP_E_USAGE);
    assert_non_null(strstr(owner.why, "/no/such/program"));
    assert_int_equal(process_rig_running(&rig), 0);
    process_owner_fini(&owner);
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(entries_of(rig.run), 0);
    assert_int_equal(owner.exits, 0);
}

static void a_start_without_descriptors_for_its_pipes_closes_none_of_ours(void **state)
{
    (void)state;
    const arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    const size_t descriptors = open_descriptors();
    const int next = dup(STDERR_FILENO);
    struct rlimit normal;
    assert_true(next >= 0);
    (void)close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &normal), 0);
    for (rlim_t room = 0; room < 6; room++) {
        const struct rlimit few = {.rlim_cur = (rlim_t)next + room, .rlim_max = normal.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        const arcp_status status =
            arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &normal), 0);
        assert_int_equal(status, ARCP_E_IO);
        assert_non_null(strstr(rig.error.message, "pipe"));
        assert_int_equal(open_descriptors(), descriptors);
    }
}

static void a_program_may_be_killed_or_freed_before_it_runs(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sleep", "1000", NULL};
    const arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    void (*const ends[])(arcp__agent_process * process) = {arcp__agent_process_kill,
                                                           arcp__agent_process_terminate};
    rig.spec.argv = argv;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        owner = (process_owner){0};
        check_ok(
            arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error),
            &rig.error);
        ends[i](owner.process);
        run_until(&rig, owner.exits != 0);
        assert_int_equal(owner.starts, 1);
        assert_true(owner.end.by_signal);
        process_owner_fini(&owner);
    }
    owner = (process_owner){0};
    check_ok(
        arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error),
        &rig.error);
    process_owner_fini(&owner);
    run_until(&rig, process_rig_running(&rig) == 0);
    assert_int_equal(owner.starts, 0);
}

static void freeing_the_table_ends_programs_that_are_being_started(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sleep", "1000", NULL};
    const arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    rig.spec.argv = argv;
    for (size_t i = 0; i < 3; i++) {
        arcp__agent_process *process = NULL;
        check_ok(arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &process, &rig.error),
                 &rig.error);
    }
    /* process_rig_stop frees the table, and checks that nothing is left. */
}

/* ---- its work directory ---- */

static void a_program_has_a_new_directory_that_is_removed_afterwards(void **state)
{
    (void)state;
    char cwd[128];
    struct stat about;
    (void)snprintf(cwd, sizeof cwd, "%s/job", rig.run);
    rig.spec.cwd = cwd;
    rig.spec.makes_cwd = true;
    process_rig_run_shell(&rig, &owner, "pwd; mkdir -p a/b; touch a/b/c; ln -s / a/root; cat");
    run_until(&rig, owner.line_count == 1);
    assert_int_equal(stat(cwd, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    assert_int_equal(entries_of(rig.run), 2); /* its directory and its note */
    assert_int_equal(arcp__agent_process_write_last(owner.process, arcp_span_make(NULL, 0)),
                     ARCP_OK);
    run_until(&rig, owner.exits != 0);
    check_span(arcp_span_first(arcp_buf_span(&owner.lines), strlen(cwd)), cwd);
    process_owner_fini(&owner);
    run_until(&rig, access(cwd, F_OK) != 0);
    assert_int_equal(access("/bin/sh", X_OK), 0); /* what a link names is not what is removed */
    run_until(&rig, entries_of(rig.run) == 0);
}

static void the_directory_of_a_running_program_can_be_renamed(void **state)
{
    (void)state;
    char cwd[128];
    char moved[128];
    (void)snprintf(cwd, sizeof cwd, "%s/warm", rig.run);
    (void)snprintf(moved, sizeof moved, "%s/job", rig.run);
    rig.spec.cwd = cwd;
    rig.spec.makes_cwd = true;
    process_rig_run_shell(&rig, &owner, "read line; /bin/pwd; touch here");
    check_ok(arcp__agent_process_move_directory(owner.process, moved, &rig.error), &rig.error);
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("go")), ARCP_OK);
    run_until(&rig, owner.exits != 0);
    check_span(arcp_span_first(arcp_buf_span(&owner.lines), strlen(moved)), moved);
    assert_int_equal(
        arcp__agent_process_move_directory(owner.process, "/no/such/place", &rig.error), ARCP_E_IO);
    process_owner_fini(&owner);
    run_until(&rig, access(moved, F_OK) != 0);
}

/* ---- its orphans ---- */

/* Whether a child of ours has ended and was not waited for. */
static bool is_zombie(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static void an_orphan_of_an_ended_job_is_found_and_killed(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "escape", NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", "ARCP_JOB_ID=job_of_this_test", NULL};
    process_rig_stop(&rig);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    process_rig_start(&rig, 100, 20);
    rig.spec.env = environment;
    process_rig_run(&rig, &owner, argv);
    arcp__agent_process_set_job(owner.process, ARCP_SPAN_LITERAL("job_of_this_test"));
    process_owner bystander;
    rig.spec.env = (const char *const[]){"PATH=/usr/bin:/bin", "ARCP_JOB_ID=another", NULL};
    process_rig_run(&rig, &bystander, (const char *const[]){PROBE, "escape", NULL});
    arcp__agent_process_set_job(bystander.process, ARCP_SPAN_LITERAL("job_that_runs_on"));
    run_until(&rig, owner.exits != 0 && bystander.exits != 0);
    const pid_t orphan = pid_in(&owner.lines, "escaped ");
    const pid_t other = pid_in(&bystander.lines, "escaped ");
    run_until(&rig, is_zombie(orphan));
    /* The zombie is waited for on SIGCHLD; here we are the handler. */
    arcp__process_table_reap(rig.table);
    assert_int_equal(kill(orphan, 0), -1);
    /* No job with that id has ended, so the process is not killed. */
    assert_int_equal(kill(other, 0), 0);
    assert_false(is_zombie(other));
    assert_int_equal(kill(other, SIGKILL), 0);
    wait_for_end(other);
    arcp__process_table_reap(rig.table);
    process_owner_fini(&bystander);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static void reaping_does_not_take_processes_of_the_table(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "echo said; exit 9");
    wait_for_end(arcp__agent_process_pid(owner.process));
    const pid_t unrelated = fork();
    if (unrelated == 0) {
        _exit(0);
    }
    wait_for_end(unrelated);
    arcp__process_table_reap(rig.table);
    assert_false(has_children());
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.end.code, 9);
    check_text(&owner.lines, "said\n");
}

static void reaping_does_not_take_processes_of_another_table(void **state)
{
    (void)state;
    const arcp__process_table_options options = {.loop = &rig.loop};
    arcp__process_table *other = NULL;
    check_ok(arcp__process_table_new(&options, &other, &rig.error), &rig.error);
    process_rig_run_shell(&rig, &owner, "exit 9");
    wait_for_end(arcp__agent_process_pid(owner.process));
    arcp__process_table_reap(other);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.end.code, 9);
    assert_false(owner.end.by_signal);
    arcp__process_table_free(other);
}

/* As the jobs in the runtime's queue do. */
static size_t starts_left;

static void start_another(void *user, arcp_status status, const char *why)
{
    arcp__agent_process **process = user;
    const arcp__agent_process_callbacks callbacks = {.started = start_another, .user = user};
    (void)why;
    assert_int_equal(status, ARCP_OK);
    arcp__agent_process_free(*process);
    if (--starts_left != 0) {
        check_ok(arcp__agent_process_start(rig.table, &rig.spec, &callbacks, process, &rig.error),
                 &rig.error);
    }
}

static void reaping_does_not_wait_until_no_program_is_to_be_started(void **state)
{
    (void)state;
    arcp__agent_process *process = NULL;
    const arcp__agent_process_callbacks callbacks = {.started = start_another, .user = &process};
    starts_left = 20;
    check_ok(arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &process, &rig.error),
             &rig.error);
    const pid_t unrelated = fork();
    if (unrelated == 0) {
        _exit(0);
    }
    wait_for_end(unrelated);
    arcp__process_table_reap(rig.table);
    run_until(&rig, starts_left < 10);
    assert_int_equal(kill(unrelated, 0), -1);
    run_until(&rig, starts_left == 0);
}

static void a_thousand_processes_leave_no_resources(void **state)
{
    (void)state;
    static process_owner owners[20];
    char cwd[128];
    size_t descriptors = 0;
    rig.spec.makes_cwd = true;
    rig.spec.cwd = cwd;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 20; i++) {
            (void)snprintf(cwd, sizeof cwd, "%s/job-%d-%d", rig.run, round, i);
            process_rig_run(&rig, &owners[i], (const char *const[]){"/bin/true", NULL});
        }
        for (int i = 0; i < 20; i++) {
            run_until(&rig, owners[i].exits != 0);
            process_owner_fini(&owners[i]);
        }
        run_until(&rig, entries_of(rig.run) == 0);
        /* libuv opens something of its own with the first pipe. */
        descriptors = round == 0 ? open_descriptors() : descriptors;
    }
    assert_int_equal(open_descriptors(), descriptors);
    assert_false(has_children());
}

static void freeing_the_table_kills_running_programs(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "stubborn", NULL};
    process_rig_run(&rig, &owner, argv);
    run_until(&rig, owner.line_count == 1);
    owner.process = NULL; /* so that it is not freed */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exited_is_called_once_and_last),
        TEST(output_of_another_process_is_awaited_for_a_limited_time),
        TEST(output_of_another_process_is_read_up_to_a_limit),
        TEST(terminating_reaches_the_whole_group),
        TEST(a_program_that_ignores_sigterm_is_killed_later),
        TEST(a_child_that_ignores_sigterm_is_killed_with_its_group),
        TEST(a_stopped_program_is_killed_too),
        TEST(freeing_a_running_process_kills_it_without_a_callback),
        TEST(no_callback_follows_a_free_in_a_callback),
        TEST(whether_it_has_ended_is_known_before_the_owner_is_notified),
        TEST(a_status_that_another_waiter_took_does_not_block),
        TEST(a_failed_start_leaves_nothing),
        TEST(a_start_without_descriptors_for_its_pipes_closes_none_of_ours),
        TEST(a_program_may_be_killed_or_freed_before_it_runs),
        TEST(freeing_the_table_ends_programs_that_are_being_started),
        TEST(a_program_has_a_new_directory_that_is_removed_afterwards),
        TEST(the_directory_of_a_running_program_can_be_renamed),
        TEST(an_orphan_of_an_ended_job_is_found_and_killed),
        TEST(reaping_does_not_take_processes_of_the_table),
        TEST(reaping_does_not_take_processes_of_another_table),
        TEST(reaping_does_not_wait_until_no_program_is_to_be_started),
        TEST(a_thousand_processes_leave_no_resources),
        TEST(freeing_the_table_kills_running_programs),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
