/* Children that confine themselves and then try something. */
#ifndef ARCP_TESTS_CONFINED_CHILD_H
#define ARCP_TESTS_CONFINED_CHILD_H

#include <grp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

#define NOBODY 65534

/* Exit statuses of a child that did not come to its trial. */
enum { CHILD_NO_USER = 201, CHILD_NOT_CONFINED = 202 };

/* Changes this process to the unprivileged user, by system calls; false: it may not. */
static inline bool become_nobody(void)
{
    return syscall(SYS_setgroups, 0, NULL) == 0 &&
           syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) == 0 &&
           syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0 &&
           prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

/* The wait status of a child that runs `trial` and exits with what it returns. The child is the
 * unprivileged user when `as_nobody`. */
static inline int child_status(int (*trial)(void *), void *user, bool as_nobody)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (as_nobody && !become_nobody()) {
            _exit(CHILD_NO_USER);
        }
        _exit(trial(user));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static inline int child_result(int (*trial)(void *), void *user, bool as_nobody)
{
    const int status = child_status(trial, user, as_nobody);
    if (!WIFEXITED(status)) {
        fail_msg("the child was killed by signal %d", WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

#endif
