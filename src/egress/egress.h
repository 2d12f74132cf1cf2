/* The network of sandboxes. The only sockets that lead out of a sandbox's empty network are
 * listeners, made inside by arcp-sandbox and served out here, on a loop of the caller. What is
 * asked for there is decided by the job's authority (net.fetch), and what is allowed is fetched
 * from here.
 *
 *   job         listeners of one sandbox, its names and connections      (egress_job)
 *   dns         answers for names that a lease may reach                 (egress_dns, egress_names)
 *   connection  what was sent first: HTTP, TLS, the explicit proxy       (egress_connection)
 *   policy      which URL that is, and whether the lease grants it       (egress_policy)
 *   terminate   TLS in place of a host that is granted in part           (egress_terminate)
 *   upstream    name -> address that may be dialled -> connection        (egress_upstream)
 *
 * All functions are called on the loop's thread, except where their comment says otherwise. */
#ifndef ARCP_EGRESS_EGRESS_H
#define ARCP_EGRESS_EGRESS_H

#include <uv.h>

#include <arcp/error.h>
#include <arcp/gate.h>

#include "base/arena.h"
#include "stream/tls_ca.h"

#define ARCP__EGRESS_LISTENERS_MAX   512
#define ARCP__EGRESS_PROXY_PORT      3128 /* inside: CONNECT, and requests in absolute form */
#define ARCP__EGRESS_CONNECTIONS_MAX 256  /* of a job */
#define ARCP__EGRESS_NAMES_MAX       4096 /* of a job, that get an address */
/* Names below .arcp that lead to gateways of the runtime, at port 80 and without TLS: llm.arcp and
 * mcp.arcp. They are not subject to net.fetch. All other names below .arcp are refused. */
#define ARCP__EGRESS_GATEWAYS 2
/* Lookups of a job at the same time. They are made by libuv's threads, which the process shares,
 * and a resolver that does not answer holds each for long. */
#define ARCP__EGRESS_LOOKUPS_MAX 2

typedef struct arcp__egress arcp__egress;
typedef struct arcp__egress_job arcp__egress_job;

typedef struct arcp__egress_options {
    /* Host names that may lead to private addresses; copied. */
    const arcp_span *private_hosts;
    size_t private_host_count;
    /* Hosts that no lease grants, because models there are called by the gateway: as URLs have
     * them, with a port where only that one counts (arcp__egress_model_hosts); copied. */
    const arcp_span *model_hosts;
    size_t model_host_count;
    uint32_t idle_ms; /* a connection without a byte is closed; 0: 300 s */
    uint32_t head_ms; /* for a hello or a request head; 0: 10 s */
} arcp__egress_options;

typedef enum arcp__egress_denial_code {
    ARCP__EGRESS_NO_PATTERN, /* no pattern of the lease grants it: the reason says no more */
    ARCP__EGRESS_REFUSED     /* for another reason, whatever the lease grants */
} arcp__egress_denial_code;

/* What was refused. Valid during the call. The bytes of the target are the program's. */
typedef struct arcp__egress_denial {
    arcp_span capability; /* "net.fetch" */
    arcp_span target;     /* a URL; a name that was asked for by DNS; or ADDRESS:PORT */
    arcp__egress_denial_code code;
    const char *reason; /* one line, static or valid during the call */
} arcp__egress_denial;

typedef struct arcp__egress_job_options {
    const arcp_authority *authority; /* a reference is taken */
    /* Listening TCP sockets and the UDP socket of DNS, in any order: its type, and the port that
     * a connection was made to (53, ARCP__EGRESS_PROXY_PORT, others), say what each is for. Owned
     * from now on, also on failure.
     *
     * Each serves both families: it is AF_INET6, and IPv4 addresses are mapped (::ffff:198.18.0.7);
     * only where the kernel has no IPv6 it is AF_INET. The UDP socket reports the address that was
     * asked as IPV6_PKTINFO (of AF_INET: IP_PKTINFO), mapped likewise, and the same control message
     * sends the answer from there. */
    const int *sockets;
    size_t socket_count;
    /* Not NULL: each TCP socket, whatever its port, is the explicit proxy, and other programs of
     * this host can connect to it. A request is served only if it carries this secret, which is the
     * password of the user "arcp" (Proxy-Authorization: Basic). Copied. */
    const char *proxy_secret;
    /* May be called from inside any event of the loop, and may close the job. NULL: denials are
     * only counted. Each denial is reported, also one that was reported before. */
    void (*denied)(void *user, const arcp__egress_denial *denial);
    /* What was allowed, each time: the URL of a request, or (`is_host`) one of a host whose
     * requests are not seen. Valid during the call, which may not close the job. NULL: allowed
     * connections are only counted. */
    void (*allowed)(void *user, arcp_span url, bool is_host);
    void *user;
    /* Bit 0: the job has the gateway llm.arcp; bit 1: mcp.arcp. Requests for it are passed on as
     * those for hosts are, on a connection whose other end `serve` gets: the socket is owned by the
     * callee, and the call may not close the job. */
    unsigned gateways;
    void (*serve)(void *user, unsigned gateway, int fd); /* NULL only without gateways */
    void *serve_user;
    /* TLS to hosts that the lease grants in part is terminated with certificates of this authority,
     * which the sandbox trusts, so that each request is decided. Owned from now on, also on
     * failure. NULL: such connections are denied. */
    arcp__tls_ca *ca;
    bool opens_whole_hosts; /* with `ca`: also to hosts that the lease grants as a whole */
} arcp__egress_job_options;

typedef struct arcp__egress_counts {
    uint64_t allowed, denied, failed; /* requests and tunnels */
    uint64_t bytes_out, bytes_in;
    uint64_t connections; /* open now */
} arcp__egress_counts;

/* Whether a text can be one of private_hosts: the name of a host, or an address as URLs have it,
 * without a port. Others are left out. Any thread. */
ARCP_MUST_CHECK bool arcp__egress_is_private_host(arcp_span text);

/* The hosts by which connections lead to the servers of URLs of http or https, model providers':
 * of each its host, whatever the port, or of this machine each spelling with the URL's port.
 * Nothing for a host that no connection leads to. `urls`: NULL-terminated; NULL: none. The list is
 * in the arena. False: out of memory. Any thread. */
ARCP_MUST_CHECK bool arcp__egress_model_hosts(arcp__arena *arena, const char *const *urls,
                                              arcp_span **hosts, size_t *count);

/* Options whose lists are in the arena. False: out of memory. Any thread. */
ARCP_MUST_CHECK bool arcp__egress_options_copy(arcp__arena *arena, const arcp__egress_options *from,
                                               arcp__egress_options *out);
ARCP_MUST_CHECK bool arcp__egress_options_equal(const arcp__egress_options *a,
                                                const arcp__egress_options *b);

/* ARCP_E_NO_MEMORY, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__egress_new(uv_loop_t *loop, const arcp__egress_options *options,
                                             arcp__egress **out, arcp_error *err);
/* Closes its jobs; the memory is freed later, from the loop. NULL is accepted. */
void arcp__egress_free(arcp__egress *egress);

arcp__egress_counts arcp__egress_count(const arcp__egress *egress);
/* Adds each of the counts to that of *to. Any thread. */
void arcp__egress_counts_add(arcp__egress_counts *to, const arcp__egress_counts *counts);

/* Begins to serve the sockets of a sandbox. ARCP_E_USAGE for a socket that is neither a listening
 * TCP socket nor a UDP socket; ARCP_E_NO_MEMORY, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__egress_open(arcp__egress *egress,
                                              const arcp__egress_job_options *options,
                                              arcp__egress_job **out, arcp_error *err);
/* Closes the sockets and every connection of the job at once; nothing is called afterwards. The
 * memory is freed later, from the loop. NULL is accepted. */
void arcp__egress_close(arcp__egress_job *job);

#endif
