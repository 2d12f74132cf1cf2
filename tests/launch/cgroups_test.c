/* A cgroup for each agent's process: a process that leaves the process group is killed with it.
 * Where cgroups cannot be created, the tests are skipped. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

#include "launch/cgroups.h"
#include "support/process_support.h"

#define ROUNDS       8u
#define OTHERS       4u
#define PATIENCE_SEC 30u

static arcp__cgroups *cgroups;
static size_t descriptors;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    descriptors = open_descriptors();
    cgroups = arcp__cgroups_open();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arcp__cgroups_close(cgroups);
    assert_int_equal(open_descriptors(), descriptors);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return 0;
}

static void need_cgroups(void)
{
    if (cgroups == NULL) {
        print_message("no cgroup can be made here\n");
        skip();
    }
}

static void a_process_that_hides_ends_with_its_cgroup(void **state)
{
    (void)state;
    need_cgroups();
    int directory_fd = -1;
    pid_t pid = 0;
    const unsigned number = arcp__cgroups_take(cgroups, &directory_fd);
    assert_int_not_equal(number, 0);
    const int watched = start_hidden(directory_fd, &pid);
    (void)close(directory_fd);
    arcp__cgroups_end(cgroups, number);
    wait_for_watched(watched);
}

static void another_job_is_not_touched(void **state)
{
    (void)state;
    need_cgroups();
    int first_fd = -1;
    int second_fd = -1;
    pid_t first = 0;
    pid_t second = 0;
    const unsigned one = arcp__cgroups_take(cgroups, &first_fd);
    const unsigned two = arcp__cgroups_take(cgroups, &second_fd);
    assert_int_not_equal(one, two);
    const int first_watched = start_hidden(first_fd, &first);
    const int second_watched = start_hidden(second_fd, &second);
    (void)close(first_fd);
    (void)close(second_fd);
    arcp__cgroups_end(cgroups, one);
    wait_for_watched(first_watched);
    assert_int_equal(kill(second, 0), 0);
    arcp__cgroups_end(cgroups, two);
    wait_for_watched(second_watched);
}

static void an_empty_cgroup_is_used_again(void **state)
{
    (void)state;
    need_cgroups();
    int directory_fd = -1;
    const unsigned first = arcp__cgroups_take(cgroups, &directory_fd);
    (void)close(directory_fd);
    arcp__cgroups_end(cgroups, first);
    const unsigned again = arcp__cgroups_take(cgroups, &directory_fd);
    (void)close(directory_fd);
    assert_int_equal(again, first);
    arcp__cgroups_end(cgroups, again);
}

static void closing_kills_the_remaining_processes(void **state)
{
    (void)state;
    need_cgroups();
    int directory_fd = -1;
    pid_t pid = 0;
    assert_int_not_equal(arcp__cgroups_take(cgroups, &directory_fd), 0);
    const int watched = start_hidden(directory_fd, &pid);
    (void)close(directory_fd);
    arcp__cgroups_close(cgroups);
    wait_for_watched(watched);
    /* The directory is removed, so the same process may create it again. */
    cgroups = arcp__cgroups_open();
    assert_non_null(cgroups);
}

/* Kills a runtime that has a process in one of its cgroups; returns that process. */
static pid_t leave_behind(void)
{
    int out[2];
    int status = 0;
    pid_t hidden = 0;
    assert_int_equal(pipe(out), 0);
    const pid_t runtime = fork();
    assert_true(runtime >= 0);
    if (runtime == 0) {
        int directory_fd = -1;
        pid_t pid = 0;
        arcp__cgroups *own = arcp__cgroups_open();
        if (own == NULL || arcp__cgroups_take(own, &directory_fd) == 0) {
            _exit(1);
        }
        (void)start_hidden(directory_fd, &pid);
        (void)(write(out[1], &pid, sizeof pid) + raise(SIGKILL));
        _exit(1);
    }
    assert_int_equal(waitpid(runtime, &status, 0), runtime);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(read(out[0], &hidden, sizeof hidden), sizeof hidden);
    (void)close(out[0]);
    (void)close(out[1]);
    return hidden;
}

static void processes_of_a_killed_runtime_are_killed_by_the_next_one(void **state)
{
    (void)state;
    need_cgroups();
    const int watched = watch_process(leave_behind());
    assert_true(watched >= 0);
    arcp__cgroups_close(cgroups);
    cgroups = arcp__cgroups_open();
    assert_non_null(cgroups);
    wait_for_watched(watched);
}

/* One of them removes the cgroup while the others still wait for its end. */
static void several_runtimes_may_clean_up_the_same_cgroup(void **state)
{
    (void)state;
    need_cgroups();
    for (unsigned round = 0; round < ROUNDS; round++) {
        pid_t others[OTHERS];
        const int watched = watch_process(leave_behind());
        for (size_t i = 0; i < OTHERS; i++) {
            others[i] = fork();
            assert_true(others[i] >= 0);
            if (others[i] == 0) {
                (void)alarm(PATIENCE_SEC);
                arcp__cgroups *own = arcp__cgroups_open();
                arcp__cgroups_close(own);
                _exit(own == NULL ? 1 : 0);
            }
        }
        for (size_t i = 0; i < OTHERS; i++) {
            int status = -1;
            assert_int_equal(waitpid(others[i], &status, 0), others[i]);
            assert_int_equal(status, 0);
        }
        wait_for_watched(watched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_hides_ends_with_its_cgroup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_job_is_not_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_cgroup_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_kills_the_remaining_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_of_a_killed_runtime_are_killed_by_the_next_one,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_runtimes_may_clean_up_the_same_cgroup, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
