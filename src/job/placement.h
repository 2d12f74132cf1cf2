/* Placement: which jobs of an agent may run, where, and which wait. It has no time, store or
 * message: a job has an arcp__place, and is started when arcp__placement_next returns that.
 *
 * An agent of the configuration whose row has max_jobs has so many places. Any other agent is
 * offered by workers: a worker has as many places as its capacity, for all of its agents together,
 * and of these each agent gets the max_jobs of the worker's offer. Of several workers that have a
 * place and can run the job, it goes to the one with the fewest jobs per place, else to the first
 * by name. The state of a job's place:
 *
 *     NONE ── there is room ──> HELD <── it waits for a child, until that has ended ──> LENT
 *      │                         ^ │                                                     │
 *      └─ there is none ─> WAITING │                                                     │
 *                            │ ^   │                                                     │
 *                            │ └───┤ its worker takes no job now                         │
 *                            │     │                                                     │
 *                            └─────┴── its agent has exited, or the job has ended ───────┴──> NONE
 *
 * Who comes next: delegated jobs before submitted ones; among each, principals in turn; of one
 * principal, in the order in which the jobs began to wait. A job that its worker did not take is
 * the next one again. A job never overtakes one that waits for the same agent, unless no worker
 * with a place can run that one.
 *
 * A parent that waits for a child lends its place, but to delegated jobs only: for these only HELD
 * places count, for submitted ones LENT places, too. So no jobs wait for each other for ever.
 * Suppose that all running jobs wait for children: following a child of each, and its child, one
 * comes to a job that waits for a place. All places of its agent are LENT, because each running job
 * waits for a child; so there is room for a delegated job, and that job is delegated. At most
 * max_jobs submitted jobs run at a time, and more than max_jobs in all only where parents wait, or
 * where their children have just ended. A worker is bounded in all: it has at most
 * ARCP__PLACE_LENT_MAX jobs per place, and beyond that delegated jobs wait, too, until their
 * deadlines or that of the queue. */
#ifndef ARCP_JOB_PLACEMENT_H
#define ARCP_JOB_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/error.h>

#include "base/hash.h"

/* Jobs that a worker has per place, if most of them wait for children. */
#define ARCP__PLACE_LENT_MAX 4u

typedef enum arcp__place_state {
    ARCP__PLACE_NONE,
    ARCP__PLACE_WAITING,
    ARCP__PLACE_HELD,
    ARCP__PLACE_LENT
} arcp__place_state;

typedef enum arcp__place_kind {
    ARCP__PLACE_DELEGATED,
    ARCP__PLACE_SUBMITTED,
    ARCP__PLACE_KINDS
} arcp__place_kind;

typedef struct arcp__place arcp__place;
typedef struct arcp__place_agent arcp__place_agent;
typedef struct arcp__place_offer arcp__place_offer;

/* How many jobs have a place, and how many of these lend it. */
typedef struct arcp__place_counts {
    size_t held, lent;
} arcp__place_counts;

/* A worker. Its owner zero-initialises it and sets the first three members, and calls
 * arcp__place_worker_changed when it has changed one. */
typedef struct arcp__place_worker {
    const char *name;
    size_t capacity; /* places; 0: it takes no jobs of agents that it offers */
    bool is_open;    /* it takes new jobs */
    arcp__place_counts jobs;
    arcp__place_offer *offers;
} arcp__place_worker;

/* An agent that a worker offers, or of which it has jobs. */
struct arcp__place_offer {
    arcp__place_agent *agent;
    arcp__place_worker *worker;
    void *owner;     /* NULL: it is offered no more */
    size_t max_jobs; /* 0: as many as the worker has places */
    arcp__place_counts jobs;
    arcp__place_offer *previous, *next;               /* of the agent */
    arcp__place_offer *worker_previous, *worker_next; /* of the worker */
};

/* The waiting jobs of one principal at one agent. */
typedef struct arcp__place_line {
    struct arcp__place_line *previous, *next; /* in the order of turns */
    const void *principal;
    arcp__place *first;
    size_t count;
} arcp__place_line;

/* Zero-initialised by its owner. Read only outside placement.c. */
struct arcp__place {
    arcp__place_state state;
    arcp__place_kind kind;
    void *owner;              /* the job */
    arcp__place_agent *agent; /* NONE: NULL */
    arcp__place_offer *offer; /* HELD, LENT: where it runs; NULL: it has a place of the agent */
    unsigned children;        /* for whose ends its job waits */
    arcp__place_line *line;   /* WAITING */
    arcp__place *previous, *next;
    uint64_t order; /* in which jobs began to wait */
    uint64_t turn;  /* of its principal while it is the first of its line; else its order */
};

/* The jobs of one agent in all placements that share places. */
typedef struct arcp__place_total {
    UT_hash_handle hh;
    struct arcp__place_share *share;
    arcp__place_counts jobs;
    unsigned agents; /* that count here */
    char text[];
} arcp__place_total;

/* Of several placements, whose agents have their max_jobs together. Zero-initialised by its owner;
 * empty when they are gone. */
typedef struct arcp__place_share {
    arcp__place_total *totals; /* by text */
    bool is_freed; /* a place was; the owner calls arcp__placement_recheck for all, and resets it */
} arcp__place_share;

/* The places of one agent name and version, over reloads. */
struct arcp__place_agent {
    UT_hash_handle hh;
    arcp__place_total *total; /* NULL: `jobs` are all */
    void *offer;     /* its registration, which hides workers' offers; NULL: it has none now */
    size_t max_jobs; /* 0: no limit */
    bool refuses;    /* jobs beyond max_jobs are refused instead of queued */
    bool is_remote;  /* a worker has offered it, and may again */
    arcp__place_offer *offers; /* of workers */
    bool is_due;               /* in the list of those that may have room for a waiting job */
    arcp__place_agent *next_due;
    arcp__place_counts jobs;
    size_t waiting;
    arcp__place_line *lines[ARCP__PLACE_KINDS];
    char text[]; /* name@version */
};

typedef struct arcp__placement {
    /* Whether the worker of an offer can run the job, a place's owner. Called by
     * arcp__placement_next, which then starts it there. NULL: all can. Set by its owner. */
    bool (*fits)(void *user, void *job, const arcp__place_offer *offer);
    void *user;
    arcp__place_share *share;  /* borrowed; NULL: no other has these agents. Set by its owner. */
    arcp__place_agent *agents; /* by text */
    arcp__place_agent *due;
    size_t waiting[ARCP__PLACE_KINDS];
    uint64_t last; /* the last order or turn that was given */
} arcp__placement;

void arcp__placement_fini(arcp__placement *placement);

/* ---- agents ---- */

/* The agent of this name@version; made when it is new. NULL when out of memory. */
arcp__place_agent *arcp__placement_agent(arcp__placement *placement, const char *text);
/* The agent is registered as `offer`, which is not NULL. */
void arcp__placement_offer(arcp__placement *placement, arcp__place_agent *agent, void *offer,
                           size_t max_jobs, bool refuses);
/* No agent is registered any more. Agents that no job needs are freed. */
void arcp__placement_withdraw(arcp__placement *placement);
/* A job that waits for an agent that is neither registered nor of a worker; NULL: there is none. */
arcp__place *arcp__placement_gone(const arcp__placement *placement);

/* ---- placement_share.c, for placement.c ---- */
/* Counts the new agent with those of the same text in other placements; NULL: there are none. False
 * when out of memory. */
ARCP_MUST_CHECK bool arcp__place_total_join(arcp__place_share *share, arcp__place_agent *agent);
/* Its agent goes; NULL is accepted. */
void arcp__place_total_leave(arcp__place_total *total);

/* Places of others may have become free: all jobs that wait are looked at again. */
void arcp__placement_recheck(arcp__placement *placement);

/* ---- workers ---- */

/* The worker's offer of the agent; made when it is new, with `owner` NULL. NULL when out of memory.
 */
arcp__place_offer *arcp__placement_offer_of(arcp__place_worker *worker, arcp__place_agent *agent);
/* The agent is offered (owner is not NULL), or not any more. An offer without owner is freed when
 * no job runs there. */
void arcp__place_offer_set(arcp__placement *placement, arcp__place_offer *offer, void *owner,
                           size_t max_jobs);
void arcp__place_worker_changed(arcp__placement *placement, const arcp__place_worker *worker);
bool arcp__place_offer_has_room(const arcp__place_offer *offer, arcp__place_kind kind);
/* The best offer behind `after` (NULL: of all), with `with_room` only among those that have a
 * place. NULL: there is none. */
arcp__place_offer *arcp__place_next_offer(const arcp__place_agent *agent, arcp__place_kind kind,
                                          bool with_room, const arcp__place_offer *after);

/* ---- jobs ---- */

/* Whether a new job would get a place at once; with `offer`, there. */
bool arcp__place_is_free(const arcp__place_agent *agent, arcp__place_kind kind,
                         const arcp__place_offer *offer);
/* The job gets a place; it need not be free. `offer` may be NULL. Of `place` only `order` is read:
 * 0 stands for a new one. */
void arcp__place_take(arcp__placement *placement, arcp__place *place, arcp__place_agent *agent,
                      arcp__place_kind kind, arcp__place_offer *offer, void *owner);
/* The job waits, as the last one of its principal. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__place_wait(arcp__placement *placement, arcp__place *place,
                                             arcp__place_agent *agent, arcp__place_kind kind,
                                             const void *principal, void *owner);
/* The job keeps its place, but is on no worker. */
void arcp__place_leave_worker(arcp__placement *placement, arcp__place *place);
/* A job with a place waits again, in front of all others of its kind that began later.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__place_wait_again(arcp__placement *placement, arcp__place *place,
                                                   const void *principal);
/* Gives the next waiting job for which there is room its place (HELD). NULL: there is none.
 * `only_delegated`: submitted jobs stay where they are. *moved is the job whose `turn` changed by
 * that, or NULL. */
arcp__place *arcp__placement_next(arcp__placement *placement, bool only_delegated,
                                  arcp__place **moved);
/* The job needs its place no longer, whatever its state is. Returns the job whose `turn` changed by
 * that, or NULL. */
arcp__place *arcp__place_leave(arcp__placement *placement, arcp__place *place);
/* The job begins to wait for the end of one more of its children, and ends it. */
void arcp__place_lend(arcp__placement *placement, arcp__place *place);
void arcp__place_return(arcp__place *place);
/* Its number among those that wait for the agent, in the order in which they would start: from 1
 * on. 0: it does not wait. */
size_t arcp__place_number(const arcp__place *place);

/* ---- restart ---- */

/* The job waited before the restart. To be called for jobs in any order; then arcp__place_set_turn
 * for jobs with a turn of their own; then arcp__placement_restored. */
ARCP_MUST_CHECK arcp_status arcp__place_restore(arcp__placement *placement, arcp__place *place,
                                                arcp__place_agent *agent, arcp__place_kind kind,
                                                const void *principal, void *owner, uint64_t order);
void arcp__place_set_turn(arcp__placement *placement, arcp__place *place, uint64_t turn);
void arcp__placement_restored(arcp__placement *placement);

#endif
