/* Platforms without vfork into a cgroup: the child joins it. Included by launcher_direct.c only. */
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
