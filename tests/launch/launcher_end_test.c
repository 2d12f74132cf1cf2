/* The direct launcher: how the end of a process is reported, and which processes are killed with
 * it.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launcher_fixture.h"
#include "launch/launcher_watch.h"

/* ---- its end ---- */

static void the_exit_status_of_a_process_is_reported(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *script;
        bool by_signal;
        int code;
    } rows[] = {
        {"exit 0", false, 0},
        {"exit 1", false, 1},
        {"exit 255", false, 255},
        {"kill -TERM $$", true, SIGTERM},
        {"kill -KILL $$", true, SIGKILL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture_run_shell(f, rows[i].script);
        assert_true(f->end.is_known);
        assert_int_equal(f->end.by_signal, rows[i].by_signal);
        assert_int_equal(f->end.code, rows[i].code);
    }
}

static void the_resource_usage_of_a_process_is_reported(void **state)
{
    fixture *f = *state;
    fixture_run_shell(f, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    assert_true(f->end.user_us + f->end.system_us > 0);
    assert_true(f->end.memory_bytes > 100000);
}

static void the_process_group_is_killed_when_its_leader_ends(void **state)
{
    fixture *f = *state;
    fixture_run_shell(f, "(trap '' TERM HUP; exec sleep 1000 >/dev/null 2>&1) & echo pid $!");
    wait_for_end(number_in(line_after(&f->output, "pid ")));
}

static void a_signal_reaches_the_whole_group(void **state)
{
    fixture *f = *state;
    static const char *const argv[] = {"/bin/sh", "-c", "sleep 1000 & echo $!; wait", NULL};
    int out[2];
    char text[16] = "";
    arcp_process *process = NULL;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    f->spec.argv = argv;
    f->spec.stdin_fd = f->spec.stderr_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    f->spec.stdout_fd = out[1];
    check_ok(f->launcher->ops->start(f->launcher, &f->spec, &process, &f->error), &f->error);
    (void)close(f->spec.stdin_fd);
    (void)close(out[1]);
    assert_true(read(out[0], text, sizeof text - 1) > 0);
    f->end.struct_size = sizeof f->end;
    assert_false(process->ops->take_exit(process, &f->end));
    const int watched = watch_process(number_in(text));
    process->ops->signal(process, SIGTERM);
    wait_for_watched(watched);
    wait_for_exit(process);
    assert_true(process->ops->take_exit(process, &f->end));
    assert_int_equal(f->end.code, SIGTERM);
    process->ops->signal(process, SIGTERM); /* the group has no process any more */
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
    (void)close(out[0]);
}

static void release_kills_a_running_process(void **state)
{
    fixture *f = *state;
    static const char *const argv[] = {PROBE, "stubborn", NULL};
    arcp_process *process = fixture_start(f, argv);
    process->ops->free(process);
    assert_false(has_children());
}

static void a_status_that_another_waiter_took_is_reported_as_unknown(void **state)
{
    fixture *f = *state;
    static const char *const argv[] = {"/bin/true", NULL};
    arcp_process *process = fixture_start(f, argv);
    assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
    f->end.struct_size = sizeof f->end;
    assert_true(process->ops->take_exit(process, &f->end));
    assert_false(f->end.is_known);
    process->ops->free(process);
}

static void the_end_of_a_process_is_seen_without_pidfd(void **state)
{
    fixture *f = *state;
    arcp__launch_watch watch;
    siginfo_t info;
    struct rusage used;
    int hold[2];
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 5 : 6); /* waits until the test closes the pipe */
    }
    bool no_pidfd = true;
    check_ok(arcp__launch_watch_init(&watch, pid, &no_pidfd, &f->error), &f->error);
    struct pollfd waited = {.fd = watch.fd, .events = POLLIN};
    assert_int_equal(poll(&waited, 1, 0), 0);
    assert_int_equal(arcp__launch_watch_wait(&watch, WEXITED | WNOHANG, &info, &used), 0);
    assert_int_equal(info.si_pid, 0);
    (void)close(hold[0]);
    (void)close(hold[1]);
    assert_int_equal(poll(&waited, 1, 60000), 1);
    assert_int_equal(arcp__launch_watch_wait(&watch, WEXITED | WNOHANG, &info, &used), 0);
    assert_int_equal(info.si_status, 5);
    arcp__launch_watch_fini(&watch);
}

static void a_thousand_starts_leave_no_descriptors_or_children(void **state)
{
    fixture *f = *state;
    static const char *const argv[] = {"/bin/true", NULL};
    f->spec.argv = argv;
    for (int i = 0; i < 1000; i++) {
        fixture_run(f);
        arcp_buf_clear(&f->output);
    }
    assert_int_equal(open_descriptors(), f->descriptors);
    assert_false(has_children());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(the_exit_status_of_a_process_is_reported),
        FIXTURE_TEST(the_resource_usage_of_a_process_is_reported),
        FIXTURE_TEST(the_process_group_is_killed_when_its_leader_ends),
        FIXTURE_TEST(a_signal_reaches_the_whole_group),
        FIXTURE_TEST(release_kills_a_running_process),
        FIXTURE_TEST(a_status_that_another_waiter_took_is_reported_as_unknown),
        FIXTURE_TEST(the_end_of_a_process_is_seen_without_pidfd),
        FIXTURE_TEST(a_thousand_starts_leave_no_descriptors_or_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
