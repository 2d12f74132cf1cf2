/* Private to this folder. */
#ifndef ARCP_WEB_PARTS_H
#define ARCP_WEB_PARTS_H

#include "web/server.h"

struct arcp__web_server {
    uv_tcp_t handle;
    uv_tcp_t rejected; /* accepts a peer for which there is no memory, and closes at once */
    arcp__loop_share *share;
    arcp__tls_context *tls; /* NULL: without TLS */
    arcp__web_names names;
    arcp__web_server_options options; /* its files and lists are not used after the start */
    arcp__web_exchange *exchanges;
    size_t references; /* the handle, `rejected` while in use, and each exchange */
    bool closed;
    bool is_rejecting;    /* `rejected` is in use */
    bool is_peer_waiting; /* for `rejected` to be free again */
};

void arcp__web_server_unref(arcp__web_server *server);

/* Serves an accepted connection if the admission allows it; takes ownership of `stream`. */
void arcp__web_exchange_open(arcp__web_server *server, arcp__stream *stream,
                             const struct sockaddr_storage *address);

/* Closes a connection without a response. */
void arcp__web_exchange_drop(arcp__web_exchange *exchange);

#endif
