/* What the two ways of a link share: bytes of a local socket, and messages of a WebSocket. Private
 * to src/worker. */
#ifndef ARCP_WORKER_WORKER_LINK_PARTS_H
#define ARCP_WORKER_WORKER_LINK_PARTS_H

#include "stream/stream.h"
#include "worker/worker_link.h"

/* One way of a link. None of these functions calls the owner. */
typedef struct arcp__worker_way {
    void (*send)(arcp__worker_link *link, const arcp__worker_message *message);
    size_t (*queued)(const arcp__worker_link *link);
    /* Nothing more is read; the other side gets the reason, if the way can carry it. */
    void (*stop)(arcp__worker_link *link, arcp_status status, const char *why);
    void (*close)(arcp__worker_link *link); /* frees what the way has */
} arcp__worker_way;

struct arcp__worker_link {
    const arcp__worker_way *way;
    arcp__worker_side theirs;
    arcp__worker_link_events events;
    arcp__worker_reader reader;
    arcp_buf output; /* not given to the stream yet; of a connection: one message */
    bool has_ended;  /* reported */
    bool is_refused; /* the other side has closed it because of our token */

    /* A local socket. */
    arcp__loop_share *share; /* its own */
    arcp__stream *stream;    /* owned */
    arcp_buf input;          /* an incomplete message */
    size_t unwritten;        /* of what the stream has */
    arcp__task flush;
    bool is_broken; /* it cannot be written; reported by `flush` */

    /* A WebSocket. */
    arcp_connection *connection; /* owned */
    bool has_closed;             /* `closed` was called */
};

/* NULL when out of memory. */
arcp__worker_link *arcp__worker_link_make(const arcp__worker_way *way, arcp__worker_side ours,
                                          const arcp__worker_link_events *events);
/* Reads a message of the other side and passes it to the owner. */
ARCP_MUST_CHECK arcp_status arcp__worker_link_take(arcp__worker_link *link, arcp_span bytes,
                                                   arcp_error *err);
/* Stops the link and reports its end, once. */
void arcp__worker_link_end(arcp__worker_link *link, arcp_status status, const char *why);

#endif
