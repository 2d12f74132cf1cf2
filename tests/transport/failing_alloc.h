/* Makes one allocation fail, wherever it is. The program that uses it is linked so that the
 * calls of base/alloc.h come here (tests/transport/CMakeLists.txt). */
#ifndef ARCP_TESTS_FAILING_ALLOC_H
#define ARCP_TESTS_FAILING_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now on fails, counted from 1, and with `all` every one after it;
 * 0: none. */
void failing_alloc_arm(size_t n, bool all);

/* How many allocations were asked for since then. */
size_t failing_alloc_count(void);

#endif
