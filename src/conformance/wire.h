/* Connections to a runtime for `arcp conformance`: frames as they are, one after the other, and
 * every wait with an end. One thread. */
#ifndef ARCP_CONFORMANCE_WIRE_H
#define ARCP_CONFORMANCE_WIRE_H

#include <arcp/buf.h>
#include <arcp/error.h>

typedef struct arcp__wire arcp__wire;         /* the way to a runtime */
typedef struct arcp__wire_end arcp__wire_end; /* one connection */

/* `url` and `ca_file` (may be NULL) are borrowed; wait_ms: see
 * arcp__wire_begin. NULL without memory. */
ARCP_MUST_CHECK arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms);
/* Drops what is still connected. */
void arcp__wire_free(arcp__wire *wire);

/* From here on all waits together take wait_ms at most, however much comes meanwhile. To be called
 * before the first one. */
void arcp__wire_begin(arcp__wire *wire);

/* Connects; *out is to be dropped. ARCP_E_IO, ARCP_E_DEADLINE, ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__wire_open(arcp__wire *wire, arcp__wire_end **out,
                                            arcp_error *err);
/* Cuts the connection. NULL is allowed. */
void arcp__wire_drop(arcp__wire_end *end);

/* ARCP_E_CLOSED when the peer has closed, ARCP_E_LIMIT when it has left 64 MiB unread. */
ARCP_MUST_CHECK arcp_status arcp__wire_send(arcp__wire_end *end, arcp_span frame, arcp_error *err);

/* Takes the next frame, in `out` (cleared first). ARCP_E_DEADLINE when none came in time,
 * ARCP_E_CLOSED when the peer has closed and everything before was taken. */
ARCP_MUST_CHECK arcp_status arcp__wire_next(arcp__wire_end *end, arcp_buf *out, arcp_error *err);

#endif
