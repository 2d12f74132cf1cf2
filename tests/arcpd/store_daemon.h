/* An arcpd for tests of its store: the content of the store, and that a start on it is refused. */
#ifndef ARCP_TESTS_ARCPD_STORE_DAEMON_H
#define ARCP_TESTS_ARCPD_STORE_DAEMON_H

#include "arcpd/daemon.h"
#include "arcpd/wire.h"

void store_file_write(const char *path, const char *text);

/* Starts it: it must end with exit status 1 and `text` in its errors. */
void store_check_refused(daemon_state *d, const char *text);

/* A job of the load agent; `id` is the request's and its idempotency key. */
void store_submit(wire *w, const char *id, unsigned events, unsigned bytes, const char *end);

/* A store with a finished job of three records and the session that received them; no arcpd runs.
 */
void store_make(daemon_state *d, wire_session *session);

#endif
