/* Cryptographically secure random bytes from the system. */
#ifndef ARCP_BASE_RANDOM_H
#define ARCP_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Any thread. Aborts when the system has no random bytes, because nothing is safe without them. */
void arcp__random(void *out, size_t size);

/* A pool of random bytes, for callers that often need a few. Zero-initialised is empty. One thread
 * at a time, and only one process after a fork: both would get the same bytes. Bytes that were
 * drawn are wiped. */
typedef struct arcp__random_pool {
    size_t left; /* unused bytes, at the beginning of `bytes` */
    uint8_t bytes[512];
} arcp__random_pool;

void arcp__random_pool_draw(arcp__random_pool *pool, void *out, size_t size);
/* Wipes the unused bytes; the pool is empty afterwards. */
void arcp__random_pool_fini(arcp__random_pool *pool);

#endif
