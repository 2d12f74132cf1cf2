/* One end of a link between a worker and a runtime: whole messages in both directions
 * (worker_frame.h), over a local socket with their sizes, or over a WebSocket.
 *
 * A message that does not conform, or that its owner does not take, ends the link; so does a lack
 * of memory. The end is reported once, and is the last event. */
#ifndef ARCP_WORKER_WORKER_LINK_H
#define ARCP_WORKER_WORKER_LINK_H

#include <uv.h>

#include <arcp/sys/transport.h>

#include "worker/worker_frame.h"

/* The subprotocol of a WebSocket that is a link. */
#define ARCP__WORKER_SUBPROTOCOL "arcp-worker.1"

/* Above this the link takes no more, until it has written it. */
#define ARCP__WORKER_LINK_QUEUED_MAX 262144u

typedef struct arcp__worker_link arcp__worker_link;

/* Called from the loop, never from inside a call on the link. None of them may close it but
 * `ended`. */
typedef struct arcp__worker_link_events {
    /* A message of the other side, valid during the call. Other than ARCP_OK ends the link; over a
     * WebSocket the other side gets the error's message. */
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
/* Takes over the connection on success; NULL when out of memory. Its messages are binary. */
ARCP_MUST_CHECK arcp__worker_link *arcp__worker_link_over(arcp_connection *connection,
                                                          arcp__worker_side ours,
                                                          const arcp__worker_link_events *events);
/* The worker is known, and its connection is not one that may be closed for others. */
void arcp__worker_link_admit(arcp__worker_link *link);
/* Whether the other side has closed the link because of our token. */
bool arcp__worker_link_is_refused(const arcp__worker_link *link);

/* The longest line of an agent, and the longest job.start. */
void arcp__worker_link_set_line_bytes(arcp__worker_link *link, size_t line_bytes);

/* Whether what is queued is less than ARCP__WORKER_LINK_QUEUED_MAX. */
bool arcp__worker_link_has_room(const arcp__worker_link *link);
/* Queues a message, whatever is queued already; it is copied. */
void arcp__worker_link_send(arcp__worker_link *link, const arcp__worker_message *message);

/* Nothing more is read, and no event follows; the other side gets the reason, if the link is a
 * WebSocket. The owner closes it. */
void arcp__worker_link_refuse(arcp__worker_link *link, arcp_status status, const char *why);
/* Closes it; what is queued is not written. No event follows. NULL is accepted. */
void arcp__worker_link_close(arcp__worker_link *link);

#endif
