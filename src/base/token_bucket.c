#include "base/token_bucket.h"

#define NS_PER_SEC 1000000000

/* The longest wait that taking tokens in advance may cause; beyond it tokens are free, else a peer
 * could be made to wait for ever. */
#define WAIT_NS_MAX ((int64_t)3600 * NS_PER_SEC)

static int64_t token_ns(arcp__token_rate rate)
{
    return (int64_t)(NS_PER_SEC / rate.per_sec);
}

/* The time until the bucket is full. */
static int64_t missing_ns(const arcp__token_bucket *bucket, int64_t now_ns)
{
    return bucket->full_ns > now_ns ? bucket->full_ns - now_ns : 0;
}

int64_t arcp__token_bucket_wait_ns(const arcp__token_bucket *bucket, arcp__token_rate rate,
                                   int64_t now_ns)
{
    if (rate.per_sec == 0) {
        return 0;
    }
    const int64_t capacity_ns = token_ns(rate) * (int64_t)rate.burst;
    const int64_t wanted_ns = missing_ns(bucket, now_ns) + token_ns(rate);
    return wanted_ns > capacity_ns ? wanted_ns - capacity_ns : 0;
}

void arcp__token_bucket_take(arcp__token_bucket *bucket, arcp__token_rate rate, int64_t now_ns)
{
    if (rate.per_sec == 0 || arcp__token_bucket_wait_ns(bucket, rate, now_ns) > WAIT_NS_MAX) {
        return;
    }
    bucket->full_ns = now_ns + missing_ns(bucket, now_ns) + token_ns(rate);
}

bool arcp__token_bucket_is_full(const arcp__token_bucket *bucket, int64_t now_ns)
{
    return bucket->full_ns <= now_ns;
}
