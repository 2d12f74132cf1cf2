/* The direct launcher puts a process into a cgroup, with and without clone3. Where cgroups
 * cannot be created, the tests are skipped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launcher_fixture.h"

#include "launch/cgroups.h"

/* Runs a program in a cgroup of its own; whether it found itself there. */
static bool runs_in_its_cgroup(fixture *f, arcp__cgroups *cgroups)
{
    static const char *const show[] = {"/bin/cat", "/proc/self/cgroup", NULL};
    char want[64];
    const unsigned number = arcp__cgroups_take(cgroups, &f->spec.cgroup_fd);
    assert_int_not_equal(number, 0);
    f->spec.argv = show;
    arcp_buf_clear(&f->output);
    fixture_run(f);
    (void)close(f->spec.cgroup_fd);
    arcp__cgroups_end(cgroups, number);
    const char *found = line_after(&f->output, "0::");
    (void)snprintf(want, sizeof want, "/arcpd.%d.", (int)getpid());
    const char *ours = found == NULL ? NULL : strstr(found, want);
    (void)snprintf(want, sizeof want, "/%u", number);
    return ours != NULL && f->end.code == 0 &&
           strcmp(ours + strlen(ours) - strlen(want), want) == 0;
}

static arcp__cgroups *need_cgroups(void)
{
    arcp__cgroups *cgroups = arcp__cgroups_open();
    if (cgroups == NULL) {
        print_message("no cgroup can be made here\n");
        skip();
    }
    return cgroups;
}

static void a_process_is_in_the_given_cgroup(void **state)
{
    arcp__cgroups *cgroups = need_cgroups();
    assert_true(runs_in_its_cgroup(*state, cgroups));
    arcp__cgroups_close(cgroups);
}

/* Linux kills processes that are started in a cgroup that was killed, even when it is empty again.
 */
static void a_process_in_a_cgroup_that_was_killed_before_survives(void **state)
{
    fixture *f = *state;
    arcp__cgroups *cgroups = need_cgroups();
    for (int round = 0; round < 4; round++) {
        int directory = -1;
        const unsigned number = arcp__cgroups_take(cgroups, &directory);
        assert_int_not_equal(number, 0);
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            const int join = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
            if (write(join, "0", 1) == 1) {
                (void)raise(SIGSTOP); /* only a kill ends this */
            }
            _exit(1);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
        (void)close(directory);
        arcp__cgroups_end(cgroups, number);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_true(runs_in_its_cgroup(f, cgroups));
    }
    arcp__cgroups_close(cgroups);
}

/* As the filters of some containers do. */
static bool forbid(long number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a process of its own, because the filter cannot be removed again. */
static void check_without(fixture *f, long number)
{
    arcp__cgroups_close(need_cgroups());
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        arcp__cgroups *own = arcp__cgroups_open();
        const bool is_there = own != NULL && forbid(number) && runs_in_its_cgroup(f, own);
        arcp__cgroups_close(own);
        _exit(is_there ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void without_clone3_it_joins_the_cgroup(void **state)
{
    check_without(*state, SYS_clone3);
}

#if defined(__x86_64__)
/* The child must not join the cgroup: that would block the loop for an RCU grace period. */
static void a_process_is_started_in_the_cgroup(void **state)
{
    check_without(*state, SYS_vfork);
}
#endif

/* A service that is started again where an earlier one was killed. */
static void a_process_survives_if_our_own_cgroup_was_killed_before(void **state)
{
    arcp__cgroups *cgroups = need_cgroups();
    int directory = -1;
    const unsigned number = arcp__cgroups_take(cgroups, &directory);
    assert_int_not_equal(number, 0);
    const int kills = openat(directory, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(kills, "1", 1), 1);
    (void)close(kills);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const int join = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        bool is_there = write(join, "0", 1) == 1;
        (void)close(join);
        arcp__cgroups *own = arcp__cgroups_open();
        is_there = is_there && own != NULL && runs_in_its_cgroup(*state, own);
        arcp__cgroups_close(own);
        _exit(is_there ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(directory);
    arcp__cgroups_end(cgroups, number);
    arcp__cgroups_close(cgroups);
    assert_int_equal(status, 0);
}

/* The current directory is not a cgroup: neither method may succeed. */
static void a_directory_that_is_not_a_cgroup_is_refused(void **state)
{
    fixture *f = *state;
    arcp_process *process = NULL;
    const int directory = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    f->spec.cgroup_fd = directory;
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd = nothing;
    assert_int_equal(f->launcher->ops->start(f->launcher, &f->spec, &process, &f->error),
                     ARCP_E_IO);
    assert_non_null(strstr(f->error.message, "its cgroup"));
    (void)close(nothing);
    (void)close(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(a_process_is_in_the_given_cgroup),
        FIXTURE_TEST(a_process_in_a_cgroup_that_was_killed_before_survives),
        FIXTURE_TEST(without_clone3_it_joins_the_cgroup),
#if defined(__x86_64__)
        FIXTURE_TEST(a_process_is_started_in_the_cgroup),
#endif
        FIXTURE_TEST(a_process_survives_if_our_own_cgroup_was_killed_before),
        FIXTURE_TEST(a_directory_that_is_not_a_cgroup_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
