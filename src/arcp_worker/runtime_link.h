/* The way from arcp-worker to the runtime on the same machine (worker_place.h). Private to the
 * program. */
#ifndef ARCP_ARCP_WORKER_RUNTIME_LINK_H
#define ARCP_ARCP_WORKER_RUNTIME_LINK_H

#include <limits.h>

#include <arcp/error.h>

#include "worker/worker_core.h"

typedef struct arcp__runtime_place {
    const char *state; /* absolute paths */
    char work[PATH_MAX];
    char store[ARCP__WORKER_ID_MAX + 1]; /* "": that of the first runtime that is found */
    const char *instance; /* of the worker; "": there is no other beside it, with this place */
    int lock;             /* -1: not held yet */
    int jobs;             /* the directory of jobs, with a shared lock; -1: it is not there */
} arcp__runtime_place;

/* Checks the directory, and takes the lock if the store is known; with it comes the directory of
 * jobs, which is emptied unless another worker has jobs there. ARCP_E_EXISTS: another worker has
 * the place. ARCP_E_IO, ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__runtime_place_open(arcp__runtime_place *place, arcp_error *err);
void arcp__runtime_place_close(arcp__runtime_place *place);
/* The lock of a life is held, and its file is not there any more, or another one is. Of a place
 * without lives no arcpd looks for the file. */
bool arcp__runtime_place_is_gone(const arcp__runtime_place *place);

/* Connects to the runtime. *fd is -1 if none listens. ARCP_E_PERMISSION_DENIED: a process of
 * another user listens. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__runtime_place_connect(arcp__runtime_place *place, int *fd,
                                                        arcp_error *err);

#endif
