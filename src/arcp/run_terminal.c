#include "arcp/run.h"

#include <unistd.h>

void arcp__run_terminal_init(arcp__run_terminal *terminal, int fd)
{
    *terminal =
        (arcp__run_terminal){.fd = fd, .ours = getpgrp(), .is_wanted = isatty(STDOUT_FILENO) != 0};
    if (fd >= 0 && tcgetpgrp(fd) < 0) { /* not our controlling terminal: nothing to give */
        terminal->fd = -1;
    }
}

bool arcp__run_terminal_is_ours(const arcp__run_terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->ours;
}

/* The caller has blocked SIGTTOU: the kernel would send it to us while another group is in the
 * foreground. */
void arcp__run_terminal_give(arcp__run_terminal *terminal, pid_t group)
{
    if (!terminal->is_wanted || terminal->is_given || !arcp__run_terminal_is_ours(terminal) ||
        tcgetattr(terminal->fd, &terminal->our_modes) != 0) {
        return;
    }
    if (terminal->has_theirs) {
        (void)tcsetattr(terminal->fd, TCSADRAIN, &terminal->their_modes);
    }
    terminal->group = group;
    terminal->is_given = tcsetpgrp(terminal->fd, group) == 0;
}

void arcp__run_terminal_take(arcp__run_terminal *terminal)
{
    if (!terminal->is_given) {
        return;
    }
    terminal->is_given = false;
    /* A shell that ran inside may have given it to a group of its own; that is the command's, too.
     */
    terminal->has_theirs = tcgetattr(terminal->fd, &terminal->their_modes) == 0;
    (void)tcsetpgrp(terminal->fd, terminal->ours);
    (void)tcsetattr(terminal->fd, TCSADRAIN, &terminal->our_modes);
}
