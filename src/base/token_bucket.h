/* A token bucket: so many a second, and so many at once after a while without.
 *
 * Its state is the instant at which it is full again: no timer fills it, and a setting that changes
 * takes effect at the next use. */
#ifndef ARCP_BASE_TOKEN_BUCKET_H
#define ARCP_BASE_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct arcp__token_rate {
    uint64_t per_sec; /* at most 10 000 000; 0: there is no bound */
    uint64_t burst;   /* 1 to 10 000 000 */
} arcp__token_rate;

/* All zero is full, on a clock that does not go below zero. */
typedef struct arcp__token_bucket {
    int64_t full_ns;
} arcp__token_bucket;

/* How long until there is a token; 0: there is one. */
int64_t arcp__token_bucket_wait_ns(const arcp__token_bucket *bucket, arcp__token_rate rate,
                                   int64_t now_ns);
/* Takes one, also one that is not there yet: then it is owed, and the wait is longer. */
void arcp__token_bucket_take(arcp__token_bucket *bucket, arcp__token_rate rate, int64_t now_ns);
bool arcp__token_bucket_is_full(const arcp__token_bucket *bucket, int64_t now_ns);

#endif
