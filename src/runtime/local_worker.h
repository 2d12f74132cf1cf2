/* The worker of this machine (worker/worker_core.h), a process of its own that goes on with its
 * jobs while the runtime is away: its socket, its start, its links. Private to src/runtime.
 *
 *     AWAY ── hello ──> JOINED ── the link ends ──> AWAY
 *      └── its lock is free: its jobs are lost, and another is started
 *
 * Of one life of a worker the newest link counts; another life is refused while one is connected.
 * The worker holds a lock for its life, so that its end is certain when the lock is free. */
#ifndef ARCP_RUNTIME_LOCAL_WORKER_H
#define ARCP_RUNTIME_LOCAL_WORKER_H

#include <limits.h>

#include "runtime/runtime_state.h"
#include "runtime/runtime_worker.h"
#include "worker/worker_core.h"
#include "worker/worker_link.h"
#include "worker/worker_peer.h"

/* The name that it has for the engine. */
#define ARCP__LOCAL_WORKER "local"
static const arcp_span arcp__local_worker_name = {ARCP__LOCAL_WORKER,
                                                  sizeof ARCP__LOCAL_WORKER - 1};

/* One connection of a worker. */
typedef struct arcp__local_link {
    struct arcp__local_link *prev, *next;
    struct arcp__local_worker *worker;
    arcp__worker_link *link;
    arcp__worker_peer *peer;
} arcp__local_link;

typedef struct arcp__local_worker {
    arcp_runtime *runtime;
    char state[PATH_MAX], work[PATH_MAX];
    char socket[PATH_MAX], lock[PATH_MAX], jobs[PATH_MAX];
    bool spawns;
    int fd; /* it listens; -1: not yet */
    uv_poll_t poll;
    uv_timer_t timer;                       /* of the links */
    uv_timer_t watch;                       /* of the lock, while the worker is away */
    arcp__local_link *links;                /* all that are open */
    arcp__local_link *joined;               /* NULL: the worker is away */
    char instance[ARCP__WORKER_ID_MAX + 1]; /* of the life that has joined last */
    arcp__job_kept kept;                    /* of one job */
    unsigned open_handles;
} arcp__local_worker;

/* ---- local_worker.c ---- */
/* The worker that runs the jobs of an agent; empty: they are ours. */
arcp_span arcp__local_worker_of(const arcp_runtime *runtime, const arcp__agent_entry *entry);

/* ---- local_worker_jobs.c ---- */
extern const arcp__agent_host_ops arcp__agent_local_worker_host;
/* What the peer of a link calls about jobs; `user` is the link. */
void arcp__local_worker_fill_owner(arcp__worker_peer_owner *owner);

#endif
