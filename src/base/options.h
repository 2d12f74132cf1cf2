/* Structs that pass between a program and the library and may grow: options, results, vtables.
 * Their first member, struct_size, is the size of the release whose header the program was compiled
 * with. New members are added at the end, so that the common part of two releases is a prefix
 * (docs/decisions/0010). */
#ifndef ARCP_BASE_OPTIONS_H
#define ARCP_BASE_OPTIONS_H

#include <stddef.h>

#include <arcp/error.h>

/* Reads a struct that a program hands in. `out` is one of ours, filled by its init function: what
 * the program's struct has replaces it, what an older program's lacks keeps our default. NULL for
 * `given` keeps all defaults. ARCP_E_USAGE for a struct that is larger than ours, because a member
 * that we do not know may not be ignored, and for a size that no release has. `type` is the
 * struct's name, of `size` bytes. */
ARCP_MUST_CHECK arcp_status arcp__options_take(void *out, const void *given, size_t size,
                                               const char *type, arcp_error *err);

/* Writes what we know into a struct of the program's, as far as it goes; its struct_size stays. */
void arcp__options_give(void *out, const void *ours, size_t size);

/* Checks the vtable of an implementer: it has every slot up to `required`, the end of the last one
 * that must be there, and none that we do not know. */
ARCP_MUST_CHECK arcp_status arcp__vtable_check(const void *ops, size_t required, size_t size,
                                               const char *type, arcp_error *err);

/* Where a member of a struct ends. */
#define ARCP__END_OF(type, member) (offsetof(type, member) + sizeof(((type *)NULL)->member))

#endif
