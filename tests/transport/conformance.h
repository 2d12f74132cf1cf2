/* Test cases for every transport. */
#ifndef ARCP_TESTS_CONFORMANCE_H
#define ARCP_TESTS_CONFORMANCE_H

#include "transport/pair.h"

typedef struct conformance_case {
    const char *name;
    void (*run)(pair *p);
    uint32_t close_timeout_ms;
} conformance_case;

/* Longer than TEST_PATIENCE_MS, for closes that must not need the timeout. */
#define CASE(function) CASE_WITH_TIMEOUT(function, 2 * TEST_PATIENCE_MS)
#define CASE_WITH_TIMEOUT(function, after)                                                         \
    {                                                                                              \
        .name = #function, .run = (function), .close_timeout_ms = (after)                          \
    }

extern const conformance_case close_cases[];
extern const size_t close_case_count;

#endif
