/* Runs a libuv loop in a test until a condition holds, with a time limit. */
#ifndef ARCP_TESTS_LOOP_SUPPORT_H
#define ARCP_TESTS_LOOP_SUPPORT_H

#include "support/check.h"

#include <uv.h>

#define TEST_PATIENCE_MS 60000 /* enough for valgrind on a busy machine */

typedef struct test_loop {
    uv_loop_t loop;
    uv_timer_t watchdog;
    bool late;
    int fds_before;
} test_loop;

void test_loop_init(test_loop *test);

/* Runs the loop once; fails the test if `what` was waited for too long. */
void test_loop_step(test_loop *test, const char *what);

/* Runs the loop until nothing is left to do without waiting. */
void test_loop_settle(test_loop *test);

/* Runs the loop to its end; fails the test if a handle or a descriptor is left open. */
void test_loop_fini(test_loop *test);

#define run_until(test, condition)                                                                 \
    do {                                                                                           \
        while (!(condition)) {                                                                     \
            test_loop_step((test), #condition);                                                    \
        }                                                                                          \
    } while (0)

/* Descriptor of an unnamed file with this text, positioned at its start. */
int open_temporary(const char *text);

/* The number of open descriptors of this process. */
int open_fd_count(void);

#endif
