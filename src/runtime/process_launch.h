/* Starting a program: the direct way. */
#ifndef ARCP_RUNTIME_PROCESS_LAUNCH_H
#define ARCP_RUNTIME_PROCESS_LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

#include <arcp/error.h>

/* What is to be started. Borrowed during the call. Zero what is not needed. */
typedef struct arcp__launch_spec {
    const char *const *argv;            /* NULL-terminated; argv[0] is looked for in PATH */
    const char *const *env;             /* NULL-terminated NAME=VALUE, the whole environment */
    const char *cwd;                    /* NULL: ours */
    const char *user;                   /* NULL: ours; needs root otherwise */
    int stdin_fd, stdout_fd, stderr_fd; /* the child's ends; the caller closes its copies */
} arcp__launch_spec;

/* A started process. */
typedef struct arcp__launched {
    pid_t pid;      /* also the id of its process group */
    int process_fd; /* readable when it has ended (a pidfd); the caller closes it */
} arcp__launched;

/* Starts the process as the leader of a group of its own, that dies when the calling
 * thread's process does, with no descriptor of ours but the three. When this returns
 * ARCP_OK the program itself runs (exec succeeded). Blocks for that long (about a
 * millisecond). ARCP_E_IO, ARCP_E_USAGE: the message names program and reason. */
ARCP_MUST_CHECK arcp_status arcp__process_launch(const arcp__launch_spec *spec, arcp__launched *out,
                                                 arcp_error *err);

#endif
