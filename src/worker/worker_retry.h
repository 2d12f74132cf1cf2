/* When a worker tries again to connect to its runtime. Pure: no clock, no random numbers. */
#ifndef ARCP_WORKER_WORKER_RETRY_H
#define ARCP_WORKER_WORKER_RETRY_H

#include <stdint.h>

/* The longest pause: on the same machine, and to another one. */
#define ARCP__RETRY_LOCAL_MAX_MS  1000u
#define ARCP__RETRY_REMOTE_MAX_MS 10000u
/* After the runtime has refused the worker's token. */
#define ARCP__RETRY_REFUSED_MS 60000u

/* Zero-initialised; again when there was a link. */
typedef struct arcp__worker_retry {
    uint32_t next_ms; /* 0: the next attempt is made at once */
} arcp__worker_retry;

/* The pause before the next attempt: none, 0.1 s, then twice as long, up to `most_ms`. `draw` takes
 * up to half of it away (0: nothing, UINT16_MAX: half), so that the workers of a runtime do not
 * come all at once. */
uint32_t arcp__worker_retry_next(arcp__worker_retry *retry, uint32_t most_ms, uint16_t draw);

#endif
