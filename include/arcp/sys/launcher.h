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
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_launcher arcp_launcher;
typedef struct arcp_process arcp_process;

#define ARCP_LAUNCH_NO_LIMIT UINT64_MAX

/* A resource limit, in the unit of setrlimit(2). */
typedef struct arcp_launch_limit {
    int resource;        /* RLIMIT_... of <sys/resource.h> */
    uint64_t soft, hard; /* ARCP_LAUNCH_NO_LIMIT: none */
} arcp_launch_limit;

/* The sandbox that a process is started in. Everything is borrowed during the call of `start`. */
typedef struct arcp_confinement {
    size_t struct_size;
    arcp_span plan; /* the text of a sandbox plan */
    /* The directory that was prepared to be seen as /etc; NULL: only with a plan that needs none.
     */
    const char *etc;
    /* The process's end of a pair of AF_UNIX SOCK_SEQPACKET sockets; the caller closes its copy.
     * The sandbox sends one JSON object per datagram, at most 64 KiB, and closes its end when the
     * process ends.
     *
     * {"listeners": N, "more": true} comes first, when the plan has ports. N descriptors
     * (SCM_RIGHTS, at most 253) come with it, of the sandbox's network, in which every address
     * leads to them: listening TCP sockets and the UDP socket of DNS, each for IPv4 and IPv6
     * (AF_INET6; AF_INET on hosts without IPv6). The last record of them has no "more". The start
     * fails when they are not read within 10 s.
     *
     * {"running": true, ...} says that the program is about to be executed, and what was found on
     * the host: links, absent files, git.
     *
     * {"denied": ...} names what the program may not do, with "count" for repeated denials.
     *
     * {"failed": STEP, "path": PATH, "errno": NAME} says that a step of the set-up failed. The
     * program does not run: the exit status is 125, and for the step "exec" 127 (not found) or 126.
     *
     * The sandbox waits for the reader of the first record only. */
    int control_fd;
    /* stdin is a terminal that the program may control: the process leads a group of the caller's
     * session. Otherwise it begins a session without a terminal. */
    bool has_terminal;
    /* The certificate of an authority that the program shall trust, as PEM text; NULL: none. Inside
     * it is a file, and with the certificates that the host trusts another one, which variables of
     * the environment name unless `env` of the launch has them: NODE_EXTRA_CA_CERTS, SSL_CERT_FILE,
     * REQUESTS_CA_BUNDLE, GIT_SSL_CAINFO. */
    const char *ca_certificate;
} arcp_confinement;

static inline arcp_confinement arcp_confinement_init(void)
{
    arcp_confinement confinement;
    memset(&confinement, 0, sizeof confinement);
    confinement.struct_size = sizeof confinement;
    confinement.control_fd = -1;
    return confinement;
}

/* What is to be started. Everything is borrowed during the call of `start`. */
typedef struct arcp_launch_spec {
    size_t struct_size;
    /* NULL-terminated. argv[0] without a slash is searched in the PATH of `env`; with one it is
     * relative to the caller's directory, not to `cwd`. */
    const char *const *argv;
    const char *const *env;             /* NULL-terminated NAME=VALUE, the whole environment */
    const char *cwd;                    /* NULL: the caller's */
    const char *user;                   /* NULL: the caller's; needs root otherwise */
    int stdin_fd, stdout_fd, stderr_fd; /* the process's ends; the caller closes its copies */
    const arcp_launch_limit *limits;
    size_t limit_count;
    /* The directory of the cgroup (version 2) that the process must be in before exec: for
     * CLONE_INTO_CGROUP, or to write "0" to its cgroup.procs; -1: the caller's cgroup. */
    int cgroup_fd;
    /* NULL: the process is confined only by user and resource limits. Otherwise its directory is
     * the plan's, not `cwd`, and its three descriptors must be regular files, pipes, terminals, the
     * null device or connected local sockets. A launcher that cannot confine refuses with
     * ARCP_E_USAGE. */
    const arcp_confinement *confinement;
    /* Directories of further cgroups (version 1, of limits) that the process joins before exec, by
     * writing "0" to their cgroup.procs. */
    const int *cgroup_fds;
    size_t cgroup_fd_count;
    /* Added to the caller's oom_score_adj for the process, so that the kernel ends it first when
     * the machine runs out of memory; 0: the caller's. Where /proc does not take it, the process
     * has the caller's. */
    int oom_score_more;
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
    bool is_known;      /* false: other code of this program has reaped the process */
    bool by_signal;
    int code;              /* exit status, or the signal's number */
    uint64_t user_us;      /* CPU time of the process and of children that it waited for */
    uint64_t system_us;    /* CPU time of the same processes in the kernel */
    uint64_t memory_bytes; /* largest resident memory */
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
    /* Sends a signal to all processes of its group; does nothing after take_exit returned true. */
    void (*signal)(arcp_process *process, int number);
    /* If the process has exited: kills the remaining processes of its group, writes `out` and
     * returns true, in later calls too. Otherwise returns false. Never blocks. */
    bool (*take_exit)(arcp_process *process, arcp_process_exit *out);
    /* Frees the handle, exit_fd included. If take_exit has not returned true, kills the group first
     * and waits for its exit. */
    void (*free)(arcp_process *process);
} arcp_process_ops;

/* A started process; a launcher's own struct begins with this one. */
struct arcp_process {
    const arcp_process_ops *ops;
    pid_t pid;   /* also the id of its process group; 0 when it has none on this machine */
    int exit_fd; /* becomes readable when the process exits; to be polled only */
};

typedef struct arcp_launcher_ops {
    size_t struct_size;
    const char *name;
    /* Starts the process as the leader of a group of its own, with the three descriptors and no
     * other of this program's, and no signal blocked or ignored. The kernel kills it when the
     * calling *thread* ends. Blocks until exec has succeeded or failed: about a millisecond.
     * ARCP_E_USAGE for a program or user that does not exist, else ARCP_E_IO or ARCP_E_NO_MEMORY;
     * the message names program and reason. */
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
    /* The program arcp-agent-exec, which switches users. NULL: it is searched beside the running
     * program, in ../libexec/arcp relative to it, and where it was installed, when it is first
     * needed. */
    const char *helper;
} arcp_direct_launcher_options;

static inline arcp_direct_launcher_options arcp_direct_launcher_options_init(void)
{
    arcp_direct_launcher_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* The launcher that starts programs on this machine and confines them only by user and resource
 * limits. `options` may be NULL. Requires Linux 5.9. It does not use SIGCHLD, but the program must
 * wait only for children that it has started itself: after waitpid(-1) the exit status of an agent
 * may be unknown. The caller frees *out with arcp_launcher_free, or hands it to a runtime.
 * ARCP_E_USAGE for options of a newer release, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_launcher_new_direct(
    const arcp_direct_launcher_options *options, arcp_launcher **out, arcp_error *err);

typedef struct arcp_sandbox_launcher_options {
    size_t struct_size;
    const char *agent_exec; /* as arcp_direct_launcher_options.helper */
    /* The program arcp-sandbox, which makes a sandbox and starts the program in it. NULL: it is
     * searched as the other one. */
    const char *sandbox;
} arcp_sandbox_launcher_options;

static inline arcp_sandbox_launcher_options arcp_sandbox_launcher_options_init(void)
{
    arcp_sandbox_launcher_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* The launcher that also starts programs in a sandbox, when their spec has a confinement; others as
 * the direct launcher. `start` of a confined program returns when arcp-sandbox runs: about a
 * millisecond; the set-up of the sandbox, which can fail, goes on beside the caller. The process is
 * arcp-sandbox, and ends as the program does, with its exit status or by its signal; all processes
 * of the sandbox end with it. `options` may be NULL. The caller frees *out. ARCP_E_USAGE for
 * options of a newer release, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_launcher_new_sandbox(
    const arcp_sandbox_launcher_options *options, arcp_launcher **out, arcp_error *err);

/* Frees a launcher. Its processes may outlive it. NULL is accepted. */
ARCP_API void arcp_launcher_free(arcp_launcher *launcher);

#ifdef __cplusplus
}
#endif
#endif
