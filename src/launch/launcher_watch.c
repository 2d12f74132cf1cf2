#include "launch/launcher_watch.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"

#define STACK_BYTES 65536u

static void *wait_for_end(void *argument)
{
    const arcp__launch_watch *watch = argument;
    const uint64_t one = 1;
    siginfo_t info;
    while (waitid(P_PID, (id_t)watch->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    ssize_t written = write(watch->fd, &one, sizeof(one));
    (void)written; /* an eventfd takes it */
    return NULL;
}

static arcp_status init_thread(arcp__launch_watch *watch, pid_t pid, arcp_error *err)
{
    *watch = (arcp__launch_watch){.fd = eventfd(0, EFD_CLOEXEC), .pid = pid, .has_thread = true};
    int result = watch->fd < 0
                     ? errno
                     : arcp__thread_start_sized(&watch->thread, STACK_BYTES, wait_for_end, watch);
    if (result == 0) {
        return ARCP_OK;
    }
    if (watch->fd >= 0) {
        (void)close(watch->fd);
    }
    return arcp_error_set(err, ARCP_E_IO, "a process cannot be watched: %s", strerror(result));
}

arcp_status arcp__launch_watch_init(arcp__launch_watch *watch, pid_t pid, bool *no_pidfd,
                                    arcp_error *err)
{
    int fd = *no_pidfd ? -1 : (int)syscall(SYS_pidfd_open, pid, 0); /* closes on exec */
    if (fd >= 0) {
        *watch = (arcp__launch_watch){.fd = fd, .pid = pid};
        return ARCP_OK;
    }
    *no_pidfd = *no_pidfd || errno == ENOSYS || errno == EPERM;
    if (*no_pidfd) {
        return init_thread(watch, pid, err);
    }
    return arcp_error_set(err, ARCP_E_IO, "a process cannot be watched: %s", strerror(errno));
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
    /* libc's waitid has no place for what the process used. */
    info->si_pid = 0;
    return (int)syscall(SYS_waitid, watch->has_thread ? P_PID : P_PIDFD,
                        watch->has_thread ? watch->pid : watch->fd, info, options, used);
}
