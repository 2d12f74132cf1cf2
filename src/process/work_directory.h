/* Work directories: one directory per run of the runtime under a common base, which contains a
 * directory for each job and a note for each running process.
 *
 *   <base>/run-XXXXXXXXXXXX/          locked (flock) while its runtime runs
 *                           <job>/    work directory of a job (0700), removed with its process
 *                           process-N note about process N, removed with it
 *   <base>/etc-UID/           what is prepared for sandboxes (launch/sandbox_etc.h), of all runs
 *
 * Several runtimes may share a base: only directories that are not locked are cleaned up. */
#ifndef ARCP_PROCESS_WORK_DIRECTORY_H
#define ARCP_PROCESS_WORK_DIRECTORY_H

#include <stdint.h>
#include <sys/types.h>

#include <arcp/error.h>
#include <arcp/span.h>

#include "process/process.h"

typedef struct arcp__work_directory arcp__work_directory;

/* Creates a directory for this run in `base` (which is created if only its last component is
 * missing), after cleaning up after earlier runs. *killed (may be NULL) is the number of their
 * processes or groups that were killed. */
ARCP_MUST_CHECK arcp_status arcp__work_directory_open(const char *base, arcp__work_directory **out,
                                                      size_t *killed, arcp_error *err);
/* Removes the directory and its contents. NULL is accepted. */
void arcp__work_directory_close(arcp__work_directory *directory);

/* The absolute path, and that of the base; valid until close. */
const char *arcp__work_directory_path(const arcp__work_directory *directory);
arcp_span arcp__work_directory_base(const arcp__work_directory *directory);

/* Writes and removes the note about a process. Failing to write it is not an error: the next run
 * would only not find the process if it became an orphan. */
void arcp__work_directory_note(const arcp__work_directory *directory, pid_t pid);
void arcp__work_directory_forget(const arcp__work_directory *directory, pid_t pid);

/* Creates a directory with mode 0700, owned by `user` if that is not NULL (needs root). */
ARCP_MUST_CHECK arcp_status arcp__directory_make(const char *path, const char *user,
                                                 arcp_error *err);

/* Creates a file with mode 0600 in a directory that was just made, owned by `user` if that is not
 * NULL (needs root). */
ARCP_MUST_CHECK arcp_status arcp__directory_add(const char *path, const char *name, arcp_span text,
                                                const char *user, arcp_error *err);

/* ---- orphans: processes that outlived the run that started them ----
 *
 * When arcpd exits, the kernel kills its agents, but neither the children of agents, nor an agent
 * that has executed a set-user-id program. Therefore a note is written about each process, and the
 * next run kills the processes of the notes and their groups, provided that they are certainly the
 * same processes. */

#define ARCP__ORPHAN_TEXT_SIZE 80

/* Identifies a process uniquely; a pid alone can be reused. */
typedef struct arcp__orphan {
    pid_t pid;        /* also its group's id */
    uint64_t started; /* ticks since boot */
    char boot[ARCP__BOOT_ID_SIZE];
} arcp__orphan;

/* Identifies a running process. False if there is none with this pid. */
bool arcp__orphan_identify(pid_t pid, arcp__orphan *out);

/* Formats a line: PID STARTED BOOT. Returns its size. */
size_t arcp__orphan_format(const arcp__orphan *orphan, char out[ARCP__ORPHAN_TEXT_SIZE]);
/* False if the text is not exactly such a line. */
bool arcp__orphan_parse(arcp_span text, arcp__orphan *out);

/* Sends SIGKILL to the groups of the processes that still run: same pid, start time and boot. If
 * the leader of a group has exited, those members are killed that started after it and that belong
 * to a job: their current directory is inside `directory` (may be empty), or they have ARCP_JOB_ID
 * in their environment. Returns the number of processes or groups that were killed. */
size_t arcp__orphan_kill(const arcp__orphan *orphans, size_t count, arcp_span directory);

#endif
