/* Reading an options struct that a caller may have compiled against another version. */
#ifndef ARCP_TRANSPORT_OPTIONS_H
#define ARCP_TRANSPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies what the caller knows of the struct into *out, which is zeroed; `given` may be
 * NULL. A field that is 0 means its default. False when struct_size cannot be right. */
static inline bool arcp__options_copy(void *out, size_t size, const void *given)
{
    memset(out, 0, size);
    if (given == NULL) {
        return true;
    }
    size_t given_size = 0;
    memcpy(&given_size, given, sizeof(given_size));
    if (given_size < sizeof(size_t)) {
        return false;
    }
    memcpy(out, given, given_size < size ? given_size : size);
    return true;
}

#endif
