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
    bool peer_waits;   /* one more is to be turned away when it is free again */
};

void arcp__web_server_unref(arcp__web_server *server);

/* Tells the owner, unless it has closed the server; the call may close it. */
void arcp__web_server_refused(const arcp__web_server *server, const char *peer, int status,
                              const char *why);

/* Serves an accepted connection; takes `tcp` and `counted` over. */
void arcp__web_exchange_open(arcp__web_server *server, arcp__stream *tcp, arcp__counted *counted,
                             const struct sockaddr_storage *address);

/* Ends one of a server that is being closed. */
void arcp__web_exchange_drop(arcp__web_exchange *exchange);

/* One try at a 503, for a peer whose place another connection has. True when the system took it. */
bool arcp__web_answer_unavailable(arcp__stream *stream, const char *why);

#endif
