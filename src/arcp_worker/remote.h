/* The way from a worker to the arcpd of another machine: a WebSocket. Private to the program. */
#ifndef ARCP_ARCP_WORKER_REMOTE_H
#define ARCP_ARCP_WORKER_REMOTE_H

#include <uv.h>

#include <arcp/sys/transport.h>

#include "arcp_worker/worker_config.h"

/* From one attempt to the next, after a refused token. */
#define ARCP__REFUSED_RETRY_MS UINT64_C(60000)

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

/* The time to wait after a time that was waited in vain: 0.1 s, then twice as long, up to 10 s; a
 * random half of it less, so that the workers of an arcpd do not come all at once. */
uint64_t arcp__remote_pause_ms(uint64_t *last_ms);

#endif
