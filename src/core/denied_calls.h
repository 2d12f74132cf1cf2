/* Which calls of a job the runtime has answered itself, with a denial: the agent may not
 * answer them again, so that no record shows a result for a call that was refused.
 *
 * Remembers the last ARCP__DENIED_CALLS_MAX by hashes of their ids. One thread at a time;
 * zero-initialise. */
#ifndef ARCP_CORE_DENIED_CALLS_H
#define ARCP_CORE_DENIED_CALLS_H

#include <arcp/error.h>
#include <arcp/span.h>

#define ARCP__DENIED_CALLS_MAX 256u

typedef struct arcp__denied_calls {
    uint64_t *hashes; /* owned; NULL until the first denial */
    size_t count;
    size_t next; /* the oldest, once all places are used */
} arcp__denied_calls;

/* False when out of memory: nothing is remembered. An empty id is no id. */
ARCP_MUST_CHECK bool arcp__denied_calls_add(arcp__denied_calls *calls, arcp_span call_id);
/* ARCP_E_INVALID_REQUEST when the call was denied: the runtime has given its result. */
ARCP_MUST_CHECK arcp_status arcp__denied_calls_check(const arcp__denied_calls *calls,
                                                     arcp_span call_id, arcp_error *err);
/* The id is used for a call that passed. */
void arcp__denied_calls_remove(arcp__denied_calls *calls, arcp_span call_id);
void arcp__denied_calls_fini(arcp__denied_calls *calls);

#endif
