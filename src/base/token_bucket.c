#include "base/token_bucket.h"

#define NS_PER_SEC 1000000000

/* The longest wait that taking tokens in advance may cause; beyond it tokens are free, else a peer
 * could be made to wait for ever. */
#define WAIT_NS_MAX ((int64_t)3600 * NS_PER_SEC)

static int64_t token_ns(arcp__token_rate rate)
{
    return (int64_t)(NS_PER_SEC / rate.per_sec);
}

static int64_t capacity_ns(arcp__token_rate rate)
{
    return token_ns(rate) * (int64_t)rate.burst;
}

/* The time until the bucket is full. */
static int64_t missing_ns(const arcp__token_bucket *bucket, int64_t now_ns)
{
    return bucket->full_ns > now_ns ? bucket->full_ns - now_ns : 0;
}

/* The tokens that were taken within the burst count at the new rate, as far as it has them; what is
 * beyond the burst is a debt, which stays. */
static void change_rate(arcp__token_bucket *bucket, arcp__token_rate rate, int64_t now_ns)
{
    const arcp__token_rate before = bucket->rate;
    const int64_t missing = missing_ns(bucket, now_ns);
    if (missing != 0 && (before.per_sec != rate.per_sec || before.burst != rate.burst)) {
        const int64_t taken_ns = missing < capacity_ns(before) ? missing : capacity_ns(before);
        const uint64_t taken = (uint64_t)((taken_ns + token_ns(before) - 1) / token_ns(before));
        const uint64_t kept = taken < rate.burst ? taken : rate.burst;
        bucket->full_ns = now_ns + token_ns(rate) * (int64_t)kept + missing - taken_ns;
    }
    bucket->rate = rate;
}

int64_t arcp__token_bucket_wait_ns(arcp__token_bucket *bucket, arcp__token_rate rate,
                                   int64_t now_ns)
{
    if (rate.per_sec == 0) {
        return 0;
    }
    change_rate(bucket, rate, now_ns);
    const int64_t wanted_ns = missing_ns(bucket, now_ns) + token_ns(rate);
    return wanted_ns > capacity_ns(rate) ? wanted_ns - capacity_ns(rate) : 0;
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
