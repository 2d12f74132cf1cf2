/* The exact search for a canonical target that a pattern matches and a union of others does not; it
 * also proves that there is none. docs/leases.md, Subsets.
 *
 * A node is a state of the child, a state of the shape of targets, and the set of states that the
 * parents can be in. The search is breadth first, so that the first witness is a shortest one. A
 * node is left out when an earlier one has the same state of the child, a shape that allows as
 * much, and no further states of the parents: a counterexample for the node is then one for the
 * earlier node. */
#ifndef ARCP_CORE_GLOB_SEARCH_H
#define ARCP_CORE_GLOB_SEARCH_H

#include <arcp/buf.h>

#include "core/glob_union.h"

typedef enum arcp__glob_answer {
    ARCP__GLOB_NONE,       /* there is no such target */
    ARCP__GLOB_FOUND,      /* *witness is one, a shortest */
    ARCP__GLOB_TOO_COMPLEX /* the bounds on nodes, memory or work were reached */
} arcp__glob_answer;

/* `witness` is overwritten when one is found. `work_max` bounds parents->work.
 * ARCP_OK and *answer, or ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__glob_search(arcp__target_kind kind,
                                              const arcp__glob_states *child,
                                              arcp__glob_union *parents, uint64_t work_max,
                                              arcp__glob_answer *answer, arcp_buf *witness);

#endif
