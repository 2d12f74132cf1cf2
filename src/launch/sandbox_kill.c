#include "launch/sandbox_kill.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/directory.h"
#include "launch/proc_stat.h"

#define MONITOR_CALLS (1000u / ARCP__SANDBOX_KILL_AGAIN_MS)
#define LAST_CALL     (10000u / ARCP__SANDBOX_KILL_AGAIN_MS)

typedef struct children {
    const arcp_process *monitor;
    bool has_one; /* that had not ended */
} children;

static void kill_child(void *user, const arcp__proc_stat *found)
{
    children *of = user;
    arcp__proc_stat now;
    if (found->parent != of->monitor->pid || found->state == 'Z') {
        return;
    }
    of->has_one = true;
    const int fd = (int)syscall(SYS_pidfd_open, found->pid, 0);
    /* The descriptor is of this process only if it is still there. */
    if (fd >= 0 && arcp__proc_stat_read(found->pid, &now) && now.started == found->started) {
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    arcp__close(fd);
}

void arcp__sandbox_kill(arcp_process *process, unsigned calls)
{
    children of = {.monitor = process};
    arcp__proc_each(kill_child, &of);
    if ((calls >= MONITOR_CALLS && !of.has_one) || calls >= LAST_CALL) {
        process->ops->signal(process, SIGKILL);
    }
}
