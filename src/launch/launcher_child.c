#include "launch/launcher_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNAL_SET_BYTES (NSIG / 8) /* of the kernel: 8, or 16 on systems with 128 signals */

void arcp__launch_child_fail(const arcp__launch_child *child, arcp__launch_stage stage)
{
    arcp__launch_failure failure = {(int)stage, errno};
    const ssize_t written = write(child->error_fd, &failure, sizeof failure);
    (void)written;
    _exit(127);
}

/* ---- isolate ---- */

static bool place_files(arcp__launch_child *child, const arcp__launch_files *files)
{
    int from[ARCP__LAUNCH_FD_COUNT];
    bool is_low = false;
    for (int i = 0; i < files->count; i++) {
        from[i] = files->from[i];
        is_low = is_low || from[i] < files->count;
    }
    /* If the program that we are in has closed a standard descriptor, some of these may have the
     * numbers 0, 1, 2, ...: move them to higher numbers first. */
    for (int i = 0; is_low && i < files->count; i++) {
        from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, ARCP__LAUNCH_FD_COUNT);
        if (from[i] < 0) {
            return false;
        }
    }
    for (int to = 0; to < files->count; to++) {
        const bool closes = to == ARCP__LAUNCH_ERRORS_FD && !files->keeps_errors;
        if (dup3(from[to], to, closes ? O_CLOEXEC : 0) < 0) {
            return false;
        }
    }
    child->error_fd = ARCP__LAUNCH_ERRORS_FD;
    return syscall(SYS_close_range, (unsigned)files->count, ~0U, 0U) == 0;
}

/* From now on the kernel kills us when our parent exits. getppid detects a parent that had already
 * exited before. */
static void die_with_parent(const arcp__launch_child *child)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != child->parent) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_PARENT);
    }
}

/* Used when the parent could not create us in the cgroup. */
static bool join_cgroup(int directory)
{
    const int fd = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    const bool joined = fd >= 0 && write(fd, "0", 1) == 1;
    if (fd >= 0) {
        const int number = errno;
        (void)close(fd);
        errno = number;
    }
    return joined;
}

static void set_oom_score(const char *score)
{
    size_t size = 0;
    while (score[size] != '\0') {
        size++;
    }
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t written = write(fd, score, size);
        (void)written; /* it may not be allowed */
        (void)close(fd);
    }
}

void arcp__launch_child_isolate(arcp__launch_child *child, const arcp__launch_files *files)
{
    const unsigned long normal[8] = {0};
    const unsigned long none[2] = {0};
    if ((files->begins_session ? setsid() : setpgid(0, 0)) < 0) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_GROUP);
    }
    if (files->cgroup >= 0 && !join_cgroup(files->cgroup)) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_CGROUP);
    }
    for (size_t i = 0; i < files->cgroup_count; i++) {
        if (!join_cgroup(files->cgroups[i])) {
            arcp__launch_child_fail(child, ARCP__LAUNCH_CGROUP);
        }
    }
    if (child->oom_score != NULL) {
        set_oom_score(child->oom_score);
    }
    if (!place_files(child, files)) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_FILES);
    }
    die_with_parent(child);
    /* The parent's handlers must not run here, and signals that it ignores must not be ignored by
     * the program. System calls, because libc refuses to reset the two signals that it reserves,
     * which a parent may ignore as well. The kernel's struct of zeros means the default action. */
    for (int number = 1; number < NSIG; number++) {
        (void)syscall(SYS_rt_sigaction, number, normal, NULL, SIGNAL_SET_BYTES);
    }
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, SIGNAL_SET_BYTES);
}

/* ---- run ---- */

bool arcp__launch_child_become_user(const arcp__launch_child *child)
{
    if (syscall(SYS_setgroups, child->group_count, child->groups) != 0 ||
        syscall(SYS_setresgid, child->gid, child->gid, child->gid) != 0 ||
        syscall(SYS_setresuid, child->uid, child->uid, child->uid) != 0) {
        return false;
    }
    /* Verify that the privileges cannot be regained. */
    if (child->uid != 0 && (syscall(SYS_setresuid, 0, 0, 0) == 0 || geteuid() != child->uid)) {
        errno = EPERM;
        return false;
    }
    /* Nor through a set-user-id program. */
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void arcp__launch_child_run(const arcp__launch_child *child)
{
    for (size_t i = 0; i < child->limit_count; i++) {
        const arcp_launch_limit *from = &child->limits[i];
        struct rlimit limit = {
            .rlim_cur = from->soft == ARCP_LAUNCH_NO_LIMIT ? RLIM_INFINITY : (rlim_t)from->soft,
            .rlim_max = from->hard == ARCP_LAUNCH_NO_LIMIT ? RLIM_INFINITY : (rlim_t)from->hard,
        };
        if (setrlimit((__rlimit_resource_t)from->resource, &limit) != 0) {
            arcp__launch_child_fail(child, ARCP__LAUNCH_LIMITS);
        }
    }
    if (child->switch_user && !arcp__launch_child_become_user(child)) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_USER);
    }
    /* After the change of user, so that a directory that the user may not enter is refused. */
    if (child->cwd != NULL && chdir(child->cwd) != 0) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_CWD);
    }
    if (child->switch_user) {
        die_with_parent(child); /* the change of user has reset it */
    }
    (void)execve(child->program, child->argv, child->env);
    arcp__launch_child_fail(child, ARCP__LAUNCH_EXEC);
}
