/* Prepares a start: everything that needs memory or look-ups, before the process exists. */
#ifndef ARCP_LAUNCH_LAUNCHER_PLAN_H
#define ARCP_LAUNCH_LAUNCHER_PLAN_H

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#include "base/options.h"
#include "launch/launch.h"
#include "launch/launcher_child.h"
#include "launch/launcher_orders.h"

typedef struct arcp__launch_plan {
    /* An absolute path, because the child changes its directory before exec. */
    char program[ARCP__LAUNCH_PATH_MAX];
    gid_t groups[ARCP__LAUNCH_GROUPS_MAX];
    arcp__launch_child child; /* executes the program, or the helper */
    arcp__launch_files files; /* the launcher sets the error pipe */
    char oom_score[16];       /* of the child; "": the caller's */
    bool has_begun;           /* set by the child, in our memory, before anything else */
    arcp_buf helper_path;
    char *helper_argv[2];
    int orders_fd;  /* -1: none; closed by fini */
    int sandbox_fd; /* the text of the sandbox's plan; the same */
} arcp__launch_plan;

/* A program that carries out the start. */
typedef struct arcp__launch_helper {
    const char *name;
    const char *path;    /* NULL: it is searched (base/libexec.h) */
    const char *purpose; /* what needs it, for errors */
    arcp__launch_view view;
} arcp__launch_helper;

/* Whether the spec, which can be of an older release, has a confinement. */
static inline bool arcp__launch_is_confined(const arcp_launch_spec *spec)
{
    return spec->struct_size >= ARCP__END_OF(arcp_launch_spec, confinement) &&
           spec->confinement != NULL;
}

/* `agent_exec` may be NULL (see arcp_direct_launcher_options). ARCP_E_USAGE if the program, the
 * user or the helper does not exist. Call fini even after a failure. */
ARCP_MUST_CHECK arcp_status arcp__launch_plan_init(arcp__launch_plan *plan,
                                                   const arcp_launch_spec *spec,
                                                   const char *agent_exec, arcp_error *err);
/* Has the child execute a helper, with orders to do what the child would have done. */
ARCP_MUST_CHECK arcp_status arcp__launch_plan_use(arcp__launch_plan *plan,
                                                  const arcp__launch_helper *helper,
                                                  arcp_error *err);
/* Has the child execute arcp-sandbox (`path` may be NULL). ARCP_E_USAGE as above. */
ARCP_MUST_CHECK arcp_status arcp__launch_plan_confine(arcp__launch_plan *plan,
                                                      const arcp_confinement *confinement,
                                                      const char *path, arcp_error *err);
/* A file with the text of a sandbox's plan that cannot change while arcp-sandbox reads it; -1 sets
 * errno. */
int arcp__launch_seal(arcp_span plan);
void arcp__launch_plan_fini(arcp__launch_plan *plan);

#endif
