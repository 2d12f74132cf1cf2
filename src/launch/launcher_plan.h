/* Everything about a start that needs memory or look-ups, done before the process exists. */
#ifndef ARCP_LAUNCH_LAUNCHER_PLAN_H
#define ARCP_LAUNCH_LAUNCHER_PLAN_H

#include <arcp/sys/launcher.h>

#include "base/arena.h"
#include "launch/launcher_child.h"

typedef struct arcp__launch_plan {
    arcp__arena arena;
    const char *program;      /* in the arena: what was asked for, as a path */
    arcp__launch_child child; /* what is executed: the program, or the helper */
    arcp__launch_files files; /* errors is filled in by the launcher */
    bool has_helper;
    bool has_begun; /* set by the child, in our memory, with the first thing it does */
    int env_fd;     /* -1: none; closed by fini */
} arcp__launch_plan;

/* `helper` may be NULL (see arcp_direct_launcher_options). ARCP_E_USAGE when program, user
 * or helper does not exist. fini also after a failure. */
ARCP_MUST_CHECK arcp_status arcp__launch_plan_init(arcp__launch_plan *plan,
                                                   const arcp_launch_spec *spec, const char *helper,
                                                   arcp_error *err);
void arcp__launch_plan_fini(arcp__launch_plan *plan);

/* A regular file that we may execute. */
bool arcp__launch_is_program(const char *path);

/* Makes the plan start the helper, which does what the child would have done (its user
 * above all) in memory of its own. */
ARCP_MUST_CHECK arcp_status arcp__launch_plan_use_helper(arcp__launch_plan *plan, const char *given,
                                                         arcp_error *err);

#endif
