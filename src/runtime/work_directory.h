/* Directories that jobs work in, and traces of their processes: made here, swept here. */
#ifndef ARCP_RUNTIME_WORK_DIRECTORY_H
#define ARCP_RUNTIME_WORK_DIRECTORY_H

#include <sys/types.h>

#include <arcp/error.h>

/* Makes a directory with mode 0700, owned by `user` when that is not NULL (needs root). */
ARCP_MUST_CHECK arcp_status arcp__work_directory_make(const char *path, const char *user,
                                                      arcp_error *err);
/* Removes a directory and everything in it; symbolic links are removed, not followed. */
void arcp__work_directory_remove(const char *path);

/* Notes a running process in `base` (a small file), and forgets it. */
void arcp__process_note(const char *base, pid_t pid);
void arcp__process_forget(const char *base, pid_t pid);

/* After a restart: kills the groups of noted processes that still run (same pid, start
 * time and boot), and removes what jobs left in `base`. Returns how many were killed. */
unsigned arcp__work_directory_sweep(const char *base);

#endif
