/* Kills the program of a sandbox with all that it has started. */
#ifndef ARCP_LAUNCH_SANDBOX_KILL_H
#define ARCP_LAUNCH_SANDBOX_KILL_H

#include <arcp/sys/launcher.h>

/* How long the monitor may take, after the first call, to end the processes that are left. */
#define ARCP__SANDBOX_KILL_GRACE_MS 1000

/* At level full (`has_processes`: the sandbox has a process table of its own) the death of the
 * monitor ends everything inside. Otherwise the program's processes that have left its group are
 * found and killed by the monitor once the program has ended, so the first call kills only the
 * monitor's children, and the monitor ends soon afterwards; call again (`is_repeated`) when it has
 * not ended within the grace. */
void arcp__sandbox_kill(arcp_process *process, bool has_processes, bool is_repeated);

#endif
