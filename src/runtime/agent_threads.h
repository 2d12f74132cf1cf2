/* Threads for blocking agents: made on demand, kept, at most so many. */
#ifndef ARCP_RUNTIME_AGENT_THREADS_H
#define ARCP_RUNTIME_AGENT_THREADS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct arcp__agent_threads arcp__agent_threads;

/* NULL when out of memory. No thread is started yet. */
arcp__agent_threads *arcp__agent_threads_new(size_t threads_max);

/* Runs work(user) on a thread, in the order of the calls; waits in a queue while all
 * threads are busy. False when neither memory nor a thread can be had. */
bool arcp__agent_threads_run(arcp__agent_threads *threads, void (*work)(void *user), void *user);

/* Waits for everything that runs or is queued, and ends the threads. NULL is accepted. */
void arcp__agent_threads_free(arcp__agent_threads *threads);

#endif
