/* What the simulations of workers share: chance, the problem that was found, a link that delays
 * frames and is cut, and the seeds that a test runs. */
#ifndef ARCP_TESTS_WORKER_SIMULATION_H
#define ARCP_TESTS_WORKER_SIMULATION_H

#include "support/check.h"

#include <inttypes.h>

#include <arcp/time.h>

#include "worker/worker_core.h"

typedef struct chance {
    uint64_t random;
    const char *problem; /* the first one; NULL: none */
    char text[300];      /* of a problem that has details */
} chance;

chance chance_of_seed(uint64_t seed);
/* A number below this one. */
uint64_t chance_draw(chance *of, uint64_t below);
/* A duration below this one. */
int64_t chance_draw_ns(chance *of, uint64_t below_ms);
/* Notes the problem unless the condition holds; the first one stays. */
void chance_expect(chance *of, bool holds, const char *problem);
/* Notes that this side closes the link, and why. */
void chance_expect_ok(chance *of, arcp_status status, const char *side, const arcp_error *err);

/* ---- the link ---- */

typedef struct frame {
    struct frame *next;
    int64_t due_ns;
    arcp_buf bytes;
} frame;

typedef struct one_way {
    frame *first, *last;
} one_way;

/* Its up direction is that from the worker to the runtime. */
typedef struct simulated_link {
    one_way up, down;
    bool is_up;  /* as the worker knows */
    bool is_cut; /* one side may not have noticed it yet */
    int64_t worker_notices_ns, runtime_notices_ns;
    int64_t connects_ns; /* when the worker tries again */
    int64_t ticked_ns;
} simulated_link;

/* A frame is on its way, unless the link is cut. */
void link_post(simulated_link *link, one_way *way, chance *by, int64_t now_ns,
               const arcp__worker_message *message);
/* What has arrived by now, which the caller frees with frame_free; NULL: nothing. */
frame *link_arrived(one_way *way, int64_t now_ns);
void frame_free(frame *in);
/* Loses what is on its way. */
void link_drop(simulated_link *link);
/* Ends the link unless that is so already. Each side notices it later. */
void link_cut(simulated_link *link, chance *by, int64_t now_ns);
/* A new connection; the worker knows of it at once. */
void link_connect(simulated_link *link, arcp__worker_core *core, int64_t now_ns);
/* The worker's end: what it receives, and then its clock and what it sends. */
void link_feed_worker(simulated_link *link, chance *by, arcp__worker_core *core, int64_t now_ns);
void link_run_worker(simulated_link *link, chance *by, arcp__worker_core *core, int64_t now_ns);

/* ---- programs: what a simulation has no use for ---- */

void simulation_ignore_text(void *user, void *program, arcp_span text);
void simulation_ignore_rows(void *user, arcp_span rows);

/* ---- seeds ---- */

/* Plays one seed. Returns NULL, or what is wrong. */
typedef const char *simulation_play_fn(uint64_t seed, const void *setup, int fault, int *step);

/* Plays `seeds` seeds, or those that the environment asks for: ARCP_WORKER_SEED=N repeats one
 * alone, ARCP_WORKER_SEEDS=N plays so many. Fails the test with the seed that has a problem. */
void simulation_play_seeds(simulation_play_fn *play, const void *setup, uint64_t seeds);
/* Fails the test unless one of the seeds finds the fault. */
void simulation_find_fault(simulation_play_fn *play, const void *setup, int fault, uint64_t seeds);

#endif
