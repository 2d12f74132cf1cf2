/* The table of what holds for every transport. */
#ifndef ARCP_TESTS_CONFORMANCE_H
#define ARCP_TESTS_CONFORMANCE_H

#include "transport/pair.h"

typedef struct conformance_case {
    const char *name;
    void (*run)(pair *p);
} conformance_case;

#define CASE(function)                                                                             \
    {                                                                                              \
#function, function                                                                        \
    }

extern const conformance_case close_cases[];
extern const size_t close_case_count;

#endif
