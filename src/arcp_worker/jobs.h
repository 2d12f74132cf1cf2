/* The programs of a worker's jobs: carries out what the core decides about them, and reports what
 * they do. Private to the program arcp-worker.
 *
 * What a program does during a call of the core is reported to the core in the next turn of the
 * loop, because the core must not be called from inside its own calls. */
#ifndef ARCP_ARCP_WORKER_JOBS_H
#define ARCP_ARCP_WORKER_JOBS_H

#include "arcp_worker/agents.h"
#include "arcp_worker/worker_config.h"
#include "egress/egress_relay.h"
#include "stream/stream.h"
#include "worker/worker_core.h"
#include "worker/worker_program.h"

typedef struct arcp__hosted_program arcp__hosted_program;

typedef struct arcp__hosted_jobs {
    arcp__worker_core *core; /* set by the owner, before anything is called */
    arcp__loop_share *share; /* the owner's */
    arcp__known_agents agents;
    /* The worker's own agents, which are all that it runs; NULL: each order has a row. */
    const arcp__worker_config *config;
    arcp_launch_limit files;  /* the limit of open files that we had */
    arcp__worker_terms terms; /* of its own agents, as the runtime has said last */
    arcp__relay *relay;       /* the owner's; to the gateways of the runtime */
    arcp__worker_queue queue;
    arcp__hosted_program *first; /* all */
    arcp__task report;
    /* The core was called: it may have messages. */
    void (*changed)(void *user);
    void *user;
} arcp__hosted_jobs;

/* The other members are set. */
void arcp__hosted_jobs_init(arcp__hosted_jobs *jobs);
/* Of a worker with agents of its own: sets the hosting by its configuration, and starts the warm
 * processes. To be called again when the configuration or the terms have changed. Errors as
 * arcp__known_agents_set_host. */
ARCP_MUST_CHECK arcp_status arcp__hosted_jobs_list_own(arcp__hosted_jobs *jobs, arcp_error *err);
/* What the core calls. */
arcp__worker_programs arcp__hosted_jobs_programs(arcp__hosted_jobs *jobs);
/* Tells all programs that their jobs are cancelled, because the worker is stopped. */
void arcp__hosted_jobs_cancel(arcp__hosted_jobs *jobs, uint64_t grace_ms);
/* Where the gateways are now; empty: the runtime is away. A URL that cannot be used is logged, and
 * the gateways are away. */
void arcp__hosted_jobs_set_gateways(arcp__hosted_jobs *jobs, arcp_span url);
/* After the core was freed, which has forgotten all. */
void arcp__hosted_jobs_fini(arcp__hosted_jobs *jobs);

#endif
