/* The files of a cgroup, of both versions: where our own is, and what its limits are. */
#ifndef ARCP_LAUNCH_CGROUP_FILES_H
#define ARCP_LAUNCH_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the directory of the cgroup that this process is in: of version 2 (NULL), or of a
 * controller of version 1. -1: it cannot be seen from here. */
int arcp__cgroup_open_own(const char *controller);

/* Writes a text to a file of a directory. False sets errno. */
bool arcp__cgroup_write(int directory, const char *name, const char *text);

/* The controller of a limit, the bit 1 << limit of arcp__cgroup_limit: "memory", "cpu", "pids". */
const char *arcp__cgroup_controller(size_t limit);

/* Version 2: gives the cgroups below this one, which has no processes, the controllers that it has.
 * Returns those that they have then, as bits of arcp__cgroup_limit. */
unsigned arcp__cgroup_pass_on(int directory);
/* The same for our own cgroup, which this process leaves for a new one below it, named `leaf`. If
 * others stay in it, nothing can be passed on; then this process comes back. */
unsigned arcp__cgroup_delegate(int directory, const char *leaf);

/* Sets a limit (0: none) of a cgroup that has its controller. False sets errno. */
bool arcp__cgroup_set(int directory, size_t limit, bool is_version_1, uint64_t value);

/* How many of its processes the kernel has killed at the limit of memory. */
uint64_t arcp__cgroup_kills(int directory, bool is_version_1);

#endif
