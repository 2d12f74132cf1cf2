/* arcp-agent-exec: changes to the user of an agent and executes it. Started by arcpd, not by
 * people.
 *
 * Descriptor 3 is the error pipe, which exec closes; descriptor 4 holds the orders
 * (arcp__launch_orders). This is not a set-user-id program: it has only the rights of its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "launch/launcher_orders.h"

int main(void)
{
    arcp__launch_child child = {.error_fd = ARCP__LAUNCH_ERRORS_FD};
    arcp__launch_view view;
    const int number = fcntl(ARCP__LAUNCH_ERRORS_FD, F_SETFD, FD_CLOEXEC) != 0
                           ? EINVAL
                           : arcp__launch_orders_read(&child, &view);
    if (number == EINVAL) {
        (void)fputs("arcp-agent-exec is started by arcpd, not by hand\n", stderr);
    }
    if (number != 0) {
        errno = number;
        arcp__launch_child_fail(&child, ARCP__LAUNCH_HELPER);
    }
    arcp__launch_child_run(&child);
}
