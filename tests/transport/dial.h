/* One arcp_connect under test, and what came of it. */
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

/* Begins; fails the test when the call itself fails. */
void dial_begin(dial *d, test_loop *test, const char *url, const arcp_connect_options *options);
/* Runs the loop until it has an answer. */
void dial_wait(dial *d, test_loop *test);
/* Waits for a failure whose message has this text. */
void dial_expect_failure(dial *d, test_loop *test, arcp_status status, const char *message);
void dial_fini(dial *d);

#endif
