/* A program that we started, in a process group of its own, with pipes at its standard
 * input and output. */
#ifndef ARCP_TRANSPORT_CHILD_PROCESS_H
#define ARCP_TRANSPORT_CHILD_PROCESS_H

#include <uv.h>

#include <arcp/error.h>
#include <arcp/visibility.h>

typedef struct arcp__child_process arcp__child_process;

typedef struct arcp__child_pipes {
    int to;   /* we write; it reads its standard input */
    int from; /* we read what it writes to its standard output */
} arcp__child_pipes;

/* Called once from the loop when it has ended: `signal` 0 unless one ended it. */
typedef void (*arcp__child_exited)(void *user, int64_t status, int signal);

/* Starts words[0], found in PATH. The caller owns the pipes' ends. ARCP_E_IO names the
 * program and why it cannot be started. */
ARCP_MUST_CHECK arcp_status arcp__child_process_start(uv_loop_t *loop, char *const *words,
                                                      arcp__child_process **out,
                                                      arcp__child_pipes *pipes, arcp_error *err);

/* Sets who is told, before the loop runs again. */
void arcp__child_process_watch(arcp__child_process *child, arcp__child_exited exited, void *user);

/* No callback follows. Kills the process and its group if it has not ended; the memory
 * goes when it has. NULL is accepted. */
void arcp__child_process_release(arcp__child_process *child);

#endif
