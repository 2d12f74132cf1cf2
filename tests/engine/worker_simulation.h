/* The engine with its store, and workers with their links and programs: what the parts of the
 * simulation share. */
#ifndef ARCP_TESTS_ENGINE_WORKER_SIMULATION_H
#define ARCP_TESTS_ENGINE_WORKER_SIMULATION_H

#include "support/check.h"

#include "engine/disk.h"
#include "engine/state.h"
#include "story/engine_rig.h"
#include "worker/simulation.h"
#include "worker/worker_peer.h"

#define WORKERS_MAX  3
#define PROGRAMS_MAX 96
#define ITEMS_MAX    16
#define KEEP_SEC     10

/* Faults that the simulation must find. */
typedef enum fault_kind {
    FAULT_NONE,
    FAULT_NO_STORED,  /* the engine does not hear what the worker knows of its store */
    FAULT_NO_OPEN,    /* the worker may forget items that have had no effect yet */
    FAULT_NO_MARGIN,  /* jobs are lost after keep_sec, not 10 s later */
    FAULT_EARLY_KEPT, /* the worker may forget what is not durable */
    FAULT_NO_LENDING, /* parents that wait for children keep their places */
    FAULT_BUSY_LAST   /* a job that was not taken goes behind all others */
} fault_kind;

/* One worker "w" has all agents of the configuration; or several workers offer agents, have few
 * places, and are drained and killed. */
typedef struct simulation_setup {
    size_t workers, parents;
    bool offers;
    /* Changes the options of each engine; NULL: nothing does. */
    void (*prepare)(void *user, arcp__engine_options *options);
    void *user;
} simulation_setup;

struct simulation;

typedef struct program {
    char id[64];
    struct simulated_worker *worker; /* that has started it */
    bool is_busy;                    /* its worker is going to refuse it */
    bool was_queued;                 /* as of the last look */
    bool is_child, runs, reads, is_killed, is_exempt;
    unsigned starts;
    uint64_t items, written;
    unsigned replies[ITEMS_MAX + 1];
    int64_t start_ns, end_ns; /* when it runs, and when it has ended after a kill */
    arcp__worker_job *job;    /* NULL: the worker has forgotten it */
} program;

/* A worker, and the runtime's end of its link. */
typedef struct simulated_worker {
    struct simulation *of;
    char name[8], instance[16];
    char linked_instance[16]; /* of the hello on the link */
    arcp__worker_core *core;
    bool is_draining;
    simulated_link link;
    arcp__worker_peer *peer; /* NULL: no link */
    int64_t away_ns;         /* since when there is none */
} simulated_worker;

/* A request to the provisioner that it has not answered yet, and what came of others. */
typedef struct simulated_call {
    uint64_t id;
    arcp__provision_verb verb;
    char alias[64];
} simulated_call;

typedef struct simulated_value {
    char alias[64];
    bool is_valid, is_forgotten; /* by a store that is older */
} simulated_value;

typedef struct simulation {
    chance chance;
    fault_kind fault;
    simulation_setup setup;
    /* The runtime. */
    engine_rig rig;
    disk disk;
    size_t first_backup; /* the fewest batches of an older store */
    bool is_up;
    int64_t up_ns;
    arcp__job_kept kept;
    simulated_call calls[256];
    size_t call_count;
    simulated_value values[4096]; /* that the provisioner has issued */
    size_t value_count;
    /* The workers. */
    simulated_worker workers[WORKERS_MAX];
    unsigned lives; /* of all workers */
    program programs[PROGRAMS_MAX];
    size_t program_count;
} simulation;

static inline int64_t simulation_now(const simulation *s)
{
    return s->rig.now.mono_ns;
}

/* NULL: there is none. */
static inline arcp__job *simulation_job(const simulation *s, arcp_span id)
{
    return arcp__job_find(&s->rig.engine->jobs, id);
}

static inline uint64_t simulation_draw(simulation *s, uint64_t below)
{
    return chance_draw(&s->chance, below);
}

static inline void simulation_expect(simulation *s, bool holds, const char *problem)
{
    chance_expect(&s->chance, holds, problem);
}

/* ---- worker_simulation.c ---- */

/* The faults and setups are in a simulation_play_fn's terms. */
const char *simulation_play(uint64_t seed, const void *setup, int fault, int *step);
program *simulation_program(simulation *of, arcp_span job);

/* ---- worker_simulation_peer.c: the runtime's end of the links ---- */

/* Whether the runtime has the worker's hello. */
bool simulation_has_joined(const simulated_worker *w);
/* As the runtime knows it: the worker itself may be another life already. */
arcp__worker_life simulation_life_of(const simulated_worker *w);
/* Acts on what has arrived, and on the end of the link. */
void simulation_run_link(simulated_worker *w);
/* Ends the link, if there is one. */
void simulation_cut(simulated_worker *w);
/* The worker was there before, so that jobs for it are accepted. */
void simulation_introduce(simulated_worker *w);

/* ---- worker_simulation_runtime.c ---- */

void simulation_begin_runtime(simulation *s);
void simulation_end_runtime(simulation *s);
void simulation_run_runtime(simulation *s);
/* Has the engine do what is due. */
void simulation_run_engine(simulation *s);
void simulation_crash(simulation *s, bool has_older_store);
/* A worker gets no new jobs from now on. */
void simulation_drain(simulation *s);

/* ---- worker_simulation_upstream.c ---- */

void simulation_attach_upstream(simulation *s);
/* One call; false: there is none. */
bool simulation_answer_call(simulation *s);
void simulation_crash_upstream(simulation *s);
void simulation_forget_values(simulation *s);
void simulation_check_upstream(simulation *s);

/* ---- worker_simulation_worker.c ---- */

typedef enum item_kind {
    KIND_EVENT,
    KIND_PROGRESS,  /* wants a reply */
    KIND_AUTHORIZE, /* likewise; nothing is stored of it */
    KIND_METRIC,    /* spends 1 USD, wants a reply */
    KIND_DELEGATE,  /* wants the reply at the end of its child */
    KINDS
} item_kind;

item_kind simulation_kind_of(const simulation *s, const program *p, uint64_t item);
void simulation_begin_workers(simulation *s);
void simulation_run_worker(simulated_worker *w);
/* A worker and its programs are killed, and it is started again. */
void simulation_kill_worker(simulated_worker *w);

#endif
