/* Matching exactly as the table in docs/leases.md defines it: slow, simple, and without any code of
 * the library. */
#ifndef ARCP_TESTS_GLOB_MODEL_H
#define ARCP_TESTS_GLOB_MODEL_H

#include "core/capability.h"

/* The longest pattern that the model takes. */
enum { MODEL_PATTERN_MAX = 512 };

/* What a pattern is made of. */
typedef enum model_item_kind {
    MODEL_BYTE,
    MODEL_SEGMENT, /* *  any run of bytes that are no separator */
    MODEL_ANY,     /* ** any run of bytes */
    MODEL_FOLDERS, /* ** and a slash, at the start or after a slash: whole segments */
    MODEL_BELOW    /* a slash and **, at the end: nothing, or a slash and anything */
} model_item_kind;

typedef struct model_item {
    model_item_kind kind;
    char byte;
} model_item;

/* Writes the items of a pattern, in order; returns their number. */
size_t model_read_items(arcp_span pattern, model_item items[MODEL_PATTERN_MAX]);

bool model_matches(arcp__target_kind kind, arcp_span pattern, arcp_span target);

/* Whether one of the patterns does. */
bool model_matches_any(arcp__target_kind kind, const arcp_span *patterns, size_t count,
                       arcp_span target);

#endif
