/* A cgroup (version 2) for the process of each job, below our own: everything that the process
 * starts is in it, also what leaves its process group and clears its environment, and is killed
 * with the job. Processes with our user, or root's, could leave it; those of another user cannot.
 *
 *   OUR CGROUP/arcpd.PID.STARTED/1   and 2, 3, ...: one process each, used again when it is gone
 *
 * A directory whose PID no longer runs was left by a runtime that was killed: what lives there is
 * killed, and the directory removed. One thread, the loop's. */
#ifndef ARCP_LAUNCH_CGROUPS_H
#define ARCP_LAUNCH_CGROUPS_H

#include <arcp/error.h>

typedef struct arcp__cgroups arcp__cgroups;

/* NULL: no cgroup can be made here (no cgroup2 file system, no right to, a kernel before 5.14). */
arcp__cgroups *arcp__cgroups_open(void);
/* Kills what is left in them, waits for its end for at most a second, and removes them. NULL is
 * accepted. */
void arcp__cgroups_close(arcp__cgroups *cgroups);

/* One that is empty. Writes a descriptor of its directory to *directory_fd; the caller closes it.
 * Returns its number; 0: none could be made. `cgroups` may be NULL. */
unsigned arcp__cgroups_take(arcp__cgroups *cgroups, int *directory_fd);
/* Kills everything that is in it; it may be taken again. 0 is accepted. */
void arcp__cgroups_end(arcp__cgroups *cgroups, unsigned number);

#endif
