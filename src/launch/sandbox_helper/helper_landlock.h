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
 * The rules are plan->rules:
 *   - one whose path is absent is skipped, and so is a directory under is_file;
 *   - one whose path has a symbolic link in it is skipped when its class is BASE, or when another
 *     rule has the real path with the same rights; else ELOOP;
 *   - writing is for files, directories, links, FIFOs and sockets, and of class SYSTEM for what is
 *     there: open, and ioctl.
 * The standard descriptors, files and terminals, can be opened again for what they are open for.
 * At level full / can be listed, unless a rule is of a directory that is written and not read (the
 * right is one of all below /), or / is a mount of the host's.
 * Nothing admits devices to be made, or ioctl of devices but those of class SYSTEM.
 *
 * Signals and abstract sockets to processes outside are denied from version 6. At level landlock
 * TCP bind and connect are denied from version 4, but for connections to `proxy_port` (0: none);
 * without one, the filter has no TCP sockets.
 *
 * 0, or an errno; then *path is the path of the rule that failed, or "" (in a static buffer). */
int arcp__helper_landlock(const arcp__sandbox_plan *plan, const arcp__sandbox_abilities *abilities,
                          uint16_t proxy_port, const char **path);

#endif
