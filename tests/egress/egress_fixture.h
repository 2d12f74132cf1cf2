/* Egress on its own loop, with a job whose sockets are on loopback, a server that names lead to,
 * and a client inside.
 *
 * Where a connection goes is up to the test (to): inside a sandbox it would be the address that the
 * program connected to. Names are found by the test, too: each leads to the addresses in `found`.
 */
#ifndef ARCP_TESTS_EGRESS_FIXTURE_H
#define ARCP_TESTS_EGRESS_FIXTURE_H

#include "egress/egress_parts.h"
#include "transport/raw_peer.h"

#define ADDRESSES_MAX 4
#define LOOKUPS_MAX   64

typedef struct egress_fixture {
    test_loop test;
    arcp__egress *egress;
    arcp__egress_job *job;
    arcp_authority *authority;
    int listener;        /* of the server outside */
    unsigned port;       /* its port */
    char inside_url[64]; /* of the job's listener */
    unsigned names_port; /* of the job's UDP socket */
    raw_peer client;     /* inside */
    raw_peer server;     /* a connection that the listener accepted */
    size_t allowed;
    char allowed_url[512]; /* the last one; that of a whole host ends with " host" */
    size_t denied;
    char target[512]; /* of the last denial */
    char reason[128];
    int gateway_fd;        /* a connection for a gateway that the test has not taken; -1: none */
    unsigned gateway;      /* whose */
    bool closes_on_denial; /* the callback closes the job */
} egress_fixture;

/* `lease`: the patterns of net.fetch as a JSON array; each PORT in it is replaced by the port of
 * the server. api.test and other.test may be private. */
void egress_fixture_open(egress_fixture *f, const char *lease);
void egress_fixture_open_with(egress_fixture *f, const char *lease, uint32_t idle_ms,
                              uint32_t head_ms);
/* Every connection is one to the explicit proxy, which asks for this secret. */
void egress_fixture_open_proxy(egress_fixture *f, const char *lease, const char *secret);
/* The job has these gateways. */
void egress_fixture_open_gateways(egress_fixture *f, const char *lease, unsigned gateways);
/* With TLS that is terminated. Servers are trusted if test_tls_files.ca has signed them. */
void egress_fixture_open_tls(egress_fixture *f, const char *lease, uint32_t head_ms);
void egress_fixture_close(egress_fixture *f);
/* The address that DNS gives a name inside, in host byte order. */
uint32_t egress_fixture_name(egress_fixture *f, const char *name);

/* Connects the client, as if to this address and port inside: "198.18.0.7", "::1". */
void egress_fixture_connect(egress_fixture *f, raw_peer *client, const char *address,
                            unsigned port);
/* Connects f->client to the server's port at the address that a name has. */
void egress_fixture_connect_name(egress_fixture *f, const char *name);
/* The text with the server's port for each PORT. The caller frees it. */
arcp_buf egress_fixture_text(const egress_fixture *f, const char *text);
/* Sends a text in which each PORT is the server's port. */
void egress_fixture_send(egress_fixture *f, raw_peer *peer, const char *text);
/* The first message of a TLS client; `name`: NULL for none. The caller frees it. */
arcp_buf egress_hello(const char *name);
void egress_send_hello(raw_peer *client, const char *name);
/* Accepts the connection of egress at the server. */
void egress_fixture_accept(egress_fixture *f);
/* Receives at f->client until the end, and checks that the text is part of it. */
void egress_fixture_expect_end(egress_fixture *f, const char *text);
/* Runs the loop for this long. */
void egress_fixture_pass_ms(egress_fixture *f, uint64_t ms);

/* What lookups give: addresses, or an error of libuv. */
typedef struct egress_answers {
    const char *addresses[ADDRESSES_MAX]; /* up to NULL */
    int error;
    bool is_silent; /* lookups do not end */
    size_t asked;
    char name[300]; /* that was asked for last */
} egress_answers;

extern egress_answers answers;
/* Ends the lookups that did not. */
void egress_answers_end(egress_fixture *f);

#endif
