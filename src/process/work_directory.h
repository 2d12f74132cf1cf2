/* Where jobs work: one directory per run of the runtime under a common base, with one
 * directory per job in it, and a note of every process that runs.
 *
 *   <base>/run-XXXXXXXXXXXX/          locked (flock) as long as its runtime lives
 *                           <job>/    mode 0700, the job's, removed with its process
 *                           process-N the note of process N, removed with it
 *
 * Several runtimes may share a base: only directories that nobody has locked are swept. */
#ifndef ARCP_PROCESS_WORK_DIRECTORY_H
#define ARCP_PROCESS_WORK_DIRECTORY_H

#include <stdint.h>
#include <sys/types.h>

#include <arcp/error.h>
#include <arcp/span.h>

typedef struct arcp__work_directory arcp__work_directory;

/* Makes a directory for this run below `base` (made too when only that is missing), after
 * ending what earlier runs left there: `killed` (may be NULL) says how many processes or groups
 * that were. */
ARCP_MUST_CHECK arcp_status arcp__work_directory_open(const char *base, arcp__work_directory **out,
                                                      size_t *killed, arcp_error *err);
/* Removes it and what is in it. NULL is accepted. */
void arcp__work_directory_close(arcp__work_directory *directory);

/* Its absolute path; lives as long as it. */
const char *arcp__work_directory_path(const arcp__work_directory *directory);

/* Notes a process that was just started, and forgets it. A note that cannot be written is
 * no error: it only means that the process would not be swept. */
void arcp__work_directory_note(const arcp__work_directory *directory, pid_t pid);
void arcp__work_directory_forget(const arcp__work_directory *directory, pid_t pid);

/* Makes a directory with mode 0700, owned by `user` when that is not NULL (needs root). */
ARCP_MUST_CHECK arcp_status arcp__directory_make(const char *path, const char *user,
                                                 arcp_error *err);

/* Removes a directory and everything in it; symbolic links are removed, not followed.
 * Takes as long as the tree is large. */
void arcp__directory_remove(const char *path);

/* ---- processes that outlived the run that started them ----
 *
 * The kernel kills an agent with arcpd, but not what the agent itself started, nor an agent
 * that became a set-user-id program. So each start is noted, and the next run ends what is
 * left: only what is certainly the process that was noted, or belongs to its group. */

#define ARCP__BOOT_ID_SIZE    37 /* a UUID and its NUL */
#define ARCP__STRAY_TEXT_SIZE 80

/* One process, for good: numbers come again, this does not. */
typedef struct arcp__stray {
    pid_t pid;        /* also its group's id */
    uint64_t started; /* ticks since boot */
    char boot[ARCP__BOOT_ID_SIZE];
} arcp__stray;

/* Describes a process that runs now. False when it does not. */
bool arcp__stray_identify(pid_t pid, arcp__stray *out);

/* A line: PID STARTED BOOT. Returns its size. */
size_t arcp__stray_format(const arcp__stray *stray, char out[ARCP__STRAY_TEXT_SIZE]);
/* False when it is not exactly that. */
bool arcp__stray_parse(arcp_span text, arcp__stray *out);

/* Kills (SIGKILL) the groups of those that still run: same pid, start time and boot. Of a
 * group whose first process is gone, members are killed that started after it and that show
 * whose they are: they work inside `directory` (may be empty), or have ARCP_JOB_ID in their
 * environment. Returns how many processes or groups got the signal. */
size_t arcp__stray_kill(const arcp__stray *strays, size_t count, arcp_span directory);

#endif
