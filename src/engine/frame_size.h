/* What fits into one frame: limits.frame_bytes holds for what is sent, too.
 *
 * Peers and agents choose how large leases, events and results are, so each of these is measured
 * before anything is made of it, and what does not fit is refused or ends its job. */
#ifndef ARCP_ENGINE_FRAME_SIZE_H
#define ARCP_ENGINE_FRAME_SIZE_H

#include "engine/state.h"

/* What a frame has besides its payload at most: an envelope, and the request's id three times, of
 * which each byte may need six. */
#define ARCP__FRAME_HEAD_MAX 6144u
/* What credentials add when they are put in: a value and its texts, escaped. */
#define ARCP__CREDENTIALS_MAX 81920u
/* Of texts that are only repeated to their sender. */
#define ARCP__REPEATED_MAX 4096u

/* The bytes that a payload, or a record, may have. */
size_t arcp__frame_room(const arcp__engine *engine);
/* Whether a job can be shown, whose job.accepted is the largest of what says all about it. */
bool arcp__frame_fits_job(const arcp__engine *engine, size_t accepted_size);
/* How much text fits although each byte of it may need six. */
size_t arcp__frame_room_of_text(const arcp__engine *engine);
/* The details of an error for what does not fit. */
#define ARCP__FRAME_LIMIT ARCP_SPAN_LITERAL("{\"limit\":\"limits.frame_bytes\"}")

#endif
