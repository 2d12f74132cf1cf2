/* How fast one principal may submit, and be refused: a token bucket each (limits.submits_per_sec,
 * limits.refusals_per_sec).
 *
 * A submit past its bucket is refused. A refusal past its bucket is given, or an answer would be
 * missing, but its link is not read until there is a token: what it sends meanwhile costs nothing,
 * neither a record nor a line of a log.
 *
 * Who goes and comes back finds the buckets as they were: a principal of which nothing else is left
 * stays until both are full. */
#ifndef ARCP_ENGINE_PRINCIPAL_RATE_H
#define ARCP_ENGINE_PRINCIPAL_RATE_H

#include "engine/state.h"

/* Takes a token for a submit that is no repetition. Otherwise an error whose details say when there
 * is one. */
ARCP_MUST_CHECK arcp_status arcp__principal_may_submit(arcp__engine *engine,
                                                       arcp__principal *principal,
                                                       arcp_buf *details, arcp_error *err);
/* Something of it was refused: for how long the link that it came over is not to be read. */
int64_t arcp__principal_refused(arcp__engine *engine, arcp__principal *principal);

#endif
