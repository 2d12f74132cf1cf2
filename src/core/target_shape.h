/* Which strings are canonical targets, byte by byte: the same rules as target.h, as a
 * deterministic machine. The subset question is asked about these strings only, so its
 * search runs this machine beside the patterns (docs/leases.md, Subsets).
 *
 * The length limit of targets is the caller's. Pure; any thread. */
#ifndef ARCP_CORE_TARGET_SHAPE_H
#define ARCP_CORE_TARGET_SHAPE_H

#include <stdint.h>

#include "core/capability.h"

/* A state; equal numbers are equal states. */
typedef uint64_t arcp__shape;

/* Nothing read yet, and the state that no canonical target goes through. */
#define ARCP__SHAPE_START UINT64_C(1)
#define ARCP__SHAPE_DEAD  UINT64_C(0)

arcp__shape arcp__shape_step(arcp__target_kind kind, arcp__shape shape, unsigned char byte);

/* Whether what was read is a canonical target. */
bool arcp__shape_is_target(arcp__target_kind kind, arcp__shape shape);

/* True only when every string that makes a target of `b` makes one of `a`. `b` has read at
 * least one byte. */
bool arcp__shape_covers(arcp__target_kind kind, arcp__shape a, arcp__shape b);

/* Equal for states of which one covers the other. */
uint64_t arcp__shape_family(arcp__target_kind kind, arcp__shape shape);

/* True only when the state, reached by an ordinary byte, covers every state that any byte
 * but '/', '?' and the kind's separators could have led to instead. */
bool arcp__shape_is_widest(arcp__target_kind kind, arcp__shape shape);

#endif
