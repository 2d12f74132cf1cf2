#include "base/arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define BLOCK_BYTES_MIN 4096u

struct arcp__arena_block {
    arcp__arena_block *next; /* older */
    size_t used;
    size_t capacity;
    alignas(max_align_t) char bytes[];
};

void *arcp__arena_take(arcp__arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    const size_t rounded = (size + align - 1) & ~(align - 1);
    arcp__arena_block *block = arena->blocks;
    if (block == NULL || rounded > block->capacity - block->used) {
        size_t capacity = block == NULL ? BLOCK_BYTES_MIN : block->capacity * 2;
        capacity = capacity < rounded ? rounded : capacity;
        block = arcp__realloc(NULL, sizeof *block + capacity);
        if (block == NULL) {
            return NULL;
        }
        block->used = 0;
        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *piece = block->bytes + block->used;
    block->used += rounded;
    arena->used += size;
    return piece;
}

arcp_span arcp__arena_copy(arcp__arena *arena, arcp_span bytes)
{
    char *copy = bytes.size == SIZE_MAX ? NULL : arcp__arena_take(arena, bytes.size + 1);
    if (copy == NULL) {
        return arcp_span_make(NULL, 0);
    }
    if (bytes.size != 0) {
        memcpy(copy, bytes.data, bytes.size);
    }
    copy[bytes.size] = '\0';
    return arcp_span_make(copy, bytes.size);
}

void arcp__arena_reset(arcp__arena *arena)
{
    /* Blocks double, so the newest is the largest. */
    arcp__arena_block *kept = arena->blocks;
    if (kept != NULL) {
        arcp__arena_block *older = kept->next;
        while (older != NULL) {
            arcp__arena_block *next = older->next;
            arcp__free(older);
            older = next;
        }
        kept->next = NULL;
        kept->used = 0;
    }
    arena->used = 0;
}

void arcp__arena_fini(arcp__arena *arena)
{
    arcp__arena_reset(arena);
    arcp__free(arena->blocks);
    arena->blocks = NULL;
}
