/* A WebSocket listener under test, with the owners of the connections that it accepts. */
#ifndef ARCP_TESTS_SERVER_H
#define ARCP_TESTS_SERVER_H

#include "transport/loop_support.h"
#include "transport/owner.h"

#define SERVER_OWNERS_MAX 64

typedef struct server {
    test_loop test;
    arcp_listener *listener;
    const char *url;
    owner owners[SERVER_OWNERS_MAX];
    size_t accepted;
    size_t refused;
    int refused_status;
    char refused_why[128];
    bool closes_when_refused; /* the listener, from inside the callback */
    bool closes_when_accepted;
} server;

/* Limits for pending connections, for the options of server_open, which takes ownership. A limit of
 * 0 is the default, except the timeout, which is then longer than TEST_PATIENCE_MS. */
arcp_admission *server_admission(arcp_admission_limits limits);

/* Listens at `url` (NULL: ws://127.0.0.1:0/arcp). */
void server_open(server *s, const char *url, arcp_listen_options options);
void server_close_listener(server *s);
void server_fini(server *s);

#endif
