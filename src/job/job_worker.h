/* Workers, as jobs see them: processes that run agents and may outlive the engine
 * (worker/worker_core.h). An agent that is registered with a worker's name is started there, and
 * its job goes on when the engine starts again from its store:
 *
 *     AWAY ── its hello ──> GREETING ── all its jobs are claimed ──> JOINED
 *       ^                       │                                    │
 *       └───────────────────────┴────────── its link ends ───────────┘
 *
 * A worker has lives: each has an instance of its own, and is named by both. Of one name one life
 * is connected, and any number of older ones that drain: they finish their jobs and get no new
 * ones.
 *
 * Agents of the configuration may name a worker that runs all their jobs. Workers also offer agents
 * that the configuration does not have (job_worker_offer.c): where a job of these runs is decided
 * when there is a place for it (placement.h).
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
#include "job/placement.h"

/* From the end of the time that a worker may run alone to the loss of its jobs. */
#define ARCP__WORKER_MARGIN_SEC 10u

typedef enum arcp__worker_state {
    ARCP__WORKER_AWAY,
    ARCP__WORKER_GREETING,
    ARCP__WORKER_JOINED
} arcp__worker_state;

/* The most places of a worker. */
#define ARCP__WORKER_CAPACITY_MAX 65536u
#define ARCP__WORKER_MODE_SIZE    16u
/* Agents that a worker offers, and globs for them. */
#define ARCP__WORKER_AGENTS_MAX 256u

/* An agent that a worker offers. */
typedef struct arcp__worker_agent {
    arcp_span name, version; /* version may be empty */
    arcp_span mode;          /* "arcp", "plain", "serve" */
    arcp_span cwd;           /* absolute, of its jobs; empty: each has a directory of its own */
    uint64_t max_jobs;       /* there, at the same time; 0: as many as it has places */
    uint8_t hash[32];        /* of its row */
    void *host;              /* of its jobs there (job->live->host), and for admission */
} arcp__worker_agent;

typedef struct arcp__worker_life {
    arcp_span name, instance;
} arcp__worker_life;

/* What a worker says of itself when it joins. The spans are copied. */
typedef struct arcp__worker_intro {
    arcp__worker_life life;
    arcp_span version, boot_id; /* for operators; boot_id also says which lives are dead */
    arcp_span work;     /* absolute: jobs of its agents get <it>/<job id> as cwd; empty: none */
    uint64_t pid;       /* 0: unknown */
    uint64_t drains_ms; /* since when it takes no new jobs; 0: it takes them */
    uint64_t capacity;  /* jobs of its agents at the same time */
    const arcp__worker_agent *agents;
    size_t agent_count;
    const char *const *allowed; /* globs of names that it may offer */
    size_t allowed_count;       /* 0: any */
} arcp__worker_intro;

/* One agent of a worker, in job->live->place.offer->owner. */
typedef struct arcp__worker_offer_entry {
    struct arcp__worker_offer_entry *next;
    struct arcp__worker_entry *worker;
    arcp__place_offer *offer;
    struct arcp__agent_version *agent;
    char mode[ARCP__WORKER_MODE_SIZE];
    char *cwd; /* owned; NULL: each job has a directory of its own */
    uint8_t hash[32];
    void *host;
} arcp__worker_offer_entry;

/* One life of a worker. */
typedef struct arcp__worker_entry {
    struct arcp__worker_entry *next;
    arcp__worker_state state;
    char name[ARCP__WORKER_NAME_SIZE];
    char instance[ARCP__WORKER_NAME_SIZE]; /* of its life */
    bool is_announced;                     /* its jobs had the event worker_away */
    bool is_ahead;                         /* of the store, which was restored from a backup */
    bool is_draining;                      /* it gets no new jobs, until its end */
    bool is_too_old;                       /* it cannot come back */
    bool is_busy; /* it refused a job, and gets no other until one has ended there, or 5 s later */
    arcp__timer away_timer, lost_timer, busy_timer;
    char version[ARCP__WORKER_NAME_SIZE], boot_id[ARCP__WORKER_NAME_SIZE];
    char *work; /* owned; NULL: none */
    uint64_t pid;
    int64_t since_wall_ns, drains_wall_ns; /* of its state, and since it drains */
    arcp__place_worker place;
    arcp__worker_offer_entry *offers; /* owned */
} arcp__worker_entry;

/* For operators. The texts are valid until the engine's next input. */
typedef struct arcp__worker_view {
    const char *name, *instance, *version, *boot_id;
    arcp__worker_state state;
    bool is_draining, is_busy;
    int64_t since_wall_ns, drains_wall_ns; /* of the state; 0: it does not drain */
    uint64_t pid, capacity;
    size_t jobs; /* whose programs it has or may have */
    size_t agents;
} arcp__worker_view;

typedef struct arcp__worker_agent_view {
    const char *agent; /* name@version */
    const char *mode;
    uint64_t max_jobs;
    size_t jobs;
    const uint8_t *hash; /* 32 bytes */
    bool is_hidden;      /* the configuration has an agent of this name */
    bool is_unlike;      /* another worker offers another row under the same name and version */
} arcp__worker_agent_view;

/* How many there are, and the places of those that take new jobs: `jobs` have one of `capacity`.
 * Agents of the configuration have places of their own, which are not counted here. */
typedef struct arcp__worker_counts {
    size_t joined, away, draining; /* each worker is in one of them */
    size_t jobs, capacity;
} arcp__worker_counts;

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
 * arcp__worker_ready. False: a text is not valid, or another life of the worker is connected, and
 * neither of them drains. */
ARCP_MUST_CHECK bool arcp__worker_joins(struct arcp__jobs *jobs, const arcp__worker_intro *intro);
/* `host` becomes that of the job's agent; *job is set unless the answer is FORGET. */
arcp__claim_answer arcp__worker_claims(struct arcp__jobs *jobs, arcp__worker_life life,
                                       const arcp__worker_claim *claim, void *host,
                                       struct arcp__job **job);
void arcp__worker_ready(struct arcp__jobs *jobs, arcp__worker_life life);
/* Its link has ended. */
void arcp__worker_away(struct arcp__jobs *jobs, arcp__worker_life life);
/* A life (no instance: all of that name) is dead, and so are its programs. */
void arcp__worker_lost(struct arcp__jobs *jobs, arcp__worker_life life);
/* It is away, and speaks no version of the protocol that the runtime does: its jobs are lost when
 * the worker must have killed them. */
void arcp__worker_too_old(struct arcp__jobs *jobs, arcp__worker_life life);
/* It gets no new jobs from now on. No instance: all lives of that name. */
void arcp__worker_drains(struct arcp__jobs *jobs, arcp__worker_life life);
/* It takes no job now, so that one whose start was sent waits again, as the next. Its host has
 * forgotten the agent. */
void arcp__worker_refused_busy(struct arcp__jobs *jobs, struct arcp__job *job);
/* The worker has ended the program of a job that has not ended; its agent is forgotten. */
void arcp__worker_ended_agent(struct arcp__jobs *jobs, struct arcp__job *job,
                              arcp__agent_ended_by ended_by);
/* The worker has written the lines up to this one to the job's agent. */
void arcp__worker_has_lines(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t at);

arcp__worker_counts arcp__workers_count(const struct arcp__jobs *jobs);
/* The worker with this index, and one of its agents. False: there is none. */
bool arcp__worker_get_view(const struct arcp__jobs *jobs, size_t index, arcp__worker_view *out);
bool arcp__worker_get_agent_view(const struct arcp__jobs *jobs, size_t index, size_t agent,
                                 arcp__worker_agent_view *out);

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
