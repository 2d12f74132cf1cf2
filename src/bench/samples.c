#include <stdlib.h>

#include "base/alloc.h"
#include "bench/bench.h"

bool arcp__samples_add(arcp__samples *samples, int64_t ns)
{
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity * 2 + 1024;
        int64_t *grown = arcp__realloc_array(samples->ns, capacity, sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        samples->ns = grown;
        samples->capacity = capacity;
    }
    samples->ns[samples->count++] = ns;
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

void arcp__samples_sort(arcp__samples *samples)
{
    if (samples->count > 1) {
        qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
    }
}

int64_t arcp__samples_at(const arcp__samples *samples, unsigned per_mille)
{
    if (samples->count == 0) {
        return 0;
    }
    /* The rank, rounded up: of 10 samples the 90 % one is the ninth. */
    size_t rank =
        (samples->count / 1000) * per_mille + ((samples->count % 1000) * per_mille + 999) / 1000;
    return samples->ns[rank == 0 ? 0 : rank - 1];
}

void arcp__samples_fini(arcp__samples *samples)
{
    arcp__free(samples->ns);
    *samples = (arcp__samples){0};
}
