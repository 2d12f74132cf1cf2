/* A bump allocator: many small pieces, one release. */
#ifndef ARCP_BASE_ARENA_H
#define ARCP_BASE_ARENA_H

#include <stddef.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

typedef struct arcp__arena_block arcp__arena_block;

/* Zero-initialised is empty. One thread at a time. */
typedef struct arcp__arena {
    arcp__arena_block *blocks; /* newest first; owned */
    size_t used;               /* bytes handed out since the last reset */
} arcp__arena;

/* `size` bytes aligned for any type, not zeroed, valid until reset or fini; NULL when
 * out of memory. Earlier pieces never move. */
ARCP_MUST_CHECK void *arcp__arena_take(arcp__arena *arena, size_t size);

/* A copy of `bytes` in the arena, with a NUL behind; data is NULL only when out of memory. */
arcp_span arcp__arena_copy(arcp__arena *arena, arcp_span bytes);

/* Releases all pieces and keeps the largest block for reuse. */
void arcp__arena_reset(arcp__arena *arena);

void arcp__arena_fini(arcp__arena *arena);

#endif
