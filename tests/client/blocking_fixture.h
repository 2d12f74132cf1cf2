/* A blocking client, and the fake runtime that it is connected to. */
#ifndef ARCP_TESTS_CLIENT_BLOCKING_FIXTURE_H
#define ARCP_TESTS_CLIENT_BLOCKING_FIXTURE_H

#include "support/check.h"

#include <arcp/client.h>

#include "client/fake_runtime.h"

typedef struct fixture {
    fake_runtime runtime;
    arcp_client *client;
    arcp_error err; /* with a buffer for details */
    arcp_buf details;
} fixture;

/* Connects; fails the test if that fails. To change settings of the runtime or options of the
 * client, call fake_runtime_init first, then fixture_begin_with. */
void fixture_begin(fixture *f);
void fixture_begin_with(fixture *f, const arcp_client_options *options);
void fixture_end(fixture *f);

/* Submits a job; fails the test unless it is accepted. */
arcp_job *fixture_submit(fixture *f, const char *agent, const char *input);

/* A thread function: interrupts the arcp_client `user` as soon as one of its calls waits. */
void *fixture_interrupt_soon(void *user);

#endif
