/* Starts programs on a thread of its own, in the order of the requests. */
#ifndef ARCP_PROCESS_PROCESS_STARTER_H
#define ARCP_PROCESS_PROCESS_STARTER_H

#include <uv.h>

#include <arcp/sys/launcher.h>

#include "base/arena.h"

typedef struct arcp__starter arcp__starter;

/* The start of one program. */
typedef struct arcp__start {
    struct arcp__start *next;
    arcp__arena arena; /* the memory of `spec`; its descriptors belong to the owner */
    bool failed;       /* out of memory while copying `spec` */
    arcp_launch_spec spec;
    arcp_confinement confinement; /* of `spec`, if that has one */
    void *owner;
    arcp_status status;
    arcp_error error;      /* valid if `status` is not ARCP_OK */
    arcp_process *process; /* valid if it is ARCP_OK; the callback takes it */
} arcp__start;

/* Called on the loop's thread when a start has succeeded or failed; `start` is borrowed. */
typedef void (*arcp__start_done_fn)(arcp__start *start);

/* NULL when out of memory. The launcher must outlive the starter. */
arcp__starter *arcp__starter_new(uv_loop_t *loop, arcp_launcher *launcher, arcp__start_done_fn done,
                                 void (*closed)(void *user), void *user);

/* Copies `spec`, but not its descriptors, and requests its start; `done` follows, never from inside
 * this call. ARCP_E_NO_MEMORY; ARCP_E_IO if the thread cannot be created. */
ARCP_MUST_CHECK arcp_status arcp__starter_request(arcp__starter *starter,
                                                  const arcp_launch_spec *spec, void *owner,
                                                  arcp_error *err);

/* Whether a start is in progress. */
bool arcp__starter_is_busy(const arcp__starter *starter);

/* No further start may be requested; `closed` follows when all starts are reported. */
void arcp__starter_close(arcp__starter *starter);

/* Call this after `closed`, and after the last program has ended: it ends the thread. */
void arcp__starter_free(arcp__starter *starter);

#endif
