/* Orders: what a helper program (arcp-agent-exec, arcp-sandbox) shall start, in a file that the
 * launcher writes and the helper reads. Not passed as arguments, which every user can read, nor as
 * the helper's own environment, which could name libraries to load while the helper is still root.
 */
#ifndef ARCP_LAUNCH_LAUNCHER_ORDERS_H
#define ARCP_LAUNCH_LAUNCHER_ORDERS_H

#include <arcp/error.h>

#include "launch/launcher_child.h"

/* What arcp-sandbox needs beside its plan. Texts; NULL or "": none. */
typedef struct arcp__launch_view {
    const char *etc;            /* the directory that is seen as /etc */
    const char *ca_certificate; /* of arcp_confinement */
} arcp__launch_view;

/* Creates a file with the orders of `child`. The caller closes *fd. ARCP_E_USAGE, ARCP_E_IO,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__launch_orders_write(const arcp__launch_child *child,
                                                      const arcp__launch_view *view, int *fd,
                                                      arcp_error *err);

/* Reads and closes ARCP__LAUNCH_ORDERS_FD. Needs libc only. The memory that `child` and `view`
 * point to is released by exec. Returns an errno; EINVAL: these are no orders. */
int arcp__launch_orders_read(arcp__launch_child *child, arcp__launch_view *view);

#endif
