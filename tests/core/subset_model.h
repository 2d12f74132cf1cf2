/* The subset question without any shortcut: all patterns and the shape of targets are run
 * side by side from the first byte on, and every place they can come to together is visited.
 * No place stands for another, and every byte is tried that leads anywhere else than one
 * before it. Slow, and plain to see.
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

/* How many places are visited. */
enum { MODEL_PLACES_MAX = 1500 };

/* Decides for one pattern of a child. Bytes of `without` are left out of targets, unless a
 * pattern has them as a literal: what MODEL_WITHIN says is then said about the others. */
model_answer model_subset(arcp__target_kind kind, arcp_span child, const arcp_span *parents,
                          size_t count, const char *without, arcp_buf *witness);

#endif
