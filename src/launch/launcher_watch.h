/* A descriptor that becomes readable when a child ends. SIGCHLD is not used, because it belongs to
 * the program that the library is linked into. */
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
    /* Without pidfd (before Linux 5.3, or under a system call filter that does not allow it) a
     * thread waits for the child and writes to an eventfd. */
    bool has_thread;
    pthread_t thread;
} arcp__launch_watch;

/* The watch must not move until fini. *no_pidfd is set once the kernel has refused a pidfd, and
 * none is requested while it is true. */
ARCP_MUST_CHECK arcp_status arcp__launch_watch_init(arcp__launch_watch *watch, pid_t pid,
                                                    bool *no_pidfd, arcp_error *err);
/* Called after the child has ended. */
void arcp__launch_watch_fini(arcp__launch_watch *watch);

/* waitid on exactly that child, with its resource usage. Returns -1 and sets errno on failure. */
int arcp__launch_watch_wait(const arcp__launch_watch *watch, int options, siginfo_t *info,
                            struct rusage *used);

#endif
