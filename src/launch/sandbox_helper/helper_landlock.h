/* Landlock: which files a process and its children may open, make, remove and execute. */
#ifndef ARCP_LAUNCH_HELPER_LANDLOCK_H
#define ARCP_LAUNCH_HELPER_LANDLOCK_H

#include <stdint.h>

#include "sandbox/sandbox.h"

/* The version of Landlock's interface that the kernel has; 0: none. */
uint32_t arcp__helper_landlock_version(void);

/* Confines the calling thread, for good, to what `plan` admits. The process must have one thread,
 * no_new_privs (arcp__helper_capabilities_drop), and at level full the root of the sandbox. Of
 * `abilities` it reads LANDLOCK: rights that a newer kernel knows are not used, what an older one
 * cannot express is denied.
 *
 * The rules are
 *   - plan->rules; one whose path is absent is skipped, and so is a directory under is_file. A
 *     path with a symbolic link in it is skipped when another rule has the real path with the
 *     same rights, else ELOOP;
 *   - of plan->mounts, by their targets: PRIVATE and FRESH everything, BASE and ETC reading and
 *     executing (absent ones and links are skipped). Other kinds give nothing: their rules are in
 *     plan->rules;
 *   - /proc reading;
 *   - level full: /dev (the sandbox's own) reading, writing and ioctl; / listing when no rule of
 *     the plan writes without reading (a rule is of all below it, too);
 *   - level landlock: /dev/null, zero, full, random, urandom reading and writing; tty when the
 *     plan has a terminal. No pseudoterminals: /dev/pts has those of the user, too.
 * Nothing admits devices to be made, or ioctl of devices outside /dev.
 *
 * Signals and abstract sockets to processes outside are denied from version 6. At level landlock
 * TCP bind and connect are denied from version 4; before, the filter has no TCP sockets.
 *
 * 0, or an errno; then *path is the path of the rule that failed, or "" (in a static buffer). */
int arcp__helper_landlock(const arcp__sandbox_plan *plan, const arcp__sandbox_abilities *abilities,
                          const char **path);

#endif
