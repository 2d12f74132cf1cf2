#include "client/client_job.h"

#include "base/hash.h"

static uint16_t *bucket_of(arcp__gone_jobs *gone, uint64_t hash)
{
    return &gone->buckets[hash % ARCP__GONE_JOBS_MAX];
}

/* Takes the place out of its bucket, to be used again. */
static void drop(arcp__gone_jobs *gone, size_t place)
{
    uint16_t *at = bucket_of(gone, gone->hashes[place]);
    while (*at != place + 1) {
        at = &gone->next[*at - 1];
    }
    *at = gone->next[place];
}

void arcp__gone_jobs_add(arcp__gone_jobs *gone, arcp_span id)
{
    uint64_t hash = arcp__hash_bytes(id.data, id.size);
    size_t place = gone->added % ARCP__GONE_JOBS_MAX;
    if (gone->added >= ARCP__GONE_JOBS_MAX) {
        drop(gone, place);
    }
    uint16_t *bucket = bucket_of(gone, hash);
    gone->hashes[place] = hash;
    gone->next[place] = *bucket;
    *bucket = (uint16_t)(place + 1);
    gone->added++;
}

bool arcp__gone_jobs_has(const arcp__gone_jobs *gone, arcp_span id)
{
    uint64_t hash = arcp__hash_bytes(id.data, id.size);
    uint16_t at = gone->buckets[hash % ARCP__GONE_JOBS_MAX];
    while (at != 0 && gone->hashes[at - 1] != hash) {
        at = gone->next[at - 1];
    }
    return at != 0;
}
