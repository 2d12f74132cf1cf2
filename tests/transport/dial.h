/* One arcp_connect under test, and its outcome. */
#ifndef ARCP_TESTS_DIAL_H
#define ARCP_TESTS_DIAL_H

#include "transport/loop_support.h"
#include "transport/owner.h"

typedef struct dial {
    owner owner;
    arcp_connector *connector;
    bool connected;
    bool failed;
    arcp_error err;
} dial;

/* Starts it; fails the test if the call fails. */
void dial_begin(dial *d, test_loop *test, const char *url, const arcp_connect_options *options);
/* Runs the loop until it has connected or failed. */
void dial_wait(dial *d, test_loop *test);
/* Waits for a failure whose message has this text. */
void dial_expect_failure(dial *d, test_loop *test, arcp_status status, const char *message);
void dial_fini(dial *d);

#endif
