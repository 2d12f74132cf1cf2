/* Starts threads of the library. They block all signals, which the program's own threads handle.
 * Inline, so that libarcp itself starts no thread. */
#ifndef ARCP_BASE_THREAD_H
#define ARCP_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* `stack_bytes`: 0 is the system's default. Returns an error number, or 0. */
static inline int arcp__thread_start_sized(pthread_t *out, size_t stack_bytes,
                                           void *(*run)(void *user), void *user)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int result = pthread_attr_init(&attributes);
    if (result != 0) {
        return result;
    }
    if (stack_bytes != 0) {
        (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    }
    (void)sigfillset(&all);
    /* A new thread inherits the signal mask of its creator. */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(out, &attributes, run, user);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return result;
}

/* `name` has at most 15 characters; NULL: the program's. Returns an error number, or 0. */
static inline int arcp__thread_start(pthread_t *out, const char *name, void *(*run)(void *user),
                                     void *user)
{
    const int result = arcp__thread_start_sized(out, 0, run, user);
    if (result == 0 && name != NULL) {
        (void)pthread_setname_np(*out, name);
    }
    return result;
}

#endif
