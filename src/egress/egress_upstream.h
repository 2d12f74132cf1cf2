/* From a host to a connection: finds its addresses, checks each, and connects to the first that
 * accepts. The address that was checked is the one that is dialled.
 *
 *   idle -> QUEUED (the job has enough lookups) -> lookup -> connecting -> done */
#ifndef ARCP_EGRESS_EGRESS_UPSTREAM_H
#define ARCP_EGRESS_EGRESS_UPSTREAM_H

#include "egress/egress.h"
#include "egress/egress_address.h"
#include "egress/egress_head.h"
#include "stream/stream.h"

#define ARCP__EGRESS_ADDRESSES_MAX 8 /* of a name, that are tried */

/* What is asked of the system: uv_getaddrinfo, uv_freeaddrinfo, arcp__tcp_stream_local and
 * arcp__tcp_stream_connect; or a test's own functions, so that it needs neither DNS nor a network
 * of its own. */
typedef struct arcp__egress_system {
    int (*find)(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                const char *node, const char *service, const struct addrinfo *hints);
    void (*release)(struct addrinfo *addresses);
    int (*local)(const arcp__stream *stream, struct sockaddr_storage *out);
    int (*connect)(arcp__loop_share *share, const struct sockaddr *address,
                   void (*done)(void *user, int result), void *user, arcp__stream **out);
} arcp__egress_system;

typedef enum arcp__egress_upstream_end {
    ARCP__EGRESS_CONNECTED,
    ARCP__EGRESS_NOT_PUBLIC, /* an address that may not be dialled */
    ARCP__EGRESS_NOT_FOUND,  /* the name has no address */
    ARCP__EGRESS_UNREACHABLE
} arcp__egress_upstream_end;

typedef struct arcp__egress_lookup arcp__egress_lookup;

typedef struct arcp__egress_upstream {
    struct arcp__egress_upstream *prev; /* in the job's queue */
    struct arcp__egress_upstream *next;
    arcp__egress_job *job;
    /* Called once, from the loop, with the stream if it is ARCP__EGRESS_CONNECTED. `why` is one
     * line. */
    void (*done)(void *user, arcp__egress_upstream_end end, arcp__stream *stream, const char *why);
    void *user;
    enum {
        ARCP__EGRESS_IDLE,
        ARCP__EGRESS_QUEUED,
        ARCP__EGRESS_LOOKING_UP,
        ARCP__EGRESS_CONNECTING
    } state;
    arcp__egress_host host;
    uint16_t port;
    bool may_be_private;
    arcp__task task;             /* connects, or reports an end */
    arcp__egress_lookup *lookup; /* while looking up */
    arcp__stream *stream;        /* while connecting */
    bool is_paired;              /* `stream` leads to a gateway, and is connected already */
    arcp__egress_address addresses[ARCP__EGRESS_ADDRESSES_MAX];
    size_t count;
    size_t tried;
    arcp__egress_upstream_end end;
    const char *why;
} arcp__egress_upstream;

/* Begins; `job`, `done` and `user` must be set, and nothing else may be in progress. `names_host`:
 * the lease names the host itself, so that an address or the loopback may be private. */
void arcp__egress_upstream_begin(arcp__egress_upstream *upstream, arcp_span host, uint16_t port,
                                 bool names_host);
/* Gives up the current address, or the lookup, because it took too long. */
void arcp__egress_upstream_skip(arcp__egress_upstream *upstream);
/* Ends without a call of `done`. Does nothing if nothing is in progress. */
void arcp__egress_upstream_cancel(arcp__egress_upstream *upstream);

#endif
