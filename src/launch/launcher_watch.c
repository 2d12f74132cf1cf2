#include "launch/launcher_watch.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/thread.h"

#define STACK_BYTES 65536u

static void *wait_for_end(void *argument)
{
    const arcp__launch_watch *watch = argument;
    const uint64_t one = 1;
    siginfo_t info;
    while (waitid(P_PID, (id_t)watch->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    const ssize_t written = write(watch->fd, &one, sizeof one);
    (void)written; /* this cannot fail on a new eventfd */
    return NULL;
}

arcp_status arcp__launch_watch_init(arcp__launch_watch *watch, pid_t pid, bool *no_pidfd,
                                    arcp_error *err)
{
    int number = ENOSYS;
    *watch = (arcp__launch_watch){.fd = -1, .pid = pid};
    if (!*no_pidfd) {
        watch->fd = (int)syscall(SYS_pidfd_open, pid, 0); /* closes on exec */
        number = watch->fd < 0 ? errno : 0;
        *no_pidfd = number == ENOSYS || number == EPERM;
    }
    if (*no_pidfd) {
        watch->has_thread = true;
        watch->fd = eventfd(0, EFD_CLOEXEC);
        number = watch->fd < 0
                     ? errno
                     : arcp__thread_start_sized(&watch->thread, STACK_BYTES, wait_for_end, watch);
    }
    if (number == 0) {
        return ARCP_OK;
    }
    arcp__close(watch->fd);
    return arcp_error_set(err, ARCP_E_IO, "cannot watch a process: %s", strerror(number));
}

void arcp__launch_watch_fini(arcp__launch_watch *watch)
{
    if (watch->has_thread) {
        (void)pthread_join(watch->thread, NULL);
    }
    (void)close(watch->fd);
}

int arcp__launch_watch_wait(const arcp__launch_watch *watch, int options, siginfo_t *info,
                            struct rusage *used)
{
    /* libc's waitid has no parameter for the resource usage. */
    info->si_pid = 0;
    return (int)syscall(SYS_waitid, watch->has_thread ? P_PID : P_PIDFD,
                        watch->has_thread ? watch->pid : watch->fd, info, options, used);
}
