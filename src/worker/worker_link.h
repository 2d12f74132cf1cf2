/* One end of a link between a worker and a runtime, over a connected socket: whole messages in both
 * directions, each with its size before it (worker_frame.h).
 *
 * A message that does not conform, or that its owner does not take, ends the link; so does a lack
 * of memory. The end is reported once, and is the last event. */
#ifndef ARCP_WORKER_WORKER_LINK_H
#define ARCP_WORKER_WORKER_LINK_H

#include <uv.h>

#include "worker/worker_frame.h"

/* Above this the link takes no more, until it has written it. */
#define ARCP__WORKER_LINK_QUEUED_MAX 262144u

typedef struct arcp__worker_link arcp__worker_link;

/* Called from the loop, never from inside a call on the link. None of them may close it but
 * `ended`. */
typedef struct arcp__worker_link_events {
    /* A message of the other side, valid during the call. Other than ARCP_OK ends the link, with
     * the error's message. */
    arcp_status (*message)(void *user, const arcp__worker_message *message, arcp_error *err);
    /* The link takes messages again, and may always have done so. */
    void (*has_room)(void *user);
    /* `why` is NULL when the other side has closed the link. The owner closes its end now or later.
     */
    void (*ended)(void *user, const char *why);
    void *user;
} arcp__worker_link_events;

/* Takes over the descriptor on success. `ours` is the side that we are. Until line_bytes is set,
 * lines have at most ARCP__WORKER_BODY_MAX bytes. */
ARCP_MUST_CHECK arcp_status arcp__worker_link_new(uv_loop_t *loop, int fd, arcp__worker_side ours,
                                                  const arcp__worker_link_events *events,
                                                  arcp__worker_link **out, arcp_error *err);
/* The longest line of an agent, and the longest job.start. */
void arcp__worker_link_set_line_bytes(arcp__worker_link *link, size_t line_bytes);

/* Whether what is queued is less than ARCP__WORKER_LINK_QUEUED_MAX. */
bool arcp__worker_link_has_room(const arcp__worker_link *link);
/* Queues a message, whatever is queued already; it is copied. */
void arcp__worker_link_send(arcp__worker_link *link, const arcp__worker_message *message);

/* Closes it; what is queued is not written. No event follows. NULL is accepted. */
void arcp__worker_link_close(arcp__worker_link *link);

#endif
