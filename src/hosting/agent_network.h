/* The network of confined agents. What their sandboxes ask for is decided and fetched on one thread
 * with a loop of its own (egress/egress.h), so that an agent that fetches much does not delay the
 * runtime.
 *
 *   runtime's thread    open, close ───────────────┐                ┌──> take ──> engine
 *                                                  v                │
 *   egress thread                   sockets, connections ──> denials and failures
 *
 * All functions are called on the owner's thread, and none of them waits for the other thread but
 * free. */
#ifndef ARCP_HOSTING_AGENT_NETWORK_H
#define ARCP_HOSTING_AGENT_NETWORK_H

#include <uv.h>

#include <arcp/gate.h>

#include "egress/egress.h"

/* Distinct denials of one sandbox that wait to be taken; more are only counted. */
#define ARCP__AGENT_NETWORK_DENIALS_MAX 256

typedef struct arcp__agent_network arcp__agent_network;         /* of a hosting */
typedef struct arcp__agent_network_job arcp__agent_network_job; /* of one sandbox */

/* What a sandbox was denied. Valid during the call. */
typedef struct arcp__network_denial {
    arcp_status code;
    arcp_span target; /* a URL, or a host; empty: of various operations */
    arcp_span reason;
    uint64_t count;
} arcp__network_denial;

/* Connections to the names of gateways. */
typedef struct arcp__network_gateway {
    void (*hold)(void *gateway); /* as long as the sandbox */
    void (*drop)(void *gateway); /* on the egress thread */
    /* Serves a connection, whose descriptor it owns, to the gateway of this bit. On the egress
     * thread. */
    void (*serve)(void *gateway, unsigned which, int fd);
} arcp__network_gateway;

/* Called from arcp__agent_network_take. */
typedef struct arcp__agent_network_events {
    void (*denied)(void *user, const arcp__network_denial *denial);
    /* The network cannot be served. No denial follows, and the sandbox must not go on. */
    void (*failed)(void *user, const char *why);
    void *user;
} arcp__agent_network_events;

typedef struct arcp__agent_network_options {
    const arcp_authority *authority; /* a reference is taken */
    const int *sockets;              /* owned from now on, also on failure */
    size_t socket_count;
    const char *proxy_secret;    /* as in arcp__egress_job_options; copied */
    arcp__egress_options egress; /* copied: a later change is for sandboxes that are opened later */
    arcp__agent_network_events events;
    /* Gets the connections to names of gateways, of which it has a bit each in `gateways`; held as
     * long as the sandbox. NULL: there are no such names. */
    void *gateway;
    const arcp__network_gateway *gateway_ops; /* static */
    unsigned gateways;
    arcp__tls_ca *ca; /* as arcp__egress_job_options.ca; owned from now on, also on failure */
} arcp__agent_network_options;

/* Starts the thread. It sends `wake` when there is something to take. ARCP_E_NO_MEMORY, ARCP_E_IO.
 */
ARCP_MUST_CHECK arcp_status arcp__agent_network_new(uv_async_t *wake, arcp__agent_network **out,
                                                    arcp_error *err);

/* Ends the thread; all sandboxes are closed. Lookups of names that the system does not answer are
 * waited for at most 2 s: then the thread ends by itself later. NULL is accepted. */
void arcp__agent_network_free(arcp__agent_network *network);

/* Requests that the sockets of a sandbox are served. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__agent_network_open(arcp__agent_network *network,
                                                     const arcp__agent_network_options *options,
                                                     arcp__agent_network_job **out,
                                                     arcp_error *err);

/* Requests that the sockets and all connections of a sandbox are closed at once. No event follows:
 * denials that were not taken are lost. NULL is accepted. */
void arcp__agent_network_close(arcp__agent_network_job *job);

/* Adds to *counts what all sandboxes so far have exchanged; `connections` are those that are open
 * now. NULL is accepted. */
void arcp__agent_network_count(arcp__agent_network *network, arcp__egress_counts *counts);

/* Calls the events that are due. NULL is accepted. */
void arcp__agent_network_take(arcp__agent_network *network);

#endif
