/* For implementers of a launcher: how an agent's process is started, signalled and ended.
 *
 * The default launcher starts a program directly. Another one may put it into namespaces,
 * a container or another machine, as long as the three pipes and the process's end behave
 * as written here. Programs are started one at a time, by a thread that lives as long as any of
 * them; all other calls come from the thread of one loop. */
#ifndef ARCP_SYS_LAUNCHER_H
#define ARCP_SYS_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <arcp/error.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_launcher arcp_launcher;
typedef struct arcp_process arcp_process;

#define ARCP_LAUNCH_NO_LIMIT UINT64_MAX

/* A resource limit as setrlimit(2) has it, in its unit. */
typedef struct arcp_launch_limit {
    int resource;        /* RLIMIT_... of <sys/resource.h> */
    uint64_t soft, hard; /* ARCP_LAUNCH_NO_LIMIT: none */
} arcp_launch_limit;

/* What is to be started. Everything is borrowed during the call. */
typedef struct arcp_launch_spec {
    size_t struct_size;
    /* NULL-terminated. argv[0] without a slash is looked for in the PATH of `env`; with one
     * it is relative to the caller's directory, not to `cwd`. */
    const char *const *argv;
    const char *const *env;             /* NULL-terminated NAME=VALUE, the whole environment */
    const char *cwd;                    /* NULL: the caller's */
    const char *user;                   /* NULL: the caller's; needs root otherwise */
    int stdin_fd, stdout_fd, stderr_fd; /* the process's ends; the caller closes its copies */
    const arcp_launch_limit *limits;
    size_t limit_count;
    /* The directory of the cgroup (version 2) that the process is to be in before it becomes the
     * program: for CLONE_INTO_CGROUP, or to write "0" to its cgroup.procs; -1: ours. */
    int cgroup_fd;
} arcp_launch_spec;

static inline arcp_launch_spec arcp_launch_spec_init(void)
{
    arcp_launch_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec;
    spec.stdin_fd = -1;
    spec.stdout_fd = -1;
    spec.stderr_fd = -1;
    spec.cgroup_fd = -1;
    return spec;
}

/* How a process ended, and what it used. */
typedef struct arcp_process_exit {
    size_t struct_size; /* set by the caller */
    bool is_known;      /* false: other code of this program fetched the status */
    bool by_signal;
    int code;              /* exit status, or the signal's number */
    uint64_t user_us;      /* processor time of it and of the children it waited for */
    uint64_t system_us;    /* likewise, in the kernel */
    uint64_t memory_bytes; /* the most it had resident */
} arcp_process_exit;

static inline arcp_process_exit arcp_process_exit_init(void)
{
    arcp_process_exit out;
    memset(&out, 0, sizeof out);
    out.struct_size = sizeof out;
    return out;
}

typedef struct arcp_process_ops {
    size_t struct_size;
    /* Sends a signal to every process of its group; nothing once the end was taken. */
    void (*signal)(arcp_process *process, int number);
    /* When it has ended: kills what it left behind in its group, writes `out` and returns
     * true; true again in later calls. Otherwise returns false. Never blocks. */
    bool (*take_exit)(arcp_process *process, arcp_process_exit *out);
    /* Frees the handle, exit_fd included. When the end was not taken the group is killed
     * first and its end awaited. */
    void (*free)(arcp_process *process);
} arcp_process_ops;

/* A started process; launchers put theirs behind it. */
struct arcp_process {
    const arcp_process_ops *ops;
    pid_t pid;   /* also the id of its process group; 0 when it has none on this machine */
    int exit_fd; /* readable from its end on; to be polled only */
};

typedef struct arcp_launcher_ops {
    size_t struct_size;
    const char *name;
    /* Starts the process as the leader of a group of its own, that the kernel kills when the
     * calling *thread* ends, with no descriptor of ours but the three, no signal blocked or
     * ignored. When this returns ARCP_OK the program itself runs (exec succeeded). Blocks
     * for that long: about a millisecond. ARCP_E_USAGE for a program or user that does not
     * exist, else ARCP_E_IO or ARCP_E_NO_MEMORY; the message names program and reason. */
    arcp_status (*start)(arcp_launcher *launcher, const arcp_launch_spec *spec, arcp_process **out,
                         arcp_error *err);
    /* Processes may outlive their launcher. */
    void (*free)(arcp_launcher *launcher);
} arcp_launcher_ops;

struct arcp_launcher {
    const arcp_launcher_ops *ops;
};

typedef struct arcp_direct_launcher_options {
    size_t struct_size;
    /* The program arcp-agent-exec, which switches users. NULL: beside the running program,
     * in ../libexec/arcp of it, or where it was installed. Looked for when first needed. */
    const char *helper;
} arcp_direct_launcher_options;

static inline arcp_direct_launcher_options arcp_direct_launcher_options_init(void)
{
    arcp_direct_launcher_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* The launcher that starts programs on this machine and confines them by nothing but user
 * and resource limits. `options` may be NULL. Needs Linux 5.9; the program's SIGCHLD stays
 * its own, but it must not wait for children that are not its own (waitpid(-1)): what
 * became of such an agent is then unknown. ARCP_E_USAGE for options of a newer release. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_launcher_new_direct(
    const arcp_direct_launcher_options *options, arcp_launcher **out, arcp_error *err);
/* NULL is accepted. */
ARCP_API void arcp_launcher_free(arcp_launcher *launcher);

#ifdef __cplusplus
}
#endif
#endif
