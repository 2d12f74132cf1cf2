/* A cgroup (version 2) for the process of each job, below our own. It contains everything that the
 * process starts, even a process that leaves its process group and clears its environment, so that
 * all of it can be killed with the job. Processes of our own user, or of root, can leave it; those
 * of another user cannot.
 *
 *   OUR CGROUP/arcpd.PID.STARTED/1   and 2, 3, ...: for one process each, reused once it is empty
 *
 * A directory whose PID no longer runs was left by a runtime that was killed; its processes are
 * killed and the directory is removed. All functions are called on the loop's thread. */
#ifndef ARCP_LAUNCH_CGROUPS_H
#define ARCP_LAUNCH_CGROUPS_H

#include <arcp/error.h>

typedef struct arcp__cgroups arcp__cgroups;

/* NULL: cgroups cannot be created (no cgroup2 file system, no permission, a kernel before 5.14). */
arcp__cgroups *arcp__cgroups_open(void);
/* Kills the remaining processes, waits at most a second for their end, and removes the cgroups.
 * NULL is accepted. */
void arcp__cgroups_close(arcp__cgroups *cgroups);

/* Takes an empty cgroup and returns its number; 0: none could be created. *directory_fd is set to a
 * descriptor of its directory, which the caller closes. `cgroups` may be NULL. */
unsigned arcp__cgroups_take(arcp__cgroups *cgroups, int *directory_fd);
/* Kills everything in the cgroup and makes it available again. 0 is accepted. */
void arcp__cgroups_end(arcp__cgroups *cgroups, unsigned number);

#endif
