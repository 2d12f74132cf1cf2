/* What the files of this folder share. */
#ifndef ARCP_WEB_PARTS_H
#define ARCP_WEB_PARTS_H

#include "web/server.h"

struct arcp__web_server {
    uv_tcp_t handle;
    uv_tcp_t turned_away; /* takes a peer for which there is no memory, and closes */
    arcp__loop_share *share;
    arcp__tls_context *tls; /* NULL: without TLS */
    arcp__web_names names;
    arcp__web_server_options options; /* its files and lists are not used after the start */
    arcp__web_exchange *exchanges;
    size_t references; /* the handle, turned_away in use, and each exchange */
    bool closed;
    bool turning_away; /* turned_away is in use */
    bool peer_waits;   /* for that to be free again */
};

void arcp__web_server_unref(arcp__web_server *server);

/* Serves an accepted connection, if there is a place for it; takes `stream` over. */
void arcp__web_exchange_open(arcp__web_server *server, arcp__stream *stream,
                             const struct sockaddr_storage *address);

/* Ends one of a server that is being closed. */
void arcp__web_exchange_drop(arcp__web_exchange *exchange);

#endif
