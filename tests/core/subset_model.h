/* The subset question without any shortcut: all patterns and the shape of targets are run side by
 * side from the first byte on, and every combination of states that they can reach is visited. No
 * combination is skipped because of another, and every byte is tried that leads to a combination of
 * its own. Slow, and simple.
 *
 * Patterns are read by glob_model.h. What a canonical target is comes from target_shape.h,
 * which target_model_test.c holds against target_model.h. */
#ifndef ARCP_TESTS_SUBSET_MODEL_H
#define ARCP_TESTS_SUBSET_MODEL_H

#include <arcp/buf.h>

#include "core/capability.h"

typedef enum model_answer {
    MODEL_WITHIN,     /* the parents match every target that the child matches */
    MODEL_NOT_WITHIN, /* they do not; the witness is a shortest one */
    MODEL_UNKNOWN     /* too many places */
} model_answer;

/* The most places that are visited. */
enum { MODEL_PLACES_MAX = 1500 };

/* Decides for one pattern of a child. Bytes of `without` are left out of targets, unless a pattern
 * has them as a literal: MODEL_WITHIN then holds for the other targets only. */
model_answer model_subset(arcp__target_kind kind, arcp_span child, const arcp_span *parents,
                          size_t count, const char *without, arcp_buf *witness);

#endif
