/* Options structs that a program hands in. Their struct_size says which release's header the
 * program was compiled against, and whether the struct began as its _INIT: another size than ours
 * is refused, because neither a field that we do not know nor one that the program does not know
 * may be guessed (docs/decisions/0010). */
#ifndef ARCP_BASE_OPTIONS_H
#define ARCP_BASE_OPTIONS_H

#include <string.h>

#include <arcp/error.h>

/* `options` begins with its struct_size; NULL is good, where it means the defaults. */
static inline ARCP_MUST_CHECK arcp_status arcp__options_check(const void *options, size_t size,
                                                              const char *init, arcp_error *err)
{
    size_t given = size;
    if (options != NULL) {
        memcpy(&given, options, sizeof(given));
    }
    return given == size ? ARCP_OK
                         : arcp_error_set(err, ARCP_E_USAGE,
                                          "it must begin as %s: its struct_size is %zu, not %zu",
                                          init, given, size);
}

#endif
