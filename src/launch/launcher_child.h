/* What the new process does between its birth and the program it becomes.
 *
 * Everything here is async-signal-safe and allocates nothing: it runs after vfork, while
 * the memory is still the parent's, and in the helper arcp-agent-exec, which is not linked
 * with the library. Changes of user are system calls, not libc's functions: those would
 * have every thread of the memory's owner follow. */
#ifndef ARCP_LAUNCH_LAUNCHER_CHILD_H
#define ARCP_LAUNCH_LAUNCHER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <arcp/sys/launcher.h>

/* Where the parent finds its ends in the new process. */
enum { ARCP__LAUNCH_ERRORS_FD = 3, ARCP__LAUNCH_ORDERS_FD = 4 };

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

/* What the child writes when it cannot become the program: one record, then it exits. */
typedef struct arcp__launch_failure {
    int stage; /* arcp__launch_stage */
    int number;
} arcp__launch_failure;

typedef struct arcp__launch_child {
    const char *program; /* a path */
    char *const *argv, *const *env;
    const char *cwd; /* NULL: stays */
    const arcp_launch_limit *limits;
    size_t limit_count;
    bool switch_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
    pid_t parent;
    int error_fd;
} arcp__launch_child;

/* What the helper does, at the beginning of a file at ARCP__LAUNCH_ORDERS_FD. Behind it, each with
 * its NUL, are the directory (empty: stays), the program's path, the arguments and the variables.
 */
typedef struct arcp__launch_orders {
    size_t struct_size; /* the helper refuses what another release wrote */
    pid_t parent;
    uid_t uid;
    gid_t gid;
    uint32_t group_count;
    size_t limit_count, argc, env_count;
    gid_t groups[ARCP__LAUNCH_GROUPS_MAX];
    arcp_launch_limit limits[ARCP__LAUNCH_LIMITS_MAX];
} arcp__launch_orders;

/* The descriptors that become 0, 1, 2, ... in the child, errors at ARCP__LAUNCH_ERRORS_FD. */
typedef struct arcp__launch_files {
    int from[ARCP__LAUNCH_ORDERS_FD + 1];
    int count;
    int cgroup; /* its directory, joined before that; -1: none */
    bool keep;  /* errors and what is behind it stay open over the next exec (the helper) */
} arcp__launch_files;

/* Writes what failed (errno) to the error pipe and exits. */
void arcp__launch_child_fail(const arcp__launch_child *child, arcp__launch_stage stage)
    __attribute__((noreturn));

/* A group of its own, dying with the parent, the descriptors and no others, no signal
 * ignored or blocked. Only after fork or vfork, with all signals blocked. */
void arcp__launch_child_isolate(arcp__launch_child *child, const arcp__launch_files *files);

/* Limits, user, directory; then becomes the program. */
void arcp__launch_child_run(const arcp__launch_child *child) __attribute__((noreturn));

#endif
