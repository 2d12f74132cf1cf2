#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include <arcp/buf.h>

void *arcp__alloc(size_t size)
{
    return calloc(1, size == 0 ? 1 : size);
}

void *arcp__alloc_array(size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return arcp__alloc(bytes);
}

void *arcp__realloc(void *memory, size_t size)
{
    return realloc(memory, size == 0 ? 1 : size);
}

void *arcp__realloc_array(void *memory, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return arcp__realloc(memory, bytes);
}

char *arcp__copy_cstr(const char *data, size_t size)
{
    if (size == (size_t)-1) {
        return NULL;
    }
    char *copy = arcp__alloc(size + 1);
    if (copy != NULL && size != 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

void arcp__free(void *memory)
{
    free(memory);
}

void arcp_free(void *memory)
{
    arcp__free(memory);
}
