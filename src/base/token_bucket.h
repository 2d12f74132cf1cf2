/* A token bucket: a rate per second, and a burst after a pause.
 *
 * Its state is the instant at which it will be full again, so no timer fills it. A changed rate
 * takes effect at the next use: the tokens that were taken stay taken, but no more of them than the
 * new burst, so that a smaller burst begins with an empty bucket and not with a debt. */
#ifndef ARCP_BASE_TOKEN_BUCKET_H
#define ARCP_BASE_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct arcp__token_rate {
    uint64_t per_sec; /* at most 10 000 000; 0: unlimited */
    uint64_t burst;   /* 1 to 10 000 000 */
} arcp__token_rate;

/* Zero-initialised is full, on a clock that is never negative. */
typedef struct arcp__token_bucket {
    int64_t full_ns; /* at this rate */
    arcp__token_rate rate;
} arcp__token_bucket;

/* The time until there is a token; 0: there is one. */
int64_t arcp__token_bucket_wait_ns(arcp__token_bucket *bucket, arcp__token_rate rate,
                                   int64_t now_ns);
/* Takes a token. If there is none, it is taken in advance, which makes the next wait longer. */
void arcp__token_bucket_take(arcp__token_bucket *bucket, arcp__token_rate rate, int64_t now_ns);
bool arcp__token_bucket_is_full(const arcp__token_bucket *bucket, int64_t now_ns);

#endif
