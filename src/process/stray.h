/* Processes that outlived the run that started them.
 *
 * The kernel kills an agent with arcpd, but not what the agent itself started, nor an agent
 * that became a set-user-id program. So each start is noted, and the next run ends what is
 * left: only what is certainly the process that was noted, or belongs to its group. */
#ifndef ARCP_PROCESS_STRAY_H
#define ARCP_PROCESS_STRAY_H

#include <stdint.h>
#include <sys/types.h>

#include <arcp/buf.h>

#define ARCP__BOOT_ID_SIZE 37 /* a UUID and its NUL */

/* One process, for good: numbers come again, this does not. */
typedef struct arcp__stray {
    pid_t pid;        /* also its group's id */
    uint64_t started; /* ticks since boot */
    char boot[ARCP__BOOT_ID_SIZE];
} arcp__stray;

/* Describes a process that runs now. False when it does not. */
bool arcp__stray_identify(pid_t pid, arcp__stray *out);

/* Appends a line: PID STARTED BOOT. */
void arcp__stray_format(const arcp__stray *stray, arcp_buf *out);
/* False when it is not exactly that. */
bool arcp__stray_parse(arcp_span text, arcp__stray *out);

/* Kills (SIGKILL) the groups of those that still run: same pid, start time and boot. Of a
 * group whose first process is gone, members are killed that started after it and that show
 * whose they are: they work inside `directory` (may be empty), or have ARCP_JOB_ID in their
 * environment. Returns how many processes or groups got the signal. */
size_t arcp__stray_kill(const arcp__stray *strays, size_t count, arcp_span directory);

#endif
