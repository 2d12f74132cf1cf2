/* Workers of a runtime, for the program that has one. All functions are called on the loop's
 * thread. */
#ifndef ARCP_RUNTIME_RUNTIME_WORKER_H
#define ARCP_RUNTIME_RUNTIME_WORKER_H

#include <sys/types.h>

#include <arcp/runtime.h>
#include <arcp/sys/transport.h>

#include "identity/identity.h"
#include "worker/worker_link.h"

typedef struct arcp__local_worker_options {
    const char *state; /* the directory with its socket and its lock; absolute */
    const char *work;  /* in which its jobs have their directories; absolute */
    bool spawns;       /* it is started when it does not run; else another program starts it */
} arcp__local_worker_options;

/* Has agents that are programs run by a worker on this machine, so that their jobs go on while the
 * runtime is away: agents that are registered later, are not confined and have no warm processes.
 * The store must be durable, and gets an id. ARCP_E_IO, ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__runtime_open_local_worker(
    arcp_runtime *runtime, const arcp__local_worker_options *options, arcp_error *err);

/* Takes workers of other machines that show one of these tokens, in place of earlier ones: links
 * whose token is not among them any more are closed. The store gets an id. ARCP_E_NO_MEMORY,
 * ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__runtime_set_worker_tokens(arcp_runtime *runtime,
                                                            const arcp__worker_token_row *rows,
                                                            size_t count, arcp_error *err);
/* The longest first message on a connection of a worker, and the longest one. */
#define ARCP__WORKER_HELLO_MAX (ARCP__WORKER_HEAD_MAX + 1 + ARCP__WORKER_BODY_MAX)
size_t arcp__runtime_worker_bytes_max(const arcp_runtime *runtime);
/* Serves a connection of a worker, whose messages are binary (ARCP__WORKER_SUBPROTOCOL); owns it
 * from now on. Without tokens it is closed. */
void arcp__runtime_serve_worker(arcp_runtime *runtime, arcp_connection *connection);
/* Appends the object {workers: [...]} of those that are connected. */
void arcp__runtime_write_workers(const arcp_runtime *runtime, arcp_buf *out);
/* Has a connected worker take no more jobs, and end after its last one; that of this machine is
 * replaced, if the runtime has started it. ARCP_E_INVALID_REQUEST. */
ARCP_MUST_CHECK arcp_status arcp__runtime_drain_worker(arcp_runtime *runtime, arcp_span name,
                                                       arcp_error *err);
/* Calls the jobs of a worker that is away lost, because the operator knows that its programs are
 * dead. ARCP_E_INVALID_REQUEST: it is connected. */
ARCP_MUST_CHECK arcp_status arcp__runtime_forget_worker(arcp_runtime *runtime, arcp_span name,
                                                        arcp_error *err);

/* Jobs that arcp__runtime_stop_keeping_jobs would leave to workers now. */
size_t arcp__runtime_jobs_on_workers(const arcp_runtime *runtime);
/* As arcp_runtime_stop, but jobs on workers go on, and are there for the next runtime of the store.
 * arcp_runtime_stop, called later, ends these, too, unless they have been left already. */
void arcp__runtime_stop_keeping_jobs(arcp_runtime *runtime, void (*stopped)(void *user),
                                     void *user);
/* Of this machine, at the same time: one takes jobs, the others drain. */
#define ARCP__LOCAL_WORKERS_MAX 16u
/* After that stop, before the runtime is freed: the workers that it has started, children of this
 * process, if jobs go on. Returns their number. */
size_t arcp__runtime_left_workers(const arcp_runtime *runtime, pid_t out[ARCP__LOCAL_WORKERS_MAX]);
/* Has a new worker of this machine take the place of the one that takes jobs, if that runs another
 * program than a new one would: it drains. */
void arcp__runtime_renew_local_worker(arcp_runtime *runtime);

#endif
