#include "launch/launcher_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNAL_SET_BYTES (NSIG / 8) /* the kernel's: 8, or 16 where there are 128 signals */

void arcp__launch_child_fail(const arcp__launch_child *child, arcp__launch_stage stage)
{
    arcp__launch_failure failure = {(int)stage, errno};
    ssize_t written = write(child->error_fd, &failure, sizeof(failure));
    (void)written;
    _exit(127);
}

/* ---- isolate ---- */

static bool place_files(arcp__launch_child *child, const arcp__launch_files *files)
{
    int from[ARCP__LAUNCH_ORDERS_FD + 1];
    bool is_low = false;
    for (int at = 0; at < files->count; at++) {
        from[at] = files->from[at];
        is_low = is_low || from[at] < files->count;
    }
    /* Everything is moved out of the way of 0, 1, 2, ... first; needed only by programs that have
     * closed a standard descriptor, so that one of ours has such a number. */
    for (int at = 0; is_low && at < files->count; at++) {
        from[at] = fcntl(from[at], F_DUPFD_CLOEXEC, ARCP__LAUNCH_ORDERS_FD + 1);
        if (from[at] < 0) {
            return false;
        }
    }
    for (int to = 0; to < files->count; to++) {
        bool closes = to >= ARCP__LAUNCH_ERRORS_FD && !files->keep;
        if (dup3(from[to], to, closes ? O_CLOEXEC : 0) < 0) {
            return false;
        }
    }
    child->error_fd = ARCP__LAUNCH_ERRORS_FD;
    return syscall(SYS_close_range, (unsigned)files->count, ~0U, 0U) == 0;
}

/* The kernel kills us with our parent; when it was gone before that was arranged, the
 * other half of this check does. */
static void die_with_parent(const arcp__launch_child *child)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != child->parent) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_PARENT);
    }
}

/* As the parent could not have it born there. */
static bool join_cgroup(int directory)
{
    int fd = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    bool joined = fd >= 0 && write(fd, "0", 1) == 1;
    if (fd >= 0) {
        int number = errno;
        (void)close(fd);
        errno = number;
    }
    return joined;
}

void arcp__launch_child_isolate(arcp__launch_child *child, const arcp__launch_files *files)
{
    const unsigned long normal[8] = {0};
    const unsigned long none[2] = {0};
    if (setpgid(0, 0) != 0) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_GROUP);
    }
    if (files->cgroup >= 0 && !join_cgroup(files->cgroup)) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_CGROUP);
    }
    if (!place_files(child, files)) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_FILES);
    }
    die_with_parent(child);
    /* The parent's handlers must not run here, and what it ignores is its own affair. libc would
     * leave out the two signals that it keeps for itself; a parent may have left those ignored too.
     * All zero is the kernel's struct for the default. */
    for (int number = 1; number < NSIG; number++) {
        (void)syscall(SYS_rt_sigaction, number, normal, NULL, SIGNAL_SET_BYTES);
    }
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, SIGNAL_SET_BYTES);
}

/* ---- run ---- */

static bool become_user(const arcp__launch_child *child)
{
    if (syscall(SYS_setgroups, child->group_count, child->groups) != 0 ||
        syscall(SYS_setresgid, child->gid, child->gid, child->gid) != 0 ||
        syscall(SYS_setresuid, child->uid, child->uid, child->uid) != 0) {
        return false;
    }
    /* That the way back is closed is checked, not assumed. */
    if (child->uid != 0 && (syscall(SYS_setresuid, 0, 0, 0) == 0 || geteuid() != child->uid)) {
        errno = EPERM;
        return false;
    }
    /* Nor does a set-user-id program lead back. */
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void arcp__launch_child_run(const arcp__launch_child *child)
{
    for (size_t at = 0; at < child->limit_count; at++) {
        const arcp_launch_limit *from = &child->limits[at];
        struct rlimit limit = {
            .rlim_cur = from->soft == ARCP_LAUNCH_NO_LIMIT ? RLIM_INFINITY : (rlim_t)from->soft,
            .rlim_max = from->hard == ARCP_LAUNCH_NO_LIMIT ? RLIM_INFINITY : (rlim_t)from->hard,
        };
        if (setrlimit((__rlimit_resource_t)from->resource, &limit) != 0) {
            arcp__launch_child_fail(child, ARCP__LAUNCH_LIMITS);
        }
    }
    if (child->switch_user && !become_user(child)) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_USER);
    }
    /* As the user: a directory that it may not enter is refused here. */
    if (child->cwd != NULL && chdir(child->cwd) != 0) {
        arcp__launch_child_fail(child, ARCP__LAUNCH_CWD);
    }
    if (child->switch_user) {
        die_with_parent(child); /* changing users undid it */
    }
    (void)execve(child->program, child->argv, child->env);
    arcp__launch_child_fail(child, ARCP__LAUNCH_EXEC);
}
