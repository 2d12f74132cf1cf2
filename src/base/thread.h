/* Starting a thread of the library: it takes no signals, which belong to the program's own threads.
 * For the folders around the engine: inline, so that libarcp itself starts no thread. */
#ifndef ARCP_BASE_THREAD_H
#define ARCP_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* `name` has at most 15 characters; NULL: the program's. Returns an error number, or 0. */
static inline int arcp__thread_start(pthread_t *out, const char *name, void *(*run)(void *user),
                                     void *user)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    /* A thread starts with its maker's mask. */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = pthread_create(out, NULL, run, user);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result == 0 && name != NULL) {
        (void)pthread_setname_np(*out, name);
    }
    return result;
}

#endif
