/* The last lines for the audit log, in memory, for the request x-vendor.arcpd.audit. */
#ifndef ARCP_ARCPD_AUDIT_TAIL_H
#define ARCP_ARCPD_AUDIT_TAIL_H

#include <arcp/buf.h>
#include <arcp/error.h>

#include "audit/audit_log.h"

#define ARCP__AUDIT_TAIL_LINES 2000u

typedef struct arcp__audit_tail {
    char *lines[ARCP__AUDIT_TAIL_LINES]; /* line n is at n % ARCP__AUDIT_TAIL_LINES */
    uint64_t end;                        /* the number of the next line; the first one is 1 */
} arcp__audit_tail;

/* Keeps a copy. Without memory, the line is missing in answers. */
void arcp__audit_tail_add(arcp__audit_tail *tail, const char *line);
void arcp__audit_tail_fini(arcp__audit_tail *tail);

/* Appends the payload of the response: the lines that match, the newest first, and the state of the
 * chain (NULL: there is no audit log), in at most about `bytes_max` bytes. `payload` is that of the
 * request: filter, before, limit. ARCP_E_NO_MEMORY, ARCP_E_INVALID_REQUEST. */
ARCP_MUST_CHECK arcp_status arcp__audit_tail_answer(const arcp__audit_tail *tail,
                                                    const arcp__audit_stats *chain,
                                                    arcp_span payload, size_t bytes_max,
                                                    arcp_buf *out, arcp_error *err);

#endif
