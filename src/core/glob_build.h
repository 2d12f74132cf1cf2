/* From patterns to a compiled set. Behind arcp__glob_set_compile. */
#ifndef ARCP_CORE_GLOB_BUILD_H
#define ARCP_CORE_GLOB_BUILD_H

#include "core/glob_trie.h"

/* Builds the set of well-formed patterns; NULL when out of memory. */
ARCP_MUST_CHECK arcp__glob_set *arcp__glob_build(arcp__capability capability,
                                                 const arcp_span *patterns, size_t count);

#endif
