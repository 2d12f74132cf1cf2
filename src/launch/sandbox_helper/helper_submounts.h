/* File systems of the kernel among the mounts of the host. */
#ifndef ARCP_LAUNCH_HELPER_SUBMOUNTS_H
#define ARCP_LAUNCH_HELPER_SUBMOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCP__HELPER_TYPE_MAX 32

/* Whether files of this type (f_type of statfs) are the kernel's: what is written to them changes
 * the system. */
bool arcp__helper_is_kernel_type(uint64_t type);

/* The text of /proc/self/mountinfo, which the caller frees with arcp__free; NULL sets errno. */
char *arcp__helper_read_mountinfo(void);

/* Whether the mount that a path lies in, by the longest mount point above it, is of such a type:
 * devtmpfs looks like tmpfs in statfs. */
bool arcp__helper_is_in_kernel_mount(const char *mountinfo, const char *path);

/* Goes through the mounts of such types below a directory, in their order: parents first. One below
 * another of the list is left out. */
typedef struct arcp__helper_submounts {
    const char *rest;
    const char *below;
    char last[4096];
} arcp__helper_submounts;

arcp__helper_submounts arcp__helper_submounts_of(const char *mountinfo, const char *below);
/* The next mount's path and type; false: there is none. */
bool arcp__helper_submounts_next(arcp__helper_submounts *list, char path[4096],
                                 char type[ARCP__HELPER_TYPE_MAX]);

#endif
