/* Kills the program of a sandbox that has no process table of its own, with all that it has
 * started. (At level full the death of the monitor ends everything inside.) */
#ifndef ARCP_LAUNCH_SANDBOX_KILL_H
#define ARCP_LAUNCH_SANDBOX_KILL_H

#include <arcp/sys/launcher.h>

/* When to call again, until the monitor has ended. */
#define ARCP__SANDBOX_KILL_AGAIN_MS 50

/* Kills the monitor's children. What a killed process leaves behind is the monitor's child next, so
 * the tree below it becomes smaller with each call. The monitor kills what is left, too, reports
 * the end and ends. One that has not ended after a second is killed, but not while it has a child
 * that lives: only the monitor would find what is left. After ten seconds it is killed all the
 * same, because a process that waits for a disk does not end. `calls`: how many there were before
 * this one. */
void arcp__sandbox_kill(arcp_process *process, unsigned calls);

#endif
