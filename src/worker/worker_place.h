/* Where a worker and the runtime of the same machine find each other: names of files.
 *
 *     <state>/worker-STORE.sock    the runtime listens here, while it holds the store STORE
 *             worker-STORE.INSTANCE.lock
 *                                  locked (flock) as long as this life of a worker of the store
 *     <work>/jobs-STORE/           its jobs' directories; each worker has a shared lock on it, and
 *                                  one that begins alone empties it */
#ifndef ARCP_WORKER_WORKER_PLACE_H
#define ARCP_WORKER_WORKER_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include <arcp/visibility.h>

#include "worker/worker_core.h"

/* Whether this is a store's id that can be part of a file's name. */
bool arcp__worker_is_store(const char *text);
/* The store in the name of a socket; false: it is not one. `out` has ARCP__WORKER_ID_MAX + 1 bytes.
 */
bool arcp__worker_store_of(const char *name, char *out);

/* False: the path is too long. */
ARCP_MUST_CHECK bool arcp__worker_socket_path(const char *state, const char *store,
                                              char out[PATH_MAX]);
/* Without an instance (""): of a worker that has no other beside it, worker-STORE.lock. */
ARCP_MUST_CHECK bool arcp__worker_lock_path(const char *state, const char *store,
                                            const char *instance, char out[PATH_MAX]);
/* The instance in the name of a lock of the store; false: it is not one. `out` has
 * ARCP__WORKER_ID_MAX + 1 bytes. */
bool arcp__worker_instance_of(const char *name, const char *store, char *out);
ARCP_MUST_CHECK bool arcp__worker_jobs_path(const char *work, const char *store,
                                            char out[PATH_MAX]);

/* Says which file a program is, so that another one in its place is noticed; "": it is not there.
 */
void arcp__worker_program_id(const char *path, char out[ARCP__WORKER_ID_MAX + 1]);

#endif
