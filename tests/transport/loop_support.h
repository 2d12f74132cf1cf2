/* Running a libuv loop in a test: until something has happened, and not for ever. */
#ifndef ARCP_TESTS_LOOP_SUPPORT_H
#define ARCP_TESTS_LOOP_SUPPORT_H

#include "support/check.h"

#include <uv.h>

#define TEST_PATIENCE_MS 60000 /* for a machine under valgrind with other things to do */

typedef struct test_loop {
    uv_loop_t loop;
    uv_timer_t watchdog;
    bool late;
    int fds_before;
} test_loop;

void test_loop_init(test_loop *test);

/* One round of the loop; fails the test when it waited too long for `what`. */
void test_loop_step(test_loop *test, const char *what);

/* As many rounds as it takes until nothing is due without waiting. */
void test_loop_settle(test_loop *test);

/* Lets everything end, and fails the test when a handle or a descriptor is left. */
void test_loop_fini(test_loop *test);

#define run_until(test, condition)                                                                 \
    do {                                                                                           \
        while (!(condition)) {                                                                     \
            test_loop_step((test), #condition);                                                    \
        }                                                                                          \
    } while (0)

/* A file without a name that holds the text, at its beginning. */
int open_temporary(const char *text);

/* How many descriptors this process has open. */
int open_fd_count(void);

#endif
