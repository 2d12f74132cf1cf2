/* What the programs and the runtime ask before a program is started: whether a command could be,
 * and what a limit in a configuration means. The launcher itself is arcp/sys/launcher.h. */
#ifndef ARCP_LAUNCH_LAUNCH_H
#define ARCP_LAUNCH_LAUNCH_H

#include <arcp/sys/launcher.h>

/* Whether a command's program is where a start would look for it, and its user (NULL: ours) is
 * known; both may come and go until then. ARCP_E_USAGE, with the path or name, when not; or
 * ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__launch_check(const char *const *argv, const char *const *env,
                                               const char *user, arcp_error *err);

/* A resource limit as a configuration has it: a name like "nofile" or "as", a value
 * "SOFT:HARD" or one number for both, "unlimited" for none. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__launch_limit_parse(const char *name, const char *value,
                                                     arcp_launch_limit *out, arcp_error *err);

#endif
