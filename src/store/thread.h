/* Threads of a back end: named, and deaf to signals, which belong to the owner. */
#ifndef ARCP_STORE_THREAD_H
#define ARCP_STORE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* `name` has at most 15 characters. False when there is no thread to be had. */
bool arcp__thread_start(pthread_t *out, const char *name, void *(*run)(void *user), void *user);

#endif
