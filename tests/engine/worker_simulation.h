/* The engine with its store, and workers with their links and programs: what the parts of the
 * simulation share. */
#ifndef ARCP_TESTS_ENGINE_WORKER_SIMULATION_H
#define ARCP_TESTS_ENGINE_WORKER_SIMULATION_H

#include "support/check.h"

#include <inttypes.h>

#include "engine/disk.h"
#include "engine/state.h"
#include "story/engine_rig.h"
#include "worker/worker_core.h"
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

typedef struct frame {
    struct frame *next;
    int64_t due_ns;
    arcp_buf bytes;
} frame;

typedef struct one_way {
    frame *first, *last;
} one_way;

/* A worker, and the runtime's end of its link. */
typedef struct simulated_worker {
    struct simulation *of;
    char name[8], instance[16];
    char linked_instance[16]; /* of the hello on the link */
    arcp__worker_core *core;
    bool link_is_up, is_cut, is_draining;
    int64_t worker_notices_ns, connects_ns, ticked_ns;
    one_way up, down;
    arcp__worker_peer *peer; /* NULL: no link */
    int64_t notices_ns;      /* when the runtime notices the end of the link */
    int64_t away_ns;         /* since when there is none */
} simulated_worker;

typedef struct simulation {
    uint64_t random;
    fault_kind fault;
    simulation_setup setup;
    const char *problem;
    char text[300]; /* of a problem */
    /* The runtime. */
    engine_rig rig;
    disk disk;
    size_t first_backup; /* the fewest batches of an older store */
    bool is_up;
    int64_t up_ns;
    arcp__job_kept kept;
    uint64_t calls[256]; /* of the provisioner */
    size_t call_count;
    uint64_t values; /* that the provisioner has issued */
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

/* ---- worker_simulation_link.c ---- */

uint64_t simulation_draw(simulation *s, uint64_t below);
void simulation_expect(simulation *s, bool holds, const char *problem);
void simulation_post(simulation *s, one_way *way, const arcp__worker_message *message);
/* What has arrived by now, which the caller frees; NULL: nothing. */
frame *simulation_arrived(simulation *s, one_way *way);
void simulation_drop(one_way *way);
void simulation_cut(simulated_worker *w);
program *simulation_program(simulation *s, arcp_span job);

/* ---- worker_simulation_runtime.c ---- */

void simulation_begin_runtime(simulation *s);
void simulation_end_runtime(simulation *s);
void simulation_run_runtime(simulation *s);
void simulation_crash(simulation *s, bool has_older_store);
/* A worker gets no new jobs any more. */
void simulation_drain(simulation *s);

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
