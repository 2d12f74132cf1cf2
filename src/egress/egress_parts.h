/* Private to this folder: the state of egress, of its jobs and of their connections. */
#ifndef ARCP_EGRESS_EGRESS_PARTS_H
#define ARCP_EGRESS_EGRESS_PARTS_H

#include <arcp/secret.h>

#include "egress/egress.h"
#include "egress/egress_dns.h"
#include "egress/egress_head.h"
#include "egress/egress_side.h"
#include "egress/egress_upstream.h"
#include "web/body.h"

/* ---- shared ---- */

struct arcp__egress {
    uv_loop_t *loop;
    arcp__loop_share *share;
    size_t references; /* the owner, jobs, lookups */
    arcp__egress_job *jobs;
    arcp__egress_host *private_hosts;
    size_t private_host_count;
    arcp__arena arena; /* of the options */
    const arcp_span *model_hosts;
    size_t model_host_count;
    uint32_t idle_ms;
    uint32_t head_ms;
    uint32_t dial_ms;   /* for a lookup, and for each address */
    uint32_t linger_ms; /* for the client's end, after everything was written */
    arcp__egress_counts counts;
    arcp__egress_system system;
    arcp__tls_context *tls; /* of connections to servers; NULL: none was needed yet */
    /* The addresses of this host, as they were at own_ms on the loop's clock. */
    arcp__egress_address *own;
    size_t own_count;
    uint64_t own_ms;
};

void arcp__egress_unref(arcp__egress *egress);

/* ---- jobs ---- */

typedef struct arcp__egress_connection arcp__egress_connection;
typedef struct arcp__egress_name_server arcp__egress_name_server;
typedef struct arcp__egress_listener arcp__egress_listener;

struct arcp__egress_job {
    arcp__egress_job *prev;
    arcp__egress_job *next;
    arcp__egress *egress;
    size_t references; /* the owner, listeners, connections, the name server */
    bool is_closed;
    arcp_authority *authority;
    arcp__egress_policy *policy;
    arcp__egress_names *names;
    arcp_secret *credential;      /* that a request to the explicit proxy must carry; NULL: none */
    arcp__tls_ca *ca;             /* NULL: TLS stays closed */
    arcp__tls_sessions *sessions; /* with hosts; NULL before the first connection to one */
    bool opens_whole_hosts;       /* TLS is terminated where it could be a tunnel */
    void (*denied)(void *user, const arcp__egress_denial *denial);
    void (*allowed)(void *user, arcp_span url, bool is_host);
    void *user;
    void (*serve)(void *user, unsigned gateway, int fd);
    void *serve_user;
    arcp__egress_listener *listeners; /* a list; each is freed by its handle */
    arcp__egress_name_server *name_servers;
    arcp__egress_connection *connections;
    size_t connection_count;
    size_t lookup_count;          /* running */
    arcp__egress_upstream *queue; /* of upstreams that wait for a lookup */
};

void arcp__egress_job_unref(arcp__egress_job *job);

/* Counts a denial and calls the job's callback, which may close the job. */
void arcp__egress_job_report(arcp__egress_job *job, arcp_span target, arcp__egress_denial_code code,
                             const char *reason);

/* Counts what is allowed, and calls the job's callback. */
void arcp__egress_job_allow(arcp__egress_job *job, arcp_span url, bool is_host);

/* Serves DNS at a UDP socket, which it owns from now on, also on failure. */
ARCP_MUST_CHECK arcp_status arcp__egress_name_server_open(arcp__egress_job *job, int fd,
                                                          arcp_error *err);
void arcp__egress_name_server_close(arcp__egress_name_server *server);

/* ---- connections ---- */

typedef enum arcp__egress_stage {
    ARCP__EGRESS_AT_FIRST,     /* what was sent first is not known yet; also after CONNECT */
    ARCP__EGRESS_AT_HEAD,      /* of a request */
    ARCP__EGRESS_AT_DIAL,      /* the server side is being connected */
    ARCP__EGRESS_AT_HANDSHAKE, /* of TLS with the server */
    ARCP__EGRESS_IN_EXCHANGE,  /* a request with its response */
    ARCP__EGRESS_IN_TUNNEL,    /* bytes both ways */
    ARCP__EGRESS_IN_NAMES,     /* queries of DNS */
    ARCP__EGRESS_IN_LINGER,    /* all was written; input is discarded */
    ARCP__EGRESS_IS_CLOSED
} arcp__egress_stage;

struct arcp__egress_connection {
    arcp__egress_connection *prev;
    arcp__egress_connection *next;
    arcp__egress_job *job;
    arcp__egress_stage stage;
    uv_timer_t timer;
    uint64_t active_ms; /* when bytes moved last, on the loop's clock */
    bool is_proxy;      /* to the explicit proxy, before CONNECT */
    bool is_tls;        /* TLS is terminated here: the client side is what was inside it */
    bool is_opened;     /* something has arrived inside it */
    bool is_http;       /* the head of a request was complete */
    bool is_asked;      /* the lease does not grant another protocol at the place as a whole */
    bool is_lingering;  /* everything was written; waits for the client's end */
    bool is_between;    /* a request was served, and the next one has not begun */

    /* Where the connection goes; empty for the explicit proxy before CONNECT. */
    arcp__egress_host at_host;
    uint16_t at_port;

    arcp__egress_side client; /* inside */
    arcp__egress_side server; /* outside */
    arcp__egress_upstream upstream;
    arcp__egress_stage after_dial;
    arcp__egress_host dialled_host; /* of the server side */
    uint16_t dialled_port;
    bool is_gateway; /* the current request is for a gateway */
    bool dialled_names_host;
    bool dialled_is_tls;
    arcp_buf url; /* of the current request or tunnel, for reports */

    /* The current request. */
    arcp__web_head request;
    arcp__web_head response;
    arcp__web_body up;
    arcp__web_body down;
    bool is_upgrade;
    bool is_sent;     /* all of the request was passed to the server side */
    bool is_answered; /* the head of the final response was passed to the client */
    bool is_reused;   /* the server side has served a request before */
    bool has_interim; /* the server has sent a byte of a response */
    bool is_last;     /* the connection ends after the response */
};

static inline arcp__egress_target arcp__egress_connection_at(const arcp__egress_connection *c)
{
    return (arcp__egress_target){arcp_span_cstr(c->at_host.text), c->at_port, c->is_tls};
}

/* Serves an accepted stream, which it takes over. */
void arcp__egress_connection_open(arcp__egress_job *job, arcp__stream *stream);
void arcp__egress_connection_close(arcp__egress_connection *connection);

/* Counts the time limit of the current stage from now on. */
void arcp__egress_connection_start_timer(arcp__egress_connection *connection);
/* Enters a stage, with its time limit. */
void arcp__egress_connection_enter(arcp__egress_connection *connection, arcp__egress_stage stage);

/* Connects the server side, then enters `after`. The host, and whether the lease names it, are of
 * an allowed decision. */
void arcp__egress_connection_dial(arcp__egress_connection *connection, arcp_span host,
                                  uint16_t port, bool names_host, arcp__egress_stage after);

/* Each step does what it can with what the sides have; true when it has changed anything. */
bool arcp__egress_first_step(arcp__egress_connection *connection);
bool arcp__egress_head_step(arcp__egress_connection *connection);
bool arcp__egress_exchange_step(arcp__egress_connection *connection);
bool arcp__egress_tunnel_step(arcp__egress_connection *connection);
bool arcp__egress_handshake_step(arcp__egress_connection *connection);
bool arcp__egress_names_step(arcp__egress_connection *connection);

/* Ends a connection before anything was answered; TLS gets an alert: that it is denied, or that it
 * cannot be served. */
void arcp__egress_first_end(arcp__egress_connection *connection, bool is_denied);
/* Reports what was sent first, which is neither TLS nor HTTP/1.1 and which no line of the lease
 * grants as a whole. The report may close the job. */
void arcp__egress_first_report(const arcp__egress_connection *connection);
/* Serves TLS to the client in place of the host, whose complete hello waits on the client side;
 * `name` is the one in it, or NULL. Its requests are decided one by one. */
void arcp__egress_terminate(arcp__egress_connection *connection, const char *name);
/* Begins TLS with the server, to which the client side was connected. */
void arcp__egress_terminate_dialled(arcp__egress_connection *connection);
/* The client side is broken: reports it if the client has not accepted our certificate. */
void arcp__egress_terminate_broken(arcp__egress_connection *connection);

/* The server side of an exchange could not be connected: responds. */
void arcp__egress_exchange_undialled(arcp__egress_connection *connection,
                                     arcp__egress_upstream_end end, const char *why);

#endif
