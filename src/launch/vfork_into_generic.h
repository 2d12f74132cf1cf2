/* No vfork into a cgroup is known here: the child joins it. Only launcher_direct.c includes this.
 */
#ifndef ARCP_LAUNCH_VFORK_INTO_GENERIC_H
#define ARCP_LAUNCH_VFORK_INTO_GENERIC_H

#include <errno.h>

static inline long vfork_into(int cgroup_fd, void (*run)(void *argument), void *argument)
{
    (void)cgroup_fd;
    (void)run;
    (void)argument;
    return -ENOSYS;
}

#endif
