/* Matching as the table of LEASES §1 reads, and nothing else: slow, and plain to see. Shares
 * no code with the library. */
#ifndef ARCP_TESTS_GLOB_MODEL_H
#define ARCP_TESTS_GLOB_MODEL_H

#include "core/capability.h"

/* Longer patterns are not for the model. */
enum { MODEL_PATTERN_MAX = 512 };

bool model_matches(arcp__target_kind kind, arcp_span pattern, arcp_span target);

/* Whether one of the patterns does. */
bool model_matches_any(arcp__target_kind kind, const arcp_span *patterns, size_t count,
                       arcp_span target);

#endif
