/* The base of a command: the files that its program needs to be read and executed, found on the
 * host. It is authority of the person who gives the command, beside any lease, so as little as
 * works:
 *
 *   P/bin/X, P/sbin/X, P/shims/X   P, if it looks like the prefix of an installation (it has lib,
 *                                  lib64, libexec, share or pyvenv.cfg); else the directory of X
 *   any other program              its directory
 *   the interpreter of `#!`        likewise, and the program that `env` finds there
 *   words of the command           of the first one that names a file: its directory; of later ones
 *                                  only the file; a directory: itself
 *
 * Never /, a directory right below it, HOME, one that holds HOME, nor ~/.local, ~/.cargo,
 * ~/.config: then only what is smaller, at last the file alone. What is below /usr, /bin, /sbin and
 * /lib* is left out, because every sandbox has it. */
#ifndef ARCP_LAUNCH_COMMAND_BASE_H
#define ARCP_LAUNCH_COMMAND_BASE_H

#include "launch/launch.h"

/* Everything is borrowed during the call. */
typedef struct arcp__command_base_query {
    const char *const *argv; /* NULL-terminated */
    const char *path;        /* the value of PATH; NULL: a default */
    const char *home;        /* an absolute path; NULL: unknown */
    bool has_words;          /* argv[1] and on are an operator's configuration: they count, too */
} arcp__command_base_query;

typedef struct arcp__command_base {
    char program[ARCP__LAUNCH_PATH_MAX]; /* as found: absolute, links not resolved */
    char **paths;                        /* owned; canonical, none inside another */
    size_t count;
} arcp__command_base;

/* ARCP_E_NOT_FOUND: there is no such program; ARCP_E_USAGE: it cannot be executed;
 * ARCP_E_NO_MEMORY. Call fini in any case. */
ARCP_MUST_CHECK arcp_status arcp__command_base_find(const arcp__command_base_query *query,
                                                    arcp__command_base *out, arcp_error *err);
void arcp__command_base_fini(arcp__command_base *base);

#endif
