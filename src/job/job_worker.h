/* Workers, as jobs see them: processes that run agents and may outlive the engine
 * (worker/worker_core.h). An agent that is registered with a worker's name is started there, and
 * its job goes on when the engine starts again from its store:
 *
 *     AWAY ── its hello ──> GREETING ── all its jobs are claimed ──> JOINED
 *       ^                       │                                    │
 *       └───────────────────────┴────────── its link ends ───────────┘
 *
 * When a worker joins, it claims the jobs that it has, and the engine says of each what becomes of
 * it. Jobs that were placed on it and that it does not have are started, unless they were before.
 * Jobs of a worker that is away wait; after the time that the worker may run alone, and 10 s more,
 * they are lost. */
#ifndef ARCP_JOB_JOB_WORKER_H
#define ARCP_JOB_JOB_WORKER_H

#include "context/context.h"
#include "job/agent_host.h"
#include "job/job_number.h"

/* From the end of the time that a worker may run alone to the loss of its jobs. */
#define ARCP__WORKER_MARGIN_SEC 10u

typedef enum arcp__worker_state {
    ARCP__WORKER_AWAY,
    ARCP__WORKER_GREETING,
    ARCP__WORKER_JOINED
} arcp__worker_state;

/* One life of a worker. */
typedef struct arcp__worker_entry {
    struct arcp__worker_entry *next;
    arcp__worker_state state;
    char name[ARCP__WORKER_NAME_SIZE];
    char instance[ARCP__WORKER_NAME_SIZE]; /* of its life */
    bool is_announced;                     /* its jobs had the event worker_away */
    bool is_ahead;                         /* of the store, which was restored from a backup */
    arcp__timer away_timer, lost_timer;
} arcp__worker_entry;

/* A job that a worker has. */
typedef struct arcp__worker_claim {
    arcp_span job;
    uint64_t items_first; /* the first item that it was not allowed to forget */
    uint64_t stored;      /* the last item that was reported as stored */
    uint64_t bytes_first, errors_first;
    uint64_t at; /* the last line that it has for the agent */
} arcp__worker_claim;

typedef enum arcp__claim_answer {
    ARCP__CLAIM_FORGET, /* the job is no more */
    ARCP__CLAIM_GO_ON,
    ARCP__CLAIM_END /* its program is to be killed, and its exit reported */
} arcp__claim_answer;

/* A worker said hello: arcp__worker_claims follows for each job that it has, then
 * arcp__worker_ready. False: another life of the worker is connected under this name. */
ARCP_MUST_CHECK bool arcp__worker_joins(struct arcp__jobs *jobs, arcp_span name,
                                        arcp_span instance);
/* `host` becomes that of the job's agent; *job is set unless the answer is FORGET. */
arcp__claim_answer arcp__worker_claims(struct arcp__jobs *jobs, arcp_span name,
                                       const arcp__worker_claim *claim, void *host,
                                       struct arcp__job **job);
void arcp__worker_ready(struct arcp__jobs *jobs, arcp_span name);
/* The link of its present life has ended. */
void arcp__worker_away(struct arcp__jobs *jobs, arcp_span name);
/* All its lives but one (empty: all) are dead, and so are their programs. */
void arcp__worker_lost(struct arcp__jobs *jobs, arcp_span name, arcp_span except);
/* The worker has ended the program of a job that has not ended; its agent is forgotten. */
void arcp__worker_ended_agent(struct arcp__jobs *jobs, struct arcp__job *job,
                              arcp__agent_ended_by ended_by);
/* The worker has written the lines up to this one to the job's agent. */
void arcp__worker_has_lines(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t at);

void arcp__worker_due(struct arcp__jobs *jobs, arcp__timer *timer);
void arcp__workers_free(struct arcp__jobs *jobs);

/* ---- restart: what is stored for a job on a worker, beside its rows ---- */

/* Makes the two streams of a job on a worker, whose records are then restored from the first on.
 * False: it has none, or memory ran out. */
bool arcp__worker_make_streams(struct arcp__jobs *jobs, struct arcp__job *job);
ARCP_MUST_CHECK arcp_status arcp__worker_restore_record(struct arcp__stream *stream,
                                                        uint64_t position, arcp_span record,
                                                        arcp_error *err);

#endif
