/* How the program of a job is started, as the row that `start` has for a local worker: the spec as
 * a JSON object. Both ends are of this release, or the one before it. */
#ifndef ARCP_WORKER_WORKER_SPEC_H
#define ARCP_WORKER_WORKER_SPEC_H

#include <arcp/buf.h>

#include "base/arena.h"
#include "process/process.h"

/* Appends the row. ARCP_E_INVALID_REQUEST for a spec that a row cannot carry: text that is not
 * UTF-8, a file, or a sandbox. ARCP_E_LIMIT when it would not fit into the head of a message.
 * ARCP_E_NO_MEMORY. On failure `out` has the bytes it had. */
ARCP_MUST_CHECK arcp_status arcp__worker_spec_write(const arcp__process_spec *spec, arcp_buf *out,
                                                    arcp_error *err);

/* Reads a row that another process has sent. *out borrows from the arena. ARCP_E_INVALID_REQUEST
 * names the member, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_spec_read(arcp_span row, arcp__arena *arena,
                                                   arcp__process_spec *out, arcp_error *err);

#endif
