#include "launch/sandbox_kill.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/directory.h"
#include "launch/proc_stat.h"

static void kill_child(void *user, const arcp__proc_stat *found)
{
    const arcp_process *monitor = user;
    arcp__proc_stat now;
    if (found->parent != monitor->pid) {
        return;
    }
    const int fd = (int)syscall(SYS_pidfd_open, found->pid, 0);
    /* The descriptor is of this process only if it is still there. */
    if (fd >= 0 && arcp__proc_stat_read(found->pid, &now) && now.started == found->started) {
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    arcp__close(fd);
}

void arcp__sandbox_kill(arcp_process *process, bool has_processes, bool is_repeated)
{
    if (has_processes || is_repeated) {
        process->ops->signal(process, SIGKILL);
    } else {
        arcp__proc_each(kill_child, process);
    }
}
