/* A second JSON parser for comparisons: recursive, builds a tree, and is written to be simple and
 * correct rather than fast. It shares no code with src/json and needs no cmocka, so that fuzzers
 * can use it. */
#ifndef ARCP_TESTS_SUPPORT_SLOW_JSON_H
#define ARCP_TESTS_SUPPORT_SLOW_JSON_H

#include <stdbool.h>

#include <arcp/span.h>

#include "json/json.h"

typedef struct slow_json slow_json;

/* The value of `text`, NULL when it is refused. Depth is bounded by limits->depth_max. */
slow_json *slow_json_read(arcp_span text, const arcp_json_limits *limits);

void slow_json_free(slow_json *value);

/* Whether two values are the same: members in any order, numbers by their value, strings
 * by their characters. Exponents may have up to 36 digits, see slow_json_is_huge. */
bool slow_json_equal(const slow_json *a, const slow_json *b);

/* Whether a number in the value has an exponent of more digits. */
bool slow_json_is_huge(const slow_json *value);

#endif
