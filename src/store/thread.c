#include "store/thread.h"

#include <signal.h>

bool arcp__thread_start(pthread_t *out, const char *name, void *(*run)(void *user), void *user)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    /* A thread starts with its maker's mask. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(out, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        (void)pthread_setname_np(*out, name);
    }
    return started;
}
