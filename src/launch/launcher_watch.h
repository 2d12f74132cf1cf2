/* A descriptor that becomes readable when a child ends, without SIGCHLD, which belongs to
 * the program that we are in. */
#ifndef ARCP_LAUNCH_LAUNCHER_WATCH_H
#define ARCP_LAUNCH_LAUNCHER_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <arcp/error.h>

typedef struct arcp__launch_watch {
    int fd; /* owned */
    pid_t pid;
    /* Where the kernel gives no pidfd (before Linux 5.3, or under a filter of system calls
     * that does not know it) a thread waits, and writes to an eventfd. */
    bool has_thread;
    pthread_t thread;
} arcp__launch_watch;

/* The watch stays where it is until fini. `no_pidfd` is what is known of the kernel: not
 * asked again when true, set when it refuses. */
ARCP_MUST_CHECK arcp_status arcp__launch_watch_init(arcp__launch_watch *watch, pid_t pid,
                                                    bool *no_pidfd, arcp_error *err);
/* Only when the child has ended. */
void arcp__launch_watch_fini(arcp__launch_watch *watch);

/* waitid on exactly that child, with what it used. -1 and errno. */
int arcp__launch_watch_wait(const arcp__launch_watch *watch, int options, siginfo_t *info,
                            struct rusage *used);

#endif
