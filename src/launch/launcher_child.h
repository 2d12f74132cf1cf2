/* What a new process does between its creation and exec.
 *
 * All functions are async-signal-safe and allocate nothing: they run after vfork, in the parent's
 * memory, and in the helper arcp-agent-exec, which is not linked with the library. The user is
 * changed by system calls, because libc's functions would change it for all threads of the parent.
 */
#ifndef ARCP_LAUNCH_LAUNCHER_CHILD_H
#define ARCP_LAUNCH_LAUNCHER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <arcp/sys/launcher.h>

/* Numbers of the error pipe, the helper's orders, the plan of a sandbox, and its control socket in
 * the new process. */
enum {
    ARCP__LAUNCH_ERRORS_FD = 3,
    ARCP__LAUNCH_ORDERS_FD = 4,
    ARCP__LAUNCH_PLAN_FD = 5,
    ARCP__LAUNCH_CONTROL_FD = 6,
    ARCP__LAUNCH_FD_COUNT
};

#define ARCP__LAUNCH_GROUPS_MAX 1024
#define ARCP__LAUNCH_LIMITS_MAX 64

typedef enum arcp__launch_stage {
    ARCP__LAUNCH_GROUP,
    ARCP__LAUNCH_CGROUP,
    ARCP__LAUNCH_FILES,
    ARCP__LAUNCH_LIMITS,
    ARCP__LAUNCH_USER,
    ARCP__LAUNCH_CWD,
    ARCP__LAUNCH_PARENT,
    ARCP__LAUNCH_EXEC,
    ARCP__LAUNCH_HELPER,
    ARCP__LAUNCH_STAGE_COUNT
} arcp__launch_stage;

/* The record that the child writes to the error pipe before it exits, if it fails before exec. */
typedef struct arcp__launch_failure {
    int stage;  /* arcp__launch_stage */
    int number; /* errno */
} arcp__launch_failure;

typedef struct arcp__launch_child {
    const char *program; /* a path */
    char *const *argv, *const *env;
    const char *cwd; /* NULL: the current directory */
    const arcp_launch_limit *limits;
    size_t limit_count;
    bool switch_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
    pid_t parent;
    int error_fd;
    const char *oom_score; /* for /proc/self/oom_score_adj; NULL: it stays */
} arcp__launch_child;

/* The beginning of the file at ARCP__LAUNCH_ORDERS_FD, which tells the helper what to do. It is
 * followed by NUL-terminated strings: the directory (empty: the current one), the directory that is
 * seen as /etc in a sandbox (empty: none), the program's path, the arguments and the variables of
 * the environment. */
typedef struct arcp__launch_orders {
    size_t struct_size; /* the helper refuses orders of another release */
    pid_t parent;
    bool switch_user; /* always, for arcp-agent-exec */
    uid_t uid;
    gid_t gid;
    uint32_t group_count;
    size_t limit_count, argc, env_count;
    gid_t groups[ARCP__LAUNCH_GROUPS_MAX];
    arcp_launch_limit limits[ARCP__LAUNCH_LIMITS_MAX];
} arcp__launch_orders;

/* The descriptors that become 0, 1, 2, ... in the child, with errors at ARCP__LAUNCH_ERRORS_FD. */
typedef struct arcp__launch_files {
    int from[ARCP__LAUNCH_FD_COUNT];
    int count;
    int cgroup;         /* directory of a cgroup to join first; -1: none */
    const int *cgroups; /* and of further ones */
    size_t cgroup_count;
    bool keeps_errors;   /* the error pipe stays open across exec, of arcp-agent-exec */
    bool begins_session; /* without a controlling terminal; else a process group only */
} arcp__launch_files;

/* Writes the stage and errno to the error pipe and exits. */
void arcp__launch_child_fail(const arcp__launch_child *child, arcp__launch_stage stage)
    __attribute__((noreturn));

/* Gives the child a process group (or session) of its own and only the given descriptors, has it
 * killed with its parent, and resets all signals. Called after fork or vfork with all signals
 * blocked. */
void arcp__launch_child_isolate(arcp__launch_child *child, const arcp__launch_files *files);

/* Whether it became child->uid, for good. Sets errno. */
bool arcp__launch_child_become_user(const arcp__launch_child *child);

/* Sets limits, user and directory, then executes the program. */
void arcp__launch_child_run(const arcp__launch_child *child) __attribute__((noreturn));

#endif
