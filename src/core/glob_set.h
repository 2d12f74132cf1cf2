/* The patterns of one capability, compiled for matching. docs/leases.md, Patterns.
 *
 *   pattern = 1..4096 bytes of UTF-8, no NUL; only `*` is special, there are no escapes
 *   *         any run, possibly empty, of bytes that are not separators ('/'; in tool.call '.' too)
 *   **        any run of bytes; two or more stars are one `**`
 *   `**` '/'  at the start or after a '/': zero or more whole segments
 *   '/' `**`  at the end: nothing, or '/' and anything
 *
 * The second slash of `://` does not count as a '/' for the last two. In net.fetch a
 * wildcard with anything behind it never matches '?'. A pattern is anchored at both ends
 * and compared byte by byte. The language of a set is the union of its patterns'.
 *
 * A set is immutable and may be used by any number of threads at once. */
#ifndef ARCP_CORE_GLOB_SET_H
#define ARCP_CORE_GLOB_SET_H

#include <arcp/error.h>

#include "core/capability.h"

typedef struct arcp__glob_set arcp__glob_set;

/* Compiles `count` patterns (may be 0) of a glob capability. The array and the bytes of the
 * patterns are borrowed and must outlive the set. The caller limits lengths and numbers of
 * wildcards (glob_pattern.h); only what is not a pattern at all is refused here:
 * ARCP_E_INVALID_REQUEST, with the index and arcp__glob_pattern_fault in the message; ARCP_E_USAGE
 * for a capability without patterns; ARCP_E_NO_MEMORY. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__glob_set_compile(arcp__capability capability,
                                                   const arcp_span *patterns, size_t count,
                                                   arcp__glob_set **out, arcp_error *err);

void arcp__glob_set_free(arcp__glob_set *set); /* NULL is accepted */

/* Whether a pattern of the set matches a canonical target of the set's capability, and the index of
 * one that does (`index` may be NULL; *index is unchanged when none does). Linear in the target for
 * a given set, allocates nothing. NULL matches nothing. */
ARCP_MUST_CHECK bool arcp__glob_set_match(const arcp__glob_set *set, arcp_span canonical,
                                          size_t *index);

#endif
