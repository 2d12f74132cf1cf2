/* /metrics, /healthz and /readyz for whoever watches the daemon: an HTTP/1 listener of its own,
 * small and bounded. GET and HEAD only, no TLS, no authentication: keep it on loopback or behind
 * what has both. Connections are kept for further requests; one that waits for its next request
 * is closed when its place is needed. */
#ifndef ARCP_ARCPD_STATUS_SERVER_H
#define ARCP_ARCPD_STATUS_SERVER_H

#include <arcp/buf.h>
#include <uv.h>

#include "transport/url.h"

typedef struct arcp__status_server arcp__status_server;

/* What it shows; called on the loop's thread. */
typedef struct arcp__status_source {
    void (*metrics)(void *user, arcp_buf *out);
    bool (*is_ready)(void *user, const char **why);
    void *user;
} arcp__status_source;

typedef struct arcp__status_options {
    const char *listen;       /* ADDRESS:PORT; port 0 picks one */
    const char *const *hosts; /* further names by which it may be called */
    size_t host_count;
    uint64_t timeout_ms; /* for each request: the wait for it and its answer together; 0: 10 s */
} arcp__status_options;

#define ARCP__STATUS_CONNECTIONS_MAX 32u
#define ARCP__STATUS_HEAD_BYTES_MAX  8192u

/* ADDRESS:PORT, as `listen` has to be written. ARCP_E_USAGE says what would be right. */
ARCP_MUST_CHECK arcp_status arcp__status_listen_parse(const char *listen, arcp__authority *out,
                                                      arcp_error *err);

/* ARCP_E_USAGE for an address that is none, ARCP_E_IO when it cannot be listened on. */
ARCP_MUST_CHECK arcp_status arcp__status_server_open(uv_loop_t *loop,
                                                     const arcp__status_options *options,
                                                     const arcp__status_source *source,
                                                     arcp__status_server **out, arcp_error *err);

/* HOST:PORT with the real port; lives as long as the server. */
const char *arcp__status_server_address(const arcp__status_server *server);

/* Closes it and its connections; the loop runs on until their handles are closed. NULL is
 * accepted. */
void arcp__status_server_close(arcp__status_server *server);

#endif
