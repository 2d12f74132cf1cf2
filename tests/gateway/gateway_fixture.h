/* A gateway with a service for both kinds of calls, one job, and a raw peer connected to it. The
 * service does what the path says:
 *
 *   .../echo     responds with the request's body
 *   .../hold     does not respond, until its client leaves or its call is ended; says what it cost
 *   .../stubborn the same, but ends its call only when the test says so (f->may_end)
 *   .../stream   responds with three pieces, each when the last one was sent
 *   .../large    writes 32 MiB, and ends when its client has left
 *   .../deny     asks the gate for tool.call on the body
 *   anything     404 */
#ifndef ARCP_TESTS_GATEWAY_FIXTURE_H
#define ARCP_TESTS_GATEWAY_FIXTURE_H

#include <stdatomic.h>

#include "gateway/gateway_job.h"
#include "transport/raw_peer.h"

#define PATIENCE_MS 60000u

typedef struct gateway_fixture {
    test_loop test;
    uv_async_t wake;
    arcp__gateway *gateway;
    arcp__job_gates gates;
    arcp_authority *authority;
    arcp__gateway_job *job;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    char url[80]; /* of the listener, for raw_peer_connect */
    raw_peer peer;
    arcp__gateway_events events;
    arcp_buf seen; /* what was delivered: one line for each message and denial */
    size_t delivered;
    bool makes_spans; /* of the calls of jobs that are opened from now on */
    size_t jobs;      /* that were opened: their ids are job_1, job_2 and so on */
    /* Of both threads. */
    atomic_bool may_end;
    atomic_size_t held, ended, dropped, over, configured;
} gateway_fixture;

extern const arcp__gateway_service fixture_service;

arcp__gateway_options gateway_fixture_options(gateway_fixture *f);
/* Makes the authority of the job, with this lease. */
void gateway_fixture_init(gateway_fixture *f, const char *granted);
/* Starts the gateway, opens the job, and connects the peer. */
void gateway_fixture_start(gateway_fixture *f, const arcp__gateway_options *options);
/* Both, with the service of this file and a lease of web.*. */
void gateway_fixture_open(gateway_fixture *f, const arcp__gateway_limits *limits);
void gateway_fixture_close(gateway_fixture *f);
arcp__gateway_job *gateway_fixture_open_job(gateway_fixture *f, bool is_confined,
                                            arcp__gateway_endpoint *endpoints);

/* Sends a request with the job's key (as Authorization: Bearer), this method and path, and these
 * further header lines. */
void gateway_fixture_send(gateway_fixture *f, const char *line, const char *headers,
                          const char *body);
/* Sends bytes as they are. */
void gateway_fixture_send_raw(gateway_fixture *f, const char *text);
/* Connects the peer anew. */
void gateway_fixture_reconnect(gateway_fixture *f);

#endif
