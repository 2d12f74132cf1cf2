/* A worker and a model of the runtime: what the parts of the simulation share. */
#ifndef ARCP_TESTS_WORKER_WORKER_SIMULATION_H
#define ARCP_TESTS_WORKER_WORKER_SIMULATION_H

#include "support/check.h"

#include "worker/simulation.h"

#define JOBS      4
#define ITEMS_MAX 24
#define BYTES_MAX 3000u
#define KEEP_NS   (10 * ARCP_NS_PER_SEC)

extern const char *const simulation_job_ids[JOBS];

/* Faults of the runtime's side that the simulation must find. */
typedef enum fault_kind {
    FAULT_NONE,
    FAULT_NO_STORED,  /* it does not compare hello with its store */
    FAULT_NO_OPEN,    /* it lets the worker forget items that it has not acted on */
    FAULT_NO_MARGIN,  /* it gives jobs up after keep_ms, not 10 s later */
    FAULT_NO_ITEM,    /* it acts on what it has acted on */
    FAULT_EARLY_KEPT, /* it lets the worker forget what is not durable */
    FAULT_NOT_HERE    /* it lets it forget items whose answers a former link may have lost */
} fault_kind;

typedef enum item_kind {
    KIND_EVENT,     /* has an effect */
    KIND_ASK,       /* has an effect, and wants a reply */
    KIND_AUTHORIZE, /* has no effect, and wants a reply */
    KIND_DELEGATE,  /* has its effect later, and then a reply */
    KINDS
} item_kind;

/* ---- what the runtime's store has of a job; copied as bytes ---- */

typedef struct stored_job {
    uint64_t is_placed, has_ended,
        is_lost;    /* not bool: without padding, equal rows are equal bytes */
    uint64_t item;  /* acted on, up to this one */
    uint64_t bytes; /* of output */
    uint64_t effects[ITEMS_MAX + 1];
    uint64_t last_effect; /* of those that come in order */
    uint64_t open[ITEMS_MAX + 1];
    uint64_t at; /* of the last line */
    uint64_t answers_to[ITEMS_MAX + 1];
} stored_job;

typedef struct store {
    stored_job rows[JOBS];
} store;

/* ---- programs ---- */

typedef struct program {
    bool is_started, runs, reads, is_killed;
    unsigned starts;
    uint64_t items, written;   /* it will write, has written */
    uint64_t bytes, bytes_out; /* the same of output */
    uint64_t replies[ITEMS_MAX + 1];
    int64_t start_ns, end_ns; /* when it runs, and when it has ended after a kill */
    bool has_exited;
    arcp__worker_job *job;
} program;

typedef struct simulation {
    chance chance;
    fault_kind fault;
    int64_t now_ns;
    /* The runtime. */
    bool is_up;
    int64_t up_ns; /* when a runtime that is down starts */
    store now, flying, disk, backup;
    bool is_flying;
    int64_t flown_ns;
    bool sees_link; /* it believes that it is connected */
    bool has_greeted;
    int64_t gone_ns; /* since when there is no link */
    uint64_t seen[JOBS];
    uint64_t here[JOBS]; /* the last item that came on this link, or was forgotten before it */
    bool pending[JOBS][ITEMS_MAX + 1];
    uint64_t sent_at[JOBS]; /* lines that were sent on this link */
    bool is_start_sent[JOBS];
    bool is_restored[JOBS]; /* a backup took it away; nothing is promised */
    /* The worker. */
    arcp__worker_core *core;
    program programs[JOBS];
    simulated_link link;
} simulation;

static inline uint64_t simulation_draw(simulation *s, uint64_t below)
{
    return chance_draw(&s->chance, below);
}

static inline void simulation_expect(simulation *s, bool holds, const char *problem)
{
    chance_expect(&s->chance, holds, problem);
}

static inline item_kind simulation_kind_of(uint64_t job, uint64_t item)
{
    return (item_kind)((item * 7 + job * 3) % 11 % KINDS);
}

/* ---- worker_simulation_runtime.c ---- */

/* JOBS: no such job. */
size_t simulation_index_of(arcp_span job);
/* Ends the link, if there is one. */
void simulation_cut(simulation *s);
void simulation_run_runtime(simulation *s);
void simulation_crash(simulation *s);

/* ---- worker_simulation_worker.c ---- */

/* The calls about programs. */
arcp__worker_programs simulation_programs(simulation *s);
void simulation_run_worker(simulation *s);

#endif
