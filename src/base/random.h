/* Random bytes that nobody can guess, from the system. */
#ifndef ARCP_BASE_RANDOM_H
#define ARCP_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Any thread. A system that has none ends the program: nothing of ours is safe there. */
void arcp__random(void *out, size_t size);

/* Drawn ahead, for those who need a few at a time and often. Zero-initialised is empty; one
 * thread at a time, and not by both processes after a fork: they would get the same. What was
 * given out is wiped. */
typedef struct arcp__random_pool {
    size_t left; /* the first of the bytes */
    uint8_t bytes[512];
} arcp__random_pool;

void arcp__random_pool_draw(arcp__random_pool *pool, void *out, size_t size);
/* Wipes what was not given out; empty afterwards. */
void arcp__random_pool_fini(arcp__random_pool *pool);

#endif
