#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <arcp/secret.h>

void arcp__random(void *out, size_t size)
{
    char *next = out;
    while (size != 0) {
        const ssize_t got = getrandom(next, size, 0);
        if (got < 0 && errno != EINTR) {
            abort();
        }
        next += got < 0 ? 0 : got;
        size -= got < 0 ? 0 : (size_t)got;
    }
}

void arcp__random_pool_draw(arcp__random_pool *pool, void *out, size_t size)
{
    if (size > sizeof pool->bytes) {
        arcp__random(out, size);
        return;
    }
    if (pool->left < size) {
        arcp__random(pool->bytes, sizeof pool->bytes);
        pool->left = sizeof pool->bytes;
    }
    pool->left -= size;
    memcpy(out, pool->bytes + pool->left, size);
    arcp_wipe(pool->bytes + pool->left, size);
}

void arcp__random_pool_fini(arcp__random_pool *pool)
{
    arcp_wipe(pool, sizeof *pool);
}
