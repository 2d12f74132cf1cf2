/* Checks before a program is started: whether a command can be started, and parsing resource
 * limits. The launcher itself is in arcp/sys/launcher.h. */
#ifndef ARCP_LAUNCH_LAUNCH_H
#define ARCP_LAUNCH_LAUNCH_H

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#define ARCP__LAUNCH_PATH_MAX 8192

/* Finds a program as execvp would, but in the directories of `path` (the value of PATH; NULL: a
 * default). A name with a slash is only made absolute: whether it exists is not checked.
 * ARCP_E_USAGE, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__launch_find(const char *name, const char *path,
                                              char out[ARCP__LAUNCH_PATH_MAX], arcp_error *err);

/* Checks that the program of a command can be found and that the user (NULL: ours) exists, which
 * can change until the start. ARCP_E_USAGE names the missing path or user; or ARCP_E_IO,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__launch_check(const char *const *argv, const char *const *env,
                                               const char *user, arcp_error *err);

/* Runs `arcp-sandbox --probe`, which tries what a sandbox needs, and appends what it prints: the
 * abilities of this host as JSON. `path` is the program; NULL: it is searched (base/libexec.h).
 * Blocks, usually for some 20 ms. ARCP_E_NOT_FOUND without the program, ARCP_E_IO when it fails. */
ARCP_MUST_CHECK arcp_status arcp__launch_probe(const char *path, arcp_buf *out, arcp_error *err);

/* Parses a resource limit of a configuration: a name such as "nofile" or "as", and a value
 * "SOFT:HARD", a number for both, or "unlimited". ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__launch_limit_parse(const char *name, const char *value,
                                                     arcp_launch_limit *out, arcp_error *err);

#endif
