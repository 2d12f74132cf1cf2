/* The worker of this machine (worker/worker_core.h), a process of its own that goes on with its
 * jobs while the runtime is away: its socket, its locks and its start. Private to src/runtime.
 *
 * One life of it takes jobs. Older ones drain, beside it: their program was replaced, or an
 * operator wanted them to.
 *
 *     AWAY ── hello ──> JOINED ── another program is there ──> DRAINING ── its last job ends ──>
 * dead │                  └── the link ends ──> AWAY └── its lock is free: it is dead, and its jobs
 * are lost
 *
 * Each life holds a lock of its own until its end, so that its end is certain when the lock is
 * free. A worker is started when none of those that live takes jobs. */
#ifndef ARCP_RUNTIME_LOCAL_WORKER_H
#define ARCP_RUNTIME_LOCAL_WORKER_H

#include <limits.h>

#include "hosting/agent_row.h"
#include "runtime/runtime_worker.h"
#include "runtime/worker_links.h"

typedef struct arcp__local_worker {
    arcp_runtime *runtime;
    arcp__worker_links *links; /* the runtime's */
    char state[PATH_MAX], work[PATH_MAX];
    char socket[PATH_MAX], jobs[PATH_MAX];
    bool spawns;
    pid_t children[ARCP__LOCAL_WORKERS_MAX]; /* that were started, and have not ended */
    size_t child_count;
    pid_t starting; /* the one of these that has not joined yet; 0: none */
    bool is_full;   /* as many live as may, and none of them takes jobs */
    int fd;         /* it listens; -1: not yet */
    uv_poll_t poll;
    uv_timer_t watch; /* of locks, while no life takes jobs, or one is away */
    unsigned open_handles;
} arcp__local_worker;

/* ---- local_worker_row.c ---- */
/* Whether it runs the jobs of an agent of the configuration. */
bool arcp__local_worker_takes(const arcp_runtime *runtime, const arcp__process_agent *agent);
/* The worker that runs the jobs of an agent; empty: they are ours. */
arcp_span arcp__worker_of(const arcp_runtime *runtime, const arcp__agent_entry *entry);
/* Makes the text of a registration, for an agent that it takes. Errors as arcp__agent_row_write. */
ARCP_MUST_CHECK arcp_status arcp__local_worker_register(const arcp__agent_row *row,
                                                        arcp__agent_entry *entry, arcp_error *err);
/* Appends the row for the start of a job. */
ARCP_MUST_CHECK arcp_status arcp__local_worker_write_row(const arcp_runtime *runtime,
                                                         const arcp__job *job, arcp_buf *out,
                                                         arcp_error *err);
/* Tells it, if it is there, which agents there are. */
void arcp__local_worker_list_agents(arcp_runtime *runtime);

#endif
