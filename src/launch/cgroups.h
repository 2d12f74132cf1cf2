/* A cgroup (version 2) for the process of each job, below our own. It contains everything that the
 * process starts, even a process that leaves its process group and clears its environment, so that
 * all of it can be killed with the job. Processes of our own user, or of root, can leave it; those
 * of another user cannot.
 *
 *   OUR CGROUP/arcpd.PID.STARTED/1   and 2, 3, ...: for one process each, reused once it is empty
 *
 * Limits need more, and are found when they are asked for: with version 2 controllers that are
 * delegated to us; then we move to a cgroup below our own, because one with processes cannot pass
 * controllers on. With version 1 root: then there is a directory of the same name below our cgroup
 * of each controller, and a process joins one of each.
 *
 * A directory whose PID no longer runs was left by a runtime that was killed; its processes are
 * killed and the directory is removed. All functions are called on the loop's thread. */
#ifndef ARCP_LAUNCH_CGROUPS_H
#define ARCP_LAUNCH_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>

#include "sandbox/sandbox.h"

typedef struct arcp__cgroups arcp__cgroups;

/* NULL: cgroups cannot be created (no cgroup2 file system, no permission, a kernel before 5.14). */
arcp__cgroups *arcp__cgroups_open(void);
/* Kills the remaining processes, waits at most a second for their end, and removes the cgroups.
 * NULL is accepted. */
void arcp__cgroups_close(arcp__cgroups *cgroups);

/* Takes an empty cgroup and returns its number; 0: none could be created. *directory_fd is set to a
 * descriptor of its directory, which the caller closes. `cgroups` may be NULL. */
unsigned arcp__cgroups_take(arcp__cgroups *cgroups, int *directory_fd);
/* Limits that cgroups can have, as bits. */
typedef enum arcp__cgroup_limit {
    ARCP__CGROUP_MEMORY = 1,
    ARCP__CGROUP_CPU = 2,
    ARCP__CGROUP_PIDS = 4,
} arcp__cgroup_limit;

#define ARCP__CGROUP_LIMITS 3 /* kinds */

/* Of all processes in the cgroup together; 0: not limited. */
typedef struct arcp__cgroup_limits {
    uint64_t memory_bytes; /* with what is swapped out */
    uint32_t cpu_percent;  /* of one processor */
    uint32_t pids;         /* processes and threads */
} arcp__cgroup_limits;

/* The limits that a plan leaves to the cgroup of its process. */
arcp__cgroup_limits arcp__cgroup_limits_of(const arcp__sandbox_limits *limits);

/* Returns the limits that cgroups can have here, as bits; the first call finds out. `cgroups` may
 * be NULL: none. */
unsigned arcp__cgroups_find_limits(arcp__cgroups *cgroups);

/* Sets the limits of a cgroup that was taken. fds: one for each limit that needs a cgroup of its
 * own (version 1), which the process joins; else -1, also on failure. ARCP_E_IO, also for a limit
 * that cannot be had, and without a cgroup (0). */
ARCP_MUST_CHECK arcp_status arcp__cgroups_limit(arcp__cgroups *cgroups, unsigned number,
                                                const arcp__cgroup_limits *limits,
                                                int fds[ARCP__CGROUP_LIMITS], arcp_error *err);

void arcp__cgroup_close(int fds[ARCP__CGROUP_LIMITS]);

/* Whether the kernel has killed a process of the cgroup at its limit of memory, since the limit was
 * set. Before arcp__cgroups_end. */
bool arcp__cgroups_has_run_out(const arcp__cgroups *cgroups, unsigned number);

/* Kills everything in the cgroup and makes it available again. 0 is accepted. */
void arcp__cgroups_end(arcp__cgroups *cgroups, unsigned number);

#endif
