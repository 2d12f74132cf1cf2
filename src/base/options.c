#include "base/options.h"

#include <string.h>

/* No release has only the first member, or part of a member. */
static bool is_plausible(size_t given)
{
    return given > sizeof(size_t) && given % sizeof(size_t) == 0;
}

arcp_status arcp__options_take(void *out, const void *given, size_t size, const char *type,
                               arcp_error *err)
{
    size_t given_size = 0;
    if (given == NULL) {
        return ARCP_OK;
    }
    memcpy(&given_size, given, sizeof given_size);
    if (!is_plausible(given_size)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: struct_size is %zu, which no release has: begin with %s_init()",
                              type, given_size, type);
    }
    if (given_size > size) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: struct_size is %zu, and %zu in this release of the library: the "
                              "program was compiled for a newer one, or did not begin with "
                              "%s_init()",
                              type, given_size, size, type);
    }
    memcpy((char *)out + sizeof size, (const char *)given + sizeof size, given_size - sizeof size);
    return ARCP_OK;
}

void arcp__options_give(void *out, const void *ours, size_t size)
{
    size_t room = 0;
    memcpy(&room, out, sizeof room);
    room = room < size ? room : size;
    if (room > sizeof room) {
        memcpy((char *)out + sizeof room, (const char *)ours + sizeof room, room - sizeof room);
    }
}

arcp_status arcp__vtable_check(const void *ops, size_t required, size_t size, const char *type,
                               arcp_error *err)
{
    size_t given_size = 0;
    if (ops == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s is missing", type);
    }
    memcpy(&given_size, ops, sizeof given_size);
    return given_size >= required && given_size <= size
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "%s: struct_size is %zu, and this release of the library knows "
                                "%zu to %zu",
                                type, given_size, required, size);
}
