/* One pattern: its limits, its literal beginning, and its states.
 *
 * The grammar is in glob_set.h. A parsed pattern is a row of literal bytes; between two of
 * them, before the first and behind the last, there may be a loop that takes any further
 * bytes. State i is "the first i literals are behind us"; a byte moves from i to i + 1 when
 * it is literal i, and stays at i when the loop at i takes it. That is all there is but for
 * `**` between slashes, which is a loop, a literal '/', and a mark that both may be passed
 * over.
 * LEASES §1 and §4. Pure; any thread. */
#ifndef ARCP_CORE_GLOB_PATTERN_H
#define ARCP_CORE_GLOB_PATTERN_H

#include <stdint.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

#include "core/capability.h"

/* Number of wildcards of a pattern, as the limit counts them: a run of stars is one, and
 * so is a run of whole segments `**`. */
size_t arcp__glob_wildcard_count(arcp_span pattern);

/* The bytes before the first star; borrowed. */
arcp_span arcp__glob_literal_prefix(arcp_span pattern);

/* Whether the pattern has no star: it matches itself and nothing else. */
bool arcp__glob_is_literal(arcp_span pattern);

#endif
