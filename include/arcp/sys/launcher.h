/* For implementers of a launcher: how an agent's process is started.
 *
 * The default launcher starts a program directly. Another one may put it into namespaces,
 * a container or another machine, as long as the three pipes and the process's end behave
 * as written here. DESIGN §4. */
#ifndef ARCP_SYS_LAUNCHER_H
#define ARCP_SYS_LAUNCHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <arcp/error.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be started. Borrowed during the call. Zero what is not needed. */
typedef struct arcp_launch_spec {
    size_t struct_size;
    const char *const *argv;            /* NULL-terminated; argv[0] is looked for in PATH */
    const char *const *env;             /* NULL-terminated NAME=VALUE, the whole environment */
    const char *cwd;                    /* NULL: ours */
    const char *user;                   /* NULL: ours; needs root otherwise */
    int stdin_fd, stdout_fd, stderr_fd; /* the child's ends; the caller closes its copies */
} arcp_launch_spec;

/* A started process. */
typedef struct arcp_launched {
    pid_t pid;      /* also the id of its process group */
    int process_fd; /* readable when it has ended (a pidfd); the caller closes it */
} arcp_launched;

typedef struct arcp_launcher arcp_launcher;
struct arcp_launcher {
    /* Starts the process as the leader of a group of its own, that dies when the calling
     * thread's process does, with no descriptor of ours but the three. When this returns
     * ARCP_OK the program itself runs (exec succeeded). Blocks for that long (about a
     * millisecond). ARCP_E_IO, ARCP_E_USAGE: the message names program and reason. */
    arcp_status (*launch)(arcp_launcher *launcher, const arcp_launch_spec *spec, arcp_launched *out,
                          arcp_error *err);
};

/* The launcher that starts programs directly; static. */
ARCP_API arcp_launcher *arcp_launcher_direct(void);

#ifdef __cplusplus
}
#endif
#endif
