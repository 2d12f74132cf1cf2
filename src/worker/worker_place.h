/* Where a worker and the runtime of the same machine find each other: names of files.
 *
 *     <state>/worker-STORE.sock    the runtime listens here, while it holds the store STORE
 *             worker-STORE.lock    locked (flock) as long as the worker of the store lives
 *     <work>/jobs-STORE/           its jobs' directories; emptied when a worker begins */
#ifndef ARCP_WORKER_WORKER_PLACE_H
#define ARCP_WORKER_WORKER_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include <arcp/visibility.h>

/* Whether this is a store's id that can be part of a file's name. */
bool arcp__worker_is_store(const char *text);
/* The store in the name of a socket; false: it is not one. `out` has ARCP__WORKER_ID_MAX + 1 bytes.
 */
bool arcp__worker_store_of(const char *name, char *out);

/* False: the path is too long. */
ARCP_MUST_CHECK bool arcp__worker_socket_path(const char *state, const char *store,
                                              char out[PATH_MAX]);
ARCP_MUST_CHECK bool arcp__worker_lock_path(const char *state, const char *store,
                                            char out[PATH_MAX]);
ARCP_MUST_CHECK bool arcp__worker_jobs_path(const char *work, const char *store,
                                            char out[PATH_MAX]);

#endif
