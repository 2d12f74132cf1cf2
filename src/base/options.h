/* Structs that pass between a program and the library and may grow: options, results, vtables.
 * Their first member, struct_size, is the size of the release whose header the program was compiled
 * with. New members are added at the end, so that the common part of two releases is a prefix
 * (docs/decisions/0010). */
#ifndef ARCP_BASE_OPTIONS_H
#define ARCP_BASE_OPTIONS_H

#include <stddef.h>

#include <arcp/error.h>

/* Copies a struct that a program passes to the library. `out` has this release's size and was
 * filled by its init function: the members that the program's struct has are copied, those that an
 * older program's lacks keep their default. NULL for `given` keeps all defaults. ARCP_E_USAGE for a
 * struct that is larger than this release's, because an unknown member must not be ignored, and for
 * a size that no release has. `type` is the name of the struct, of `size` bytes. */
ARCP_MUST_CHECK arcp_status arcp__options_take(void *out, const void *given, size_t size,
                                               const char *type, arcp_error *err);

/* Copies the members that the program's struct has into it; its struct_size is kept. */
void arcp__options_give(void *out, const void *ours, size_t size);

/* Checks the vtable of an implementer: it must have every slot up to `required`, the end of the
 * last required one, and none that this release does not know. */
ARCP_MUST_CHECK arcp_status arcp__vtable_check(const void *ops, size_t required, size_t size,
                                               const char *type, arcp_error *err);

/* Where a member of a struct ends. */
#define ARCP__END_OF(type, member) (offsetof(type, member) + sizeof(((type *)NULL)->member))

#endif
