/* Starts programs on a thread of its own, in the order in which they were asked for. */
#ifndef ARCP_PROCESS_PROCESS_STARTER_H
#define ARCP_PROCESS_PROCESS_STARTER_H

#include <uv.h>

#include <arcp/sys/launcher.h>

#include "base/arena.h"

typedef struct arcp__starter arcp__starter;

/* One program on its way. */
typedef struct arcp__start {
    struct arcp__start *next;
    arcp__arena arena; /* what the spec points to, but for its descriptors: these are the owner's */
    bool failed;       /* a copy found no memory */
    arcp_launch_spec spec;
    void *owner;
    arcp_status status;
    arcp_error error;      /* when that is not ARCP_OK */
    arcp_process *process; /* else, the owner's */
} arcp__start;

/* A start is over, on the loop's thread; borrowed. */
typedef void (*arcp__start_done_fn)(arcp__start *start);

/* NULL when out of memory. The launcher outlives it. */
arcp__starter *arcp__starter_new(uv_loop_t *loop, arcp_launcher *launcher, arcp__start_done_fn done,
                                 void (*closed)(void *user), void *user);

/* Copies `spec`, but not its descriptors, and has it started; `done` follows, never from inside
 * this call. ARCP_E_NO_MEMORY; ARCP_E_IO when there can be no thread. */
ARCP_MUST_CHECK arcp_status arcp__starter_ask(arcp__starter *starter, const arcp_launch_spec *spec,
                                              void *owner, arcp_error *err);

/* Whether a start is under way. */
bool arcp__starter_is_busy(const arcp__starter *starter);

/* Nothing is asked for any more: `closed` follows when all starts are reported. */
void arcp__starter_close(arcp__starter *starter);

/* After `closed`, and after the last program's end: the thread ends with it. */
void arcp__starter_free(arcp__starter *starter);

#endif
