/* Passes on connections to the gateways of a runtime that is another process, or on another
 * machine. Bytes go both ways as they are: nothing of a request is read here. The first request on
 * each connection is the relay's own. It says whose connection it is, by the key of a job, or that
 * each request has a key of its own:
 *
 *     POST /arcp-relay ── 200 ──> bytes both ways
 *
 * A connection that cannot be made, is refused, or ends before a response has begun, is answered
 * with 503, and retry-after: the runtime is away.
 *
 * All functions are called on the loop's thread, but those of a job that say otherwise. */
#ifndef ARCP_EGRESS_EGRESS_RELAY_H
#define ARCP_EGRESS_EGRESS_RELAY_H

#include "stream/stream.h"

#define ARCP__RELAY_PATH "/arcp-relay"

typedef struct arcp__relay arcp__relay;
typedef struct arcp__relay_job arcp__relay_job; /* of a sandbox */

/* NULL when out of memory. */
arcp__relay *arcp__relay_new(arcp__loop_share *share);
/* All connections are closed. Jobs may still be held. NULL is accepted. */
void arcp__relay_free(arcp__relay *relay);

/* Where the gateways are, "http://HOST:PORT" or "https://HOST[:PORT]", for connections from now on.
 * Empty: they are away. `ca_file` has the authorities for https; NULL: the system's.
 * ARCP_E_INVALID_REQUEST, ARCP_E_NO_MEMORY, and as arcp__tls_context_new_client. */
ARCP_MUST_CHECK arcp_status arcp__relay_set_target(arcp__relay *relay, arcp_span url,
                                                   const char *ca_file, arcp_error *err);

/* "http://127.0.0.1:PORT", for programs that are in no sandbox: requests there have keys. Listens
 * from the first call on. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__relay_listen(arcp__relay *relay, const char **url,
                                               arcp_error *err);

/* A job whose connections come from its sandbox; one reference for the caller. NULL when out of
 * memory. */
arcp__relay_job *arcp__relay_job_new(arcp__relay *relay, arcp_span key);
/* Any thread. The last drop frees it. */
void arcp__relay_job_hold(void *held);
void arcp__relay_job_drop(void *held);
/* Serves a connection, whose descriptor it owns. Any thread, while it is held. */
void arcp__relay_job_serve(void *served, unsigned gateway, int fd);

#endif
