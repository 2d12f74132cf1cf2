/* Buffers whose memory comes back. A job is a dozen short texts on their way to a record, a row
 * or a frame: each would be allocated, grown and freed. */
#ifndef ARCP_ENGINE_SPARE_H
#define ARCP_ENGINE_SPARE_H

#include <arcp/buf.h>

#include "engine/engine.h"

/* So many are kept for the next text: what 64 jobs have on their way at once. */
#define ARCP__SPARE_MAX 128u

/* An empty buffer for the work at hand, with memory of an earlier one where there is some.
 * It may be made secret: then its memory does not come back. */
arcp_buf arcp__spare_take(arcp__engine *engine);
/* As arcp_buf_fini. */
void arcp__spare_give(arcp__engine *engine, arcp_buf *buf);
void arcp__spare_free_all(arcp__engine *engine);

#endif
