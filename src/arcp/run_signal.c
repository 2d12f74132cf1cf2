/* Signals and stops.
 *
 * A command that has the terminal leads its foreground group, so what is typed there (Ctrl-C, ^Z)
 * reaches the command and not us. arcp-sandbox stops itself when the command stops; we see that as
 * its parent, take the terminal back and stop our own group, as the shell expects of a job. When
 * the shell continues us, we give the terminal to the command and continue it. */
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcp/run_process.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGCHLD};

void arcp__run_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        (void)sigaddset(set, watched[i]);
    }
}

void arcp__run_send(const arcp__running *running, int number)
{
    running->process->ops->signal(running->process, number);
}

void arcp__run_proceed(arcp__running *running)
{
    arcp__run_terminal_give(&running->terminal, running->process->pid);
    arcp__run_send(running, SIGCONT);
}

/* Stops our process group as ^Z would, and returns when it is continued: at once if no shell could
 * continue it (the kernel does not stop an orphaned group). */
static void stop(arcp__running *running)
{
    static const struct timespec no_time = {0};
    sigset_t stops;
    sigset_t continued;
    sigset_t before;
    arcp__run_terminal_take(&running->terminal);
    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTSTP);
    (void)kill(0, SIGTSTP);
    (void)pthread_sigmask(SIG_UNBLOCK, &stops, &before); /* here we stop */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* This answers the SIGCONT that continued us. If it were read later, it would continue a
     * command that has been stopped again since. */
    (void)sigemptyset(&continued);
    (void)sigaddset(&continued, SIGCONT);
    (void)sigtimedwait(&continued, NULL, &no_time);
    arcp__run_proceed(running);
}

/* When the command has stopped, so do we; but when it could not have the terminal, it gets it. */
static void take_stop(arcp__running *running)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)running->process->pid, &info, WSTOPPED | WNOHANG) != 0 ||
        info.si_pid == 0) {
        return;
    }
    if (!running->terminal.is_wanted && arcp__run_terminal_is_ours(&running->terminal)) {
        running->terminal.is_wanted = true;
        arcp__run_proceed(running);
    } else {
        stop(running);
    }
}

void arcp__run_take_signals(arcp__running *running)
{
    struct signalfd_siginfo info;
    while (read(running->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        switch (info.ssi_signo) {
        case SIGCHLD:
            take_stop(running);
            break;
        case SIGCONT:
            arcp__run_proceed(running);
            break;
        case SIGTSTP: /* of our own group: the command does not have the terminal */
            arcp__run_send(running, SIGTSTP);
            stop(running);
            break;
        default:
            arcp__run_send(running, (int)info.ssi_signo);
            break;
        }
    }
}
