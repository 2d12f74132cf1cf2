/* Allocation. All code of the project allocates here, so that a test can make any single allocation
 * fail (tests/support/failing_alloc.h) without a global in the libraries. */
#ifndef ARCP_BASE_ALLOC_H
#define ARCP_BASE_ALLOC_H

#include <stddef.h>

#include <arcp/visibility.h>

/* `size` zeroed bytes, or NULL. Freed with arcp__free. Any thread. */
ARCP_MUST_CHECK void *arcp__alloc(size_t size);

/* `count * size` zeroed bytes with the product checked, or NULL. */
ARCP_MUST_CHECK void *arcp__alloc_array(size_t count, size_t size);

/* Resizes; when NULL is returned, the old block is unchanged. New bytes are not zeroed. */
ARCP_MUST_CHECK void *arcp__realloc(void *memory, size_t size);

/* As arcp__realloc with `count * size` checked. */
ARCP_MUST_CHECK void *arcp__realloc_array(void *memory, size_t count, size_t size);

/* A NUL-terminated copy of `size` bytes, or NULL. */
ARCP_MUST_CHECK char *arcp__copy_cstr(const char *data, size_t size);

/* NULL is accepted. */
void arcp__free(void *memory);

/* Makes room in an array for one element more than `count`. Returns the array, or one of twice the
 * capacity and updates *capacity. NULL when out of memory; the array is then unchanged. */
static inline void *arcp__make_room(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    const size_t wanted = *capacity < 4 ? 8 : *capacity * 2;
    void *grown = arcp__realloc_array(array, wanted, size);
    *capacity = grown == NULL ? *capacity : wanted;
    return grown;
}

#endif
