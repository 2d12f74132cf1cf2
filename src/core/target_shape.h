/* A deterministic machine that accepts exactly the canonical targets, byte by byte, by the rules of
 * target.h. Subset questions concern only these strings, so the search runs this machine beside the
 * patterns (docs/leases.md, Subsets).
 *
 * The caller checks the length limit of targets. Pure; any thread. */
#ifndef ARCP_CORE_TARGET_SHAPE_H
#define ARCP_CORE_TARGET_SHAPE_H

#include <stdint.h>

#include "core/capability.h"

/* A state; equal numbers are equal states. */
typedef uint64_t arcp__shape;

/* The initial state, and the state after which no canonical target is possible. */
#define ARCP__SHAPE_START UINT64_C(1)
#define ARCP__SHAPE_DEAD  UINT64_C(0)

arcp__shape arcp__shape_step(arcp__target_kind kind, arcp__shape shape, unsigned char byte);

/* Whether what was read is a canonical target. */
bool arcp__shape_is_target(arcp__target_kind kind, arcp__shape shape);

/* True only if every string that completes `b` to a target completes `a` to one. `b` has read at
 * least one byte. */
bool arcp__shape_covers(arcp__target_kind kind, arcp__shape a, arcp__shape b);

/* A value that is equal for two states if one covers the other. */
uint64_t arcp__shape_family(arcp__target_kind kind, arcp__shape shape);

/* True only if the state, reached by an ordinary byte, covers every state that another byte could
 * have led to instead, except '/', '?' and the kind's separators. */
bool arcp__shape_is_widest(arcp__target_kind kind, arcp__shape shape);

#endif
