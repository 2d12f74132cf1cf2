/* The way from a worker to the arcpd of another machine: a WebSocket. Private to the program. */
#ifndef ARCP_ARCP_WORKER_REMOTE_H
#define ARCP_ARCP_WORKER_REMOTE_H

#include <uv.h>

#include <arcp/sys/transport.h>

#include "arcp_worker/worker_config.h"

typedef struct arcp__remote {
    arcp_connector *connector; /* NULL: no attempt is being made */
    /* One of these follows each attempt, from the loop. The connection is the owner's. */
    void (*connected)(void *user, arcp_connection *connection);
    void (*failed)(void *user, const char *why);
    void *user;
} arcp__remote;

/* Begins an attempt. What fails at once is an error of the configuration. */
ARCP_MUST_CHECK arcp_status arcp__remote_connect(arcp__remote *remote, uv_loop_t *loop,
                                                 const arcp__worker_config *config,
                                                 arcp_error *err);
/* Ends it; neither function is called. */
void arcp__remote_cancel(arcp__remote *remote);

#endif
